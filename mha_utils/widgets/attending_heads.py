"""Heads over a sentence, computed as the browser does: weights, values and outputs."""

import numpy as np
import traitlets
from torch import Tensor

from mha_utils import data
from mha_utils.core import steps
from mha_utils.core.guards import require_divisible
from mha_utils.widgets.kit.base import refuses
from mha_utils.widgets.kit.judged import judged
from mha_utils.widgets.kit.one_head import require_temperature, several_heads
from mha_utils.widgets.kit.values import clamped, require_at_most, require_places, unpacked
from mha_utils.widgets.new_words import MOST_TOKENS, NewWords

MAX_HEADS = 32  # or as many as were given


class AttendingHeads(NewWords):
    """A view of H heads whose words have rows of q and k, and of v where it was given."""

    shape = traitlets.List(traitlets.Int()).tag(sync=True)  # of q and k
    q = traitlets.Bytes().tag(sync=True)
    k = traitlets.Bytes().tag(sync=True)
    v = traitlets.Bytes().tag(sync=True)
    value_dim = traitlets.Int(0).tag(sync=True)  # 0: no values were given
    length = traitlets.Int(1).tag(sync=True)
    resplit = traitlets.Bool(False).tag(sync=True)
    num_heads = traitlets.Int(1).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    other = traitlets.Int(None, allow_none=True).tag(sync=True)  # the head to compare with
    temperature = judged(traitlets.Float, 1.0, require_temperature)
    causal = traitlets.Bool(False).tag(sync=True)

    @refuses("num_heads")
    def _keep_columns(self, name, num_heads):
        heads, _, head_dim = self.shape
        require_divisible(heads * head_dim, num_heads)
        if num_heads != heads and not self.resplit:
            raise ValueError(f"num_heads must stay {heads} without resplit=True, got {num_heads}")
        require_at_most(max(heads, MAX_HEADS), num_heads=num_heads)

    @refuses("other")
    def _keep_other(self, name, other):
        if other is not None:
            require_places(self.num_heads, other=other)

    @property
    def tokens(self) -> list[str]:
        """The words that are shown now."""
        return self._known[: max(self.length, 0)]

    @property
    def _known(self) -> list[str]:
        """Of the sentence what has a query and a key, as far as it can be shown."""
        if not self.editable:
            return self.words
        words, written = self._vocabulary, data.split_words(self.sentence)
        return [word for word in written if word in words][:MOST_TOKENS]

    def weights(self) -> np.ndarray:
        """The weights that are shown now, (num_heads, T, T)."""
        if not self.tokens:
            return np.zeros((self.num_heads, 0, 0), np.float32)
        q, k = self._heads("q"), self._heads("k")
        scores = steps.attention_scores(q, k) / self.temperature
        mask = steps.causal_mask(len(self.tokens)) if self.causal else None
        return steps.attention_weights(scores, mask).float().numpy()

    def values(self) -> np.ndarray:
        """The values of the words that are shown now, (num_heads, T, Dv).

        Raises:
            ValueError: if the view was made without v.
        """
        if not self.value_dim:
            raise ValueError("this view has no values: it was made without v")
        return self._heads("v").float().numpy()

    def output(self) -> np.ndarray:
        """What the words get, weights @ values, (num_heads, T, Dv).

        Raises:
            ValueError: if the view was made without v.
        """
        return self.weights() @ self.values()

    def difference(self) -> np.ndarray:
        """The weights of the chosen head less those of the other one, (T, T).

        Raises:
            ValueError: if `other` is None.
        """
        if self.other is None:
            raise ValueError("there is nothing to compare with: set other to a head")
        weights = self.weights()
        return weights[self._head] - weights[clamped(self.other, 0, self.num_heads - 1)]

    def _heads(self, name: str) -> Tensor:
        """The q, k or v of the words that are shown, cut as shown, in double precision."""
        heads, words, head_dim = self.shape
        dim = self.value_dim if name == "v" else head_dim
        rows = unpacked(getattr(self, name), heads, words, dim)
        rows = self._with_learned(rows, getattr(self, f"feature_{name}"))
        every = self._vocabulary
        ids = [every.index(w) if self.editable else i for i, w in enumerate(self.tokens)]
        return steps.split_heads(steps.merge_heads(rows[None]), self.num_heads)[0][:, ids]

    @property
    def _head(self) -> int:
        return clamped(self.head, 0, self.num_heads - 1)


def required_values(v: Tensor, q: Tensor, resplit: bool) -> Tensor:
    """The values of words, (H, words, Dv), for queries (H, words, Dh).

    Raises:
        ValueError: if they do not fit the queries, or hold NaN or infinity.
    """
    v = several_heads("v", v, q.shape[1], "Dv")
    if len(v) != len(q):
        raise ValueError(f"v must have H = {len(q)} as q, got {tuple(v.shape)}")
    if resplit and v.shape != q.shape:
        raise ValueError(f"v must be {tuple(q.shape)} as q with resplit=True, got {tuple(v.shape)}")
    return v
