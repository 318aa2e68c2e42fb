"""Attention of one or more heads over a sentence: pick a query, see its row and its numbers."""

import numpy as np
import torch
import traitlets
from PIL import Image
from torch import Tensor

from mha_utils import data
from mha_utils.widgets.base import LiveView
from mha_utils.widgets.still import map_picture

MAX_TOKENS = 128


class HeadExplorer(LiveView):
    """Explore softmax(q k^T / sqrt(Dh) / temperature) in the browser.

    Args:
        words: the words that have a query and a key; without `sentence`, the tokens shown.
        q: queries of the words, (H, words, Dh), or (words, Dh) for a single head.
        k: keys of the words, same shape.
        sentence: text made of `words`; the reader can then write another one.
        row, column: the query and the key chosen at first.
        temperature: divides the scores before the softmax; above 0.
        causal: whether a query may look only at itself and before.

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
    head = traitlets.Int(0).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        words: list[str],
        q: Tensor,
        k: Tensor,
        sentence: str | None = None,
        *,
        row: int = 0,
        column: int = 0,
        temperature: float = 1.0,
        causal: bool = False,
    ):
        q, k = _as_heads("q", q, len(words)), _as_heads("k", k, len(words))
        if q.shape != k.shape:
            raise ValueError(f"q and k must have one shape, got {q.shape} and {k.shape}")
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}")
        shown = words if sentence is None else data.split_words(sentence)
        _require_tokens(shown, words)
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
            temperature=temperature,
            causal=causal,
        )

    @property
    def tokens(self) -> list[str]:
        """The words that are shown now."""
        if not self.editable:
            return self.words[: self.length]
        known = [word for word in data.split_words(self.sentence) if word in self.words]
        return known[: self.length]

    def weights(self) -> np.ndarray:
        """The weights that are shown now, (H, T, T)."""
        ids = [self.words.index(word) for word in self.tokens]
        ids = ids if self.editable else list(range(self.length))
        q, k = (np.frombuffer(b, np.float32).reshape(self.shape)[:, ids] for b in (self.q, self.k))
        scores = np.einsum("htd,hsd->hts", q, k) / np.sqrt(self.shape[-1]) / self.temperature
        if self.causal:
            scores = np.where(np.tri(len(ids), dtype=bool), scores, -np.inf)
        return torch.tensor(scores).softmax(dim=-1).numpy()

    def finding(self) -> str:
        shares = self.weights()[self.head, self._row]
        best, most = int(shares.argmax()), self._row + 1 if self.causal else len(shares)
        entropy = torch.special.entr(torch.tensor(shares)).sum().item()
        who = f"Head {self.head}: query" if self.shape[0] > 1 else "Query"
        return (
            f"{who} {self._row}, “{self.tokens[self._row]}”, looks most at key {best}, "
            f"“{self.tokens[best]}”: {shares[best]:.2f}. "
            f"Entropy {entropy:.2f} of at most {np.log(most):.2f} nats."
        )

    def still(self) -> Image.Image:
        labels = self.tokens if len(self.tokens) <= 20 else None
        return map_picture(self.weights()[self.head], labels, self._row, self.finding())

    @property
    def _row(self) -> int:
        return min(self.row, len(self.tokens) - 1)


def _as_heads(name: str, x: Tensor, num_words: int) -> np.ndarray:
    x = torch.as_tensor(x).detach().float().cpu()
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
