"""The scoring of published heads, on maps and sentences whose score is known."""

import re

import pytest
import torch

from mha_utils.trained import survey
from mha_utils.trained.sentences import (
    ANTECEDENT_BY_GENDER,
    ANTECEDENT_BY_MEANING,
    BETWEEN_NOUNS,
    RELATIONS,
    Example,
    examples,
)
from mha_utils.trained.word_classes import (
    RULES,
    VERBS,
    first_of,
    place_among_nouns,
    rule_accuracy,
)

CAT = Example(["the", "cat", "saw", "the", "dog", "."], query=2, target=1)


def looking_at(*columns: int) -> torch.Tensor:
    """One head for each column, every row of which puts all weight there; (A, 8, 8)."""
    return torch.eye(8)[list(columns)][:, None].expand(-1, 8, -1).contiguous()


def test_marks_name_query_and_target():
    (example,) = examples("*The* old _clock_ stopped .")
    assert example == Example(["the", "old", "clock", "stopped", "."], query=0, target=2)


@pytest.mark.parametrize("name", RELATIONS)
def test_every_relation_is_marked_once_in_each_sentence(name):
    lines = RELATIONS[name].strip().splitlines()
    assert len(lines) == (20 if "pronoun" in name else 24)
    for line in lines:
        assert len(re.findall(r"\*\w+\*", line)) == len(re.findall(r"_\w+_", line)) == 1
    offsets = {example.target - example.query for example in examples(RELATIONS[name])}
    assert len(offsets) > 2  # no rule of distance gets them all


def test_subject_and_verb_are_each_other_s_target():
    there, back = (
        list(examples(RELATIONS[f"{a} → {b}"]))
        for a, b in (("verb", "subject"), ("subject", "verb"))
    )
    assert [(e.query, e.target) for e in there] == [(e.target, e.query) for e in back]


@pytest.mark.parametrize("text", [ANTECEDENT_BY_GENDER, ANTECEDENT_BY_MEANING])
def test_twins_are_about_the_same_two_nouns(text):
    sentences = list(examples(text))
    for one, other in zip(sentences[::2], sentences[1::2]):
        assert one.words[: one.query] == other.words[: other.query]
        assert one.target != other.target
    if text == ANTECEDENT_BY_MEANING:
        assert {e.words[e.query] for e in sentences} == {"it"}


def test_hits_are_about_words_alone():
    maps = looking_at(2, 1, 0, 6)  # cat, the, START, the full stop
    maps[2, :, 2] = 0.5  # most on START, then cat
    assert survey.words_hit([maps], [CAT]).tolist() == [[True, False, True, False]]


def test_the_query_itself_is_no_answer():
    maps = looking_at(3)
    maps[0, :, 2] = 0.1
    assert survey.words_hit([maps], [CAT]).tolist() == [[True]]


def test_best_offset_is_the_most_frequent_distance():
    other = Example(["a", "b", "c"], 0, 2)
    assert survey.best_offset([CAT, CAT, other]) == pytest.approx(2 / 3)


def test_word_vectors_prefer_the_noun_that_is_closer_to_the_hint():
    """The hint is what the twin has not: "soft"; words of both sentences do not count."""
    ids = {word: i for i, word in enumerate(("cat", "mat", "soft", "tired", "it", "was"))}
    vectors = torch.tensor([[1.0, 0], [0, 1.0], [0.6, 0.8], [5.0, 0], [3.0, 3.0], [9.0, 0]])
    words = ["cat", "mat", "it", "was"]
    twins = [Example([*words, "tired"], 2, 0), Example([*words, "soft"], 2, 1)]
    expected = torch.tensor([[1.0], [0.8 - 0.6]])
    torch.testing.assert_close(survey.vector_preference(vectors, ids, twins), expected)


def test_preference_compares_with_the_twin_s_target():
    twin = Example(CAT.words, query=2, target=4)
    maps = looking_at(2, 5)
    difference = survey.preference([maps, maps], [CAT, twin])
    assert difference.tolist() == [[1, -1], [-1, 1]]


def test_simple_scores_of_known_maps():
    scores = survey.simple_scores([looking_at(0, 7, 6)], [CAT])
    assert scores["first token"].tolist() == [1, 0, 0]
    assert scores["last token"].tolist() == [0, 1, 0]
    assert scores["full stop"].tolist() == [0, 0, 1]
    assert scores["entropy"].tolist() == [0, 0, 0]
    ahead = torch.eye(8).roll(1, dims=1)[None]  # each looks at the next
    assert survey.simple_scores([ahead], [CAT])["next word"].tolist() == [1]


def test_same_word_counts_only_where_a_word_comes_twice():
    once = Example(["a", "cat", "."], 1, 0)
    uniform = torch.full((1, 5, 5), 0.2)
    scores = survey.simple_scores([uniform, looking_at(1)], [once, CAT])
    assert scores["same word"].tolist() == [0.5]  # "the" at 0 is seen from "the" at 3, not back


def test_chance_grows_with_the_number_of_heads_and_is_beaten_by_knowledge():
    g = torch.Generator().manual_seed(0)
    one, many = torch.randn(24, 1, generator=g), torch.randn(24, 200, generator=g)
    few_heads, _ = survey.best_by_chance(one, rows_per_coin=1)
    many_heads, p = survey.best_by_chance(many, rows_per_coin=1)
    assert few_heads < many_heads < 1
    assert p > 0.05  # nothing to find
    knows = torch.cat([many, torch.ones(24, 1)], dim=1)
    assert survey.best_by_chance(knows, rows_per_coin=1)[1] < 0.01


def test_twins_are_swapped_together():
    """A head that likes one noun is right in half of the sentences, whatever the coins say."""
    likes_one_noun = torch.tensor([1.0, -1.0]).repeat(12)[:, None]
    assert survey.best_by_chance(likes_one_noun, rows_per_coin=2) == (0.5, 1.0)
    line, _ = survey.best_by_chance(likes_one_noun, rows_per_coin=1)
    assert line > 0.6  # one coin a sentence would call that luck


def test_what_twins_share_cancels_in_a_shift():
    liking, hint = torch.randn(5, 3), torch.rand(5, 3)
    twins = torch.stack([hint + liking, hint - liking], dim=1).flatten(0, 1)  # (10, 3)
    torch.testing.assert_close(survey.shifts(twins), hint)


@pytest.mark.parametrize("relation", RELATIONS)
def test_rules_of_word_classes_find_the_first_word_of_the_class(relation):
    sentences = list(examples(RELATIONS[relation]))
    direction, words = RULES[relation]
    assert all(example.words[example.target] in words for example in sentences)
    on_the_way = [
        any(
            example.words[place] in words
            for place in range(example.query + direction, example.target, direction)
        )
        or (example.target - example.query) * direction < 0
        for example in sentences
    ]
    missed = sum(on_the_way) / len(sentences)
    assert rule_accuracy(relation, sentences) == pytest.approx(1 - missed)


def test_between_nouns_no_simple_rule_finds_more_than_half():
    sentences = list(examples(BETWEEN_NOUNS))
    nouns = [place_among_nouns(example) for example in sentences]
    assert len(sentences) == 24
    assert all(0 < target < number - 1 for number, target in nouns)  # not first, not nearest
    for counts in (
        [target for _, target in nouns],
        [number - target for number, target in nouns],
        [example.target for example in sentences],
        [example.target - example.query for example in sentences],
    ):
        assert max(map(counts.count, counts)) <= 12
    assert all(example.words[example.query] in VERBS for example in sentences)
    with pytest.raises(ValueError, match="the target must be a noun before the query, got Example"):
        place_among_nouns(Example(["a", "red", "cat", "sat"], query=3, target=1))


def test_a_rule_may_find_nothing():
    assert first_of({"mouse"}, CAT, 1) is None
    assert (first_of({"dog"}, CAT, 1), first_of({"the"}, CAT, -1)) == (4, 0)
    with pytest.raises(ValueError, match=r"relation must be one of .*, got 'uncle'"):
        rule_accuracy("uncle", [CAT])
