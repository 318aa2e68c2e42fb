"""The head explorer goes on to values and outputs, in Python as in torch."""

import re

import numpy as np
import pytest
import torch

from mha_utils import attention, causal_mask, data, split_heads, widgets

W_Q, W_K, W_V = data.toy_head_weights()
KNOWN = data.toy_vocabulary()
X = data.toy_word_vectors(KNOWN)
FEATURES = {"features": data.WORD_FEATURES, "feature_q": W_Q, "feature_k": W_K}


def x(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def words(count: int) -> list[str]:
    return [f"w{i}" for i in range(count)]


def toy(sentence: str = data.SENTENCE, **options) -> widgets.HeadExplorer:
    """The explorer of chapter 01 with its values."""
    options = {"v": X @ W_V} | options
    return widgets.HeadExplorer(list(KNOWN.words), X @ W_Q, X @ W_K, sentence, **options)


def random_view(heads: int, count: int, dim: int = 3, **options) -> tuple:
    q, k, v = *x(2, heads, count, 5), x(heads, count, dim, seed=1)
    return q, k, v, widgets.HeadExplorer(words(count), q, k, v=v, **options)


@pytest.mark.parametrize(("causal", "temperature"), [(False, 1.0), (True, 1.0), (True, 2.5)])
def test_output_is_that_of_torch(causal, temperature):
    q, k, v, view = random_view(3, 9, causal=causal, temperature=temperature)
    view.length = 7
    q, k, v = (rows[:, :7] for rows in (q, k, v))
    expected = attention(q / temperature, k, v, causal_mask(7) if causal else None)[0]
    np.testing.assert_array_equal(view.values(), v)
    np.testing.assert_allclose(view.output(), expected, atol=1e-6)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4, 6, 12])
def test_values_are_cut_as_queries_are(num_heads):
    whole = x(3, 1, 7, 12)  # (B, T, D) each
    given = [split_heads(rows, 3)[0] for rows in whole]
    view = widgets.HeadExplorer(words(7), *given[:2], v=given[2], resplit=True)
    view.num_heads = num_heads
    cut = [split_heads(rows, num_heads) for rows in whole]
    np.testing.assert_array_equal(view.values(), cut[2][0])
    np.testing.assert_allclose(view.output(), attention(*cut)[0][0], atol=1e-6)


def test_a_learned_word_has_a_value():
    view = toy("the cat sat", **FEATURES, feature_v=W_V)
    view.sentence = "the yak sat"
    view.learn("yak", "thing", "alive")
    assert view.values()[0, 1].tolist() == [1, 1, 0]
    with_yak = X[KNOWN.encode("the the sat")].clone()
    with_yak[1] = torch.tensor([1.0, 1, 0, 0, 0, 0])
    expected = attention(with_yak @ W_Q, with_yak @ W_K, with_yak @ W_V)[0]
    np.testing.assert_allclose(view.output()[0], expected, atol=1e-6)


def test_values_in_half_precision_and_of_one_head():
    v = x(6, 4).half()
    view = widgets.HeadExplorer(words(6), x(6, 3), x(6, 3), v=v)
    assert len(view.v) == 2 * v.numel()
    np.testing.assert_array_equal(view.values()[0], v.float())


def test_the_sentence_stays_without_a_word_about_values():
    assert toy(row=7).finding() == toy(row=7, v=None).finding()
    view = toy()
    view.sentence = ""
    assert view.output().shape == (1, 0, 3)


WRONG = {
    "v must be (H, 2, Dv) or (2, Dv) for 2 words, got (3, 4)": {"v": x(3, 4)},
    "v must have H = 2 as q, got (1, 2, 4)": {"v": x(2, 4)},
    "v must be (2, 2, 4) as q with resplit=True, got (2, 2, 3)": {
        "v": x(2, 2, 3),
        "resplit": True,
    },
    "v must hold finite numbers, got nan": {"v": torch.full((2, 2, 4), torch.nan)},
    "feature_v needs v: the values of the words": {"feature_v": x(2, 1, 4)},
    "features needs feature_q, feature_k and feature_v: what each one adds to q, k and v": {
        "v": x(2, 2, 4),
        "features": {"round": "a"},
        "feature_q": x(2, 1, 4),
        "feature_k": x(2, 1, 4),
    },
    "feature_v must be (H, 1, Dv) or (1, Dv) for 1 words, got (2, 2, 4)": {
        "v": x(2, 2, 4),
        "features": {"round": "a"},
        "feature_q": x(2, 1, 4),
        "feature_k": x(2, 1, 4),
        "feature_v": x(2, 2, 4),
    },
    "feature_v must have H = 2 and Dv = 4 as v, got (2, 1, 3)": {
        "v": x(2, 2, 4),
        "features": {"round": "a"},
        "feature_q": x(2, 1, 4),
        "feature_k": x(2, 1, 4),
        "feature_v": x(2, 1, 3),
    },
}


@pytest.mark.parametrize("text", WRONG)
def test_says_what_does_not_fit(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        widgets.HeadExplorer(["a", "b"], x(2, 2, 4), x(2, 2, 4), **WRONG[text])


def test_a_view_without_values_says_so():
    for ask in (toy(v=None).values, toy(v=None).output):
        with pytest.raises(ValueError, match=r"^this view has no values: it was made without v$"):
            ask()
