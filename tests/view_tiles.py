"""What the maps of several processes must show, worked out from their traits with torch."""

import torch
from view_pictures import HATCH, of, require_colour

from mha_utils import theme


def shares(number: int, processes: int) -> torch.Tensor:
    return torch.arange(number) * processes // number


def process_tiles(view, seen) -> None:
    """Every tile that a process holds stands in its map, in its colour, and no other does."""
    (picture,) = seen["pictures"]
    P, T = view.num_processes, view.seq_len
    texts, tiles = of(picture, "text"), of(picture, "rect")
    titles = [t for t in texts if t["text"].startswith("process")]
    assert [t["text"] for t in titles] == [f"process {rank}" for rank in range(P)]
    side = tiles[0]["w"] + 1
    found = iter(tiles)
    for rank, title in enumerate(titles):
        left, top = title["x"] - T * side / 2, title["y"] + 10
        for h, t in held(view, rank).nonzero().tolist():
            tile = next(found)
            assert abs(tile["x"] - 1 - left - t * side) < 1e-6, (rank, h, t)
            assert abs(tile["y"] - 1 - top - h * side) < 1e-6, (rank, h, t)
            require_colour(tile["fill"], colour_of(view, rank, h, t))
    assert next(found, None) is None
    numbers = [int(t["text"]) for t in texts if t["text"].isdigit()]
    if side >= 16 and view.way != "ring":
        assert numbers == [t for rank in range(P) for _, t in held(view, rank).nonzero().tolist()]


def held(view, rank: int) -> torch.Tensor:
    """(H, T): whether a process holds this head of this token."""
    P, step = view.num_processes, min(view.step, view.last_step)
    tokens = shares(view.seq_len, P).expand(view.num_heads, -1)
    heads = shares(view.num_heads, P)[:, None].expand(-1, view.seq_len)
    if view.way == "ring":
        return tokens == (rank - step) % P
    if view.way == "heads":
        return torch.ones_like(tokens, dtype=torch.bool) if step != 1 else heads == rank
    return (heads if step == 1 else tokens) == rank


def colour_of(view, rank: int, head: int, token: int) -> str:
    step = min(view.step, view.last_step)
    if view.way == "heads" and step != 1:
        return "#a8a8a8"
    if view.way == "ring" and (rank - step) % view.num_processes > rank:
        return HATCH
    owner = shares(view.seq_len, view.num_processes)[token]
    if view.way == "heads":
        owner = shares(view.num_heads, view.num_processes)[head]
    return theme.HEADS[owner % len(theme.HEADS)]
