"""The second third of the edits of tests/tweaks/."""

from tweaking import SECOND, punished


@SECOND
def test_an_edit_is_never_punished(chapter, name):
    assert punished(chapter, name) is None
