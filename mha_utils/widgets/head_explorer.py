"""Attention of one or more heads over a sentence: pick a query, see its row and its numbers."""

import numpy as np
import torch
import traitlets
from torch import Tensor

from mha_utils import data
from mha_utils.widgets.attending_heads import AttendingHeads, required_values
from mha_utils.widgets.kit.one_head import most_at, several_heads
from mha_utils.widgets.kit.still import Grid, picture, share_cell
from mha_utils.widgets.kit.values import clamped, require_places
from mha_utils.widgets.new_words import MOST_TOKENS, feature_traits

SIDE = 360  # of the still map


class HeadExplorer(AttendingHeads):
    """Explore softmax(q k^T / sqrt(Dh) / temperature) in the browser.

    Args:
        words: the words that have a query and a key; without `sentence`, the tokens shown.
        q: queries of the words, (H, words, Dh), or (words, Dh) for a single head.
        k: keys of the words, same shape. In float16 half as much is stored.
        sentence: text made of `words`; the reader can then write another one.
        row, column: the query and the key chosen at first.
        head: the head chosen at first.
        other: the head to compare with at first: its map and the difference are shown beside.
        names: what the H heads are called; their numbers when left out.
        temperature: divides the scores before the softmax; above 0.
        causal: whether a query may look only at itself and before.
        resplit: let the reader cut the same D = H x Dh columns into any number of heads that
            divides D, as `split_heads` does. `num_heads` is that number.
        locked: keep the row while pointer and arrow keys move.
        features: name -> the words that have it, as `data.WORD_FEATURES`. A word that the reader
            writes and that is not in `words` is then a new row, and gets its features from ticks.
        feature_q, feature_k: what each feature adds to a word's query and key: W_q and W_k.
        v: values of the words, (H, words, Dv) or (words, Dv): the view then goes on to the output
            of the chosen query. With `resplit`, Dv is Dh.
        feature_v: what each feature adds to a word's value: W_v.

    Raises:
        ValueError: if q and k do not fit each other or the words or hold NaN or infinity, the
            sentence has unknown words or too many, or the cell chosen at first is not there.
    """

    script = "head_explorer"

    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)
    locked = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        words: list[str],
        q: Tensor,
        k: Tensor,
        sentence: str | None = None,
        *,
        row: int = 0,
        column: int = 0,
        head: int = 0,
        other: int | None = None,
        names: list[str] | None = None,
        temperature: float = 1.0,
        causal: bool = False,
        resplit: bool = False,
        locked: bool = False,
        features: dict[str, str] | None = None,
        feature_q: Tensor | None = None,
        feature_k: Tensor | None = None,
        v: Tensor | None = None,
        feature_v: Tensor | None = None,
    ):
        q, k = several_heads("q", q, len(words)), several_heads("k", k, len(words))
        if q.shape != k.shape:
            raise ValueError(
                f"q and k must have one shape, got {tuple(q.shape)} and {tuple(k.shape)}"
            )
        shown = words if sentence is None else data.split_words(sentence)
        _require_tokens(shown, shown if features else words)
        _require_heads(head, names, len(q), resplit)
        require_places(len(q), **({} if other is None else {"other": other}))
        require_places(len(shown), row=row, column=column)
        more = {"v": required_values(v, q, resplit)} if v is not None else {}
        if feature_v is not None and not more:
            raise ValueError("feature_v needs v: the values of the words")
        added = {"q": feature_q, "k": feature_k, "v": feature_v}
        known = feature_traits(features, added, {"q": q, "k": k} | more) if features else {}
        super().__init__(
            **known,
            **{name: rows.numpy().tobytes() for name, rows in more.items()},
            value_dim=more["v"].shape[-1] if more else 0,
            words=list(words),
            shape=list(q.shape),
            q=q.numpy().tobytes(),
            k=k.numpy().tobytes(),
            editable=sentence is not None,
            sentence=sentence or "",
            length=len(shown),
            row=row,
            column=column,
            head=head,
            names=list(names or ()),
            temperature=temperature,
            causal=causal,
            resplit=resplit,
            num_heads=q.shape[0],
            other=other,
            locked=locked,
        )

    @traitlets.observe("sentence")
    def _take_all_words(self, change):
        self._take_new_words()
        self.length = len(self._known)

    @traitlets.observe("length")
    def _keep_cell(self, change):
        self.row, self.column = self._row, clamped(self.column, 0, len(self.tokens) - 1)

    def finding(self) -> str:
        if not self.tokens:
            return f"Write a sentence with words that have vectors.{self._note()}"
        shares = self.weights()[self._head, self._row]
        most = self._row + 1 if self.causal else len(shares)
        best = most_at(self.tokens, shares, most)
        how = "looks at" if best == f"{most} keys alike" else "looks most at"
        entropy = torch.special.entr(torch.tensor(shares)).sum().item()
        locked = " (locked)" if self.locked else ""
        return (
            f"{self._who()} {self._row}, “{self.tokens[self._row]}”{locked}, {how} {best}: "
            f"{shares.max():.2f}. Entropy {entropy:.2f} of at most {np.log(most):.2f} nats."
            f"{self._note()}"
        )

    def still(self):
        if not self.tokens:
            return picture(self.finding())
        cells = [list(map(share_cell, row)) for row in self.weights()[self._head].tolist()]
        labels = self.tokens if len(self.tokens) <= 20 else ()
        side = max(SIDE // len(self.tokens), 2)
        grid = Grid("", cells, labels, labels, self._row, (side, side))
        return picture(self.finding(), [grid])

    def _who(self) -> str:
        heads, _, head_dim = self.shape
        if self.resplit:
            width = heads * head_dim // self.num_heads
            return f"Head {self._head} of {self.num_heads}, Dh = {width}: query"
        name = self.names[self._head] if self.names else self._head
        return f"Head {name}: query" if heads > 1 else "Query"

    @property
    def _row(self) -> int:
        return clamped(self.row, 0, len(self.tokens) - 1)


def _require_tokens(shown: list[str], words: list[str]) -> None:
    unknown = sorted(set(shown) - set(words))
    if unknown:
        raise ValueError(f"sentence has words without a query and a key: {unknown}")
    if not 1 <= len(shown) <= MOST_TOKENS:
        raise ValueError(f"expected 1 to {MOST_TOKENS} tokens, got {len(shown)}")


def _require_heads(head: int, names: list[str] | None, num_heads: int, resplit: bool) -> None:
    require_places(num_heads, head=head)
    if names is not None and (resplit or len(names) != num_heads):
        expected = "left out with resplit=True" if resplit else f"{num_heads} strings"
        raise ValueError(f"names must be {expected}, got {len(names)}")
