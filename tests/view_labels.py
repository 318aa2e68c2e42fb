"""What a screen reader says for every picture of a live view, worked out in Python."""

import numpy as np
import torch
from view_curves import slopes_of
from view_grids import clamp, numbers

from mha_utils.widgets.memory_ribbon import STEPS
from tools.comparing import same_text


def bug_hunt(view, said: str, seen: dict) -> list[str]:
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


def cell_steps(view, said: str, seen: dict) -> list[str]:
    names = ("The cell we want", "q · k", "Scores q · k / √Dh", "Scores, masked", "Weights")
    return [f"{(*names, 'Weights')[view.step - 1]}, queries by keys. {said}"]


def dropout_draws(view, said: str, seen: dict) -> list[str]:
    return [f"{title}. {said}" for title in ("Before dropout", "After this draw", "Average so far")]


def head_budget(view, said: str, seen: dict) -> list[str]:
    return [
        f"Map of scores by number of heads and head width. {said}",
        f"Scores by number of heads, for heads of width {view.head_dim} and for {view.budget} "
        "columns shared by all heads.",
    ]


def head_explorer(view, said: str, seen: dict) -> list[str]:
    count = len(view.tokens)
    word = view.tokens[clamp(view.row, count - 1)]
    label = f"Attention weights, {count} queries by {count} keys. {said}"
    return [label, f"Weights of the query “{word}”, as bars."]


def layer_cost(view, said: str, seen: dict) -> list[str]:
    titles = ("Arithmetic", "Memory traffic", "Attention maps held")
    return [f"{title} against T, three lines. {said}" for title in titles]


def mask_painter(view, said: str, seen: dict) -> list[str]:
    last = view.shape[0] - 1
    (row, column), words = (clamp(n, last) for n in (view.row, view.column)), view.tokens
    may = f"may attend, weight {view.weights()[row, column]:.2f}"
    sizes = zip(words, view.influence()[row].tolist())
    reached = ", ".join(f"“{word}” {short(size)}" for word, size in sizes if size > 0)
    return [
        f"Mask, queries by keys. Row {row}, “{words[row]}”, column {column}, “{words[column]}”: "
        f"{may if view.mask[row, column] else 'forbidden'}. Space changes it. {said}",
        f"Leak map. The output of row {row}, “{words[row]}”, depends on {reached or 'no token'}.",
    ]


def memory_ribbon(view, said: str, seen: dict) -> list[str]:
    count = view.batch_size * view.seq_len * view.num_heads * view.head_dim
    return [f"Storage of {count} numbers. {said}", f"Tensor {STEPS[view.step].code}. {said}"]


def pipeline(view, said: str, seen: dict) -> list[str]:
    sequence, head = clamp(view.sequence, view.batch_size - 1), clamp(view.head, view.num_heads - 1)
    shape = view.shape(view.tensor)
    row, column = clamp(view.row, shape[-2] - 1), clamp(view.column, shape[-1] - 1)
    which = [sequence, head][: len(shape) - 2]
    number = view.tensors()[view.tensor][(*which, row, column)].item()
    of_pairs = view.tensor in ("scores", "masked", "weights", "dropped")
    names = ("query", "key") if of_pairs else ("token", "column")
    shown = f"{number:.4f}".replace("-inf", "−∞").replace("-", "−")
    read = (
        f"{view.tensor}[{', '.join(map(str, (*which, row, column)))}] = {shown}: {names[0]} {row}"
    )
    title = f"{view.tensor} of sequence {sequence}" + f", head {head}" * (len(shape) == 4)
    hint = f"{read}, {names[1]} {column}. Arrow keys or pointer choose a number."
    return [None, f"{title}. {hint} {said}"]


def shape_letters(view, said: str, seen: dict) -> list[str]:
    return [f"Cells coloured by head. {said}"]


def softmax_scale(view, said: str, seen: dict) -> list[str]:
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


def training_film(view, said: str, seen: dict) -> list[str]:
    return [
        f"Attention maps of {len(view.heads)} heads. {said}",
        f"Scores at every step; step {view.steps[view.frame]} is marked.",
    ]


def check_labels(view, seen: dict) -> None:
    """Every picture that is not hidden from a screen reader says what it shows."""
    expected = globals()[view.script](view, view.finding(), seen)
    said = [picture["label"] for picture in seen["pictures"]][-len(expected) :]
    for label, right in zip(said, expected, strict=True):
        assert (label is None) == (right is None)
        assert label is None or same_text(label, right), (label, right)
