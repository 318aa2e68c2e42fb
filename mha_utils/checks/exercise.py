"""What every exercise is: something asked of a reader, called with an answer to judge it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mha_utils.checks.report import Report, WrongError, WrongResultError, name_of


@dataclass(frozen=True, kw_only=True)
class Asked:
    """`asks` says in one sentence what an answer gets and returns.

    A kind of exercise has a method `judge(answer, seed)`: it returns the praise of a right answer
    and raises a WrongError for a wrong one.
    """

    asks: str

    def __post_init__(self):
        object.__setattr__(self, "__doc__", f"Check {self.asks}")

    def __call__(self, answer: Callable, seed: int = 0) -> Report:
        """Judge `answer`; the report prints as text and is True if all is right."""
        try:
            return Report(True, f"✓ {name_of(answer)}: {self.judge(answer, seed)}")
        except WrongError as wrong:
            return Report(False, str(wrong))


@dataclass(frozen=True, kw_only=True)
class Exercise(Asked):
    """A question with a right answer, `solve`: `check_split(my_split)` judges another one.

    `mistakes` are well-known wrong answers, each under the sentence that names it: a reader whose
    results equal those of a mistake is shown that sentence. A kind of exercise has `cases(seed)`,
    the arguments to try, and `compare(answer, cases)`, as `judge`; `result(answer, case)` gives
    something that equals no mistake if the answer raises, `is_same(result, mistake, case)` says
    whether a mistake gives this result.
    """

    solve: Callable
    mistakes: dict[str, Callable] = field(default_factory=dict)

    def judge(self, answer: Callable, seed: int) -> str:
        cases = self.cases(seed)
        try:
            return self.compare(answer, cases)
        except WrongResultError as wrong:
            raise WrongError(f"{wrong}{self.named_mistake(answer, cases)}") from wrong

    def named_mistake(self, answer: Callable, cases: list) -> str:
        """The first well-known mistake that gives what `answer` gives, in every case."""
        results = [self.result(answer, case) for case in cases]
        for name, mistake in self.mistakes.items():
            if all(self.is_same(r, mistake, case) for r, case in zip(results, cases)):
                return f"\n  Your result equals: {name}"
        return self.other_hint(results, cases)

    def other_hint(self, results: list, cases: list) -> str:
        """What to say of a wrong result that equals no mistake."""
        return ""
