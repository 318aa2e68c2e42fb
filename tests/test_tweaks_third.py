"""The third third of the edits of tests/tweaks/."""

from tweaking import THIRD, punished


@THIRD
def test_an_edit_is_never_punished(chapter, name):
    assert punished(chapter, name) is None
