"""A small language model that reads and writes in the browser, on a text of the reader's."""

from copy import deepcopy

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from mha_utils import theme
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.steps import attention_scores, attention_weights
from mha_utils.widgets.kit.base import LiveView, refuses, sendable
from mha_utils.widgets.kit.judged import judged
from mha_utils.widgets.kit.one_head import require_temperature
from mha_utils.widgets.kit.still import Cell, Grid, picture, share_cell, shortened
from mha_utils.widgets.kit.values import fixed, joined, require_one_of
from mha_utils.writing.stories import END
from mha_utils.writing.training import queries_and_keys, recorded_writer
from mha_utils.writing.writer import IDS, LETTERS, PADDING, Writer, encode

OURS = {MultiHeadAttention, FusedMultiHeadAttention}  # what the JavaScript computes
LINE, STEPS = 50, 31  # letters in a line of the still picture; whole numbers above 0


class WriterAtWork(LiveView):
    """What a `Writer` expects to come next, where its heads look, and what it goes on with.

    It runs in the browser: a page has all of its numbers, each of them rounded to one of 63
    values and a scale for each row. `model` has the same rounded numbers.

    Args:
        model: the recorded writer of chapter 16, when left out.
        text: what it reads. What no story has is left out, and so is what it has no place for.
        head: the head whose weights are shown, as "1.2": block and head; the last if left out.
        temperature: divides the scores of the next letter.

    Raises:
        ValueError: if there is no such head, the temperature is not above 0, or the model
            attends with another layer than `MultiHeadAttention` or its fast twin.
    """

    script = "writer_at_work"

    text = traitlets.Unicode("").tag(sync=True)  # with END as its last letter if it is over
    head = traitlets.Unicode("").tag(sync=True)
    temperature = judged(traitlets.Float, 0.7, require_temperature)
    letters = traitlets.List(traitlets.Unicode()).tag(sync=True)
    heads = traitlets.List(traitlets.Unicode()).tag(sync=True)
    shapes = traitlets.List().tag(sync=True)  # name, rows, columns of each tensor
    places = traitlets.Int().tag(sync=True)  # how many letters it can read
    numbers = traitlets.Bytes().tag(sync=True)  # -31 to 31, a byte each
    scales = traitlets.Bytes().tag(sync=True)  # of each row, in half precision

    def __init__(
        self,
        model: Writer | None = None,
        text: str = "Once there was a quiet fox called Ruth. One day ",
        *,
        head: str | None = None,
        temperature: float = 0.7,
    ):
        model = recorded_writer() if model is None else model
        _require_our_layer(model)
        count = model.blocks[0].attention.num_heads
        heads = [f"{n}.{head_}" for n in range(len(model.blocks)) for head_ in range(count)]
        rows = {name: rounded(p) for name, p in model.state_dict().items()}
        self.model = with_rows(model, rows)
        super().__init__(
            text=text,
            heads=heads,
            head=heads[-1] if head is None else head,
            temperature=temperature,
            letters=list(LETTERS),
            shapes=[[name, *whole.shape] for name, (whole, _) in rows.items()],
            numbers=b"".join(whole.numpy().tobytes() for whole, _ in rows.values()),
            scales=torch.cat([scale for _, scale in rows.values()]).numpy().tobytes(),
            places=len(model.place.weight),
        )

    @refuses("head")
    def _keep_head(self, name, head):
        require_one_of(self.heads, joined(self.heads), head=head)

    @property
    def story(self) -> str:
        """The part of the text that it reads; “Once”, if nothing is left."""
        kept = "".join(letter for letter in self.text.split(END)[0] if letter in IDS)
        return kept[: self.places] or "Once"

    def chances(self) -> Float[Tensor, " letters"]:
        """Of every letter to come next, in the order of `LETTERS`."""
        return (self._scores() / self.temperature).softmax(dim=-1)

    def _scores(self) -> Float[Tensor, " letters"]:
        scores = self.model(encode([self.story]))[0, -1]
        scores[PADDING] = -torch.inf  # which is no letter
        return scores

    def weights(self) -> Float[Tensor, "H T"]:
        """How the last letter shares out its attention in every head."""
        q, k = queries_and_keys(self.model, self.story)
        return attention_weights(attention_scores(q[:, -1:], k))[:, 0]

    def finding(self) -> str:
        story, chances = self.story, self.chances()
        weights = self.weights()[self.heads.index(self.head)]
        next_, place = int(chances.argmax()), int(weights.argmax())
        return (
            f"{self._note()}After “{story[-20:]}”, at temperature {fixed(self.temperature, 1)}, "
            f"it expects {named(LETTERS[next_])}: {fixed(chances[next_])}. "
            f"Head {self.head} looks most at {there(story, place)}: {fixed(weights[place])}."
        )

    def _note(self) -> str:
        """What was left out of the text, and whether it is over."""
        text, *after = sendable(self.text).split(END)
        unknown = "".join(dict.fromkeys(letter for letter in text if letter not in IDS))
        known = [letter for letter in text if letter in IDS]
        return (
            (f"The stories have no “{shortened(unknown)}”: left out. " if unknown else "")
            + ("Nothing is left to read: we take “Once”. " if not known else "")
            + (f"It has {self.places} places: no more is read. " * (len(known) > self.places))
            + ("The story is over. " if after else "")
        )

    def still(self):
        story, chances = self.story, self.chances()
        best = self._scores().topk(10).indices
        names = [named(LETTERS[n]) for n in best]
        bars = Grid("", [[share_cell(chances[n].item()) for n in best]], [], names)
        shares = self.weights()[self.heads.index(self.head)].tolist()
        cells = [Cell(theme.weight_colour(share), x) for share, x in zip(shares, story)]
        lines = [cells[n : n + LINE] for n in range(0, len(cells), LINE)]
        return picture(self.finding(), [bars], [Grid("", lines, largest=(16, 20))])


def _require_our_layer(model: Writer) -> None:
    others = {type(block.attention) for block in model.blocks} - OURS
    if others:
        got = joined(sorted(kind.__name__ for kind in others))
        raise ValueError(f"model must attend with MultiHeadAttention, got {got}")


def rounded(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers as whole ones from -31 to 31, row by row, and what to multiply a row by."""
    rows = torch.atleast_2d(numbers.detach().cpu().float())
    scale = (rows.abs().amax(dim=1) / STEPS).clamp(min=1e-4).half()
    return (rows / scale[:, None].float()).round().clamp(-STEPS, STEPS).to(torch.int8), scale


def with_rows(model: Writer, rows: dict[str, tuple[Tensor, Tensor]]) -> Writer:
    """A copy of the model with the numbers that `rounded` leaves."""
    twin, state = deepcopy(model).cpu().eval().requires_grad_(False), model.state_dict()
    exact = {name: whole * scale[:, None].float() for name, (whole, scale) in rows.items()}
    twin.load_state_dict({name: exact[name].view(state[name].shape) for name in state})
    return twin


def named(letter: str) -> str:
    names = {" ": "a space", END: "the end"}
    return names.get(letter, f"“{letter}”")


def there(story: str, place: int) -> str:
    """A letter and the word in which it stands."""
    before, after = story[:place].split(" ")[-1], story[place + 1 :].split(" ")[0]
    if story[place] == " ":
        return f"the space after “{before}”"
    return f"the “{story[place]}” of “{before}{story[place]}{after}”"
