"""What a learner is told: right, wrong and how, or not solved yet."""

import re

import numpy as np
import pytest
import torch

from mha_utils import attention, attention_scores, attention_weights, checks, tasks


def test_right_answers_pass():
    assert checks.check_attention_scores(attention_scores)
    assert checks.check_attention_weights(attention_weights)
    assert checks.check_attention(lambda q, k, v: attention(q, k, v)[0])
    assert checks.check_head_dim(lambda d, h: d // h)
    assert checks.check_count(lambda b, t, d: b * t * d)
    assert checks.check_parameter_count(lambda d, h, dh: 3 * h * d * dh)
    assert checks.check_stacked_heads(stacked)


def stacked(x, w_q, w_k, w_v):
    heads, _ = attention(x @ w_q, x @ w_k, x @ w_v)
    return torch.cat(list(heads), dim=-1)


def test_every_size_and_gradient_is_tried():
    report = repr(checks.check_attention_scores(attention_scores))
    assert report == "✓ attention_scores: values and gradients right for 5 sizes"


TASKS = {
    "scores": (tasks.SCORES, checks.check_attention_scores),
    "weights": (tasks.WEIGHTS, checks.check_attention_weights),
    "attention": (tasks.ATTENTION, checks.check_attention),
    "stacked": (tasks.STACKED, checks.check_stacked_heads),
}


@pytest.mark.parametrize(
    ("task", "mistake"), [(t, m) for t, (task, _) in TASKS.items() for m in task.mistakes]
)
def test_known_mistakes_are_named(task, mistake):
    description, check = TASKS[task]

    def wrong(*tensors):
        arrays = [t.detach().double().numpy() for t in tensors]
        return torch.tensor(np.asarray(description.mistakes[mistake](*arrays)))

    report = check(wrong)
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
