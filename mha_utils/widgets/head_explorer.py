"""Attention of one or more heads over a sentence: pick a query, see its row and its numbers."""

import math

import numpy as np
import torch
import traitlets
from PIL import Image
from torch import Tensor

from mha_utils import data
from mha_utils.attention import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)
from mha_utils.contracts import require_divisible
from mha_utils.widgets.base import LiveView, shows_problems
from mha_utils.widgets.still import map_picture

MAX_TOKENS = 128


class HeadExplorer(LiveView):
    """Explore softmax(q k^T / sqrt(Dh) / temperature) in the browser.

    Args:
        words: the words that have a query and a key; without `sentence`, the tokens shown.
        q: queries of the words, (H, words, Dh), or (words, Dh) for a single head.
        k: keys of the words, same shape. In float16 half as much is stored.
        sentence: text made of `words`; the reader can then write another one.
        row, column: the query and the key chosen at first.
        head: the head chosen at first.
        names: what the H heads are called; their numbers when left out.
        temperature: divides the scores before the softmax; above 0.
        causal: whether a query may look only at itself and before.
        resplit: let the reader cut the same D = H x Dh columns into any number of heads that
            divides D, as `split_heads` does. `num_heads` is that number.
        locked: keep the row while pointer and arrow keys move.

    Raises:
        ValueError: if q and k do not fit each other or the words, or the sentence has
            unknown words or too many.
    """

    script = "head_explorer"

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    shape = traitlets.List(traitlets.Int()).tag(sync=True)
    q = traitlets.Bytes().tag(sync=True)
    k = traitlets.Bytes().tag(sync=True)
    editable = traitlets.Bool(False).tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    length = traitlets.Int(1).tag(sync=True)
    resplit = traitlets.Bool(False).tag(sync=True)
    num_heads = traitlets.Int(1).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
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
        names: list[str] | None = None,
        temperature: float = 1.0,
        causal: bool = False,
        resplit: bool = False,
        locked: bool = False,
    ):
        q, k = _as_heads("q", q, len(words)), _as_heads("k", k, len(words))
        if q.shape != k.shape:
            raise ValueError(f"q and k must have one shape, got {q.shape} and {k.shape}")
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}")
        shown = words if sentence is None else data.split_words(sentence)
        _require_tokens(shown, words)
        _require_heads(head, names, len(q), resplit)
        super().__init__(
            words=list(words),
            shape=list(q.shape),
            q=q.tobytes(),
            k=k.tobytes(),
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
            locked=locked,
        )

    @traitlets.observe("num_heads")
    @shows_problems
    def _keep_columns(self, change):
        heads, _, head_dim = self.shape
        require_divisible(heads * head_dim, self.num_heads)
        if self.num_heads != heads and not self.resplit:
            raise ValueError(
                f"num_heads must stay {heads} without resplit=True, got {self.num_heads}"
            )

    @property
    def tokens(self) -> list[str]:
        """The words that are shown now."""
        if not self.editable:
            return self.words[: self.length]
        known = [word for word in data.split_words(self.sentence) if word in self.words]
        return known[: self.length]

    def weights(self) -> np.ndarray:
        """The weights that are shown now, (num_heads, T, T)."""
        ids = [self.words.index(word) for word in self.tokens]
        ids = ids if self.editable else list(range(self.length))
        q, k = (self._heads(sent)[:, ids] for sent in (self.q, self.k))
        scores = attention_scores(q, k) / self.temperature
        mask = causal_mask(len(ids)) if self.causal else None
        return attention_weights(scores, mask).float().numpy()

    def finding(self) -> str:
        shares = self.weights()[self._head, self._row]
        best, most = int(shares.argmax()), self._row + 1 if self.causal else len(shares)
        entropy = torch.special.entr(torch.tensor(shares)).sum().item()
        query = f"“{self.tokens[self._row]}”{' (locked)' if self.locked else ''}"
        return (
            f"{self._who()} {self._row}, {query}, looks most at key {best}, "
            f"“{self.tokens[best]}”: {shares[best]:.2f}. "
            f"Entropy {entropy:.2f} of at most {np.log(most):.2f} nats."
        )

    def still(self) -> Image.Image:
        labels = self.tokens if len(self.tokens) <= 20 else None
        return map_picture(self.weights()[self._head], labels, self._row, self.finding())

    def _who(self) -> str:
        heads, _, head_dim = self.shape
        if self.resplit:
            width = heads * head_dim // self._num_heads
            return f"Head {self._head} of {self._num_heads}, Dh = {width}: query"
        name = self.names[self._head] if self.names else self._head
        return f"Head {name}: query" if heads > 1 else "Query"

    def _heads(self, sent: bytes) -> Tensor:
        """The queries or keys of all words, cut as shown, in double precision."""
        is_half = len(sent) == 2 * math.prod(self.shape)
        numbers = np.frombuffer(sent, np.float16 if is_half else np.float32)
        given = torch.tensor(numbers).double().view(1, *self.shape)
        return split_heads(merge_heads(given), self._num_heads)[0]

    @property
    def _num_heads(self) -> int:
        heads, _, head_dim = self.shape
        may_change = self.resplit and self.num_heads > 0 and heads * head_dim % self.num_heads == 0
        return self.num_heads if may_change else heads

    @property
    def _head(self) -> int:
        return max(min(self.head, self._num_heads - 1), 0)

    @property
    def _row(self) -> int:
        return max(min(self.row, len(self.tokens) - 1), 0)


def _as_heads(name: str, x: Tensor, num_words: int) -> np.ndarray:
    x = torch.as_tensor(x).detach().cpu()
    x = x if x.dtype == torch.float16 else x.float()
    heads = x[None] if x.ndim == 2 else x
    if heads.ndim != 3 or heads.shape[1] != num_words or 0 in heads.shape:
        raise ValueError(
            f"{name} must be (H, {num_words}, Dh) or ({num_words}, Dh) for {num_words} words, "
            f"got {tuple(x.shape)}"
        )
    return np.ascontiguousarray(heads.numpy())


def _require_tokens(shown: list[str], words: list[str]) -> None:
    unknown = sorted(set(shown) - set(words))
    if unknown:
        raise ValueError(f"sentence has words without a query and a key: {unknown}")
    if not 1 <= len(shown) <= MAX_TOKENS:
        raise ValueError(f"expected 1 to {MAX_TOKENS} tokens, got {len(shown)}")


def _require_heads(head: int, names: list[str] | None, num_heads: int, resplit: bool) -> None:
    if not 0 <= head < num_heads:
        raise ValueError(f"head must be 0 to {num_heads - 1}, got {head}")
    if names is not None and (resplit or len(names) != num_heads):
        expected = "left out with resplit=True" if resplit else f"{num_heads} strings"
        raise ValueError(f"names must be {expected}, got {len(names)}")
