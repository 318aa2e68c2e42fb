"""Attention of one or more heads over a sentence: pick a query, see its row and its numbers."""

import math

import numpy as np
import torch
import traitlets
from PIL import Image
from torch import Tensor

from mha_utils import data
from mha_utils.core.contracts import require_divisible
from mha_utils.core.steps import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.one_head import most_at, require_temperature
from mha_utils.widgets.kit.still import map_picture, shortened

MAX_TOKENS = 128
MAX_UNKNOWN = 8  # so many are named
MAX_HEADS = 32  # or as many as were given


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
        ValueError: if q and k do not fit each other or the words or hold NaN or infinity, the
            sentence has unknown words or too many, or the cell chosen at first is not there.
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
        require_temperature(temperature)
        shown = words if sentence is None else data.split_words(sentence)
        _require_tokens(shown, words)
        _require_heads(head, names, len(q), resplit)
        for name, place in (("row", row), ("column", column)):
            if not 0 <= place < len(shown):
                raise ValueError(f"{name} must be 0 to {len(shown) - 1}, got {place}")
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

    @refuses("num_heads")
    def _keep_columns(self, name, num_heads):
        heads, _, head_dim = self.shape
        require_divisible(heads * head_dim, num_heads)
        if num_heads != heads and not self.resplit:
            raise ValueError(f"num_heads must stay {heads} without resplit=True, got {num_heads}")
        if num_heads > max(heads, MAX_HEADS):
            raise ValueError(f"num_heads must be at most {MAX_HEADS} to be drawn, got {num_heads}")

    @refuses("temperature")
    def _keep_temperature(self, name, temperature):
        require_temperature(temperature)

    @traitlets.observe("sentence")
    def _take_all_words(self, change):
        self.length = len(self._known)

    @traitlets.observe("length")
    def _keep_cell(self, change):
        self.row, self.column = self._row, max(min(self.column, len(self.tokens) - 1), 0)

    @property
    def tokens(self) -> list[str]:
        """The words that are shown now."""
        return self._known[: max(self.length, 0)]

    @property
    def _known(self) -> list[str]:
        """Of the sentence what has a query and a key, as far as it can be shown."""
        if not self.editable:
            return self.words
        known = set(self.words)
        return [word for word in data.split_words(self.sentence) if word in known][:MAX_TOKENS]

    def weights(self) -> np.ndarray:
        """The weights that are shown now, (num_heads, T, T)."""
        if not self.tokens:
            return np.zeros((self.num_heads, 0, 0), np.float32)
        places = {word: i for i, word in reversed(list(enumerate(self.words)))}
        ids = [places[word] if self.editable else i for i, word in enumerate(self.tokens)]
        q, k = (self._heads(sent)[:, ids] for sent in (self.q, self.k))
        scores = attention_scores(q, k) / self.temperature
        mask = causal_mask(len(ids)) if self.causal else None
        return attention_weights(scores, mask).float().numpy()

    def finding(self) -> str:
        if not self.tokens:
            return f"Write a sentence with words that have vectors.{self._note()}"
        shares = self.weights()[self._head, self._row]
        most = self._row + 1 if self.causal else len(shares)
        best = most_at(self.tokens, shares, most)
        how = "looks at" if best == f"{most} keys alike" else "looks most at"
        entropy = torch.special.entr(torch.tensor(shares)).sum().item()
        query = f"“{self.tokens[self._row]}”{' (locked)' if self.locked else ''}"
        return (
            f"{self._who()} {self._row}, {query}, {how} {best}: {shares.max():.2f}. "
            f"Entropy {entropy:.2f} of at most {np.log(most):.2f} nats.{self._note()}"
        )

    def _note(self) -> str:
        """What the reader has written and the view can not show."""
        if not self.editable:
            return ""
        known, written = set(self.words), data.split_words(self.sentence)
        unknown = [word for word in written if word not in known]
        more = f" and {len(unknown) - MAX_UNKNOWN} more" if len(unknown) > MAX_UNKNOWN else ""
        listed = ", ".join(shortened(word) for word in unknown[:MAX_UNKNOWN])
        note = f" Not in the vocabulary: {listed}{more}." if unknown else ""
        left_out = len(written) - len(unknown) > MAX_TOKENS
        return note + (f" Only the first {MAX_TOKENS} words are shown." if left_out else "")

    def still(self) -> Image.Image:
        labels = self.tokens if len(self.tokens) <= 20 else None
        return map_picture(self.weights()[self._head], labels, self._row, self.finding())

    def _who(self) -> str:
        heads, _, head_dim = self.shape
        if self.resplit:
            width = heads * head_dim // self.num_heads
            return f"Head {self._head} of {self.num_heads}, Dh = {width}: query"
        name = self.names[self._head] if self.names else self._head
        return f"Head {name}: query" if heads > 1 else "Query"

    def _heads(self, sent: bytes) -> Tensor:
        """The queries or keys of all words, cut as shown, in double precision."""
        is_half = len(sent) == 2 * math.prod(self.shape)
        numbers = np.frombuffer(sent, np.float16 if is_half else np.float32)
        given = torch.tensor(numbers).double().view(1, *self.shape)
        return split_heads(merge_heads(given), self.num_heads)[0]

    @property
    def _head(self) -> int:
        return max(min(self.head, self.num_heads - 1), 0)

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
    bad = heads[~heads.isfinite()]
    if len(bad):
        raise ValueError(f"{name} must hold finite numbers, got {bad[0].item()}")
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
