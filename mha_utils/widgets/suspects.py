"""The files on the suspects of a bug hunt: labels, levels, and what each of them shows."""

import functools
import random
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mha_utils.museum import Bug, with_numbers
from mha_utils.museum.hunt import LEVELS

TITLES = {1: "1 · projections, scores, softmax", 2: "2 · masks", 3: "3 · dropout"}
NUM_HEADS, WIDTH = 4, 8  # of `with_numbers`
P, SEED = 0.4, 4  # of the dropout in the pictures of training
RETURNED = "The weights that the module returns. Row: query; column: key. Blank: exactly 0."
LEAK = "How strongly an output (row) depends on a token (column). Blank: not at all."
USED = "What reaches a query (row) from the values of a token (column)"
PICTURES = (  # title, is it free?, what it is; all of them causal
    *((f"weights, head {h}", True, RETURNED) for h in range(NUM_HEADS)),
    ("leak map", False, LEAK),
    ("leak map with padding", False, f"{LEAK} Token 0 is padding."),
    ("used in evaluation, head 0", False, f"{USED}."),
    ("used in training, head 0", False, f"{USED}, dropout p = {P}."),
    ("used in training, head 1", False, f"{USED}, dropout p = {P}."),
)


@functools.cache
def pictures_of(kind: type, length: int) -> Float[Tensor, "P T T"]:
    """What `PICTURES` names, all with `is_causal=True`, for one sequence of `length` tokens."""
    x = torch.randn(2, length, WIDTH, generator=torch.Generator().manual_seed(1))
    with torch.random.fork_rng(devices=[]):
        module = with_numbers(kind)
        leaks = torch.stack([_leak(module, x), _leak_with_padding(module, x)])
        with torch.no_grad():
            shown = module(x[:1], is_causal=True, need_weights=True)[1][0]
            used = [_used(kind, x[:1], training) for training in (False, True)]
    return torch.cat([shown, leaks, used[0][:1], used[1][:2]])


def _leak(module, x: Tensor) -> Tensor:
    return _leak_map(lambda one: module(one[None], is_causal=True)[0], x[0])


def _leak_with_padding(module, x: Tensor) -> Tensor:
    """The leak map of the second of two sequences; its first token is padding."""
    may = torch.ones(2, 1, 1, x.shape[1], dtype=torch.bool)
    may[1, ..., 0] = False

    def second(one):
        return module(torch.stack([x[0], one]), mask=may, is_causal=True)[1]

    return _leak_map(second, x[1])


def _leak_map(function, x: Tensor) -> Tensor:
    """The package's `leak_map`, all rows of the Jacobian at once."""
    jacobian = torch.autograd.functional.jacobian(function, x, vectorize=True)
    return jacobian.square().sum(dim=(1, 3)).sqrt()


def _used(kind: type, x: Tensor, training: bool) -> Tensor:
    """What reaches query i if the values of token j are ones and all others zeros, (H, T, T).

    `v_proj` and `out_proj` are the identity: in a right module these are the weights, dropped.
    """
    module = with_numbers(kind, P).train(training)
    for layer in (module.v_proj, module.out_proj):
        layer.weight.copy_(torch.eye(WIDTH))
        layer.bias.zero_()
    columns = []
    for one in torch.eye(x.shape[1]):
        torch.default_generator.manual_seed(SEED)
        values = one[None, :, None].expand_as(x)
        columns.append(module(x, x, values, is_causal=True)[0, :, :: WIDTH // NUM_HEADS].T)
    return torch.stack(columns, dim=-1)


def _first_alike(pictures: Float[Tensor, "M T T"]) -> list[int]:
    """For each picture the first one that looks like it: to two digits, and blank in one place."""
    a, b = torch.broadcast_tensors(pictures[:, None], pictures[None])  # isclose of torch 2.9 asks
    alike = torch.isclose(a, b, rtol=5e-3, atol=5e-3, equal_nan=True) & ((a == 0) == (b == 0))
    return np.argmax(alike.flatten(2).all(dim=2).numpy(), axis=1).tolist()


def label(bug: Bug) -> list[str]:
    """[name, room, what is wrong, where it is taught]."""
    return [bug.name, bug.room, bug.wrong, bug.place]


def levels_of(rooms: list[str], generator: random.Random) -> list:
    """[number, title, shuffled places of its pieces], for each level that has some."""
    levels = []
    for number in TITLES:
        order = [n for n, room in enumerate(rooms) if room in LEVELS[number]]
        generator.shuffle(order)
        levels += [[number, TITLES[number], order]] if order else []
    return levels


def without_repeats(pictures: torch.Tensor) -> tuple[list[list[int]], bytes]:
    """Pictures (N, P, T, T) as places (N, P) in a list of pictures that differ, and that list."""
    places, kept = [], []
    for column in pictures.unbind(dim=1):
        alike = _first_alike(column)
        firsts = sorted(set(alike))
        places.append([len(kept) + firsts.index(n) for n in alike])
        kept += [column[n] for n in firsts]
    rows = [list(row) for row in zip(*places)]
    return rows, torch.stack(kept).float().numpy().tobytes()


def require_fit(found: Mapping, probes: list[str], tokens: list[str]) -> None:
    """Raise ValueError unless there are pieces, 2 to 8 tokens, and an answer for each probe."""
    if not found:
        raise ValueError("found must name at least one piece of the museum, got none")
    if not 2 <= len(tokens) <= 8:
        raise ValueError(f"tokens must be 2 to 8 words, got {len(tokens)}")
    for name, row in found.items():
        if len(row) != len(probes):
            raise ValueError(
                f"found[{name!r}] must have {len(probes)} answers, one for each probe, "
                f"got {len(row)}"
            )
