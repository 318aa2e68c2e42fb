"""Two small published models whose heads chapter 13 looks at; both packages are optional."""

from mha_utils.trained.decoder import Decoder, load_decoder
from mha_utils.trained.encoder import Encoder, load_encoder
from mha_utils.trained.files import DECODER, ENCODER, is_installed, locate
from mha_utils.trained.results import decoder_results, encoder_results, sentence_heads, where_from
from mha_utils.trained.wordpiece import WordPiece, load_wordpiece

__all__ = [
    "DECODER",
    "ENCODER",
    "Decoder",
    "Encoder",
    "WordPiece",
    "decoder_results",
    "encoder_results",
    "is_installed",
    "load_decoder",
    "load_encoder",
    "load_wordpiece",
    "locate",
    "sentence_heads",
    "where_from",
]
