"""Words that nobody has given a vector: learned in Python, and in the explorer by ticking boxes."""

import re

import numpy as np
import pytest
from traitlets import TraitError
from view_host import axe_violations, finding, host, needs_browser, set_traits, wear_theme
from view_units import evaluate

from mha_utils import data, widgets
from tools.browser.lab import browser

W_Q, W_K, _ = data.toy_head_weights()
KNOWN = data.toy_vocabulary()
X = data.toy_word_vectors(KNOWN)
WEIGHTS = "({ compute }, _, model) => compute(model).weights"


def explorer(sentence: str = "the cat sat", **changes) -> widgets.HeadExplorer:
    given = {"features": data.WORD_FEATURES, "feature_q": W_Q, "feature_k": W_K}
    return widgets.HeadExplorer(list(KNOWN.words), X @ W_Q, X @ W_K, sentence, **given | changes)


def after(sentence: str, **changes) -> widgets.HeadExplorer:
    view = explorer(**changes)
    view.sentence = sentence
    return view


# ---- in Python ---------------------------------------------------------------------------


@pytest.fixture
def features(monkeypatch):
    monkeypatch.setattr(data, "WORD_FEATURES", dict(data.WORD_FEATURES))


def test_a_learned_word_has_a_vector(features):
    data.learn_word("Banana", "thing", "state")
    vocabulary = data.toy_vocabulary()
    assert len(vocabulary) == 29
    (row,) = data.toy_word_vectors(vocabulary)[vocabulary.encode("banana")]
    assert row.tolist() == [1, 0, 0, 0, 1, 0]


def test_a_word_is_learned_anew_and_forgotten(features):
    before = dict(data.WORD_FEATURES)
    for given in (("thing",), ("alive", "action"), ("alive", "action"), ()):
        data.learn_word("banana", *given)
        assert {name for name, words in data.WORD_FEATURES.items() if "banana" in words} == {*given}
    assert before == data.WORD_FEATURES


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("two words", "thing"), "word must be one word, got 'two words'"),
        (("!", "thing"), "word must be one word, got '!'"),
        (("banana", "fruit"), f"features must be some of {data.FEATURES}, got ['fruit']"),
    ],
)
def test_what_can_not_be_learned_is_named(given, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        data.learn_word(*given)


# ---- in the explorer, in Python ------------------------------------------------------------


def test_a_new_word_is_a_row_without_features():
    view = after("the banana sat")
    assert view.tokens == ["the", "banana", "sat"]
    assert view.learned == [["banana", []]]
    np.testing.assert_allclose(view.weights()[0, 1], 1 / 3, atol=1e-6)
    assert view.finding().endswith(" New, without a feature: banana.")


def test_the_first_sentence_may_have_new_words():
    view = explorer("the yak sat")
    assert (view.tokens, view.length, view.learned) == (["the", "yak", "sat"], 3, [["yak", []]])


def test_with_its_features_it_is_as_a_word_that_has_them():
    view = after("the banana sat", causal=True)
    view.learn("banana", "alive", "thing")  # as a cat
    assert view.learned == [["banana", [0, 1]]]
    expected = explorer("the cat sat", causal=True).weights()
    np.testing.assert_allclose(view.weights(), expected, atol=1e-6)
    assert "New" not in view.finding()


def test_in_several_heads_as_well():
    parts = [w.T.unflatten(0, (2, 2)).mT for w in (W_Q, W_K)]  # (H, features, Dh)
    q, k = (X @ part for part in parts)
    options = {"features": data.WORD_FEATURES, "feature_q": parts[0], "feature_k": parts[1]}
    view = widgets.HeadExplorer(list(KNOWN.words), q, k, "the cat", resplit=True, **options)
    expected = {}
    for heads in (2, 1, 4):
        view.sentence, view.num_heads = "the cat sat", heads
        expected[heads] = view.weights()
        view.sentence = "the yak sat"
        view.learn("yak", "thing", "alive")
        np.testing.assert_allclose(view.weights(), expected[heads], atol=1e-6)


def test_half_a_word_is_forgotten_and_a_ticked_one_is_kept():
    view = explorer()
    for n in range(1, 7):
        view.sentence = f"the {'banana'[:n]}"
    assert view.learned == [["banana", []]]
    view.learn("banana", "thing")
    view.sentence = "the yak"
    assert view.learned == [["banana", [0]], ["yak", []]]
    view.sentence = "the cat"
    assert view.learned == [["banana", [0]]]


def test_at_most_eight_are_learned_and_the_others_named():
    view = after("aa bb cc dd ee ff gg hh ii jj aa")
    assert len(view.learned) == 8
    assert len(view.tokens) == 9
    assert view.finding().endswith(
        " New, without a feature: aa, bb, cc, dd, ee, ff, gg, hh. Not in the vocabulary: ii, jj."
    )


def test_without_features_nothing_is_learned():
    view = after("the banana sat", features=None)
    assert (view.tokens, view.learned) == (["the", "sat"], [])
    assert view.finding().endswith(" Not in the vocabulary: banana.")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"feature_q": None},
            "features needs feature_q and feature_k: what each one adds to q and k",
        ),
        ({"feature_k": W_K[:, :2]}, "feature_k must have H = 1 and Dh = 4 as q, got (1, 6, 2)"),
        (
            {"feature_k": W_K[:3]},
            "feature_k must be (H, 6, Dh) or (6, Dh) for 6 words, got (3, 4)",
        ),
    ],
)
def test_features_have_to_fit(changes, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        explorer(**changes)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("cat", "thing"), "word must be one of ['banana'], got 'cat'"),
        (("banana", "fruit"), f"feature must be one of {list(data.FEATURES)}, got 'fruit'"),
    ],
)
def test_only_new_words_get_features_that_there_are(given, text):
    view = after("the banana")
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        view.learn(*given)


def test_a_feature_that_is_not_there_is_refused():
    view = after("the banana")
    with pytest.raises(TraitError, match=r"^feature of 'banana' must be 0 to 5, got 6$"):
        view.learned = [["banana", [6]]]
    assert view.learned == [["banana", []]]


# ---- in the page ---------------------------------------------------------------------------


@pytest.mark.parametrize("places", [[], [0], [0, 1], [2, 3, 4]])
@pytest.mark.parametrize("causal", [False, True])
def test_javascript_computes_the_same_weights(places, causal):
    view = after("a yak and a banana", causal=causal)
    view.learned = [["yak", [1]], ["banana", places]]
    found = evaluate("head_explorer/state.js", WEIGHTS, view=view)
    np.testing.assert_allclose(np.reshape(found, (5, 5)), view.weights()[0], atol=1e-5)


@pytest.mark.parametrize("sentence", ["the cat", "ba banana", "b c d e f g h i j k", "Yak yak"])
def test_both_sides_learn_the_same_words(sentence):
    view = explorer()
    view.sentence = "the yak and the emu"
    view.learn("yak", "alive")
    given = [view.words, view.learned, sentence]
    found = evaluate("head_explorer/learning.js", "(m, given) => m.withNewWords(...given)", given)
    view.sentence = sentence
    assert found == view.learned


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@needs_browser
def test_boxes_are_ticked_for_a_word_that_is_typed(page):
    view = explorer()
    host(page, view)
    assert page.locator("fieldset").count() == 0
    page.get_by_label("sentence").fill("the banana sat")
    view.sentence = "the banana sat"
    assert finding(page) == view.finding()
    group = page.get_by_role("group", name="“banana” is new. Tick what it is:")
    assert group.get_by_role("checkbox").count() == len(data.FEATURES)
    for feature in ("thing", "alive"):
        group.get_by_label(feature).press("Space")
        assert group.get_by_label(feature).evaluate("(box) => box === document.activeElement")
    assert page.evaluate("() => window.model.get('learned')") == [["banana", [0, 1]]]
    view.learn("banana", "thing", "alive")
    assert finding(page) == view.finding()
    set_traits(page, view, learned=[["banana", [4]]])
    assert [box.is_checked() for box in group.get_by_role("checkbox").all()] == [
        feature == "state" for feature in data.FEATURES
    ]
    assert finding(page) == view.finding()


@needs_browser
def test_the_vocabulary_is_folded_and_grows(page):
    view = explorer()
    host(page, view)
    assert page.locator("summary").inner_text() == "Vocabulary: 28 words"
    assert not page.get_by_text("alive:").is_visible()
    set_traits(page, view, sentence="a yak", learned=[["yak", [1]]])
    page.locator("summary").press("Enter")
    assert page.locator("summary").inner_text() == "Vocabulary: 29 words"
    assert page.get_by_text("alive: cat, dog, girl, boy, she, he, yak").is_visible()


@needs_browser
def test_without_features_there_is_nothing_to_unfold(page):
    host(page, explorer(features=None))
    assert page.locator("summary").count() == 0


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_boxes_fit_and_axe_has_nothing_to_say(page, theme, width):
    page.set_viewport_size({"width": width, "height": 900})
    view = after("a banana and a yak")
    host(page, view)
    wear_theme(page, view, theme)
    page.locator("summary").click()
    over = page.locator(".mha-view").evaluate("(root) => root.scrollWidth - root.clientWidth")
    assert over <= 0
    assert axe_violations(page) == []
    page.set_viewport_size({"width": 1400, "height": 1000})
