"""What a learner is told: right, wrong and how, or not solved yet."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from mha_utils import (
    MultiHeadAttention,
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    checks,
    merge_heads,
    split_heads,
)
from mha_utils.checks.tensors import SIZES, Case, Tensors


def test_right_answers_pass():
    assert checks.check_attention_scores(attention_scores)
    assert checks.check_attention_weights(attention_weights)
    assert checks.check_attention(lambda q, k, v: attention(q, k, v)[0])
    assert checks.check_head_dim(lambda d, h: d // h)
    assert checks.check_count(lambda b, t, d: b * t * d)
    assert checks.check_parameter_count(lambda d, h, dh: 3 * h * d * dh)
    assert checks.check_stacked_heads(stacked)
    assert checks.check_one_projection(lambda w: torch.cat(list(w), dim=-1))
    assert checks.check_split(lambda x, h: split_heads(x, h).transpose(1, 2))
    assert checks.check_storage_place(lambda t, h, d, heads, dh: t * heads * dh + h * dh + d)
    assert checks.check_split_heads(split_heads)
    assert checks.check_strides(lambda *sizes: strides(*sizes))
    assert checks.check_causal_mask(causal_mask)
    assert checks.check_masked_weights(attention_weights)
    assert checks.check_stable_softmax(attention_weights)
    assert checks.check_scale(lambda dh, q_std, k_std: q_std * k_std * dh**0.5)
    assert checks.check_drop_weights(lambda w, p, draw: w * (draw >= p) / (1 - p))
    assert checks.check_lost_row(lambda p, n: p**n)
    assert checks.check_merge_heads(merge_heads)
    assert checks.check_project_heads(lambda heads, w: merge_heads(heads) @ w.T)
    assert checks.check_multi_head(multi_head)
    assert checks.check_module_parameter_count(lambda d, h: count_parameters(d, h))


def strides(b, t, h, dh):
    return torch.empty(b, t, h * dh).view(b, t, h, dh).transpose(1, 2).stride()


def count_parameters(embed_dim, num_heads):
    return sum(p.numel() for p in MultiHeadAttention(embed_dim, num_heads).parameters())


def multi_head(x, w_q, w_k, w_v, w_out, num_heads, mask):
    module = MultiHeadAttention(x.shape[-1], num_heads, bias=False)
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    weights = {f"{n}.weight": w for n, w in zip(names, (w_q, w_k, w_v, w_out))}
    return torch.func.functional_call(module, weights, (x,), {"mask": mask})


def stacked(x, w_q, w_k, w_v):
    heads, _ = attention(x @ w_q, x @ w_k, x @ w_v)
    return torch.cat(list(heads), dim=-1)


def test_every_size_and_gradient_is_tried():
    report = repr(checks.check_attention_scores(attention_scores))
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
    last = repr(report).splitlines()[-1]
    assert last == f"  Your result equals: {mistake}"


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
    report = checks.check_attention_scores(answer)
    assert not report
    assert re.search(re.escape(text), repr(report)), repr(report)


def test_reports_are_the_same_every_time():
    first, second = (repr(checks.check_attention_scores(lambda q, k: q @ k.mT)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("answer", "text"), [(lambda d, h: d / h, "4.0"), (lambda d, h: h, "3")])
def test_head_dim_says_what_came(answer, text):
    assert text in repr(checks.check_head_dim(answer))


def test_a_mask_that_is_not_boolean_is_refused():
    report = checks.check_causal_mask(lambda t, s: torch.ones(t, s).tril(s - t))
    assert "should be boolean (torch.bool), got torch.float32" in repr(report)


@pytest.mark.parametrize("name", [n for n, exercise in EXERCISES.items() if exercise.gradients])
def test_gradients_on_paper_are_those_of_small_differences(name):
    exercise, sizes, random = EXERCISES[name], ((2,), 2, 3, 2, 2), np.random.default_rng(0)
    arrays = [random.normal(size=exercise.shapes(*sizes)[n]) for n in exercise.inputs]
    case = Case(arrays, exercise.constants(*sizes, random))
    grad_out = random.normal(size=np.shape(exercise.solve(*case.plain)))
    on_paper = exercise.gradients_of(case, grad_out)
    small = dataclasses.replace(exercise, gradients=None).gradients_of(case, grad_out)
    for a, b in zip(on_paper, small, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_mask_belongs_beside_the_scores():
    def right(scores):
        return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()

    def on_the_cpu(scores):
        return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()

    def inverted(scores):
        return ~right(scores)

    def shifted(scores):
        return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(-1)

    assert checks.check_mask_beside(right).message == "✓ right: right on every device"
    says = "scores(2, 2) on 'meta') is on 'cpu': make it with device=scores.device"
    assert says in checks.check_mask_beside(on_the_cpu).message
    assert "the other way round: True = may attend" in checks.check_mask_beside(inverted).message
    wrong = checks.check_mask_beside(shifted).message
    assert "is wrong at [0, 0]: it should be True there" in wrong
    assert "other way round" not in wrong
    assert "not solved yet" in checks.check_mask_beside(lambda scores: ...).message


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        ("attention_flops", lambda b, t, d: 4 * b * t * t * d, lambda b, t, d: 2 * b * t * t * d),
        ("map_bytes", lambda b, h, t, n: b * h * t**2 * n, lambda b, h, t, n: b * h * t**2),
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

    def reverses(offsets, seq_len):
        offsets.reverse()
        return torch.stack([torch.eye(seq_len).roll(-n, dims=1) for n in reversed(offsets)])

    for _ in range(2):
        assert checks.check_best_offset(empties)
        assert checks.check_lookup_weights(reverses)


def test_long_errors_are_cut():
    def raises(query_len, key_len):
        raise ValueError("first line\nsecond line")

    said = repr(checks.check_causal_mask(raises))
    assert 'raised ValueError in your line `raise ValueError("first line' in said
    assert said.endswith("`: first line …")


def test_numbers_of_numpy_and_sizes_of_torch_count_as_plain_ones():
    assert checks.check_scale(lambda dh, q_std, k_std: np.sqrt(dh) * q_std * k_std)
    assert checks.check_strides(lambda b, t, h, dh: torch.Size((t * h * dh, dh, h * dh, 1)))
    assert not checks.check_count(lambda b, t, d: True)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("part", ["values", "gradients"])
def test_an_answer_that_is_wrong_for_one_size_is_found(size, part):
    lead, t, s, dh, dv = size

    def answer(q, k, v):
        out, _ = attention(q, k, v)
        if q.shape == (*lead, t, dh) and k.shape[-2] == s and v.shape[-1] == dv:
            return out + 1 if part == "values" else out + (v - v.detach()).sum()
        return out

    report = repr(checks.check_attention(answer))
    assert f"q({', '.join(map(str, (*lead, t, dh)))})" in report
