"""The exercises of the whole layer: write it, and let a wrong one through (chapter 10)."""

from mha_utils.checks.layers import Forward, Question

check_forward = Forward(
    asks="`answer`: a class whose `forward(x, context=None, mask=None)` is the reader's."
)
check_question = Question(
    asks="`answer()`: T, D and H for which the layer by H gives right numbers, A and C wrong ones."
)
