"""What several test files use."""

from mha_utils import data, widgets


def toy_explorer(**options) -> widgets.HeadExplorer:
    """The live view of chapter 01."""
    vocabulary = data.toy_vocabulary()
    vectors = data.toy_word_vectors(vocabulary)
    w_q, w_k, _ = data.toy_head_weights()
    words = list(vocabulary.words)
    return widgets.HeadExplorer(words, vectors @ w_q, vectors @ w_k, data.SENTENCE, **options)
