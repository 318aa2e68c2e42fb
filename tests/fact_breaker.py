"""Change, one at a time, what a fact speaks of, until it no longer holds."""

import copy
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mha_utils.facts import why_not

VARIANTS = 11  # 0, 1 and 2 change all numbers
LONGER, WIDER, MOVED, NAN = 3, 4, 5, 6
ITEMS = {7: 0, 8: -1, 9: 1, 10: 2}  # these change one item alone


def names_in(code: types.CodeType) -> set[str]:
    """Names that a function reads, with those of functions inside."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def is_breakable(condition: Callable) -> bool:
    """Whether some other value of something that it reads makes it false, not only an error."""
    space = condition.__globals__
    for name in sorted(names_in(condition.__code__) & set(space)):
        right = space[name]
        if isinstance(right, types.ModuleType) or name == "close":
            continue
        for variant in range(VARIANTS):
            space[name] = changed(right, variant)
            try:
                if is_false(condition):
                    return True
            finally:
                space[name] = right
    found = (breaks_by_cells, breaks_by_constants, breaks_by_equals)
    return any(breaks(condition) for breaks in found)


def breaks_by_cells(condition: Callable) -> bool:
    """The same for what the function around it has made."""
    for cell in condition.__closure__ or ():
        right = cell.cell_contents
        for variant in range(VARIANTS):
            cell.cell_contents = changed(right, variant)
            try:
                if is_false(condition):
                    return True
            finally:
                cell.cell_contents = right
    return False


def breaks_by_equals(condition: Callable) -> bool:
    """The same where two things that it reads become one."""
    space = condition.__globals__
    names = sorted(names_in(condition.__code__) & set(space))
    for name, other in itertools.permutations(names, 2):
        right = space[name]
        space[name] = space[other]
        try:
            if type(right) is type(space[other]) and is_false(condition):
                return True
        finally:
            space[name] = right
    return False


def breaks_by_constants(condition: Callable) -> bool:
    """The same for the numbers that are written in it."""
    right = condition.__code__
    for place, constant in enumerate(right.co_consts):
        if not isinstance(constant, int | float) or isinstance(constant, bool):
            continue
        for other in (constant + 1, constant - 1, -constant, 0, 100 * constant + 10):
            constants = (*right.co_consts[:place], other, *right.co_consts[place + 1 :])
            condition.__code__ = right.replace(co_consts=constants)
            try:
                if is_false(condition):
                    return True
            finally:
                condition.__code__ = right
    return False


def is_false(condition: Callable) -> bool:
    """Whether it says so itself: an error would prove nothing about the condition."""
    try:
        value = condition()
    except Exception:
        return False
    return why_not(lambda: value) is not None


def changed(value: Any, variant: int) -> Any:
    """Something of the same kind: other numbers, another shape, or another place in memory."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | float | complex | np.number):
        return value + (1, -1, 7)[variant % 3]
    if isinstance(value, str):
        return (value[::-1], value + "?", "")[variant % 3]
    if isinstance(value, Tensor):
        return changed_tensor(value.detach(), variant)
    if isinstance(value, np.ndarray):
        return changed_tensor(torch.from_numpy(value.copy()), variant).numpy()
    if isinstance(value, dict):
        return dict(zip(value, changed_items(list(value.values()), variant)))
    if isinstance(value, list | tuple | set | range):
        items = changed_items(list(value), variant)
        if hasattr(value, "_fields"):  # a named tuple
            return type(value)(*items[: len(value)])
        return type(value)(items) if type(value) in (list, tuple, set) else items
    if isinstance(value, nn.Module):
        return changed_module(value, variant)
    if isinstance(value, type) or value is None:
        return value
    return Changed(value, variant)


def changed_items(items: list, variant: int) -> list:
    if variant == LONGER and items:
        return [*items, items[0]]
    if variant in ITEMS:
        place = ITEMS[variant] % max(len(items), 1)
        return [changed(item, 0) if n == place else item for n, item in enumerate(items)]
    return [changed(item, variant) for item in items]


def changed_tensor(tensor: Tensor, variant: int) -> Tensor:
    if variant in (LONGER, WIDER) and tensor.ndim:
        return torch.cat([tensor, tensor], dim=0 if variant == LONGER else -1)
    if variant in ITEMS and tensor.ndim and len(tensor):
        other, place = tensor.clone(), ITEMS[variant] % len(tensor)
        other[place] = changed_tensor(tensor[place], 0)
        return other
    if variant == MOVED:
        return tensor.mT.contiguous().mT if tensor.ndim > 1 else tensor.clone()
    if variant == NAN and tensor.is_floating_point():
        return torch.full_like(tensor, torch.nan)
    variant %= 3
    if tensor.dtype == torch.bool:
        return (~tensor, torch.zeros_like(tensor), torch.ones_like(tensor))[variant]
    noise = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(variant))
    far = tensor + (9 * noise.to(tensor.device) + 1).to(tensor.dtype)
    return (far, -tensor - 1, torch.zeros_like(tensor))[variant]


def changed_module(module: nn.Module, variant: int) -> nn.Module:
    other = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(changed_tensor(parameter, variant % 3))
    return other


class Changed:
    """Stands in the place of an object or a function: what comes out of it is changed."""

    def __init__(self, right: Any, variant: int):
        self.__dict__ |= {"right": right, "variant": variant, "calls": 0}

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = changed(getattr(self.right, name), self.variant)
        return self.__dict__[name]

    def __call__(self, *given, **named) -> Any:
        result = self.right(*given, **named)
        self.__dict__["calls"] = self.calls + 1
        if self.variant in ITEMS:  # one call alone
            return changed(result, 0) if self.calls == ITEMS[self.variant] + 1 else result
        return changed(result, self.variant)

    def __getitem__(self, place) -> Any:
        return changed(self.right[place], self.variant)

    def __bool__(self) -> bool:
        return not self.right

    def __len__(self) -> int:
        return len(self.right) + 1

    def __iter__(self) -> Iterator:
        return (changed(item, self.variant) for item in self.right)
