"""How an answer that makes a mask is tried on more than one device."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.judge import numbers_of, require_tensor
from mha_utils.checks.report import Report, WrongError, call_answer, name_of

SHAPES = ((4, 4), (1, 1), (2, 3, 5, 5))


def check_mask_on_every_device(answer: Callable, mistakes: dict[str, Callable]) -> Report:
    """Hold `answer(scores)` to a causal mask on the device of the scores.

    "meta" is a device without numbers that every machine has; it takes no others' tensors.
    `mistakes` are well-known wrong masks, as functions of (T, S).
    """
    for shape in SHAPES:
        expected = np.tril(np.ones(shape[-2:], dtype=bool))
        for device in ("cpu", "meta"):
            call = f"{name_of(answer)}(scores{shape} on {device!r})"
            try:
                came = call_answer(answer, [torch.zeros(shape, device=device)], call)
                require_tensor(came, expected, call)
                _require_mask(came, expected, mistakes, call)
            except WrongError as wrong:
                return Report(False, str(wrong))
    return Report(True, f"✓ {name_of(answer)}: right on every device")


def _require_mask(came: Tensor, expected: np.ndarray, mistakes: dict, call: str) -> None:
    device = "meta" if "'meta'" in call else "cpu"
    if came.device.type != device:
        raise WrongError(f"✗ {call} is on {came.device.type!r}: make it with device=scores.device")
    if device != "cpu":
        return
    found = numbers_of(came, call).astype(bool)
    if np.array_equal(found, expected):
        return
    hint = _hint(found, expected, mistakes)
    raise WrongError(f"✗ {call} is not True on and below the diagonal and False above{hint}")


def _hint(came: np.ndarray, expected: np.ndarray, mistakes: dict) -> str:
    if np.array_equal(came, ~expected):
        return "\n  Your mask is the other way round: True = may attend"
    named = [n for n, wrong in mistakes.items() if np.array_equal(came, wrong(*came.shape))]
    return f"\n  Your result equals: {named[0]}" if named else ""
