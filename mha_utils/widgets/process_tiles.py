"""Tokens and heads as tiles on several processes: who holds what, step by step, in three ways."""

import traitlets

from mha_utils import theme
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.judged import choice, judged, size
from mha_utils.widgets.kit.still import Cell, Grid, picture
from mha_utils.widgets.kit.values import count, require_places

PROCESSES, HEADS, TOKENS = 8, 16, 32  # the most that are drawn
WHOLE = "#a8a8a8"  # what is not cut into heads
STEPS = {
    "heads": [
        "every process has all of x",
        "every process has its heads of all tokens",
        "what all heads write is added up, for every process",
    ],
    "trading": [
        "every process has all heads of its tokens",
        "traded: every process has its heads of all tokens",
        "traded back: every process has all heads of its tokens",
    ],
}


def _require_step(step: int) -> None:
    require_places(PROCESSES, step=step)


class ProcessTiles(LiveView):
    """A map of tokens by heads for each process; a colour is the process that a tile comes from.

    Tokens and heads are shared out in order, as evenly as can be.

    Args:
        num_processes: P, 1 to 8.
        num_heads: H, 1 to 16.
        seq_len: T, 1 to 32.
        way: "heads", "trading" or "ring".
        step: of the way, 0 to 7; a way with fewer steps stays at its last.

    Raises:
        ValueError: if an argument is none of these.
    """

    script = "process_tiles"

    num_processes = size(4, PROCESSES)
    num_heads = size(8, HEADS)
    seq_len = size(12, TOKENS)
    way = choice(traitlets.Unicode, "trading", (*STEPS, "ring"))
    step = judged(traitlets.Int, 0, _require_step)

    def __init__(
        self,
        num_processes: int = 4,
        num_heads: int = 8,
        seq_len: int = 12,
        way: str = "trading",
        step: int = 0,
    ):
        sizes = {"num_processes": num_processes, "num_heads": num_heads, "seq_len": seq_len}
        super().__init__(**sizes, way=way, step=step)

    @property
    def last_step(self) -> int:
        return self.num_processes - 1 if self.way == "ring" else 2

    def shares(self, number: int) -> list[int]:
        """Whose each of so many tokens, or heads, is."""
        return [n * self.num_processes // number for n in range(number)]

    def tiles(self, rank: int) -> list[list[str]]:
        """What a process holds now: "head", "whole", "unread" or "" for each head and token."""
        tokens, heads = self.shares(self.seq_len), self.shares(self.num_heads)
        return [[self._tile(rank, token, head) for token in tokens] for head in heads]

    def _tile(self, rank: int, token_owner: int, head_owner: int) -> str:
        step = min(self.step, self.last_step)
        if self.way == "ring":
            note = (rank - step) % self.num_processes
            return "" if token_owner != note else "head" if note <= rank else "unread"
        if self.way == "heads":
            return "whole" if step != 1 else "head" if head_owner == rank else ""
        return "head" if (head_owner if step == 1 else token_owner) == rank else ""

    def colour_of(self, head: int, token: int) -> int:
        """The process that a tile comes from: whose tokens they are, with heads whose heads."""
        place, number = (head, self.num_heads) if self.way == "heads" else (token, self.seq_len)
        return self.shares(number)[place]

    def idle(self) -> int:
        """Processes without a head; in a ring those that read no note at this step."""
        tokens, heads = self._counts()
        if self.way != "ring":
            return heads.count(0)
        ranks, step = range(self.num_processes), min(self.step, self.last_step)
        reads = [r >= step and tokens[r] > 0 and tokens[r - step] > 0 for r in ranks]
        return reads.count(False)

    def _counts(self) -> tuple[list[int], list[int]]:
        """How many tokens, and how many heads, each process has."""
        shares = self.shares(self.seq_len), self.shares(self.num_heads)
        return tuple([owners.count(r) for r in range(self.num_processes)] for owners in shares)

    def finding(self) -> str:
        step = min(self.step, self.last_step)
        note = f"every note has moved on by {count(step, 'place')}"
        if step == 0:
            note = "every process holds its own keys and values"
        text = note if self.way == "ring" else STEPS[self.way][step]
        who = "that read nothing at this step" if self.way == "ring" else "without a head"
        return (
            f"{self.way}, step {step} of {self.last_step}: {text}. Processes {who}: {self.idle()}."
        )

    def still(self):
        grids = []
        for rank in range(self.num_processes):
            rows = [
                [
                    Cell(_colour(kind, self.colour_of(head, t)), str(t) * bool(kind))
                    for t, kind in enumerate(row)
                ]
                for head, row in enumerate(self.tiles(rank))
            ]
            grids.append(Grid(f"process {rank}", rows, largest=(24, 24)))
        lines = [grids[n : n + 2] for n in range(0, len(grids), 2)]
        return picture(self.finding(), *lines)


def _colour(kind: str, owner: int) -> str:
    colours = {"": theme.PAPER, "whole": WHOLE, "unread": theme.FORBIDDEN}
    return colours.get(kind, theme.HEADS[owner % len(theme.HEADS)])
