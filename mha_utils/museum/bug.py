"""What a label in the museum says."""

from collections.abc import Callable
from dataclasses import dataclass

from mha_utils.museum.steps import Steps

TUTORIALS = "common mistake in tutorials"


@dataclass(frozen=True)
class Mutant:
    """A wrong implementation of multi-head attention that keeps every shape right.

    `name` is what one calls it, `wrong` says in one sentence what is wrong; `chapter` ("09") and
    `section` (2) teach it, `source` is a public place where it happened; `module` is the class,
    which differs from `Steps` in one method, `step`.
    """

    name: str
    wrong: str
    chapter: str
    section: int
    source: str
    module: type[Steps]

    @property
    def step(self) -> str:
        return next(name for name in vars(self.module) if name in vars(Steps) and name[0] != "_")

    @property
    def place(self) -> str:
        return f"chapter {self.chapter}, section {self.section}"


FOUND: list[Mutant] = []


def piece(name: str, chapter: str, section: int, source: str = TUTORIALS) -> Callable:
    """Put the decorated class into the museum; its docstring says what is wrong."""

    def exhibit(module: type[Steps]) -> type[Steps]:
        wrong = " ".join(module.__doc__.split())
        FOUND.append(Mutant(name, wrong, chapter, section, source, module))
        return module

    return exhibit
