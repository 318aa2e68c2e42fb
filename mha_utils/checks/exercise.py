"""What every exercise is: something asked of a reader, called with an answer to judge it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mha_utils.checks.report import Report, WrongError, WrongResultError, name_of


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One question: `check_split(my_split)` judges an answer to it.

    `asks` says in one sentence what the answer gets and returns. `solve` is a right answer.
    `mistakes` are well-known wrong ones, each under the sentence that names it: a reader whose
    results equal those of a mistake is told so.
    """

    asks: str
    solve: Callable
    mistakes: dict[str, Callable] = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "__doc__", f"Check {self.asks}")

    def __call__(self, answer: Callable, seed: int = 0) -> Report:
        """Hold `answer` to every case; the report prints as text and is True if all is right."""
        cases = self.cases(seed)
        try:
            for trial in self.trials(cases):
                self.judge(answer, *trial)
        except WrongResultError as wrong:
            return Report(False, f"{wrong}{self.named_mistake(answer, cases)}")
        except WrongError as wrong:
            return Report(False, str(wrong))
        return Report(True, f"✓ {name_of(answer)}: {self.praise()}")

    def named_mistake(self, answer: Callable, cases: list) -> str:
        """The first well-known mistake that gives what `answer` gives, in every case."""
        results = [self.result(answer, case) for case in cases]
        for name, mistake in self.mistakes.items():
            if all(self.is_same(r, mistake, case) for r, case in zip(results, cases)):
                return f"\n  Your result equals: {name}"
        return self.other_hint(results, cases)

    def cases(self, seed: int) -> list:
        """Arguments to try."""
        raise NotImplementedError

    def trials(self, cases: list) -> Iterable[tuple]:
        """What `judge` is called with, one after the other."""
        return ((case,) for case in cases)

    def judge(self, answer: Callable, *trial) -> None:
        """Raise a WrongError if `answer` fails a trial."""
        raise NotImplementedError

    def praise(self) -> str:
        """What the report says of a right answer."""
        raise NotImplementedError

    def result(self, answer: Callable, case):
        """What `answer` gives in a case; something that equals no mistake if it raises."""
        raise NotImplementedError

    def is_same(self, result, mistake: Callable, case) -> bool:
        """Whether a mistake gives this result."""
        raise NotImplementedError

    def other_hint(self, results: list, cases: list) -> str:
        """What to say of a wrong result that equals no mistake."""
        return ""
