"""One example of every live view, for a page of its own: `python -m mha_utils.widgets`."""

from collections.abc import Callable

from mha_utils import data
from mha_utils.attention import causal_mask
from mha_utils.widgets.base import LiveView
from mha_utils.widgets.cell_steps import CellSteps
from mha_utils.widgets.dropout_draws import DropoutDraws
from mha_utils.widgets.head_explorer import HeadExplorer
from mha_utils.widgets.layer_cost import LayerCost
from mha_utils.widgets.mask_painter import MaskPainter
from mha_utils.widgets.memory_ribbon import MemoryRibbon
from mha_utils.widgets.pipeline import Pipeline
from mha_utils.widgets.shape_letters import ShapeLetters
from mha_utils.widgets.softmax_scale import SoftmaxScale


def _explorer() -> HeadExplorer:
    vocabulary = data.toy_vocabulary()
    words = data.toy_word_vectors(vocabulary)
    W_q, W_k, _ = data.toy_head_weights()
    options = {"sentence": data.SENTENCE, "row": 7, "column": 1}
    return HeadExplorer(list(vocabulary.words), words @ W_q, words @ W_k, **options)


def _painter() -> MaskPainter:
    vocabulary, words = data.toy_vocabulary(), data.split_words(data.SENTENCE)[:7]
    x = data.toy_word_vectors(vocabulary)[vocabulary.encode(" ".join(words))]
    q, k, v = (x @ weight for weight in data.toy_head_weights())
    return MaskPainter(q, k, v, words, causal_mask(7))


def _steps() -> CellSteps:
    vocabulary, words = data.toy_vocabulary(), data.split_words(data.SENTENCE)
    x = data.toy_word_vectors(vocabulary)[vocabulary.encode(data.SENTENCE)]
    q, k, v = (x @ weight for weight in data.toy_head_weights())
    return CellSteps(words, q, k, v, query=words.index("it"), key=words.index("cat"))


def _dropout() -> DropoutDraws:
    painter = _painter()
    return DropoutDraws(painter.weights(), painter.tokens)


EXAMPLES: dict[str, Callable[[], LiveView]] = {
    "CellSteps": _steps,
    "DropoutDraws": _dropout,
    "HeadExplorer": _explorer,
    "LayerCost": LayerCost,
    "MaskPainter": _painter,
    "MemoryRibbon": MemoryRibbon,
    "Pipeline": Pipeline,
    "ShapeLetters": ShapeLetters,
    "SoftmaxScale": SoftmaxScale,
}
