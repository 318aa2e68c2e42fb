"""How far the two published models are from what transformers 5.23 computes of the same files."""

from pathlib import Path

import torch

from mha_utils.records import read_arrays
from mha_utils.trained.decoder import Decoder
from mha_utils.trained.encoder import Encoder

TRANSFORMERS = Path(__file__).with_name("transformers.npz")


@torch.no_grad()
def encoder_difference(encoder: Encoder) -> float:
    """The largest difference to the hidden states that transformers computes, layers 1, 3, 6."""
    theirs = read_arrays(TRANSFORMERS, ["ids", "states"])
    states, _ = encoder(torch.tensor(theirs["ids"]))
    ours = torch.stack([states[layer][0] for layer in (1, 3, 6)])
    return (ours - torch.tensor(theirs["states"])).abs().max().item()


def decoder_difference(decoder: Decoder) -> float:
    """The largest difference to the scores that transformers gives to 4096 next tokens."""
    theirs = read_arrays(TRANSFORMERS, ["tokens", "logits"])
    logits, _ = decoder(torch.tensor(theirs["tokens"]))
    return (logits[0, -1, :4096] - torch.tensor(theirs["logits"])).abs().max().item()
