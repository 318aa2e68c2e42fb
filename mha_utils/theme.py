"""Colours and settings of every picture and view; `make views` hands the colours to JavaScript."""

import functools

import matplotlib
from matplotlib import pyplot as plt  # noqa: F401  chapters draw with `theme.plt`
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

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
FORBIDDEN = "#e4e4e4"  # a cell that may have no weight, where it can not be hatched
EDGE = "#c0c0c0"  # around maps
INK, PAPER = "#1b1b1b", "#ffffff"  # of cells and boxes
MUTED = "#767676"  # what stands on the page itself: readable on white and on a dark theme

# Colours in steps that look alike; 0 is the page: white, or what is dark in a dark theme.
WEIGHTS, WEIGHTS_DARK = "mha weights", "mha weights dark"  # shares from 0 to 1
LEAKS = "mha leaks"  # shares of which the smallest is not taken for 0
FUTURE = "mha future"  # leaks of what stands later: the same in both themes
SIGNED, SIGNED_DARK = "mha signed", "mha signed dark"  # numbers with a sign, symmetric around 0
STEPS = {
    WEIGHTS: "#ffffff #d2edda #9ad6c0 #5dbaac #3c9ba4 #237e9a #23638f #224577 #1c2250",
    WEIGHTS_DARK: "#1c1c1c #1a3139 #1a4f5f #217181 #359094 #5aafa3 #84ceb0 #bce4c0 #f0f9cf",
    SIGNED: "#08306b #164c8f #2567ab #3580b9 #509ac7 #7db5d7 #a8d0e7 #d4e8f3 #ffffff "
    "#fde1d2 #f9c4a7 #eea183 #e17d62 #cf5747 #b52834 #8f0e29 #67001f",
    SIGNED_DARK: "#c9ecff #9ad1f4 #6ab5e8 #4592ce #2770ae #1c4f82 #19375b #1a2838 #1c1c1c "
    "#3a1d1d #5b1f22 #842e2d #b14139 #d76e55 #f19776 #f9b99c #ffdcc4",
    FUTURE: "#f9cba6 #ee9450 #d55e00 #ac4a00 #853900 #632a00",
}
STEPS[LEAKS] = STEPS[WEIGHTS].removeprefix(PAPER)
for name, steps in STEPS.items():
    matplotlib.colormaps.register(
        LinearSegmentedColormap.from_list(name, steps.split()), force=True
    )

RC = {
    "figure.facecolor": PAPER,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "savefig.bbox": "tight",
    "savefig.facecolor": "none",  # the page shows through, light or dark
    "axes.facecolor": "none",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": MUTED,
}


def palette(name: str) -> list[list[int]]:
    """The steps of one of our colour maps as [red, green, blue], 0 to 255."""
    return [[round(255 * part) for part in to_rgb(step)] for step in STEPS[name].split()]


def weight_colour(share: float) -> str:
    """The colour of a share between 0 and 1 as #rrggbb; what lies outside is cut off."""
    return _table(WEIGHTS)[round(255 * min(max(share, 0), 1))]


def signed_colour(share: float) -> str:
    """The colour of a share between -1 and 1 as #rrggbb; what lies outside is cut off."""
    return _table(SIGNED)[round(127.5 + 127.5 * min(max(share, -1), 1))]


@functools.cache
def _table(name: str) -> list[str]:
    return [to_hex(colour) for colour in matplotlib.colormaps[name](range(256))]


def ink_on(colour) -> str:
    """Black or white: whichever is easier to read on this colour of matplotlib's.

    Source: relative luminance of WCAG 2.2; both contrasts are alike at 0.179.
    """
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"
