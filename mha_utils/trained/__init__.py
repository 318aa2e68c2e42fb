"""Two small published models whose heads chapter 13 looks at; both packages are optional."""

from mha_utils.trained.decoder import Decoder, load_decoder
from mha_utils.trained.encoder import HEAD_NAMES, Encoder, load_encoder, load_tokenizer
from mha_utils.trained.files import DECODER, ENCODER, is_installed, locate
from mha_utils.trained.results import (
    as_narrow,
    decoder_results,
    encoder_results,
    sentence_heads,
    usable_sentence_heads,
    where_from,
)
