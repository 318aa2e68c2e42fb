"""What the controls of the live views must reach, and more views to look at than the examples."""

import torch

from mha_utils import widgets
from mha_utils.widgets import layer_cost, memory_ribbon
from mha_utils.widgets.examples import EXAMPLES

TWENTIETHS, ON = [n / 20 for n in range(19)], (False, True)

# What each control must reach, from its first position to its last.
REACH = {
    "BugHunt": {"level": ("level", [1, 2, 3]), "suspect": ("suspect", range(1, 32))},
    "CacheShelf": {
        "tokens so far": ("length", range(1, 11)),
        "KV heads": ("num_kv_heads", (1, 2, 4, 8)),
        "window": ("window", range(1, 11)),
        "sinks": ("sinks", range(5)),
    },
    "DropoutDraws": {
        "draw": ("draw", range(1, 201)),
        "p": ("p", TWENTIETHS),
        "training": ("training", ON),
    },
    "HeadBudget": {
        "heads H": ("num_heads", (1, 2, 3, 4, 6, 8, 12)),
        "head width Dh": ("head_dim", (1, 2, 3, 4, 6, 8, 12)),
    },
    "HeadExplorer": {
        "tokens": ("length", range(1, 11)),
        "temperature": ("temperature", [n / 10 for n in range(1, 41)]),
        "causal": ("causal", ON),
        "lock the row": ("locked", ON),
    },
    "LayerCost": {
        "T tokens": ("seq_len", layer_cost.SIZES["seq_len"]),
        "B sequences": ("batch_size", layer_cost.SIZES["batch_size"]),
        "D columns": ("embed_dim", layer_cost.SIZES["embed_dim"]),
        "H heads": ("num_heads", (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)),
        "causal": ("is_causal", ON),
        "16-bit numbers": ("is_half", ON),
    },
    "MaskPainter": {"query (row)": ("row", range(7))},
    "MemoryRibbon": {
        f"{letter} {what}": (trait, range(1, memory_ribbon.LARGEST[trait] + 1))
        for letter, what, trait in (
            ("B", "sequences", "batch_size"),
            ("T", "tokens", "seq_len"),
            ("H", "heads", "num_heads"),
            ("Dh", "columns", "head_dim"),
        )
    },
    "PositionDials": {
        "key at place, the query goes with it": ("key_place", range(32)),
        "distance": ("distance", range(32)),
    },
    "ProcessTiles": {
        "step": ("step", range(3)),
        "P processes": ("num_processes", range(1, 9)),
        "H heads": ("num_heads", range(1, 17)),
        "T tokens": ("seq_len", range(1, 33)),
    },
    "ShapeLetters": {
        "B sequences": ("batch_size", range(1, 4)),
        "T tokens": ("seq_len", range(1, 9)),
        "D columns": ("embed_dim", (6, 8, 12, 16, 24)),
        "H heads": ("num_heads", (1, 2, 3, 4, 6, 12)),
    },
    "SoftmaxScale": {
        "Dh, width of a head": ("head_dim", [2**n for n in range(10)]),
        "temperature, on the left": ("temperature", [n / 2 for n in range(1, 49)]),
        "query": ("query", range(16)),
    },
    "TrainingFilm": {
        "sequence": ("example", range(2)),
        "training step": ("frame", range(4)),
        "mark the answers": ("marks", ON),
    },
    "TrainingStaircase": {
        "heads H": ("num_heads", range(1, 13)),
        "head width Dh": ("head_dim", (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)),
        "vectors m": ("num_lookups", range(1, 7)),
    },
    "WriterAtWork": {"temperature": ("temperature", [n / 10 for n in range(1, 31)])},
}


def evenly(make_weights, **sizes):
    """Weights that are nowhere near 1: a scale that follows the data would show."""
    return make_weights(torch.rand(6, 6, generator=torch.Generator().manual_seed(0)) / 3)


def wide_explorer() -> widgets.HeadExplorer:
    q, k = torch.randn(2, 3, 9, 8, generator=torch.Generator().manual_seed(1)) / 2
    return widgets.HeadExplorer([f"w{i}" for i in range(9)], q, k, resplit=True, row=4, column=2)


def many_words() -> widgets.HeadExplorer:
    q, k = torch.randn(2, 25, 4, generator=torch.Generator().manual_seed(2))
    return widgets.HeadExplorer([f"w{i}" for i in range(25)], q, k, row=24, column=3, causal=True)


def flat_painter() -> widgets.MaskPainter:
    q, k, v = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(3)) / 3
    return widgets.MaskPainter(q, k, v)


def low_budget() -> widgets.HeadBudget:
    rows = [
        {"num_heads": h, "head_dim": w, "scores": [0.02 * h * w, 0.03 * h * w]}
        for h in (1, 2, 4)
        for w in (1, 2, 4)
        if h * w < 16
    ]
    return widgets.HeadBudget(rows, "score", 4, lambda h, w: 0.04 * h * w, num_heads=2, head_dim=2)


def all_steps() -> widgets.MemoryRibbon:
    return widgets.MemoryRibbon(2, 3, 2, 3, steps=list(memory_ribbon.STEPS))


def fast_dials() -> widgets.PositionDials:
    """Eight pairs that all turn about as fast, more than stand in one line of a narrow page."""
    q, k = torch.randn(2, 16, generator=torch.Generator().manual_seed(6))
    return widgets.PositionDials(q, k, key_place=31, distance=0, base=2.0)


def long_film() -> widgets.TrainingFilm:
    """Cells smaller than a word is high, a curve without squares, queries without an answer."""
    words, g = [f"w{i}" for i in range(36)], torch.Generator().manual_seed(5)
    maps = torch.rand(2, 2, 2, 36, 36, generator=g) / 4
    sources = (torch.arange(36) - 3).expand(2, 36).clamp(min=-1)
    curves = {"all": [0.2, 0.4], "three back": [0.1, 0.7]}
    labels, heads = [words, words[::-1]], ["h 0", "h 1"]
    return widgets.TrainingFilm([0, 50], maps, labels, heads, curves, {"three back": sources})


def fresh_staircase() -> widgets.TrainingStaircase:
    return widgets.TrainingStaircase(3, 8, 3, steps=150)


def played_hunt() -> widgets.BugHunt:
    view = EXAMPLES["BugHunt"]()
    view.suspect = 3
    return view.ask("leak map").accuse(view.names[5]).accuse(view.names[0])


def cleared_shelf() -> widgets.CacheShelf:
    """As many words as there may be, most of them forgotten."""
    words = [f"word{n}" for n in range(32)]
    return widgets.CacheShelf(words, 12, 3, 4, length=24, window=5, sinks=2)


MORE = {
    "cleared shelf": cleared_shelf,
    "one word": lambda: widgets.CacheShelf(["once"], 1, 1),
    "explorer of three heads": wide_explorer,
    "explorer of 25 words": many_words,
    "painter of small scores": flat_painter,
    "low scores": low_budget,
    "all steps": all_steps,
    "small weights": lambda: evenly(widgets.DropoutDraws),
    "more queries than keys": lambda: widgets.DropoutDraws(torch.full((3, 2), 0.25)),
    "fast dials": fast_dials,
    "one dial": lambda: widgets.PositionDials(torch.ones(2), torch.tensor([0.0, 2.0]), 0, 31),
    "a ring": lambda: widgets.ProcessTiles(5, 3, 7, "ring", step=2),
    "cut heads": lambda: widgets.ProcessTiles(8, 6, 30, "heads", step=1),
    "long film": long_film,
    "nothing trained": fresh_staircase,
    "a game": played_hunt,
}
