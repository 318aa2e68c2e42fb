"""A cache of keys and values as a shelf that fills while a text is written."""

import traitlets

from mha_utils import theme
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.judged import judged, size
from mha_utils.widgets.kit.still import Cell, Grid, picture
from mha_utils.widgets.kit.values import count, require_at_most, require_places

WORDS, HEADS, WIDTH, SINKS = 32, 16, 128, 4  # the most that can be shown
OLD, NEW = 0.45, 1.0  # shares whose colours kept tokens and the newest one have


def _require_few_sinks(**sinks: int) -> None:
    require_at_most(SINKS, **sinks)
    require_places(SINKS + 1, **sinks)


class CacheShelf(LiveView):
    """Move through a text: what a layer keeps of each token, what is new, what is forgotten.

    Args:
        tokens: the words of the text, 1 to 32.
        num_heads: H, at most 16.
        num_kv_heads: Hkv, heads of keys and values; must divide H.
        head_dim: Dh, at most 128.
        length: tokens so far, the newest among them.
        window: how many tokens are seen, the newest among them; all when left out.
        sinks: how many of the first tokens are kept whatever the window is, at most 4.

    Raises:
        ValueError: if there are no tokens, or an argument is out of its range.
    """

    script = "cache_shelf"

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    num_heads = size(8, HEADS)
    head_dim = size(8, WIDTH)
    num_kv_heads = size(2, HEADS)
    length = size(1, WORDS)
    window = size(WORDS, WORDS)
    sinks = judged(traitlets.Int, 0, _require_few_sinks)

    def __init__(
        self,
        tokens: list[str],
        num_heads: int = 8,
        num_kv_heads: int = 2,
        head_dim: int = 8,
        length: int = 1,
        window: int | None = None,
        sinks: int = 0,
    ):
        tokens = list(tokens)
        if not 1 <= len(tokens) <= WORDS:
            raise ValueError(f"tokens must be 1 to {WORDS} words, got {len(tokens)}")
        sizes = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "head_dim": head_dim}
        window = len(tokens) if window is None else window
        super().__init__(tokens=tokens, **sizes, length=length, window=window, sinks=sinks)

    @refuses("num_kv_heads")
    def _divides(self, name, kv_heads):
        if self.num_heads % kv_heads:
            raise ValueError(f"num_kv_heads must divide num_heads {self.num_heads}, got {kv_heads}")

    @property
    def so_far(self) -> int:
        """Tokens so far; there are not more than the text has."""
        return min(self.length, len(self.tokens))

    def kept(self) -> list[int]:
        """Places of the tokens whose keys and values are kept."""
        oldest = self.so_far - self.window
        return [place for place in range(self.so_far) if place < self.sinks or place >= oldest]

    def numbers(self, kv_heads: int | None = None) -> int:
        """How many numbers are kept, for so many KV heads."""
        rows = self.num_kv_heads if kv_heads is None else kv_heads
        return 2 * rows * self.head_dim * len(self.kept())

    def finding(self) -> str:
        kept, newest = len(self.kept()), self.tokens[self.so_far - 1]
        said = (
            f"The newest of {count(self.so_far, 'token')} is “{newest}”. "
            f"{count(self.num_kv_heads, 'KV head')}, "
            f"{count(kept, 'token')} kept: {self.numbers()} numbers"
        )
        if self.num_kv_heads < self.num_heads:
            unshared = self.numbers(self.num_heads)
            said += f"; a KV head for each of {self.num_heads} heads would need {unshared}"
        if gone := self.so_far - kept:
            whole = self.numbers() // kept * self.so_far
            said += f". {count(gone, 'token')} forgotten: with all kept, {whole} numbers"
        return f"{said}."

    def still(self):
        titles = {
            self.num_kv_heads: f"{count(self.num_kv_heads, 'KV head')}: this layer",
            self.num_heads: f"{count(self.num_heads, 'KV head')}: one for each head",
        }
        grids = [
            Grid(title, *self._table(rows), largest=(24, 14)) for rows, title in titles.items()
        ]
        return picture(self.finding(), *([grid] for grid in grids))

    def _table(self, rows: int) -> tuple[list, list, list]:
        kept, newest = self.kept(), self.so_far - 1
        row = [_cell(place, kept, newest) for place in range(len(self.tokens))]
        words = [word if n <= newest else "·" for n, word in enumerate(self.tokens)]
        return [row] * rows, [f"KV {n}" for n in range(rows)], words


def _cell(place: int, kept: list[int], newest: int) -> Cell:
    if place > newest:
        return Cell(theme.PAPER)
    if place not in kept:
        return Cell(theme.FORBIDDEN)
    return Cell(theme.weight_colour(NEW if place == newest else OLD), marked=place == newest)
