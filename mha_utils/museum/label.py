"""What the label of a bug in the museum says."""

from collections.abc import Callable
from dataclasses import dataclass

from mha_utils.museum.steps import Steps

TUTORIALS = "common mistake in tutorials"


@dataclass(frozen=True)
class Bug:
    """A wrong multi-head attention that keeps every shape right.

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
    def room(self) -> str:
        return self.module.__module__.rpartition(".")[2]

    @property
    def place(self) -> str:
        return f"chapter {self.chapter}, section {self.section}"

    @property
    def label(self) -> str:
        """What a report says to a reader whose results are those of the bug."""
        return f"{self.name} ({self.place}).\n  {self.wrong}"


LABELLED: list[Bug] = []  # as the rooms are imported; `rooms` has them in order


def labelled(name: str, chapter: str, section: int, source: str = TUTORIALS) -> Callable:
    """Make the decorated class a bug of the museum; its docstring says what is wrong."""

    def label(module: type[Steps]) -> type[Steps]:
        wrong = " ".join(module.__doc__.split())
        LABELLED.append(Bug(name, wrong, chapter, section, source, module))
        return module

    return label
