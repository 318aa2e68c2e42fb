"""Words to word pieces, as BERT's uncased tokenizer does it."""

import re
import unicodedata
from pathlib import Path

from mha_utils.records import reading
from mha_utils.trained.files import ENCODER, locate

START, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
PIECES = 30522  # lines of its vocabulary


class WordPiece:
    """Lower case, no accents, punctuation apart; then the longest piece that is known, again.

    Args:
        pieces: every piece, in the order of their numbers; "##" starts an inner piece.
    """

    def __init__(self, pieces: list[str]):
        self.ids = {piece: i for i, piece in enumerate(pieces)}

    def split(self, text: str) -> list[str]:
        """The pieces of a text, between START and END."""
        bare = unicodedata.normalize("NFD", text.lower())
        bare = "".join(c for c in bare if unicodedata.category(c) != "Mn")
        words = re.findall(r"[^\W_]+|[^\w\s]|_", bare)
        return [START, *(piece for word in words for piece in self._pieces(word)), END]

    def encode(self, pieces: list[str]) -> list[int]:
        return [self.ids[piece] for piece in pieces]

    def _pieces(self, word: str) -> list[str]:
        found, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if mark + word[start:e] in self.ids), None)
            if end is None:
                return [UNKNOWN]
            found.append(mark + word[start:end])
            start = end
        return found


def load_wordpiece() -> WordPiece:
    """The tokenizer of the published encoder.

    Raises:
        ValueError: if the package is not installed or was changed, or the vocabulary is cut off.
    """
    path = Path(locate(ENCODER)).with_name("vocab.txt")
    with reading(path, "vocabulary"):
        pieces = path.read_text("utf-8").splitlines()
        if len(pieces) < PIECES:
            raise ValueError(f"expected {PIECES} lines, got {len(pieces)}")
    return WordPiece(pieces)
