"""Bugs that the museum does not show: rarer ones, and one of q, k, v alone. Each with a name."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from mha_utils.checks.module.suspects.scores import SCORING
from mha_utils.core.steps import causal_mask, merge_heads
from mha_utils.museum import Bug, Steps


@dataclass(frozen=True)
class Suspect(Bug):
    """A bug without a place in the chapters."""

    @property
    def label(self) -> str:
        return f"{self.name}.\n  {self.wrong}"


# ---- masks


class DiagonalAlwaysAllowed(Steps):
    """A token sees itself, whatever the mask says."""

    def join(self, mask, is_causal, query_len, key_len):
        joined = super().join(mask, is_causal, query_len, key_len)
        return None if joined is None else joined | torch.eye(query_len, key_len, dtype=torch.bool)


class LateWithMoreKeys(Steps):
    """With more keys than queries the causal mask is off by one: the next key is seen."""

    def causal(self, query_len, key_len):
        offset = key_len - query_len + (key_len > query_len)
        return torch.ones(query_len, key_len, dtype=torch.bool).tril(offset)


class EarlyWithMoreKeys(Steps):
    """With more keys than queries the causal mask is off by one: a query misses its own key."""

    def causal(self, query_len, key_len):
        if key_len == query_len:
            return causal_mask(query_len, key_len)
        return torch.ones(query_len, key_len, dtype=torch.bool).tril(key_len - query_len - 1)


class FutureVisible(Steps):
    """The causal mask is never applied: every token sees the future."""

    def causal(self, query_len, key_len):
        return torch.ones(query_len, key_len, dtype=torch.bool)


class CausalInverted(Steps):
    """What should be hidden is seen, and the other way round: a token sees only the future."""

    def causal(self, query_len, key_len):
        return ~causal_mask(query_len, key_len)


# ---- projections


def layers_exchanged(letters: str) -> type[Steps]:
    """q, k and v are made with the layers of these letters."""

    class Exchanged(Steps):
        def project(self, *tokens):
            layers = {"q": self.q_proj, "k": self.k_proj, "v": self.v_proj}
            return [layers[letter](t) for letter, t in zip(letters, tokens)]

    Exchanged.__doc__ = f"q, k and v are made with the layers of {', '.join(letters)}, in order."
    return Exchanged


def not_projected(place: int) -> type[Steps]:
    """One of q, k and v is the tokens themselves."""

    class NotProjected(Steps):
        def project(self, *tokens):
            made = list(super().project(*tokens))
            made[place] = tokens[place]
            return made

    NotProjected.__doc__ = f"The tokens themselves are split: {'qkv'[place]}'s layer is idle."
    return NotProjected


def made_from(place: int, source: int) -> type[Steps]:
    """One of q, k and v is made from another, not from the tokens."""

    class MadeFrom(Steps):
        def project(self, *tokens):
            made = list(super().project(*tokens))
            made[place] = (self.q_proj, self.k_proj, self.v_proj)[place](made[source])
            return made

    layer, read = "qkv"[place], "qkv"[source]
    MadeFrom.__doc__ = f"The layer of {layer} reads {read}, which a line above has made, not x."
    return MadeFrom


def viewed_directly(place: int) -> type[Steps]:
    """One of q, k and v is viewed as heads without a transpose, the others are right."""

    class ViewedDirectly(Steps):
        def turn_and_store(self, q, k, v, *others):
            heads = [q, k, v]
            wrong = heads[place]
            heads[place] = merge_heads(wrong).reshape(wrong.shape)
            return heads

    ViewedDirectly.__doc__ = "Its columns are viewed as (B, H, T, Dh) at once, the others' not."
    return ViewedDirectly


class ContextIgnored(Steps):
    """Keys and values are made from x: what comes as context is never read."""

    def arrange(self, x, context, values):
        return x, x, x


class ThirdsDealtOut(Steps):
    """Of the 3D columns of a fused layer q, k and v get every third, not D neighbours each."""

    def project(self, x, context, values):
        thirds = super().project(x, context, values)
        if x is not context:
            return thirds
        return torch.cat(thirds, dim=-1).unflatten(-1, (-1, 3)).unbind(-1)


class HeadsExchangedWithWidth(Steps):
    """num_heads and head_dim are exchanged: there are Dh heads, each H columns wide."""

    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).transpose(1, 2)


class BiasTwice(Steps):
    """The bias of the output layer is added once by the layer and once more behind it."""

    def project_out(self, merged):
        out = super().project_out(merged)
        return out if self.out_proj.bias is None else out + self.out_proj.bias


class DropsTwice(Steps):
    """The weights go through dropout two times: more are dropped, and kept ones are larger."""

    def drop(self, weights):
        return super().drop(super().drop(weights))


class DropsOutput(Steps):
    """Numbers of the output are dropped, behind the output layer, in the place of weights."""

    def drop(self, weights):
        return weights

    def project_out(self, merged):
        return F.dropout(super().project_out(merged), self.dropout, self.training)


UNMASKED = {
    "no causal mask": FutureVisible
}  # before the museum's: in self-attention one is the same
KINDS = {
    "the diagonal is always allowed": DiagonalAlwaysAllowed,
    "causal off by one where S > T: the next key is seen": LateWithMoreKeys,
    "causal off by one where S > T: its own key is hidden": EarlyWithMoreKeys,
    "causal inverted": CausalInverted,
    "k and v exchanged": layers_exchanged("qvk"),
    "k through q's projection": layers_exchanged("qqv"),
    "v through q's projection": layers_exchanged("qkq"),
    "q through k's projection": layers_exchanged("kkv"),
    "one layer for q, k and v": layers_exchanged("qqq"),
    "the order of q, k and v": layers_exchanged("vkq"),
    "the order of k, v and q": layers_exchanged("kvq"),
    "the order of v, q and k": layers_exchanged("vqk"),
    **{f"{'qkv'[i]} is not projected": not_projected(i) for i in range(3)},
    "k is made from q": made_from(1, 0),
    "v is made from k": made_from(2, 1),
    "v is made from q": made_from(2, 0),
    **{f"direct view to heads, of {'qkv'[i]} alone": viewed_directly(i) for i in range(3)},
    "context is ignored": ContextIgnored,
    "q, k and v dealt out like cards": ThirdsDealtOut,
    "num_heads and head_dim exchanged": HeadsExchangedWithWidth,
    "output bias added twice": BiasTwice,
    **SCORING,
}
DROPPED = {"dropout twice": DropsTwice, "dropout behind the output layer": DropsOutput}


def suspects(kinds: dict[str, type[Steps]]) -> tuple[Suspect, ...]:
    """One for each class; its docstring says what is wrong."""
    return tuple(Suspect(n, " ".join(k.__doc__.split()), "", 0, "", k) for n, k in kinds.items())


FIRST, SUSPECTS, DROPPING_TOO = map(suspects, (UNMASKED, KINDS, DROPPED))
