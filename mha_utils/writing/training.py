"""Train the writers of chapter 16, record how they learn: `python -m mha_utils.writing.training`.

Recorded, for each of `LESSONS` at the steps that it keeps: the loss on fresh stories, what the
model writes, the marks of that, and what it remembers; and one writer with the right layer.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from mha_utils.core.guards import require_choice
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import attention_scores, attention_weights, causal_mask
from mha_utils.machine import threads
from mha_utils.museum.masking import CausalShowsTheNext
from mha_utils.museum.projecting import MergeWithoutTranspose
from mha_utils.records import read_arrays, read_record, write_text
from mha_utils.writing.stories import END, LONGEST, answers, mean_marks, questions, stories
from mha_utils.writing.writer import PADDING, Writer, encode, write

RECORD = Path(__file__).with_name("writing.json")
WEIGHTS = Path(__file__).with_name("writer.npz")
SEEDS = tuple(range(10))


@dataclass(frozen=True)
class Lesson:
    """A way to attend, and the steps at which we look how far it is; the last is the end."""

    attention: type
    kept: tuple[int, ...]


LESSONS = {
    "right": Lesson(MultiHeadAttention, (0, 25, 50, 100, 150, 200, 300, 400, 600)),
    "sees the next": Lesson(CausalShowsTheNext, (0, 25, 50, 100, 200)),
    "wrong merge": Lesson(MergeWithoutTranspose, (0, 50, 100, 200, 400, 800)),
}


def loss_of(model: nn.Module, texts: list[str]) -> torch.Tensor:
    """The mean loss in nats a letter: each letter is predicted from all before it."""
    letters = encode([text + END for text in texts], LONGEST)
    logits = model(letters[:, :-1]).transpose(1, 2)
    return F.cross_entropy(logits, letters[:, 1:], ignore_index=PADDING)


def pace(step: int, steps: int) -> float:
    """The share of the learning rate in this step: up in 30 steps, down in the last third."""
    return min(1.0, (step + 1) / 30, (steps - step) / (steps / 3))


@threads(1)
def learn(lesson: Lesson, seed: int) -> tuple[Writer, list[dict]]:
    """Train one writer on stories that it meets once each.

    Returns:
        the writer, and for each kept step what `measure` says.
    """
    torch.manual_seed(seed)
    model, steps, rows = Writer(attention=lesson.attention), lesson.kept[-1], []
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: pace(step, steps))
    for step in range(steps + 1):
        if step in lesson.kept:
            rows.append({"step": step} | measure(model))
        loss = loss_of(model, stories(16, seed=1_000_000 * (seed + 1) + step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model, rows


@torch.no_grad()
def measure(model: Writer) -> dict:
    """The loss on stories that no writer has met, what it writes, and the marks of that."""
    right = type(model.blocks[0].attention) is MultiHeadAttention  # only then is a cache the same
    texts = write(model, number=20, cached=right)
    fresh = stories(64, seed=7)
    found = {"loss": loss_of(model, fresh).item()} | mean_marks(texts)
    shown = {"text": texts[0], "remembered": remembered(model, fresh)}
    return shown | {name: round(share, 4) for name, share in found.items()}


@torch.no_grad()
def remembered(model: nn.Module, texts: list[str]) -> dict[str, float]:
    """The share of stories in which the likeliest letter is right where memory is asked for."""
    letters = encode(texts)
    right = model(letters[:, :-1]).argmax(dim=-1) == letters[:, 1:]
    places = [questions(text) for text in texts]
    return {
        asked: sum(row[place[asked] - 1].item() for row, place in zip(right, places)) / len(texts)
        for asked in places[0]
    }


@torch.no_grad()
def queries_and_keys(model: Writer, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """q and k of all heads of all blocks on a text, each (L x H, T, Dh)."""
    found, x = [], model.embed(encode([text])) + model.place.weight[: len(text)]
    for block in model.blocks:
        normed = block.attention_norm(x)
        found.append(block.attention.project(normed, normed, normed)[:2])
        x = block(x)
    return tuple(torch.cat([pair[n][0] for pair in found]) for n in (0, 1))


def maps_of(model: Writer, text: str) -> torch.Tensor:
    """The weights of all heads of all blocks on a text, (L x H, T, T)."""
    q, k = queries_and_keys(model, text)
    return attention_weights(attention_scores(q, k), causal_mask(len(text)))


def looks_at_answers(model: Writer, texts: list[str]) -> dict[str, torch.Tensor]:
    """The share of its attention that each head has on the word that answers a question.

    The letter that looks is the one in front of the letter that is asked for.

    Returns:
        the question -> a share for each head of all blocks, the mean of the texts.
    """
    found = {asked: [] for asked in questions(texts[0])}
    for text in texts:
        maps = maps_of(model, text)
        for asked, word in answers(text).items():
            found[asked].append(maps[:, questions(text)[asked] - 1, word].sum(dim=-1))
    return {asked: torch.stack(shares).mean(dim=0) for asked, shares in found.items()}


def recorded(lesson: str, path: Path = RECORD) -> list[list[dict]]:
    """What was stored of a lesson: a row for each seed, of rows for each kept step.

    Raises:
        ValueError: if the file is missing or broken, or there is no such lesson.
    """
    require_choice("lesson", lesson, tuple(LESSONS))
    return read_record(path, [*LESSONS])[lesson]


def recorded_writer() -> Writer:
    """The stored writer, trained with seed 0."""
    model = Writer()
    names = list(model.state_dict())
    state = {n: torch.tensor(a).float() for n, a in read_arrays(WEIGHTS, names).items()}
    model.load_state_dict(state)
    return model.eval().requires_grad_(False)


def store(model: Writer) -> None:
    state = {name: p.detach().half().numpy() for name, p in model.state_dict().items()}
    np.savez_compressed(WEIGHTS, **state)


def main() -> None:
    rows = read_record(RECORD, []) if RECORD.exists() else {}
    for name in sys.argv[1:] or LESSONS:
        rows[name] = []
        for seed in SEEDS:
            model, seen = learn(LESSONS[name], seed)
            rows[name].append(seen)
            print(name, seed, seen[-1], flush=True)
            if name == "right" and seed == 0:
                store(model)
            save(rows)


def save(rows: dict) -> None:
    """One seed a line, so that a change can be read in a diff."""
    lessons = [
        f'"{n}": [\n' + ",\n".join(map(json.dumps, rows[n])) + "\n]" for n in LESSONS if n in rows
    ]
    write_text(RECORD, f'{{"torch": "{torch.__version__}",\n' + ",\n".join(lessons) + "}\n")


if __name__ == "__main__":
    main()
