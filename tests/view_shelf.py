"""What the shelf of keys and values must show, worked out from its traits."""

from view_grids import clamp, weight_cell
from view_pictures import HATCH, PAPER, Cell, Grid, check_grid


def cache_shelf(view, seen) -> None:
    """This layer's KV heads above, one for each head below: the same columns in both."""
    length, most = clamp(view.length, len(view.tokens), 1), len(view.tokens)
    oldest = length - view.window

    def cell(place: int) -> Cell:
        if place >= length:
            return Cell(PAPER)
        if place == length - 1:
            return weight_cell(1.0, framed=True)._replace(number="")
        is_kept = place < view.sinks or place >= oldest
        return weight_cell(0.45)._replace(number="") if is_kept else Cell(HATCH)

    words = [*view.tokens[:length], *"·" * (most - length)]
    for drawn, rows in zip(seen["pictures"], (view.num_kv_heads, view.num_heads), strict=True):
        names = [f"KV {n}" for n in range(rows)]
        check_grid(drawn, Grid(names, words, [[cell(n) for n in range(most)]] * rows))
