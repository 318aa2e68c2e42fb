"""The tasks: right answers really stand where `sources` says, and scores mean what they say."""

import pytest
import torch

from mha_utils.experiments.grammar import PEOPLE, RELATIONS, Grammar
from mha_utils.experiments.scores import mass_on
from mha_utils.experiments.tasks import (
    IGNORED,
    Lookups,
    OneOfThree,
    RepeatedBlock,
    ThreeRelations,
)

TASKS = {"lookups": Lookups(), "relations": ThreeRelations(), "repeats": RepeatedBlock()}
TASKS |= {"grammar": Grammar(), "asked": OneOfThree()}
EACH = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
CLASSES = pytest.mark.parametrize("name", ["relations", "asked", "repeats", "grammar"])


def draw(task, count=8, seed=0):
    return task.draw(count, torch.Generator().manual_seed(seed))


def right_outputs(task, batch):
    """Outputs whose most likely class is the target."""
    targets = batch.targets.clamp(min=0)
    return torch.nn.functional.one_hot(targets, task.num_classes).flatten(-2).float()


@EACH
def test_a_seed_fixes_the_batch(task):
    one, two, other = draw(task), draw(task), draw(task, seed=1)
    assert torch.equal(one.inputs, two.inputs)
    assert torch.equal(one.targets, two.targets)
    assert not torch.equal(one.inputs, other.inputs)


def test_lookups_stand_at_their_sources():
    task, batch = TASKS["lookups"], draw(TASKS["lookups"])
    for r in range(len(task.offsets)):
        places = batch.sources[0, :, r]
        part = batch.targets[..., r * task.width : (r + 1) * task.width]
        assert torch.equal(part, batch.inputs[:, places])
    assert batch.sources[0, 0].tolist() == [11, 10, 9, 7]


def test_r2_is_1_for_the_target_0_for_the_mean_and_a_quarter_for_one_vector():
    task, batch = TASKS["lookups"], draw(TASKS["lookups"], 500)
    assert task.score(batch.targets, batch)["all"] == 1.0
    assert task.score(0 * batch.targets, batch)["all"] == 0.0
    part = batch.targets.clone()
    part[..., task.width :] = 0
    scores = task.score(part, batch)
    assert scores["1 back"] == 1.0
    assert scores["2 back"] == 0.0
    assert scores["all"] == pytest.approx(0.25, abs=0.01)


def test_answers_of_the_three_relations_stand_at_their_sources():
    batch = draw(TASKS["relations"])
    for inputs, answers, sources in zip(*(t.tolist() for t in vars(batch).values())):
        values, names, wanted = zip(*inputs)
        assert sorted(names) == list(range(16, 32))
        for i in range(16):
            named = names.index(wanted[i] - 16)
            assert sources[i] == [(i - 1) % 16, named, 0]
            assert answers[i] == [values[i - 1], values[named], values[0]]


def test_a_repeated_block_is_foretold_by_its_last_copy():
    batch = draw(TASKS["repeats"], 50)
    symbols, answers, sources = batch.inputs[..., 0], batch.targets[..., 0], batch.sources[..., 0]
    periods = set()
    for row, targets, places in zip(symbols.tolist(), answers.tolist(), sources.tolist()):
        period = next(i for i, place in enumerate(places) if place >= 0)
        periods.add(period)
        assert len(set(row[:period])) == period
        assert all(row[i] == row[i % period] for i in range(32))
        assert all(targets[i] == IGNORED for i in range(period))
        for i in range(period, 31):
            assert targets[i] == row[i + 1] == row[places[i]]
            assert row[places[i] - 1] == row[i]
    assert periods <= set(range(8, 17))
    assert len(periods) > 4


def test_induction_places_are_all_that_followed_the_same_symbol():
    task, batch = TASKS["repeats"], draw(TASKS["repeats"], 4)
    places, symbols = task.places(batch), batch.inputs[..., 0].tolist()
    for row, where in zip(symbols, places["induction"].tolist()):
        for i in range(32):
            assert where[i] == [0 < j <= i and row[j - 1] == row[i] for j in range(32)]
    assert places["previous"][0].nonzero().tolist() == [[i, i - 1] for i in range(1, 8)]


def candidates(grammar, words, places):
    """For each relation the two answers between which a bag of words cannot choose."""
    selves = {noun: own for own, nouns in PEOPLE.items() for noun in nouns}
    verbs = dict(grammar.verbs)
    sounds = {w: does for one, does in grammar.animals for w in (one, one + "s")}
    before = words[: places["pronoun"][0]]
    return {
        "agreement": [selves[word] for word in before if word in selves],
        "previous": [verbs[word] for word in before if word in verbs],
        "pronoun": [sounds[word] for word in before if word in sounds],
        "first": [words[0], words[2]],
    }


def test_grammar_asks_for_four_words_with_two_candidates_each():
    grammar = TASKS["grammar"]
    for seed in range(300):
        words, places = grammar.sentence(seed)
        assert len(words) <= grammar.seq_len + 1
        assert tuple(places) == RELATIONS
        for name, both in candidates(grammar, words, places).items():
            assert len(set(both)) == len(both) == 2
            assert words[places[name][0]] in both
        source = {name: words[at] for name, (_, at) in places.items()}
        assert words[places["agreement"][0]] == candidates(grammar, words, places)["agreement"][0]
        assert words[places["agreement"][1] + 1] == "near"
        assert (source["previous"], words[places["previous"][0]]) in map(tuple, grammar.verbs)
        assert words[places["previous"][0] - 1] == "only"
        assert words[-1] == words[0] == source["first"]
        plural = words[places["pronoun"][0] - 1] == "they"
        assert plural == source["pronoun"].endswith("s")


def test_a_bag_of_words_cannot_choose():
    """Of the two candidates, each is right equally often, whatever the two are."""
    grammar, first_is_right = TASKS["grammar"], {name: [] for name in RELATIONS}
    for seed in range(4000):
        words, places = grammar.sentence(seed)
        for name, both in candidates(grammar, words, places).items():
            first_is_right[name].append(words[places[name][0]] == min(both))
    for shares in first_is_right.values():
        assert abs(sum(shares) / len(shares) - 0.5) < 0.03


def test_one_of_three_asks_for_what_its_flag_says():
    task = TASKS["asked"]
    batch = draw(task, 20)
    flag = batch.inputs[..., 3] - 48
    assert torch.equal(flag, (batch.sources >= 0).int().argmax(dim=-1))
    assert ((batch.sources >= 0).sum(dim=-1) == 1).all()
    source = batch.sources.amax(dim=-1)
    assert torch.equal(batch.targets[..., 0], batch.inputs[..., 0].gather(1, source))
    before = (torch.arange(16) - 1) % 16
    asked = batch.sources[..., 0] >= 0
    assert torch.equal(batch.sources[..., 0][asked], before.expand_as(asked)[asked])


@CLASSES
def test_score_of_right_and_wrong_outputs(name):
    task = TASKS[name]
    batch = draw(task, 20)
    right = right_outputs(task, batch)
    assert set(task.score(right, batch).values()) == {1.0}
    assert set(task.score(right.flip(-1), batch).values()) != {1.0}
    assert task.loss(100 * right, batch.targets) < 1e-4
    assert task.loss(-100 * right, batch.targets) > 10


@CLASSES
def test_a_perfect_map_has_mass_1_on_its_places(name):
    task = TASKS[name]
    batch = draw(task)
    for where in task.places(batch).values():
        perfect = where.float() / where.sum(dim=-1, keepdim=True).clamp(min=1)
        assert mass_on(perfect[:, None], where).item() == pytest.approx(1.0)


@CLASSES
def test_exactly_what_has_a_source_is_asked(name):
    batch = draw(TASKS[name], 50)
    has_source = (batch.sources >= 0).flatten(2).any(dim=-1)
    asked = (batch.targets != IGNORED).flatten(2).any(dim=-1)
    assert torch.equal(has_source.expand_as(asked), asked)
    assert (batch.sources >= -1).all()
    if name == "grammar":  # four words of every sentence, each given by one before
        assert (batch.sources >= 0).sum(dim=(1, 2)).tolist() == [len(RELATIONS)] * 50
