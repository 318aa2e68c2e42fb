"""What several test files use."""

import numpy as np

from mha_utils import data, widgets
from mha_utils.checks.tensors import Tensors

check_scores = Tensors(  # an exercise with gradients on paper and no known mistakes
    asks="`answer(q, k)`: scores (*B, T, S) of q (*B, T, Dh) and k (*B, S, Dh).",
    inputs=("q", "k"),
    solve=lambda q, k: q.astype(np.float64) @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1]),
    gradients=lambda q, k, grad_out: (
        grad_out @ k / np.sqrt(q.shape[-1]),
        np.swapaxes(grad_out, -2, -1) @ q / np.sqrt(q.shape[-1]),
    ),
)


def toy_explorer(**options) -> widgets.HeadExplorer:
    """The live view of chapter 01."""
    vocabulary = data.toy_vocabulary()
    vectors = data.toy_word_vectors(vocabulary)
    w_q, w_k, _ = data.toy_head_weights()
    words = list(vocabulary.words)
    return widgets.HeadExplorer(words, vectors @ w_q, vectors @ w_k, data.SENTENCE, **options)
