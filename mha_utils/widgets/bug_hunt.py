"""The hunt of chapter 12 as a game: suspects without a name, questions, an accusation."""

import random
from collections.abc import Iterable, Mapping

import numpy as np
import torch
import traitlets

from mha_utils import theme
from mha_utils.core.guards import require_seed
from mha_utils.museum import Steps, bug
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.still import Cell, Grid, picture, size_cell
from mha_utils.widgets.kit.values import clamped, count, require_one_of, unpacked
from mha_utils.widgets.suspects import (
    PICTURES,
    label,
    levels_of,
    pictures_of,
    require_fit,
    without_repeats,
)


class BugHunt(LiveView):
    """Ask suspects of the bug museum questions, look at their maps, and say who they are.

    Args:
        found: name of a piece of the museum -> its answers to the probes, True = caught.
        probes: the names of the probes, in the order of the answers.
        tokens: T words of the sentence in the pictures, T from 2 to 8.
        level: 1 projections, scores and softmax; 2 masks; 3 dropout.
        seed: in which order the suspects stand.

    Raises:
        ValueError: if a piece is not in the museum, its answers do not fit the probes, no piece
            is of this level, the number of tokens does not fit, or the seed is none.
    """

    script = "bug_hunt"

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pieces = traitlets.List().tag(sync=True)  # [name, room, what is wrong, where it is taught]
    levels = traitlets.List().tag(sync=True)  # [number, title, places of its suspects in pieces]
    probes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pictures = traitlets.List().tag(sync=True)  # [title, is it free?, what it is]
    # a row for each piece, the last for the right module: 0 or 1 for each probe, and for each
    # picture its place in maps, (M, T, T); pictures that look alike are there once
    answers = traitlets.List().tag(sync=True)
    maps = traitlets.Bytes().tag(sync=True)
    level = traitlets.Int(1).tag(sync=True)
    suspect = traitlets.Int(1).tag(sync=True)
    picture = traitlets.Int(0).tag(sync=True)
    asked = traitlets.List().tag(sync=True)  # [piece, question], the first first
    accused = traitlets.List().tag(sync=True)  # [piece, the piece it was said to be]

    def __init__(
        self,
        found: Mapping[str, list[bool]],
        probes: Iterable[str],
        tokens: list[str],
        level: int = 1,
        seed: int = 0,
    ):
        probes, tokens = list(probes), list(tokens)
        require_seed(seed)
        require_fit(found, probes, tokens)
        labels = [label(bug(name)) for name in found]
        levels = levels_of([room for _, room, *_ in labels], random.Random(seed))
        require_one_of([number for number, *_ in levels], level=level)
        kinds = [*(bug(name).module for name in found), Steps]
        places, maps = without_repeats(torch.stack([pictures_of(k, len(tokens)) for k in kinds]))
        bits = [*([int(answer) for answer in row] for row in found.values()), [0] * len(probes)]
        super().__init__(
            tokens=tokens,
            pieces=labels,
            levels=levels,
            probes=probes,
            pictures=[list(entry) for entry in PICTURES],
            answers=[[*row, *seen] for row, seen in zip(bits, places)],
            maps=maps,
            level=level,
        )

    @refuses("level")
    def _keep_level(self, name, level):
        require_one_of([number for number, *_ in self.levels], level=level)

    @property
    def names(self) -> list[str]:
        """Whom one may accuse in the present level."""
        return [self.pieces[n][0] for n in sorted(self._order)]

    def ask(self, question: str) -> "BugHunt":
        """Ask the present suspect: a probe, or a picture that is not free.

        Raises:
            ValueError: if there is no such question.
        """
        pictures = [title for title, *_ in self.pictures]
        questions = [*self.probes, *(title for title, free, _ in self.pictures if not free)]
        if question not in questions:
            raise ValueError(f"no question is called {question!r}; there are {questions}")
        place = [*self.probes, *pictures].index(question)
        if [self._piece, place] not in self.asked:
            self.asked = [*self.asked, [self._piece, place]]
        if question in pictures:
            self.picture = pictures.index(question)
        return self

    def accuse(self, name: str) -> "BugHunt":
        """Say which piece of the museum the present suspect is.

        Raises:
            ValueError: if there is no such piece in the present level.
        """
        if name not in self.names:
            raise ValueError(f"level {self.level} has no {name!r}; it has {self.names}")
        place = [label[0] for label in self.pieces].index(name)
        self.accused = [*self.accused, [self._piece, place]]
        return self

    def fitting(self) -> list[str]:
        """The names that fit all answers which the present suspect has given."""
        mine = self.answers[self._piece]
        asked = self._asked()
        fit = [n for n in sorted(self._order) if all(self.answers[n][q] == mine[q] for q in asked)]
        return [self.pieces[n][0] for n in fit]

    def finding(self) -> str:
        return f"{self._about()} {self._score()}"

    def still(self):
        title, words = self.pictures[self._picture][0], self.tokens
        suspect = self._map(self._piece) if self._seen else None
        shown = {f"{title}: right": self._map(-1), f"suspect {self._number}": suspect}
        grids = [Grid(name, self._cells(sizes), words, words) for name, sizes in shown.items()]
        return picture(self.finding(), grids)

    @property
    def _order(self) -> list[int]:
        return next((order for number, _, order in self.levels if number == self.level), [0])

    @property
    def _number(self) -> int:
        return clamped(self.suspect, 1, len(self._order))

    @property
    def _piece(self) -> int:
        return self._order[self._number - 1]

    @property
    def _picture(self) -> int:
        return clamped(self.picture, 0, len(self.pictures) - 1)

    @property
    def _seen(self) -> bool:
        """Is the chosen picture free, or asked for, or is the suspect found?"""
        question = len(self.probes) + self._picture
        is_found = [self._piece, self._piece] in self.accused
        return is_found or self.pictures[self._picture][1] or question in self._asked()

    def _asked(self) -> list[int]:
        return [question for piece, question in self.asked if piece == self._piece]

    def _map(self, piece: int) -> np.ndarray:
        place, size = self.answers[piece][len(self.probes) + self._picture], len(self.tokens)
        return unpacked(self.maps, -1, size, size)[place].numpy()

    def _about(self) -> str:
        piece, total = self._piece, len(self._order)
        who = f"Suspect {self._number} of {total}"
        name, _, wrong, place = self.pieces[piece]
        if [piece, piece] in self.accused:
            return f"{who} is “{name}”. {wrong} Taught in {place}."
        asked, fit = len(self._asked()), len(self.fitting())
        given = count(asked, "question") + " asked" if asked else "nothing asked yet"
        said = f"{who}: {given}, {fit} of {total} names fit the answers."
        accused = [other for suspect, other in self.accused if suspect == piece]
        return f"{said} {self._against(accused[-1])}" if accused else said

    def _against(self, other: int) -> str:
        """Why the suspect is not the piece it was said to be."""
        mine, theirs = self.answers[self._piece], self.answers[other]
        apart = [q for q, (a, b) in enumerate(zip(mine, theirs)) if a != b]
        free = [len(self.probes) + n for n, (_, is_free, _) in enumerate(self.pictures) if is_free]
        known = [q for q in [*self._asked(), *free] if q in apart]
        if known:
            reason = self._difference(known[0], theirs)
        elif apart:
            reason = "no answer so far tells the two apart, another question does"
        else:
            reason = "nothing here tells the two apart, it takes a question of your own"
        return f"Not “{self.pieces[other][0]}”: {reason}."

    def _difference(self, question: int, theirs: list[int]) -> str:
        if question >= len(self.probes):
            return f"in “{self.pictures[question - len(self.probes)][0]}” it would look different"
        return f"“{self.probes[question]}” would {'' if theirs[question] else 'not '}catch it"

    def _score(self) -> str:
        order = self._order
        accused = [pair for pair in self.accused if pair[0] in order]
        found = len({piece for piece, other in accused if piece == other})
        asked = count(sum(piece in order for piece, _ in self.asked), "question")
        return f"Found {found} of {len(order)}: {asked}, {count(len(accused), 'accusation')}."

    def _cells(self, sizes: np.ndarray | None) -> list[list[Cell]]:
        if sizes is None:
            return [[Cell(theme.PAPER, "?")] * len(self.tokens)] * len(self.tokens)
        right = self._map(-1).tolist()
        most = max(map(max, right))
        pairs = zip(sizes.tolist(), right)
        return [[size_cell(size, most, goal == 0) for size, goal in zip(*rows)] for rows in pairs]
