"""Likely mistakes of exercises that are bugs of the museum: made from there."""

from collections.abc import Callable

import numpy as np
import torch

from mha_utils.museum import Steps, bug


class Uncovered(Steps):
    """As one writes it at first: a row where every key is hidden stays NaN."""

    def weigh(self, scores, mask):
        return self.softmax(self.hide(scores, mask))

    def softmax(self, scores):
        return scores.softmax(dim=-1)


def museum_mistakes(
    answer: Callable, *names: str, base: type[Steps] = Steps, note: str = ""
) -> dict[str, Callable]:
    """Bugs of the museum as the mistakes of an exercise, each under its label.

    Args:
        answer: (layer class, arguments...) -> what the exercise asks for, from steps of the layer.
        names: of the bugs.
        base: what the layer does everywhere else.
        note: one more line for the labels.
    """
    return {bug(n).label + note: museum_mistake(answer, n, base) for n in names}


def museum_mistake(answer: Callable, name: str, base: type[Steps] = Steps) -> Callable:
    """One of them: it takes and gives arrays, and draws from a generator of its own."""
    module = bug(name).module
    layer = type(module.__name__, (module, base), {}) if base is not Steps else module

    def mistake(*arguments):
        tensors = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            return answer(layer, *tensors).numpy()

    return mistake


def with_weights(layer: type[Steps], num_heads: int, **weights: torch.Tensor) -> Steps:
    """A layer without biases, with these matrices: `out_proj=W` and the like."""
    made = layer(len(weights["out_proj"]), num_heads, bias=False).eval()
    made.load_state_dict({f"{name}.weight": w for name, w in weights.items()}, strict=False)
    return made
