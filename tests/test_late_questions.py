"""The question that is asked later than in training: the task, the model, the record."""

import pytest
import torch

from mha_utils import Rotary
from mha_utils.experiments import positions, recorded
from mha_utils.experiments.positions import KINDS, LENGTHS, LateRepeat, ask_later
from mha_utils.experiments.record import EXPERIMENTS, placed
from mha_utils.experiments.tasks import IGNORED
from mha_utils.experiments.train import train

ROWS = {row["positions"]: row["scores"] for row in recorded("positions")}


def drawn(task, num_sequences=200):
    return task.draw(num_sequences, torch.Generator().manual_seed(0))


def copies(tokens: list, end: int) -> list[int]:
    """Where the follower of the last token stands, among the first `end`."""
    return [j for j in range(1, end) if tokens[j - 1] == tokens[-1]]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_answer_stands_where_it_should(length):
    """Late: in the last 32 tokens and nowhere before; from the start: in the first 32, too."""
    for from_start in (False, True):
        batch = drawn(LateRepeat(length, from_start))
        for row, answers in zip(batch.inputs[..., 0].tolist(), batch.targets[..., 0].tolist()):
            assert answers[-1] != IGNORED
            found = copies(row, length)
            assert {row[j] for j in found} == {answers[-1]}
            assert (min(found) < 32) if from_start else (min(found) >= length - 32)


@pytest.mark.parametrize("length", LENGTHS[1:])
def test_only_the_last_eight_are_asked_later(length):
    asked = drawn(LateRepeat(length)).targets[..., 0] != IGNORED
    assert asked[:, -8:].all()
    assert not asked[:, :-8].any()


@pytest.mark.parametrize("number", [0, 2, 96, 300])
def test_far_keys_are_as_many_as_asked_for_and_the_last_32_are_always_there(number):
    mask = positions.some_far_keys(256, number)
    for query, row in enumerate(mask):
        assert row[max(0, query - 31) : query + 1].all()
        assert not row[query + 1 :].any()
        assert row[: max(0, query - 31)].sum() == min(number, max(0, query - 31))
    if number == 2:
        assert len({tuple(row[:40].tolist()) for row in mask[100:]}) > 10  # drawn for each query


def test_a_hidden_start_is_hidden_from_those_who_come_later():
    mask = positions.start_hidden(64)
    assert torch.equal(mask[:32], torch.ones(32, 64).tril().bool())
    assert not mask[32:, :32].any()
    assert torch.equal(mask[32:, 32:], torch.ones(32, 32).tril().bool())


def fresh(kind: str):
    torch.manual_seed(0)
    return placed(kind).build(LateRepeat()).double().eval()


@pytest.mark.parametrize("kind", KINDS)
def test_only_relative_kinds_do_not_care_where_a_text_begins(kind):
    """In a window of 4 and two layers, the last token depends on the last 7 tokens."""
    model, tokens = fresh(kind), torch.randint(64, (1, 40, 1))
    with torch.no_grad():
        late, early = (model(t, window=4)[0][0, -1] for t in (tokens, tokens[:, -7:]))
    off = (late - early).abs().max().item()
    assert (off < 1e-10) == (kind in ("none", "rotary", "alibi"))


def test_rotary_is_the_module_and_alibi_is_subtracted_from_scores():
    assert isinstance(fresh("rotary").layers[0].attention.rotary, Rotary)
    assert positions.slopes(4).tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    assert positions.slopes(8)[0] == 0.5
    bias = positions.alibi_bias(positions.slopes(2), 3)
    assert bias[0].tolist() == [
        [0, -1 / 16, -1 / 8],
        [-1 / 16, 0, -1 / 16],
        [-1 / 8, -1 / 16, 0],
    ]


def test_scores_may_be_made_elsewhere():
    layer, x = fresh("rotary").layers[0], torch.randn(1, 40, 48, dtype=torch.float64)
    mask, (out, weights) = positions.causal_mask(40), layer(x, positions.causal_mask(40))
    own, own_weights = layer(x, mask, layer.scores)
    assert torch.equal(own, out)
    assert torch.equal(own_weights, weights)
    even = layer(x, mask, lambda q, k: torch.zeros(1, 1, 40, 40, dtype=q.dtype))[1]
    assert (even[0, 0, -1] - 1 / 40).abs().max() < 1e-12


def test_each_layer_has_scores_of_its_own():
    model, tokens = fresh("rotary"), torch.randint(64, (1, 40, 1))

    def unturned(q, k):
        return q @ k.mT / q.shape[-1] ** 0.5

    ways = None, (unturned, None), (None, unturned)
    plain, first, second = (model(tokens, scores_of=way)[1] for way in ways)
    assert not torch.equal(first[0], plain[0])
    assert torch.equal(second[0], plain[0])
    assert not torch.equal(second[1], plain[1])
    with pytest.raises(ValueError, match="zip"):
        model(tokens, scores_of=(None,))


def test_all_five_kinds_are_recorded_with_ten_seeds():
    assert list(ROWS) == list(KINDS)
    for scores in ROWS.values():
        assert {len(values) for values in scores.values()} == {10}


def test_every_recorded_seed_says_what_chapter_14_says():
    scores = {kind: {name: torch.tensor(row) for name, row in ROWS[kind].items()} for kind in ROWS}
    rotary, learned, alibi = scores["rotary"], scores["learned"], scores["alibi"]
    assert min(rotary["32"].min(), learned["32"].min()) > 0.99
    assert max(learned["64"].max(), scores["sinusoidal"]["64"].max()) < 0.1
    assert rotary["64"].min() > 0.8
    assert rotary["128"].max() < 0.5
    assert rotary["256"].max() < 0.2
    assert min(alibi[f"{length}"].min() for length in LENGTHS) > 0.75
    assert rotary["256 in a window"].min() > 0.9
    assert learned["256 in a window"].max() < 0.2
    assert scores["sinusoidal"]["256 in a window"].max() < 0.2
    assert learned["256 from start"].min() > 0.7
    assert rotary["256 with 8 far keys"].min() > 0.7
    assert rotary["256 with 96 far keys"].max() < 0.5


def test_a_recorded_model_is_trained_again():
    """One seed of the quickest kind to learn; later lengths differ a little by rounding."""
    experiment = EXPERIMENTS["positions"]
    (model,) = train(experiment.task, placed("learned"), experiment.recipe, (0,))
    again = ask_later(model, experiment.task)["scores"]
    for name, value in again.items():
        assert value == pytest.approx(ROWS["learned"][name][0], abs=0.08), name
    assert again["32"] > 0.98
    assert again["256"] < 0.1
