"""One cell of attention, step by step: from the products of q and k to the output row."""

import re

import traitlets
from jaxtyping import Float
from torch import Tensor

from mha_utils import theme
from mha_utils.core.steps import attention_scores, attention_weights, causal_mask
from mha_utils.widgets.cell_tables import Numbers, numbers_of, table_of, trimmed
from mha_utils.widgets.kit.base import refuses
from mha_utils.widgets.kit.one_head import OneHead, require_one_head, require_words
from mha_utils.widgets.kit.still import HALF, Cell, Grid, in_columns, picture
from mha_utils.widgets.kit.values import count, fixed

STEPS = ("products", "sum", "scale", "mask", "softmax", "times v")
MAX_WIDTH, LISTED = 16, 4


class CellSteps(OneHead):
    """Walk through softmax(q kᵀ / √Dh) v of one head, for one query and one key.

    The steps: 1 products of q and k, 2 their sum, 3 divided by √Dh, 4 the mask, 5 the softmax
    of the row, 6 weights times v, summed to the output row.

    Args:
        words: T words, T from 1 to 12.
        q: queries of one head, (T, Dh), Dh from 1 to 16.
        k: keys, (T, Dh).
        v: values, (T, Dv), Dv from 1 to 16.
        query, key: places of the query and the key chosen at first.
        mask: boolean (T, T), True = may attend; None lets everyone attend.
        is_causal: whether a query may look only at itself and before, on top of `mask`.
        step: the step at first, 1 to 6.

    Raises:
        ValueError: if q, k, v are not one head of that size, hold NaN or infinity, or words,
            mask, query, key or step do not fit.
    """

    script = "cell_steps"

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    is_causal = traitlets.Bool(False).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    key = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(1).tag(sync=True)

    def __init__(
        self,
        words: list[str],
        q: Tensor,
        k: Tensor,
        v: Tensor,
        query: int = 0,
        key: int = 0,
        mask: Tensor | None = None,
        is_causal: bool = False,
        *,
        step: int = 1,
    ):
        q, k, v = require_one_head(q, k, v)
        length, head_dim, value_dim = len(q), q.shape[1], v.shape[1]
        if max(head_dim, value_dim) > MAX_WIDTH:
            raise ValueError(
                f"expected Dh and Dv of at most {MAX_WIDTH}, got Dh = {head_dim} and "
                f"Dv = {value_dim}"
            )
        super().__init__(
            q,
            k,
            v,
            mask,
            words=require_words("words", words, "T", length),
            is_causal=is_causal,
            query=_require_place("query", query, 0, length - 1),
            key=_require_place("key", key, 0, length - 1),
            step=_require_place("step", step, 1, len(STEPS)),
        )

    @refuses("query", "key", "step")
    def _keep_range(self, name, place):
        least, most = (1, len(STEPS)) if name == "step" else (0, len(self.words) - 1)
        _require_place(name, place, least, most)

    def numbers(self) -> Numbers:
        """The numbers of the present query and key, in double precision as in the browser."""
        allowed = self._mask()[self.query]
        return numbers_of(*self._tensors(), allowed, self.query, self.key)

    def table(self) -> list[list[str]]:
        """The numbers of the present step as text, a header first."""
        return table_of(self.step, self.words, self.numbers(), self.key)

    def finding(self) -> str:
        return f"Step {self.step} of 6, {STEPS[self.step - 1]}. {self._chain()}"

    def still(self):
        cells = [[self._cell(i, j) for j in range(self.shape[0])] for i in range(self.shape[0])]
        grid = Grid("", cells, self.words, self.words, self.query)
        table = [[re.sub(".* × .* = ", "", text) for text in row] for row in self.table()]
        text = in_columns(table)
        lines = [[grid, text]] if text.index("\n") <= HALF else [[grid], [text]]
        return picture(self.finding(), *lines)

    def _chain(self) -> str:
        """What is known of the cell after the present step."""
        numbers, i, j, (length, head_dim, _) = self.numbers(), self.query, self.key, self.shape
        score, forbidden = fixed(numbers.scores[j]), numbers.masked[j].isinf()
        product, most = fixed(numbers.products.sum()), fixed(numbers.products.abs().max())
        quotient = f"{product} / √{head_dim} = {score}"
        ruling = "forbidden, so it becomes −∞" if forbidden else "allowed"
        weight = f"{', forbidden' if forbidden else ''}, weight {fixed(numbers.weights[j])}."
        known = {
            1: f"{count(head_dim, 'product')}, the largest in size {most}.",
            2: f"the products sum to {product}.",
            3: f"{quotient}.",
            4: f"{score}, {ruling}. {int(self._mask()[i].sum())} of {length} keys are allowed.",
            5: f"{quotient}{weight}",
            6: f"{quotient}{weight} Output: {self._listed(numbers.out)}",
        }
        return f"“{self.words[i]}” · “{self.words[j]}”: {known[self.step]}"

    def _listed(self, out: Tensor) -> str:
        return ", ".join(map(fixed, out[:LISTED])) + (", …" if len(out) > LISTED else ".")

    def _cell(self, i: int, j: int) -> Cell:
        """One cell of the map, which shows what is known after the present step."""
        chosen = (i, j) == (self.query, self.key)
        if self.step == 1:
            return Cell(theme.signed_colour(0), "?" if chosen else "", chosen)
        if self.step >= 4 and not self._mask()[i, j]:
            return Cell(theme.FORBIDDEN, marked=chosen)
        number = self._map()[i, j].item()
        if self.step >= 5:
            return Cell(theme.weight_colour(number), fixed(number), chosen)
        most = self._map().abs().max().item() or 1.0
        return Cell(theme.signed_colour(number / most), trimmed(number), chosen)

    def _map(self) -> Float[Tensor, "T T"]:
        q, k, _ = self._tensors()
        if self.step <= 2:
            return q @ k.T
        scores = attention_scores(q, k)
        return scores if self.step <= 4 else attention_weights(scores, self._mask())

    def _mask(self) -> Tensor:
        return self.mask & causal_mask(self.shape[0]) if self.is_causal else self.mask


def _require_place(name: str, value: int, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}")
    return value
