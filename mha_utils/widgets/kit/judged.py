"""Traits that refuse, with a sentence, what their view can not show."""

from collections.abc import Callable

import traitlets

from mha_utils.core.guards import require_probability, require_sizes
from mha_utils.widgets.kit.base import WrongState
from mha_utils.widgets.kit.values import require_at_most, require_one_of


def judged(kind: type, default, check: Callable) -> traitlets.TraitType:
    """A trait for which `check(name=value)` raises ValueError where a value is wrong."""

    class Judged(kind):
        def validate(self, view, value):
            try:
                check(**{self.name: value})
            except ValueError as error:
                raise WrongState(str(error)) from None
            return super().validate(view, value)

    return Judged(default).tag(sync=True)


def size(default: int, most: int) -> traitlets.TraitType:
    """A size from 1 to `most`."""

    def check(**sizes):
        require_sizes(**sizes)
        require_at_most(most, **sizes)

    return judged(traitlets.Int, default, check)


def probability(default: float, most: float) -> traitlets.TraitType:
    """A probability from 0 to `most`."""

    def check(**probabilities):
        require_probability(**probabilities)
        require_at_most(most, **probabilities)

    return judged(traitlets.Float, default, check)


def choice(kind: type, default, known, listed: str = "") -> traitlets.TraitType:
    """One of the known values, which the error lists."""

    def check(**values):
        if kind is traitlets.Int:
            require_sizes(**values)
        require_one_of(known, listed, **values)

    return judged(kind, default, check)
