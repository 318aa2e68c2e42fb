"""Colours and settings shared by every picture and view."""

import functools

import matplotlib
import torch
from matplotlib import pyplot as plt

# Okabe & Ito (2008): eight colours that stay apart for colour-blind readers.
OKABE_ITO = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
}
HEADS = tuple(OKABE_ITO[c] for c in ("blue", "orange", "green", "vermilion", "purple", "sky"))
QUERY, KEY, VALUE, OUT = (OKABE_ITO[c] for c in ("blue", "orange", "green", "purple"))
WEIGHTS = "cividis"  # shares from 0 to 1
SIGNED = "RdBu_r"  # numbers with a sign, symmetric around 0
FORBIDDEN = "#e4e4e4"  # a cell without a weight
INK, MUTED, PAPER = "#1b1b1b", "#6b6b6b", "#ffffff"

RC = {
    "figure.facecolor": PAPER,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "savefig.bbox": "tight",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelcolor": INK,
    "text.color": INK,
}


def setup_chapter() -> None:
    """What every chapter's first cell does: four decimals, no 1e-05, the series' look, one thread.

    With tensors as small as here several threads would mostly wait for each other.
    """
    torch.set_num_threads(1)
    torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)
    plt.rcParams.update(RC)


def palette(name: str = WEIGHTS, steps: int = 32) -> list[list[int]]:
    """`steps` colours of a matplotlib colour map as [red, green, blue], 0 to 255."""
    colours = matplotlib.colormaps[name].resampled(steps)(range(steps))
    return (colours[:, :3] * 255).round().astype(int).tolist()


def weight_colour(share: float) -> str:
    """The colour of a share between 0 and 1 as #rrggbb; what lies outside is cut off."""
    return _hex(_table(WEIGHTS)[round(255 * min(max(share, 0), 1))])


def signed_colour(share: float) -> str:
    """The colour of a share between -1 and 1 as #rrggbb; what lies outside is cut off."""
    return _hex(_table(SIGNED)[round(127.5 + 127.5 * min(max(share, -1), 1))])


@functools.cache
def _table(name: str) -> list[list[int]]:
    return palette(name, steps=256)


def _hex(colour: list[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


def ink_on(colour: str) -> str:
    """Black or white: whichever is easier to read on a colour written as #rrggbb.

    Source: relative luminance of WCAG 2.2; both contrasts are alike at 0.179.
    """
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"
