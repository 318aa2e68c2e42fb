"""The bug hunt as a live view, on the side of Python."""

import re

import numpy as np
import pytest
import torch

from mha_utils import leak_map, widgets
from mha_utils.core.steps import attention_weights, causal_mask
from mha_utils.museum import MUSEUM, Steps, bug, with_numbers
from mha_utils.museum.hunt import LEVELS
from mha_utils.widgets.examples import EXAMPLES
from mha_utils.widgets.suspects import PICTURES, _first_alike, pictures_of

TITLES = [title for title, *_ in PICTURES]
FOUND = {
    "no scale": [False, False],
    "one wide head": [False, True],
    "softmax over the queries": [True, True],
    "dropout never applied": [False, False],
    "dropout of whole keys": [False, False],
}


def small_hunt(**changes) -> widgets.BugHunt:
    given = {"found": FOUND, "probes": ["sees", "meets"], "tokens": ["a", "b", "c"]}
    return widgets.BugHunt(**given | changes)


def choose(game: widgets.BugHunt, name: str) -> widgets.BugHunt:
    """Go to the suspect of that name, as one who peeks."""
    place = [label[0] for label in game.pieces].index(name)
    game.level, order = next((level, o) for level, _, o in game.levels if place in o)
    game.suspect = order.index(place) + 1
    return game


# ---- what suspects show ----------------------------------------------------------------


def shown_by(kind: type, title: str, length: int = 5) -> torch.Tensor:
    return pictures_of(kind, length)[TITLES.index(title)]


def tokens_and_right(length: int = 5):
    x = torch.randn(2, length, 8, generator=torch.Generator().manual_seed(1))
    return x, with_numbers(Steps)


def test_right_module_shows_its_weights():
    x, right = tokens_and_right()
    q, k = (layer(x[0]).unflatten(-1, (4, 2)) for layer in (right.q_proj, right.k_proj))
    scores = torch.einsum("thd,shd->hts", q, k) / 2**0.5
    expected = attention_weights(scores, causal_mask(5)).detach()
    for h in range(4):
        torch.testing.assert_close(shown_by(Steps, f"weights, head {h}"), expected[h])
    torch.testing.assert_close(shown_by(Steps, "used in evaluation, head 0"), expected[0])


def test_leak_maps_are_those_of_the_package():
    x, right = tokens_and_right()
    leak = leak_map(lambda one: right(one[None], is_causal=True)[0], x[0])
    torch.testing.assert_close(shown_by(Steps, "leak map"), leak)
    padded = shown_by(Steps, "leak map with padding")
    assert (padded[:, 0] == 0).all()  # token 0 is padding, and sees nothing itself
    assert (padded[1:, 1] > 0).all()
    assert shown_by(bug("mask of one sequence used for all").module, TITLES[5])[0, 0] > 0
    assert shown_by(bug("NaN rows").module, TITLES[5])[0].isnan().any()


@pytest.mark.parametrize("length", [4, 5, 6, 8])
def test_maps_of_training_tell_kinds_of_dropout_apart(length):
    def used(name, head=0):
        kind = bug(name).module if name else Steps
        return shown_by(kind, f"used in training, head {head}", length)

    whole = shown_by(Steps, "used in evaluation, head 0", length)
    past = torch.ones(length, length).tril() > 0
    right = used("")
    assert 0 < ((right == 0) & past).sum() < past.sum()
    kept = right > 0
    torch.testing.assert_close(right[kept], whole[kept] / 0.6)
    torch.testing.assert_close(used("dropout never applied"), whole)
    lost = ((used("dropout of whole keys") == 0) & past).sum(dim=0)
    assert 0 < (lost == past.sum(dim=0)).sum() < length
    assert ((lost == 0) | (lost == past.sum(dim=0))).all()
    heads = [used("dropout shared by the heads", head) == 0 for head in (0, 1)]
    assert torch.equal(*heads)
    assert not torch.equal(right == 0, used("", head=1) == 0)


def test_pictures_leave_the_state_of_random_numbers_alone():
    before = torch.get_rng_state()
    pictures_of.__wrapped__(Steps, 3)
    assert torch.equal(before, torch.get_rng_state())


def test_pictures_that_look_alike_are_stored_once():
    game = small_hunt()
    for name in FOUND:
        choose(game, name)
        for n in range(len(PICTURES)):
            game.picture = n
            true = pictures_of(bug(name).module, 3)[n].numpy()
            np.testing.assert_allclose(game._map(game._piece), true, rtol=5e-3, atol=5e-3)
            assert np.array_equal(game._map(game._piece) == 0, true == 0)
    assert len(game.maps) < 0.8 * 4 * 9 * (len(FOUND) + 1) * len(PICTURES)


def test_a_small_leak_is_not_taken_for_none():
    maps = torch.tensor([[0.0, 1.0], [1e-4, 1.0], [0.0, 1.001], [torch.nan, 1.0], [torch.nan, 1.0]])
    assert _first_alike(maps[:, None].expand(-1, 2, -1)) == [0, 1, 0, 3, 3]


# ---- the game --------------------------------------------------------------------------


def test_a_game_from_the_first_question_to_the_name():
    game = choose(small_hunt(), "one wide head")
    who = f"Suspect {game.suspect} of 3"
    assert game.finding() == (
        f"{who}: nothing asked yet, 3 of 3 names fit the answers. "
        "Found 0 of 3: 0 questions, 0 accusations."
    )
    game.ask("sees").accuse("softmax over the queries")
    assert game.fitting() == ["no scale", "one wide head"]
    assert game.finding() == (
        f"{who}: 1 question asked, 2 of 3 names fit the answers. Not “softmax over the queries”: "
        "“sees” would catch it. Found 0 of 3: 1 question, 1 accusation."
    )
    game.ask("meets").ask("meets").accuse("no scale")
    assert game.fitting() == ["one wide head"]
    assert "Not “no scale”: “meets” would not catch it. Found 0 of 3: 2 questions" in game.finding()
    game.accuse("one wide head")
    assert game.finding() == (
        f"{who} is “one wide head”. All D columns make one map, which every head uses: num_heads "
        "changes nothing. Taught in chapter 03, section 2. "
        "Found 1 of 3: 2 questions, 3 accusations."
    )
    game.accuse("one wide head")
    assert "Found 1 of 3" in game.finding()


def test_a_wrong_name_is_answered_with_what_is_known():
    game = choose(small_hunt(), "no scale").accuse("one wide head")
    assert "Not “one wide head”: in “weights, head 0” it would look different." in game.finding()
    game.ask("leak map")
    assert "Not “one wide head”: in “leak map” it would look different." in game.finding()
    choose(game, "dropout never applied").accuse("dropout of whole keys")
    reason = "no answer so far tells the two apart, another question does"
    assert f"Not “dropout of whole keys”: {reason}." in game.finding()
    assert "Found 0 of 2: 0 questions, 1 accusation." in game.finding()
    pair = {"mask dropped when causal": [], "mask of one sequence used for all": []}
    game = choose(small_hunt(found=pair, probes=[], level=2), "mask dropped when causal")
    game.accuse("mask of one sequence used for all")
    assert "nothing here tells the two apart, it takes a question of your own" in game.finding()


def test_every_suspect_can_be_found():
    game = EXAMPLES["BugHunt"]()
    for level, _, order in game.levels:
        game.level = level
        for number in range(1, len(order) + 1):
            game.suspect = number
            for name in game.names:
                if f"is “{name}”" in game.accuse(name).finding():
                    break
        assert f"Found {len(order)} of {len(order)}" in game.finding()
        assert game.names == [bug.name for bug in MUSEUM if bug.room in LEVELS[level]]


def test_the_seed_shuffles_and_hides_nobody():
    orders = [small_hunt(seed=seed).levels[0][2] for seed in range(6)]
    assert len({tuple(order) for order in orders}) > 2
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 2)}
    assert small_hunt(seed=3).levels == small_hunt(seed=3).levels


def test_a_picture_that_costs_is_hidden_until_it_is_asked_for():
    game = choose(small_hunt(), "no scale")
    free = game.png()
    game.picture = TITLES.index("leak map")
    hidden = game.png()
    other = game.suspect % 3 + 1
    assert not game._seen
    game.ask("leak map")
    assert game._seen
    assert len({free, hidden, game.png()}) == 3
    game.suspect = other
    assert not game._seen
    game.accuse(game.pieces[game._piece][0])
    assert game._seen, "nothing is hidden about who has been found"


def test_numbers_outside_are_cut():
    game = small_hunt()
    game.suspect, game.picture = 99, 99
    assert game.finding().startswith("Suspect 3 of 3")
    game.still()
    game.suspect, game.picture = -5, -5
    assert game.finding().startswith("Suspect 1 of 3")
    game.still()


def test_the_whole_museum_is_less_than_120_kb():
    found = {piece.name: [False] * 11 for piece in MUSEUM}
    game = widgets.BugHunt(found, [f"probe {n} says yes" for n in range(11)], list("abcdef"))
    state = game.get_state()
    sizes = [len(v) if isinstance(v, bytes) else len(str(v)) for v in state.values()]
    assert sum(sizes) < 120_000


LEVEL_1 = "['no scale', 'one wide head', 'softmax over the queries']"
WRONG = {
    "no pieces": (
        lambda: small_hunt(found={}),
        "found must name at least one piece of the museum, got none",
    ),
    "answers": (
        lambda: small_hunt(found={"no scale": [True]}),
        "found['no scale'] must have 2 answers, one for each probe, got 1",
    ),
    "few tokens": (lambda: small_hunt(tokens=["a"]), "tokens must be 2 to 8 words, got 1"),
    "many tokens": (lambda: small_hunt(tokens=["a"] * 9), "tokens must be 2 to 8 words, got 9"),
    "level": (lambda: small_hunt(level=2), "level must be one of [1, 3], got 2"),
    "seed": (lambda: small_hunt(seed=-1), "seed must be an integer of at least 0, got -1"),
    "question": (
        lambda: small_hunt().ask("weights, head 0"),
        "no question is called 'weights, head 0'; there are "
        f"{['sees', 'meets', *(title for title, free, _ in PICTURES if not free)]}",
    ),
    "name": (
        lambda: small_hunt().accuse("dropout never applied"),
        f"level 1 has no 'dropout never applied'; it has {LEVEL_1}",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_why(name):
    call, text = WRONG[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        call()


def test_a_piece_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"^no bug is called 'nobody'; there are \["):
        small_hunt(found={"nobody": [True, False]})
