"""A place for a reader's bet, before the notebook says what is so."""

from typing import ClassVar

import traitlets

from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.still import picture
from mha_utils.widgets.kit.values import require_one_of


class Bet(LiveView):
    """Ask a question and note what the reader bets; `settle` says what is so.

    Args:
        question: one sentence.
        choices: two or more different answers, shown as text.

    Raises:
        ValueError: if there are fewer than two choices, or two are alike.
    """

    script = "bet"

    question = traitlets.Unicode("").tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    chosen = traitlets.Unicode("").tag(sync=True)  # one of the choices; nothing before a bet
    answer = traitlets.Unicode("").tag(sync=True)  # nothing before the bet is settled

    placed: ClassVar[dict[str, "Bet"]] = {}  # by their question

    def __init__(self, question: str, choices: list):
        choices = [str(choice) for choice in choices]
        if len(set(choices)) != len(choices) or len(choices) < 2:
            raise ValueError(f"choices must be two or more different answers, got {choices}")
        super().__init__(question=question, choices=choices)
        Bet.placed[question] = self

    @refuses("chosen")
    def _is_a_choice(self, name, chosen):
        if chosen:
            require_one_of(self.choices, **{name: chosen})

    def settle(self, answer) -> None:
        """Say what is so, and whether the reader had bet on it."""
        self.answer = str(answer)
        print(self.question)  # all that a folded output shows
        print(self.finding() if self.chosen else f"The answer: {self.answer}.")

    @property
    def won(self) -> bool:
        return self.chosen == self.answer != ""

    def finding(self) -> str:
        if not self.chosen:
            return "No bet yet."
        if not self.answer:
            return f"You bet on “{self.chosen}”. Run on and see."
        if self.won:
            return f"You bet on “{self.chosen}”, and so it is."
        return f"You bet on “{self.chosen}”; it is “{self.answer}”."

    def still(self):
        marks = ("●" if choice == self.chosen else "○" for choice in self.choices)
        listed = "\n".join(f"{mark} {choice}" for mark, choice in zip(marks, self.choices))
        return picture(self.question, [listed], *[[self.finding()]] if self.chosen else [])


def count_bets() -> None:
    """Print how many of the bets of this notebook the reader has won."""
    made = [bet for bet in Bet.placed.values() if bet.chosen and bet.answer]
    if not made:
        print("No bet of yours is settled yet. Place some above, and run this cell again.")
        return
    won = sum(bet.won for bet in made)
    print(f"You won {won} of {len(made)} {'bet' if len(made) == 1 else 'bets'}.")
