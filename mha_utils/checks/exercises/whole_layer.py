"""The exercises of the whole layer: write it, and tell two wrong ones apart (chapter 10)."""

from mha_utils.checks.layers import Forward, Question

check_forward = Forward(
    asks="`answer`: a class whose `forward(x, context=None, mask=None)` is the reader's."
)
check_question = Question(
    asks="`answer()`: T, S and H for which layer A gives right numbers and layer C wrong ones."
)
