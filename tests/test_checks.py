"""What a learner is told: right, wrong and how, or not solved yet."""

import dataclasses
import math
import re

import numpy as np
import pytest
import torch
from helpers import check_scores

from mha_utils import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    checks,
    merge_heads,
    split_heads,
)
from mha_utils.checks.tensors import SIZES, Case, Sizes, Tensors
from mha_utils.core.masks import document_mask, sliding_window_mask


def test_right_answers_pass():
    assert checks.check_attention(lambda q, k, v: attention(q, k, v)[0])
    assert checks.check_count(lambda b, t, d: b * t * d)
    assert checks.check_heads_and_width(lambda d, t, p, w: (w // t**2, p * t**2 // (3 * d * w)))
    assert checks.check_disguise(lambda w, a: w @ a.inverse().T)
    assert checks.check_one_projection(lambda w: torch.cat(list(w), dim=-1))
    assert checks.check_split(lambda x, h: split_heads(x, h).transpose(1, 2))
    assert checks.check_storage_place(lambda t, h, d, heads, dh: t * heads * dh + h * dh + d)
    assert checks.check_split_heads(split_heads)
    assert checks.check_strides(lambda *sizes: strides(*sizes))
    assert checks.check_window_mask(lambda t, s, w: sliding_window_mask(t, s, window=w))
    assert checks.check_packed_mask(lambda d: document_mask(d[None])[0, 0] & causal_mask(len(d)))
    assert checks.check_masked_weights(attention_weights)
    assert checks.check_stable_softmax(attention_weights)
    assert checks.check_scale(lambda dh, q_std, k_std: q_std * k_std * dh**0.5)
    assert checks.check_p_of(lambda b, a: next(1 - x / y for x, y in zip(b, a) if y))
    assert checks.check_some_row_lost(lambda p, t: 1 - math.prod(1 - p**n for n in range(1, t + 1)))
    assert checks.check_merge_heads(merge_heads)
    assert checks.check_project_heads(lambda heads, w: merge_heads(heads) @ w.T)
    assert checks.check_question(lambda: (4, 8, 2))


def strides(b, t, h, dh):
    return torch.empty(b, t, h * dh).view(b, t, h, dh).transpose(1, 2).stride()


class FreelyWritten(torch.nn.Module):
    """A block whose parts have no names, and whose sums are written in another way."""

    def __init__(self, *parts):
        super().__init__()
        self.parts = torch.nn.ModuleList(parts)

    def forward(self, x):
        norm, attention, *rest = self.parts
        gathered = torch.add(attention(norm(x), is_causal=True), x)
        return torch.nn.Sequential(*rest)(gathered) + gathered


def test_a_block_may_be_written_freely():
    before = torch.get_rng_state()
    report = checks.check_block(FreelyWritten)
    assert repr(report) == "✓ FreelyWritten: values and gradients right for 5 sizes"
    assert torch.equal(torch.get_rng_state(), before)


def test_every_size_and_gradient_is_tried():
    report = repr(check_scores(attention_scores))
    assert report == "✓ attention_scores: values and gradients right for 5 sizes"


EXERCISES = {n: e for n, e in vars(checks).items() if isinstance(e, Tensors)}


@pytest.mark.parametrize(
    ("name", "mistake"), [(n, m) for n, exercise in EXERCISES.items() for m in exercise.mistakes]
)
def test_known_mistakes_are_named(name, mistake):
    def wrong(*tensors):
        arrays = [t.detach().numpy() if isinstance(t, torch.Tensor) else t for t in tensors]
        with np.errstate(all="ignore"):
            return torch.tensor(np.asarray(EXERCISES[name].mistakes[mistake](*arrays)))

    report = EXERCISES[name](wrong)
    assert not report
    assert repr(report).endswith(f"\n  Your result equals: {mistake}")


def plain(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


def changes_input(q, k):
    with torch.no_grad():
        q /= q.shape[-1] ** 0.5
    return q @ k.transpose(-2, -1)


def transposed(q, k):
    return q @ k.T / q.shape[-1] ** 0.5


def raises(q, k):
    return q @ k.no_such_method()


WRONG = {
    "returns None": (lambda q, k: None, "not solved yet"),
    "returns an array": (lambda q, k: plain(q, k).detach().numpy(), "return a tensor, got ndarray"),
    "wrong shape": (lambda q, k: plain(q, k)[..., :1], "should have shape (2, 4), got (2, 1)"),
    "cuts the gradient": (lambda q, k: plain(q, k).detach(), "no gradient flows back"),
    "cuts one gradient": (lambda q, k: plain(q, k.detach()), "a wrong gradient for k"),
    "doubles one gradient": (
        lambda q, k: plain(2 * q - q.detach(), k),
        "a wrong gradient for q",
    ),
    "changes its input": (changes_input, "changes its input q in place"),
    "raises": (raises, "raised AttributeError in your line `return q @ k.no_such_method()`"),
    "turns all dimensions": (transposed, ".T` turns all dimensions around"),
    "needs two dimensions": (
        lambda q, k: torch.mm(q, k.t()) / q.shape[-1] ** 0.5,
        "raised RuntimeError",
    ),
    "needs contiguous memory": (
        lambda q, k: plain(q.view(-1).view(q.shape), k),
        "raised RuntimeError",
    ),
    "NaN": (lambda q, k: plain(q, k) * float("nan"), "right shape and wrong numbers"),
    "slightly off": (lambda q, k: plain(q, k) * 1.001 + 1e-3, "right shape and wrong numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_told_how(name):
    answer, text = WRONG[name]
    report = check_scores(answer)
    assert not report
    assert re.search(re.escape(text), repr(report)), repr(report)


def test_reports_are_the_same_every_time():
    first, second = (repr(check_scores(lambda q, k: q @ k.mT)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("answer", "text"), [(lambda t, h: t / h, "got 5.0"), (lambda t, h: h, "got 8")]
)
def test_a_check_of_numbers_says_what_it_got(answer, text):
    assert text in repr(checks.check_tokens_in_row_0(answer))


def test_a_mask_that_is_not_boolean_is_refused():
    report = checks.check_window_mask(lambda t, s, w: torch.ones(t, s).tril(s - t))
    assert "should be boolean (torch.bool), got torch.float32" in repr(report)


@pytest.mark.parametrize("name", [n for n, exercise in EXERCISES.items() if exercise.gradients])
def test_gradients_on_paper_are_those_of_small_differences(name):
    exercise, random = EXERCISES[name], np.random.default_rng(0)
    sizes = Sizes((2,), B=2, T=2, S=3, H=3, D=4, Dh=2, Dv=2)
    arrays = [random.normal(size=sizes.shape(exercise.shapes[n])) for n in exercise.inputs]
    case = Case(arrays, exercise.constants(sizes, random))
    grad_out = random.normal(size=np.shape(exercise.solve(*case.plain)))
    on_paper = exercise.gradients_of(case, grad_out)
    small = dataclasses.replace(exercise, gradients=None).gradients_of(case, grad_out)
    for a, b in zip(on_paper, small, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        ("attention_flops", lambda b, t, d: 4 * b * t * t * d, lambda b, t, d: 2 * b * t * t * d),
    ],
)
def test_costs_are_checked(check, right, wrong):
    check = getattr(checks, f"check_{check}")
    assert check(right)
    assert "should be" in check(wrong).message
    assert not check(lambda *sizes: ...)


def test_an_answer_cannot_spoil_the_next_one():
    def empties(distances):
        share = max(distances.count(n) for n in distances) / len(distances)
        distances.clear()
        return share

    def clears(documents):
        mask = document_mask(documents[None])[0, 0] & causal_mask(len(documents))
        documents.zero_()
        return mask

    for _ in range(2):
        assert checks.check_best_offset(empties)
        assert checks.check_packed_mask(clears)


def test_long_errors_are_cut():
    def raises(query_len, key_len, window):
        raise ValueError("first line\nsecond line")

    said = repr(checks.check_window_mask(raises))
    assert 'raised ValueError in your line `raise ValueError("first line' in said
    assert said.endswith("`: first line …")


def test_numbers_of_numpy_and_sizes_of_torch_count_as_plain_ones():
    assert checks.check_scale(lambda dh, q_std, k_std: np.sqrt(dh) * q_std * k_std)
    assert checks.check_strides(lambda b, t, h, dh: torch.Size((t * h * dh, dh, h * dh, 1)))
    assert not checks.check_count(lambda b, t, d: True)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("part", ["values", "gradients"])
def test_an_answer_that_is_wrong_for_one_size_is_found(size, part):
    shapes = [size.shape(letters) for letters in ("*B T Dh", "*B S Dh", "*B S Dv")]

    def answer(q, k, v):
        out, _ = attention(q, k, v)
        if [q.shape, k.shape, v.shape] == shapes:
            return out + 1 if part == "values" else out + (v - v.detach()).sum()
        return out

    report = repr(checks.check_attention(answer))
    assert f"q({', '.join(map(str, shapes[0]))})" in report


def test_letters_that_stand_together_are_multiplied():
    sizes = Sizes((8, 9), B=2, T=3, S=4, H=5, D=6, Dh=7, Dv=10)
    assert sizes.shape("*B T S") == (8, 9, 3, 4)
    assert sizes.shape("B 1 T HDh") == (2, 1, 3, 35)
    assert sizes.shape("H D Dv") == (5, 6, 10)


def test_a_mistake_of_the_museum_draws_from_a_generator_of_its_own():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert not checks.check_project_heads(lambda heads, w: merge_heads(heads) @ w)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_mistake_of_the_museum_says_where_it_is_taught():
    said = repr(checks.check_split_heads(lambda x, h: x.reshape(len(x), h, x.shape[1], -1)))
    assert "  Your result equals: direct view to heads (chapter 04, section 4).\n" in said


def test_a_stub_is_not_asked_for_a_return_that_is_there():
    def returns_none(d, h):
        return None

    def returns_what_is_none(d, h):
        return [d, h].sort()

    def stub(d, h):
        raise NotImplementedError

    def half_a_pair(d, h):
        return ..., h

    def adds(d, h):
        return d + ...

    for answer, why in (
        (returns_none, "it returned None"),
        (returns_what_is_none, "it returned None"),
        (stub, "it raised NotImplementedError"),
        (half_a_pair, "it returned `...`"),
        (adds, "a `...` is left in it"),
    ):
        expected = f"○ {answer.__name__}: not solved yet ({why})"
        assert repr(checks.check_tokens_in_row_0(answer)) == expected
