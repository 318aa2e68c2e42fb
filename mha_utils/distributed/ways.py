"""Three ways to compute the layer of chapter 10 on P processes, all with one process's results."""

import copy
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mha_utils.core.guards import require_choice, require_count
from mha_utils.core.kernels import attend
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import attention_scores, causal_mask, merge_heads
from mha_utils.distributed.collectives import add_up, give_out, to_neighbour, trade
from mha_utils.distributed.traffic import taken


def cut_heads(layer: MultiHeadAttention, rank: int, size: int) -> MultiHeadAttention:
    """The heads of one process as a layer; the bias of out_proj is left out.

    Raises ValueError if the heads of keys cannot be shared evenly, or there is no such rank.
    """
    require_shares(size, "heads", layer)
    require_count("rank", rank, size - 1)

    def piece(w: Tensor | None, dim: int = 0) -> nn.Parameter | None:
        return w if w is None else nn.Parameter(w.detach().chunk(size, dim)[rank].clone())

    part = copy.deepcopy(layer)
    for linear in (part.q_proj, part.k_proj, part.v_proj):
        linear.weight, linear.bias = piece(linear.weight), piece(linear.bias)  # some rows
    part.out_proj.weight, part.out_proj.bias = piece(part.out_proj.weight, dim=1), None  # columns
    return part


def by_heads(x: Tensor, part: MultiHeadAttention, out_bias: Tensor) -> Tensor:
    """Each process computes its heads of all tokens; what the heads write is added up."""
    return add_up(part(give_out(x), is_causal=True)) + out_bias


def by_trading(x: Tensor, layer: MultiHeadAttention) -> Tensor:
    """Each process has some tokens; for attention it gives tokens away and gets heads."""
    require_plain(layer)
    q, k, v = (trade(t, cut=1, join=2) for t in layer.project(x, x, x))  # (B, H / P, T, Dh)
    heads = attend(q, k, v, is_causal=True)
    return layer.out_proj(merge_heads(trade(heads, cut=2, join=1)))


def attend_block(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> tuple[Tensor, Tensor]:
    """Attention over some of the keys, and the log of their total of votes, (B, H, T, 1)."""
    scores = attention_scores(q, k)
    if is_causal:
        scores = scores.masked_fill(~causal_mask(q.shape[-2], k.shape[-2], q.device), -torch.inf)
    return scores.softmax(dim=-1) @ v, scores.logsumexp(dim=-1, keepdim=True)


def merge(out: Tensor, lse: Tensor, other: Tensor, other_lse: Tensor) -> tuple[Tensor, Tensor]:
    """Attention over two sets of keys together, from the attention over each."""
    total = torch.logaddexp(lse, other_lse)
    return out * (lse - total).exp() + other * (other_lse - total).exp(), total


def ring_out(q: Tensor, note: Tensor, block=attend_block) -> tuple[Tensor, Tensor]:
    """Keys and values go round on notes, and what my queries read on each is merged."""
    rank = dist.get_rank()
    out, lse = block(q, *note, is_causal=True)  # my queries, my keys
    for step in range(1, dist.get_world_size()):
        note = to_neighbour(note)  # now keys and values of process rank - step
        if step <= rank:  # they stand before my queries
            out, lse = merge(out, lse, *block(q, *note))
    return out, lse


def note_gradients(q, note, out, lse, grad_out, block, is_causal) -> tuple[Tensor, Tensor]:
    """The gradients of my queries and of one note, whose small map is made again."""

    def pull(q: Tensor, note: Tensor) -> Tensor:
        average, its_lse = block(q, *note, is_causal=is_causal)
        return (its_lse - lse).exp() * (average - out)  # its share, and how far from out it is

    _, back = torch.func.vjp(pull, q, note)
    return back(grad_out)


def ring_back(q, note, out, lse, grad_out, block=attend_block) -> tuple[Tensor, Tensor]:
    """The notes go round once more, and each collects its gradient until it is home."""
    grad_q, grad_note = torch.zeros_like(q), torch.zeros_like(note)
    for step in range(dist.get_world_size()):
        if step <= dist.get_rank():  # I have read this note
            more_q, more = note_gradients(q, note, out, lse, grad_out, block, is_causal=step == 0)
            grad_q, grad_note = grad_q + more_q, grad_note + more
        note, grad_note = to_neighbour(torch.stack((note, grad_note)))
    return grad_q, grad_note


class Ring(torch.autograd.Function):
    """`ring_out` on the way forward, `ring_back` on gradients; it saves what is its own."""

    @staticmethod
    def forward(ctx, q: Tensor, note: Tensor, block: Callable) -> Tensor:
        out, lse = ring_out(q, note, block)
        ctx.save_for_backward(q, note, out, lse)
        ctx.block = block
        return out

    @staticmethod
    def backward(ctx, grad_out: Tensor) -> tuple:
        return *ring_back(*ctx.saved_tensors, grad_out, ctx.block), None


def by_ring(x: Tensor, layer: MultiHeadAttention, block=attend_block) -> Tensor:
    """Each process has some tokens; keys and values go round, and results are merged."""
    require_plain(layer)
    q, k, v = layer.project(x, x, x)
    return layer.out_proj(merge_heads(Ring.apply(q, torch.stack((k, v)), block)))


def notes_kept(ring: Callable, x: Tensor, layer: MultiHeadAttention) -> int:
    """How many notes of others autograd keeps for the way back, after `ring(q, note, block)`."""
    read, kept = {}, set()

    def block(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> tuple[Tensor, Tensor]:
        if not is_causal:  # of another; held here, so that no later note gets its address
            read[k.untyped_storage().data_ptr()] = k
        return attend_block(q, k, v, is_causal)

    def keep(saved: Tensor) -> Tensor:
        kept.add(saved.untyped_storage().data_ptr())
        return saved

    q, k, v = layer.project(x, x, x)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        ring(q, torch.stack((k, v)), block)
    return len(read.keys() & kept)


WAYS = {
    "heads": (by_heads, "heads"),
    "trading": (by_trading, "tokens"),
    "ring": (by_ring, "tokens"),
}


def run_way(
    way: Callable,
    x: Tensor,
    layer: MultiHeadAttention,
    grad_out: Tensor,
    cut: str,
    part_of: Callable = cut_heads,
) -> dict:
    """Call a way in this process with its part of everything: output, gradients, what travelled.

    Args:
        way: called with (x, part, out_bias) where heads are cut, with (x, layer) where tokens are.
        x, layer, grad_out: all of it, as one process would use it.
        cut: "heads" or "tokens".
        part_of: (layer, rank, size) gives the heads of one process as a layer.

    Raises:
        ValueError: if they cannot be shared evenly, or the layer turns positions or drops weights.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    require_shares(size, cut, layer, tokens=x.shape[1])
    require_plain(layer)
    if cut == "heads":
        part, out_bias = part_of(layer, rank, size), layer.out_proj.bias.detach().requires_grad_()
        weights, more = [*part.parameters(), out_bias], (part, out_bias)
    else:
        x, grad_out = (t.chunk(size, dim=1)[rank] for t in (x, grad_out))
        weights, more = [*layer.parameters()], (layer,)
    x = x.clone().requires_grad_()
    taken()
    out, forward = way(x, *more), taken()
    # zeros for what a way leaves out
    gradients = torch.autograd.grad(out, [x, *weights], grad_out, materialize_grads=True)
    found = {"out": out.detach(), "gradients": gradients}
    return found | {"forward": forward, "backward": taken()}


def require_shares(size: int, cut: str, layer: MultiHeadAttention, tokens: int = 0) -> None:
    """Raise ValueError unless the processes can share the tokens or heads evenly."""
    require_choice("cut", cut, ("heads", "tokens"))
    count = layer.k_proj.out_features // layer.head_dim if cut == "heads" else tokens
    if count % size:
        raise ValueError(f"{size} processes cannot share {count} {cut} evenly")


def require_plain(layer: MultiHeadAttention) -> None:
    """Raise ValueError unless the layer has biases, no rotary positions and no dropout."""
    if layer.rotary is not None or layer.dropout or layer.q_proj.bias is None:
        raise ValueError("layer must have biases, no rotary positions and no dropout")


def whole(found: list[dict], cut: str) -> list[Tensor]:
    """Output and gradients of the whole layer (x, then its parameters), from those of each process.

    Where tokens are cut, a weight met some of them in each process: its gradients are added.
    """
    outs, gradients = [f["out"] for f in found], list(zip(*(f["gradients"] for f in found)))
    if cut == "tokens":
        x, *weights = gradients
        return [torch.cat(outs, dim=1), torch.cat(x, dim=1), *(sum(w) for w in weights)]
    x, *weights, out_weight, out_bias = gradients
    rows = (torch.cat(w) for w in weights)
    return [outs[0], x[0], *rows, torch.cat(out_weight, dim=1), out_bias[0]]


def on_one_process(x: Tensor, layer: MultiHeadAttention, grad_out: Tensor) -> list[Tensor]:
    """Output and gradients as `whole` lists them, from one process."""
    x = x.clone().requires_grad_()
    out = layer(x, is_causal=True)
    return [out.detach(), *torch.autograd.grad(out, [x, *layer.parameters()], grad_out)]


def largest_difference(found: list[Tensor], expected: list[Tensor]) -> float:
    """Over outputs and gradients, each measured by its own largest number, at least 1."""
    pairs = zip(found, expected, strict=True)
    return max(((a - b).abs().max() / b.abs().max().clamp(min=1)).item() for a, b in pairs)
