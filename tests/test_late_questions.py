"""The question that is asked later than in training: the task, the model, the record."""

import pytest
import torch

from mha_utils import Rotary
from mha_utils.experiments import late, positions, recorded
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


@pytest.mark.parametrize("from_start", [False, True])
@pytest.mark.parametrize("length", [32, 64, 256])
@pytest.mark.parametrize("seed", range(5))
def test_a_text_says_where_its_block_begins_and_what_comes_next(length, from_start, seed):
    task = LateRepeat(length, from_start)
    text, batch = late.text_of(task, seed), drawn_with(task, seed)
    assert [late.SYMBOLS.index(s) for s in text.letters] == batch.inputs[0, :, 0].tolist()
    assert late.SYMBOLS.index(text.letters[-text.period]) == batch.targets[0, -1, 0]
    block = text.letters[text.start : text.start + text.period]
    assert len(set(block)) == text.period
    copies = length // text.period + 1
    assert text.letters[text.start :] == (block * copies)[: length - text.start]
    assert text.start == 0 or text.letters[text.start - 1] != block[-1]


def drawn_with(task, seed: int):
    return task.draw(1, torch.Generator().manual_seed(seed))


def test_texts_of_two_lengths_ask_the_same_question():
    short, long = (late.text_of(LateRepeat(length), 4) for length in (32, 256))
    assert short.letters[short.start :] == long.letters[long.start :]
    assert short.letters[-short.period] == long.letters[-long.period]


@pytest.mark.parametrize("from_start", [False, True])
def test_first_answers_are_the_first(from_start):
    task = LateRepeat(64, from_start)
    rows = drawn(task, 20).inputs[..., 0].tolist()
    expected = [min(copies(row, 64)) for row in rows]
    assert late.first_answers(task, 0, 20).tolist() == expected


def test_the_record_is_read_by_the_names_of_the_tests():
    assert late.recorded_accuracies("rotary") == ROWS["rotary"]["256"]
    mean = sum(ROWS["rotary"]["256"]) / 10
    assert late.recorded_accuracy("rotary") == pytest.approx(mean)
    for name, key in {"window": "64 in a window", "colleague's": "64 from start"}.items():
        mean = sum(ROWS["alibi"][key]) / 10
        assert late.recorded_accuracy("alibi", name, 64) == pytest.approx(mean)


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_model_has_its_kind_its_dials_and_its_seed(kind):
    model, other = (late.train_small(kind, seed, base=50.0, steps=1) for seed in (0, 1))
    attention = [layer.attention for layer in model.layers]
    assert [a.num_heads for a in attention] == [4 if kind == "alibi" else 1] * 2
    assert [a.rotary.base for a in attention if a.rotary is not None] == [50.0] * 2 * (
        kind == "rotary"
    )
    assert not torch.equal(model.embed.weight, other.embed.weight)
    assert (model.place is not None) == (kind == "learned")


def test_a_small_model_of_another_kind_is_refused():
    known = "'none' or 'learned' or 'sinusoidal' or 'rotary' or 'alibi'"
    with pytest.raises(ValueError, match=f"^kind must be {known}, got 'rope'$"):
        late.train_small("rope", steps=1)


@pytest.mark.parametrize("kind", ["rotary", "none"])
def test_the_mean_score_is_that_of_a_layer_in_which_a_key_stands_so_far_back(kind):
    model = late.train_small(kind, steps=1)
    layer, symbols = model.layers[0], model.embed.weight.detach()
    scores = late.mean_scores(model, 40)
    assert scores.shape == (40, 24)
    for distance in (0, 1, 30):
        query, key = torch.meshgrid(torch.arange(64), torch.arange(64), indexing="ij")
        pairs = torch.stack([symbols[key.flatten()], symbols[query.flatten()]], dim=1)
        q, k, _ = layer.attention.project(*[layer.norm(pairs)] * 3)
        places = torch.tensor([0, distance])
        if kind == "rotary":
            q, k = (layer.attention.rotary(heads, places) for heads in (q, k))
        mean = (q[:, 0, 1] * k[:, 0, 0]).sum(-1).mean() / 48**0.5
        assert scores[distance].sum().item() == pytest.approx(mean.item(), abs=1e-4)
        by_pair = (q[:, 0, 1] * k[:, 0, 0]).mean(dim=0).view(2, 24).sum(0) / 48**0.5
        assert (scores[distance] - by_pair).abs().max() < 1e-4
