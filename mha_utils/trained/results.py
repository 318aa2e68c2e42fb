"""What chapter 13 says about the two published models, as numbers: measured now, or recorded.

`python -m mha_utils.trained` measures both models and stores the numbers in mha_utils/recorded.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mha_utils.experiments.scores import at_offset, chosen_on_half, mass_on
from mha_utils.records import read_arrays, read_record, require_writable, write_text
from mha_utils.trained import survey
from mha_utils.trained.decoder import Decoder, load_decoder
from mha_utils.trained.encoder import Encoder, load_encoder
from mha_utils.trained.files import DECODER, ENCODER, is_installed
from mha_utils.trained.sentences import ANTECEDENT_BY_GENDER, ANTECEDENT_BY_MEANING, RELATIONS
from mha_utils.trained.word_classes import rule_accuracy
from mha_utils.trained.wordpiece import WordPiece, load_wordpiece

FOLDER = Path(__file__).parent
NUMBERS, MAPS = FOLDER / "trained_heads.json", FOLDER / "trained_heads.npz"
OTHERS = FOLDER / "transformers.npz"  # what the library transformers 5.23 makes of the same files
FAMOUS = ("The cat sat on the mat because it was tired .", "tired", "soft")
BLOCK, SEEDS, SHUFFLES = 25, (0, 1, 2), (0, 1, 2)


def encoder_results() -> dict:
    """Measured now if the package is installed, else as recorded; shuffled weights as recorded."""
    stored = recorded("encoder")
    if not is_installed(ENCODER):
        return stored
    found = measure_encoder(load_encoder(), load_wordpiece(), shuffles=())
    for name, relation in found["relations"].items():
        relation["shuffled"] = stored["relations"][name]["shuffled"]
    return found


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
    if not NUMBERS.exists():
        raise ValueError(f"no recorded results at {NUMBERS.name}")
    return read_record(NUMBERS, ["encoder", "decoder"])[model]


def measure_encoder(encoder: Encoder, tokenizer: WordPiece, shuffles=SHUFFLES) -> dict:
    """Every score of all 72 heads, over the marked sentences."""
    found: dict = {"relations": {}, "twins": {}, "famous": {}, "off": off_encoder(encoder)}
    maps, sentences = [], []
    mixed_up = [survey.shuffled(encoder, seed) for seed in shuffles]
    for name, text in RELATIONS.items():
        own_maps, own = survey.all_maps(encoder, tokenizer, text)
        right = survey.words_hit(own_maps, own)
        controls = [survey.words_hit(*survey.all_maps(m, tokenizer, text)) for m in mixed_up]
        found["relations"][name] = {
            "n": len(own),
            "accuracy": _rounded(right.float().mean(dim=0)),
            "other half": round(chosen_on_half(right).item(), 3),
            "best offset": round(survey.best_offset(own), 3),
            "word class": round(rule_accuracy(name, own), 3),
            "shuffled": [round(c.float().mean(dim=0).max().item(), 3) for c in controls],
        }
        maps, sentences = maps + own_maps, sentences + own
    for name, text in (("gender", ANTECEDENT_BY_GENDER), ("meaning", ANTECEDENT_BY_MEANING)):
        difference = survey.preference(*survey.all_maps(encoder, tokenizer, text))
        found["twins"][name] = measure_twins(difference)
    found["simple"] = {n: _rounded(v) for n, v in survey.simple_scores(maps, sentences).items()}
    found["queries"] = len(sentences)
    found["sentences"] = len({tuple(example.words) for example in sentences})
    sentence, tired, soft = FAMOUS
    for last in (tired, soft):
        found["famous"][last] = looks_at_cat(encoder, tokenizer, sentence.replace(tired, last))
    return found


def measure_twins(difference: Tensor) -> dict:
    """Scores of (N, A) preferences for the right noun; rows 2n and 2n + 1 are twins."""
    moves = survey.shifts(difference)
    by_sentence, by_pair = (survey.luck_of_the_best(d, n) for d, n in ((difference, 2), (moves, 1)))
    return {
        "pairs": len(moves),
        "right": _rounded((difference > 0).float().mean(dim=0)),
        "margin": _rounded(difference.mean(dim=0)),
        "lucky best": round(by_sentence[0], 3),
        "luck": round(by_sentence[1], 4),
        "other half": round(chosen_on_half(difference > 0, together=2).item(), 3),
        "moves": _rounded((moves > 0).float().mean(dim=0)),
        "lucky moves": round(by_pair[0], 3),
        "luck of moves": round(by_pair[1], 4),
    }


@torch.no_grad()
def off_encoder(encoder: Encoder) -> float:
    """The largest difference to the hidden states that transformers computes, layers 1, 3, 6."""
    theirs = read_arrays(OTHERS, ["ids", "states"])
    states, _ = encoder(torch.tensor(theirs["ids"]))
    ours = torch.stack([states[layer][0] for layer in (1, 3, 6)])
    return (ours - torch.tensor(theirs["states"])).abs().max().item()


def off_decoder(decoder: Decoder) -> float:
    """The largest difference to the scores that transformers gives to 4096 next tokens."""
    theirs = read_arrays(OTHERS, ["tokens", "logits"])
    logits, _ = decoder(torch.tensor(theirs["tokens"]))
    return (logits[0, -1, :4096] - torch.tensor(theirs["logits"])).abs().max().item()


@torch.no_grad()
def looks_at_cat(encoder: Encoder, tokenizer: WordPiece, sentence: str) -> dict:
    """What "it" gives to "cat" in every head, and what the other words give on average."""
    pieces = tokenizer.split(sentence)
    _, maps = encoder(torch.tensor([tokenizer.encode(pieces)]))
    to_cat = maps[:, 0].flatten(0, 1)[..., pieces.index("cat")]
    it, cat = pieces.index("it"), pieces.index("cat")
    others = [i for i in range(1, len(pieces) - 2) if i not in (it, cat)]
    return {"it": _rounded(to_cat[:, it]), "others": _rounded(to_cat[:, others].mean(dim=-1))}


@torch.no_grad()
def famous_queries_and_keys(
    encoder: Encoder, tokenizer: WordPiece, sentence: str = FAMOUS[0]
) -> tuple[list[str], Tensor, Tensor]:
    """The pieces of a sentence, and q and k of all heads, (A, T, Dh)."""
    pieces = tokenizer.split(sentence)
    states, _ = encoder(torch.tensor([tokenizer.encode(pieces)]))
    q, k = encoder.queries_and_keys(states)
    return pieces, q[:, 0].flatten(0, 1), k[:, 0].flatten(0, 1)


def sentence_heads(sentence: str = FAMOUS[0]) -> tuple[list[str], Tensor, Tensor]:
    """Pieces, q and k of a sentence in all heads of the encoder, (A, T, Dh).

    Raises:
        ValueError: if another sentence than the recorded one is asked for and the package is
            not installed.
    """
    if is_installed(ENCODER):
        return famous_queries_and_keys(load_encoder(), load_wordpiece(), sentence)
    if sentence != FAMOUS[0]:
        raise ValueError(
            f"without the trained models only {FAMOUS[0]!r} is recorded; install them with "
            "`make lab TRAINED=1` to try your own sentence"
        )
    stored = read_arrays(MAPS, ["pieces", "q", "k"])
    q, k = (torch.tensor(stored[name].astype(np.float32)) for name in ("q", "k"))
    return stored["pieces"].tolist(), q, k


def repeated_tokens(seed: int, rows: int = 2, vocabulary: int = 40_000) -> Tensor:
    """A start token, random tokens, and the same tokens again: (rows, 1 + 2 x BLOCK)."""
    generator = torch.Generator().manual_seed(seed)
    block = torch.randint(100, vocabulary, (rows, BLOCK), generator=generator)
    return torch.cat([torch.zeros(rows, 1, dtype=torch.long), block, block], dim=1)


def copy_losses(decoder: Decoder, ids: Tensor, without=()) -> tuple[float, float, Tensor]:
    """Mean loss in nats on the first and on the second copy, and the maps (A, B, T, T)."""
    logits, maps = decoder(ids, without)
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    first, second = losses[:, :BLOCK].mean().item(), losses[:, BLOCK + 1 :].mean().item()
    return first, second, maps.transpose(1, 2).flatten(0, 1)


def measure_decoder(decoder: Decoder, removed_for: tuple[int, ...] = SEEDS) -> dict:
    """Losses on repeated random tokens, with all heads and without some of them."""
    every = [repeated_tokens(seed) for seed in SEEDS]
    whole = [copy_losses(decoder, ids) for ids in every]
    maps = torch.cat([m for _, _, m in whole], dim=1)
    length = maps.shape[-1]
    places = {
        "previous token": at_offset(length, -1)[:, 1:],
        "induction": at_offset(length, 1 - BLOCK)[:, 1:],
        "first token": (torch.arange(length) == 0).expand(1, length, -1)[:, 1:],
    }
    by_batch = maps[:, :, 1:].transpose(0, 1)
    found: dict = {"off": off_decoder(decoder)}
    found |= {n: _rounded(mass_on(by_batch, where)) for n, where in places.items()}
    found |= {"first copy": [round(w[0], 2) for w in whole]}
    found |= {"second copy": [round(w[1], 2) for w in whole], "without": {}}
    for name, pairs in to_remove(decoder, found).items():
        losses = [copy_losses(decoder, every[s], pairs)[1] for s in removed_for]
        found["without"][name] = [round(loss, 2) for loss in losses]
    return found


def to_remove(decoder: Decoder, found: dict) -> dict[str, list[tuple[int, int]]]:
    """The strongest previous-token head, the strongest induction head, and three others by lot."""
    heads = decoder.num_heads
    pairs = {
        name: divmod(int(np.argmax(found[score])), heads)
        for name, score in (
            ("previous-token head", "previous token"),
            ("induction head", "induction"),
        )
    }
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(0, len(found["induction"]), (3,), generator=generator).tolist()
    pairs |= {f"head by lot, {n}": divmod(place, heads) for n, place in enumerate(drawn, 1)}
    return {f"{name} {layer}.{head}": [(layer, head)] for name, (layer, head) in pairs.items()}


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 3) for value in values.tolist()]


def record() -> None:
    """Measure both models and write the numbers and the maps."""
    require_writable(NUMBERS)
    encoder, tokenizer = load_encoder(), load_wordpiece()
    numbers = {
        "encoder": measure_encoder(encoder, tokenizer),
        "decoder": measure_decoder(load_decoder()),
    }
    write_text(NUMBERS, json.dumps(numbers, indent=1) + "\n")
    pieces, q, k = famous_queries_and_keys(encoder, tokenizer)
    halves = {"q": q.numpy().astype(np.float16), "k": k.numpy().astype(np.float16)}
    np.savez_compressed(MAPS, pieces=np.array(pieces), **halves)
