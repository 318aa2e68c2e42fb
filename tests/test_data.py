"""Sentences, words and hand-made numbers: any script, any length, any default dtype."""

import inspect

import pytest
import torch

from mha_utils import data

WORDS = {
    "The cat sat, on the mat!": "the cat sat on the mat",
    "Die müde Katze saß auf der Straße": "die müde katze saß auf der straße",
    "Кошка сидела; ей было уютно": "кошка сидела ей было уютно",
    "हिन्दी भाषा": "हिन्दी भाषा",  # vowel signs are marks, not letters
    "猫は座った。 犬も": "猫は座った 犬も",
    "قطة صغيرة": "قطة صغيرة",
    "It's 'quoted', don’t": "it's quoted don’t",
    "3 well-known cats_and dogs": "3 well known cats and dogs",
    "e\u0301te\u0301": "été",  # an accent as a character of its own
    "a\nb\tc\u00a0d\u200be": "a b c d e",
    "\ud800 <!--<script> -->": "script",
    "' ’ -- …": "",
}


@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_words_of_any_script(text):
    assert data.split_words(text) == WORDS[text].split()


def test_a_word_has_a_number_and_comes_back():
    vocabulary = data.Vocabulary("Die müde Katze, die MÜDE Катя")
    assert vocabulary.words == ("die", "katze", "müde", "катя")
    ids = vocabulary.encode("Müde Катя! Die KATZE?")
    assert ids.tolist() == [2, 3, 0, 1]
    assert vocabulary.decode(ids) == ["müde", "катя", "die", "katze"]


def test_ids_are_whole_numbers():
    decode = inspect.unwrap(data.Vocabulary.decode)  # the suite's own type check would speak first
    with pytest.raises(ValueError, match=r"^ids must be between 0 and 1, got \[0\.0, 1\.5\]$"):
        decode(data.Vocabulary("a cat"), torch.tensor([0.0, 1.5]))


def test_ten_thousand_words():
    words = [f"w{n}" for n in range(10_000)]
    vocabulary = data.Vocabulary(" ".join(words))
    assert len(vocabulary) == 10_000
    assert vocabulary.decode(vocabulary.encode(" ".join(words[::-1]))) == words[::-1]
    with pytest.raises(ValueError, match=r"unknown words \['cat'\]; .*\.\.\. 10000 in all'\]$"):
        vocabulary.encode("cat")


def test_every_toy_word_has_its_features_and_no_others():
    vocabulary = data.toy_vocabulary()
    vectors = data.toy_word_vectors(vocabulary)
    assert vectors.shape == (28, 6)
    for word, vector in zip(vocabulary.words, vectors.tolist()):
        has = {f for f, words in data.WORD_FEATURES.items() if word in words.split()}
        assert has
        assert vector == [float(feature in has) for feature in data.FEATURES]


def test_a_vocabulary_of_another_order_takes_its_rows_along():
    vocabulary = data.Vocabulary("mat cat")
    everything = data.toy_word_vectors(data.toy_vocabulary())
    ids = data.toy_vocabulary().encode("cat mat")
    assert torch.equal(data.toy_word_vectors(vocabulary), everything[ids])


def test_hand_made_heads_let_it_look_at_the_cat():
    """By hand: "it" stands for something; a cat is a thing (2) and alive (2)."""
    vocabulary = data.toy_vocabulary()
    x = data.toy_word_vectors(vocabulary)[vocabulary.encode("it cat mat was")]
    W_q, W_k, W_v = data.toy_head_weights()
    assert (x @ W_q)[0].tolist() == [2, 2, 0, 0]
    assert (x @ W_k).tolist() == [[1, 0, 0, 0], [2, 2, 0, 0], [2, 0, 0, 0], [0, 0, 2, 0]]
    assert (x @ W_v).tolist() == [[0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_the_ids_of_the_news_have_holes():
    words, ids = data.news_word_ids()
    assert len(words) == len(ids) == 13
    assert words[4:6] == ["it", "it"]
    assert ids[4] == ids[5]
    assert [sorted(words)[i] for i in ids.tolist()] == words
    assert set(range(13)) - set(ids.tolist()) == {sorted(words).index(w) for w in ("it", "to")}


def test_published_numbers_are_read_in_order():
    assert data.published(" 1.5 -2\n  3e-1 ").tolist() == pytest.approx([1.5, -2, 0.3])
    sizes = {"NEWS_CONTEXT": 28, "NEWS_COLUMN": 13, "NEWS_FOUR_HEADS": 52, "WALK_QUERIES": 36}
    sizes |= {"NEWS_THREE_QUERIES": 12, "WALK_SCORES": 48, "WALK_WEIGHTS": 48, "WALK_KEPT": 48}
    sizes |= {"WALK_CONTEXT": 36}
    for name, size in sizes.items():
        assert data.published(getattr(data, name)).shape == (size,), name


def test_the_walk_draws_what_was_published():
    """Queries of sequence 0 after split and transpose, and scores of sequence 1."""
    x, q, k, _ = data.walk_projections()
    q, k = (tokens.view(2, 4, 3, 3).transpose(1, 2) for tokens in (q, k))
    assert x.shape == (2, 4, 9)
    torch.testing.assert_close(q[0].flatten(), data.published(data.WALK_QUERIES), atol=1e-4, rtol=0)
    scores = (q[1] @ k[1].transpose(1, 2)).flatten()
    torch.testing.assert_close(scores, data.published(data.WALK_SCORES), atol=1e-4, rtol=0)


def everything() -> dict[str, torch.Tensor]:
    vocabulary = data.toy_vocabulary()
    W_q, W_k, W_v = data.toy_head_weights()
    found = {"x": data.toy_word_vectors(vocabulary), "q": W_q, "k": W_k, "v": W_v}
    found |= dict(zip(("walk", "walk q", "walk k", "walk v"), data.walk_projections()))
    return found | {"published": data.published(data.NEWS_CONTEXT)}


def test_the_default_dtype_changes_no_number():
    state, before = torch.get_rng_state(), everything()
    torch.set_default_dtype(torch.float64)
    try:
        after = everything()
    finally:
        torch.set_default_dtype(torch.float32)
    assert {tensor.dtype for tensor in after.values()} == {torch.float64}
    for name, tensor in before.items():
        torch.testing.assert_close(after[name].float(), tensor, atol=1e-6, rtol=0)
    assert torch.equal(torch.get_rng_state(), state)


def test_words_without_features_get_a_row_of_zeros_on_request():
    vocabulary = data.toy_vocabulary("The lion sat.")
    assert len(vocabulary) == len(data.toy_vocabulary()) + 1
    with pytest.raises(ValueError, match="no hand-made vector for"):
        data.toy_word_vectors(vocabulary)
    vectors = data.toy_word_vectors(vocabulary, strict=False)
    lion, cat = vocabulary.encode("lion cat")
    assert not vectors[lion].any()
    assert vectors[cat].any()
