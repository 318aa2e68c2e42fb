"""What a screen reader says for every picture of a live view, worked out in Python."""

import numpy as np
import torch
from view_curves import slopes_of, staircase
from view_grids import clamp, numbers

from mha_utils.widgets.kit.values import count, fixed
from mha_utils.widgets.writer_at_work import named, there
from tools.suite.comparing import same_text

ARROWS = "arrow keys choose"
EXPLORER = f"{ARROWS} a query and a key, Enter locks the query"
COMPARING = [  # pictures in the place of the bars, while there is a head to compare with
    f"Map of the other head's weights: {EXPLORER}",
    f"Map of the first head less the other: {EXPLORER}",
]
KEYED = {  # pictures that are worked with keys: what they are and what keys do, always the same
    "cache_shelf": [
        "What is kept of each token: left and right arrow keys choose the newest token"
    ],
    "head_budget": [f"Map of scores by number of heads and head width: {ARROWS} a model"],
    "head_explorer": [
        f"Map of attention weights: {EXPLORER}",
        f"Weights of the chosen query as bars: {EXPLORER}",
    ],
    "mask_painter": [f"Mask, queries by keys: {ARROWS} a cell, the space bar changes it"],
    "memory_ribbon": [
        f"The storage in a row: {ARROWS} a number",
        f"The tensor in blocks: {ARROWS} a number",
    ],
    "position_dials": [
        "Two tokens on a line: left and right arrow keys move both, up and down change the distance"
    ],
    "process_tiles": [
        "What each process holds, heads by tokens: left and right arrow keys choose a step, "
        "up and down a way"
    ],
    "training_film": [
        "Attention maps of {heads} heads: left and right arrow keys choose a step",
        "Scores at every training step: left and right arrow keys choose a step",
    ],
}


def bug_hunt(view, seen: dict) -> list[str]:
    title, who = view.pictures[view._picture][0], f"Suspect {view._number}"
    maps = [view._map(piece).ravel().tolist() for piece in (-1, view._piece)]
    right, mine = (rows_of(view.tokens, sizes) for sizes in maps)
    note = compared(*maps) if view._seen else f"Not asked yet: press “{title}?”."
    assert seen["hints"][-1] == note
    return [f"Right module, {title}. {right}", f"{who}, {title}. {note} {mine * view._seen}"]


def compared(right: list, mine: list) -> str:
    others = sum(short(a) != short(b) for a, b in zip(right, mine))
    extra = sum(b != b or (a == 0 != b) for a, b in zip(right, mine))
    if others == extra == 0:
        return "To two digits all numbers are those of the right module."
    red = f" Framed ({extra}): NaN, or not 0 where the right module has 0." if extra else ""
    return f"{others} of {len(right)} numbers differ from the right module's.{red}"


def rows_of(words: list, sizes: list) -> str:
    table = np.array(sizes).reshape(len(words), -1)
    rows = (" ".join(short(size) for size in row) for row in table)
    return "; ".join(f"Row “{word}”: {row}" for word, row in zip(words, rows))


def short(size: float) -> str:
    return f"{size:.{2 if abs(size) < 9.995 else 0}f}".replace("nan", "NaN")


def cache_shelf(view, seen: dict) -> list[str]:
    kept, rows, tokens = len(view.kept()), view.num_heads, view.so_far
    shelf = f"A shelf of {count(rows, 'row')}: {kept} of {count(tokens, 'token')} kept"
    return [f"{shelf}, {view.numbers(rows)} numbers."]


def dropout_draws(view, seen: dict) -> list[str]:
    rows, columns, _ = view.shape
    draws = view.dropped()
    maps = numbers(view.weights, rows, columns), draws[-1], draws.mean(axis=0)
    queries = view.tokens if rows == columns else [f"query {i}" for i in range(rows)]
    return [
        f"{title}. Sums of the rows: {', '.join(sums_of(queries, weights.tolist()))}."
        for title, weights in zip(("Before dropout", "After this draw", "Average so far"), maps)
    ]


def sums_of(words: list, rows: list) -> list[str]:
    return [f"“{word}” {sum(row):.2f}" for word, row in zip(words, rows)]


def head_budget(view, seen: dict) -> list[str]:
    return [
        f"Scores by number of heads, for heads of width {view.head_dim} and for {view.budget} "
        "columns shared by all heads.",
    ]


def layer_cost(view, seen: dict) -> list[str]:
    (header, *rows) = seen["tables"][0]
    return [
        f"{title} against T, three lines. At T = {view.seq_len}: "
        + ", ".join(f"{name} {cells[n]}" for name, *cells in rows)
        + "."
        for n, title in enumerate(header[1:])
    ]


def mask_painter(view, seen: dict) -> list[str]:
    row, words = clamp(view.row, view.shape[0] - 1), view.tokens
    sizes = zip(words, view.influence()[row].tolist())
    reached = ", ".join(f"“{word}” {short(size)}" for word, size in sizes if size > 0)
    return [
        f"Leak map. The output of row {row}, “{words[row]}”, depends on {reached or 'no token'}."
    ]


def position_dials(view, seen: dict) -> list[str]:
    products = "; ".join(f"pair {n}: {fixed(p)}" for n, p in enumerate(view.products()))
    scores = "; ".join(f"{far}: {fixed(view.score(far))}" for far in range(32))
    return [
        f"A dial for each pair of features, with a hand of q and one of k. Products: {products}.",
        f"Score against distance. {scores}.",
    ]


def process_tiles(view, seen: dict) -> list[str]:
    return []


def shape_letters(view, seen: dict) -> list[str]:
    return ["x, read whole by every head, and below it q, cut into heads"]


def softmax_scale(view, seen: dict) -> list[str]:
    left, right = view.sides()
    quotient = "" if view.temperature == 1 else f" / {view.temperature:.1f}"
    names = f"q · k{quotient}", f"q · k / √{view.head_dim}"
    q, k = numbers(view.q, -1, 512), numbers(view.k, -1, 512)

    def slope(width: int, scale: float) -> float:
        shares = (q[:, :width] @ k[:, :width].T / scale).softmax(dim=-1)
        return torch.stack([slopes_of(row) for row in shares]).mean().item()

    at = [(slope(w, view.temperature), slope(w, w**0.5)) for w in (view.head_dim, 512)]
    return [bars_label(*pair) for pair in zip(names, (left, right))] + [
        "Largest slope of the softmax for Dh from 1 to 512, mean of all queries. At Dh = "
        f"{view.head_dim}: left {at[0][0]:.3f}, divided by √Dh {at[0][1]:.3f}; "
        f"at Dh = 512: left {at[1][0]:.3f}, divided {at[1][1]:.3f}."
    ]


def bars_label(name: str, side) -> str:
    pairs = enumerate(zip(side.weights.tolist(), side.scores.tolist()))
    keys = "; ".join(f"key {j}: {w:.3f} from {s:.2f}" for j, (w, s) in pairs)
    return f"Softmax of {name}, weights from scores. {keys}."


def training_staircase(view, seen: dict) -> list[str]:
    most = [staircase(heads, view.head_dim, view.num_lookups) for heads in range(1, 13)]
    stairs = f"Most R² by number of heads: {listed(enumerate(most, start=1))}."
    if view.runs:
        stairs += f" {len(view.runs)} trained, listed in the table."
    recorded = [(h, r2) for h, w, r2 in view.recorded if w == view.head_dim]
    if recorded and view.num_lookups == 4:
        stairs += f" Recorded: {listed(recorded)}."
    curves = "Loss and R² against training steps"
    if not view.curve:
        return [stairs, f"{curves}: nothing is trained yet"]
    step, loss, r2 = view.curve[-1]
    run = f"Run {len(view.runs)}, loss and R²{curves[11:]}"
    return [stairs, f"{run}. At step {step}: loss {loss:.3f}, R² {r2:.3f}."]


def listed(pairs) -> str:
    return ", ".join(f"{heads}: {r2:.3f}" for heads, r2 in pairs)


def writer_at_work(view, seen: dict) -> list[str]:
    """The likely letters, and where the last letter looks: what is above a twentieth."""
    chances = sorted(
        ((p, letter) for p, letter in zip(view.chances().tolist(), view.letters)), reverse=True
    )
    likely = ", ".join(f"{named(letter)} {fixed(p, 3)}" for p, letter in chances if p > 0.05)
    shares = view.weights()[view.heads.index(view.head)].tolist()
    looks = [f"{there(view.story, n)} {fixed(p, 3)}" for n, p in enumerate(shares) if p > 0.05]
    return [
        f"Chances of the next letter at temperature {view.temperature:.1f}: {likely}.",
        f"{view.story}. Where the last letter looks in head {view.head}: {', '.join(looks)}.",
    ]


def check_labels(view, seen: dict) -> None:
    """What keys work on says so and is a tab stop; all other pictures say what they show."""
    pictures = [picture for picture in seen["pictures"] if picture["role"]]
    keyed = [picture for picture in pictures if picture["role"] == "application"]
    shown = [picture for picture in pictures if picture["role"] == "img"]
    assert len(keyed) + len(shown) == len(pictures)
    heads = len(getattr(view, "heads", []))
    names = [name.format(heads=heads) for name in KEYED.get(view.script, [])]
    if getattr(view, "other", None) is not None:
        names[1:] = COMPARING
    assert [picture["label"] for picture in keyed] == names
    assert all(picture["isStop"] for picture in keyed)
    assert not any(picture["isStop"] for picture in seen["pictures"] if picture not in keyed)
    expected = globals().get(view.script, lambda *_: [])(view, seen)
    for picture, right in zip(shown, expected, strict=True):
        assert same_text(picture["label"], right), (picture["label"], right)
        assert view.finding() not in picture["label"]
