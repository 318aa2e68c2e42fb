"""In a cell of a notebook what cannot be is named, and the nearest taken; elsewhere it raises."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from mha_utils import widgets
from mha_utils.museum import bug

NOT_SHARED = "embed_dim must be divisible by num_heads, got embed_dim={} and num_heads={} ({})"
ASKED = [  # what a cell asks for, what it gets, what is said
    ("widgets.LayerCost(num_heads=4).num_heads", 4, ""),
    (
        "widgets.LayerCost(1, seq_len=1000).seq_len",
        1024,
        "seq_len must be one of 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, got 1000. "
        "We go on with seq_len = 1024.\n",
    ),
    (
        "widgets.LayerCost(num_heads=7).num_heads",
        12,
        f"{NOT_SHARED.format(768, 7, 'remainder 5')}. We go on with num_heads = 12.\n",
    ),
    (
        "widgets.LayerCost(1, 64, 1024, 7).embed_dim",
        768,
        f"{NOT_SHARED.format(1024, 7, 'remainder 2')}. We go on with num_heads = 12.\n"
        f"{NOT_SHARED.format(1024, 12, 'remainder 4')}. We go on with embed_dim = 768.\n",
    ),
    (
        "(lambda: widgets.ProcessTiles(num_processes=9, seq_len=3))().seq_len",
        3,
        "num_processes must be at most 8 to be drawn, got 9. We go on with num_processes = 4.\n",
    ),
    (
        "widgets.BugHunt({'no scale': [True]}, ['p'], ['a', 'b'], level=3).level",
        1,
        "level must be one of [1], got 3. We go on with level = 1.\n",
    ),
    (
        "bug('no scael').name",
        "no scale",
        "No bug is called 'no scael'. We go on with 'no scale'.\n",
    ),
]
LEFT = [  # what a cell cannot be spared
    ("widgets.Bet('Which?', ['one'])", "two or more different answers"),  # choices must be given
    ("widgets.LayerCost(colour='red')", "colour"),
    ("widgets.LayerCost(1, 64, 768, 12, True, False, 7)", "argument"),
]


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    shell.user_global_ns.update(widgets=widgets, bug=bug)
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(("asked", "found", "said"), ASKED)
def test_a_cell_goes_on_with_what_can_be(asked, found, said, shell, capsys):
    assert shell.run_cell(f"found = {asked}").success
    assert shell.user_global_ns["found"] == found
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(("asked", "reason"), LEFT)
def test_what_must_be_given_and_what_there_is_not_raise(asked, reason, shell):
    assert reason in str(shell.run_cell(asked).error_in_exec)


def test_outside_a_cell_all_of_it_raises(shell):
    with pytest.raises(ValueError, match="got embed_dim=768 and num_heads=7"):
        widgets.LayerCost(num_heads=7)
    with pytest.raises(ValueError, match="no bug is called 'no scael'"):
        bug("no scael")
