"""What layers do all day beside the table of cases: padding, shared heads, writing token by token.

`TASKS` maps the kind of a `Task` to a function that gives the calls which do it, their parts
among them, all with the same numbers. `run.py` measures them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_utils.bench.limits import PARTS
from mha_utils.core.cache import KeyValueCache
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.porting import to_torch
from mha_utils.core.steps import causal_mask, padding_mask, split_heads

Calls = dict[str, Callable[[], Tensor]]


@dataclass(frozen=True)
class Task:
    """One row of the table: what is done, with sizes (B, T, D, H) and H heads of keys or fewer."""

    kind: str
    shape: tuple[int, int, int, int]
    dtype: str = "float32"
    device: str = "cpu"
    num_kv_heads: int | None = None

    @property
    def label(self) -> str:
        """For people: `decoding (1, 1024, 256, 8) float32`."""
        heads = f", {self.num_kv_heads} heads of keys" if self.num_kv_heads else ""
        return f"{self.kind} {self.shape} {self.dtype}{heads}"

    def layer(self, cls: type = FusedMultiHeadAttention) -> MultiHeadAttention:
        """The same numbers for every class."""
        torch.manual_seed(0)
        layer = cls(*self.shape[2:], num_kv_heads=self.num_kv_heads).eval()
        return layer.to(self.device, getattr(torch, self.dtype))

    def tokens(self) -> Tensor:
        """x, (B, T, D)."""
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(self.shape[:3], generator=generator)
        return x.to(self.device, getattr(torch, self.dtype))

    def expected(self) -> Tensor:
        """The result in float64, on the CPU; the tests hold it to NumPy."""
        layer, x = self.layer().double().cpu(), self.tokens().double().cpu()
        hidden = {"mask": self.padding().cpu()} if self.kind == "causal + padding" else {}
        out = layer(x, is_causal=self.kind != "evaluation", **hidden)
        return out[:, -1:] if self.kind == "decoding" else out

    def padding(self) -> Tensor:
        """(B, 1, 1, T): every sequence is shorter than the one before it."""
        batch_size, seq_len = self.shape[:2]
        lengths = seq_len - torch.arange(batch_size) * seq_len // (2 * batch_size)
        return padding_mask(lengths.to(self.device), seq_len)


def theirs(task: Task, mask: Tensor | None, fast: bool) -> Callable[[], Tensor]:
    """PyTorch's module, with its fast path for evaluation or without; its True hides."""
    module, x = to_torch(task.layer()).eval(), task.tokens()
    hidden = {} if mask is None else {"key_padding_mask": ~mask[:, 0, 0]}
    if mask is not None:
        hidden["attn_mask"] = ~causal_mask(task.shape[1], device=task.device)

    def call() -> Tensor:
        before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(fast)
        try:
            return module(x, x, x, need_weights=False, **hidden)[0]
        finally:
            torch.backends.mha.set_fastpath_enabled(before)

    return call


def both_paths(task: Task, mask: Tensor | None) -> Calls:
    names = {"nn.MultiheadAttention": True, "nn.MultiheadAttention, no fast path": False}
    return {name: theirs(task, mask, fast) for name, fast in names.items()}


def parts(task: Task, query_len: int, **options) -> Callable[[], Tensor]:
    """Products on x, the kernel on q, k, v that lie ready, the last product; nothing is moved."""
    layer, x = task.layer(), task.tokens()[:, :query_len].contiguous()
    project = (layer.q_proj, layer.k_proj, layer.v_proj)
    q = split_heads(layer.q_proj(x), task.shape[3]).contiguous()
    k, v = (
        split_heads(p(task.tokens()), p.out_features // layer.head_dim).contiguous()
        for p in project[1:]
    )
    options["enable_gqa"] = q.shape[1] != k.shape[1]

    def call() -> Tensor:
        for p in project:
            F.linear(x, p.weight, p.bias)
        F.scaled_dot_product_attention(q, k, v, **options)
        return F.linear(x, layer.out_proj.weight, layer.out_proj.bias)

    return call


def evaluation(task: Task) -> Calls:
    """A whole text, nothing hidden."""
    x, layers = task.tokens(), (task.layer(MultiHeadAttention), task.layer())
    calls = {n: lambda m=m: m(x) for n, m in zip(("explicit", "fused"), layers)}
    return calls | both_paths(task, None) | {PARTS: parts(task, task.shape[1])}


def causal_padding(task: Task) -> Calls:
    """Texts of several lengths, causal."""
    x, mask = task.tokens(), task.padding()
    layers = {"explicit": task.layer(MultiHeadAttention), "fused": task.layer()}
    calls = {n: lambda m=m: m(x, mask=mask, is_causal=True) for n, m in layers.items()}
    joined = mask & causal_mask(task.shape[1], device=task.device)
    return calls | both_paths(task, mask) | {PARTS: parts(task, task.shape[1], attn_mask=joined)}


def shared_heads(task: Task) -> Calls:
    """Causal, with fewer heads of keys; also with keys and values repeated by hand."""
    x, layer = task.tokens(), task.layer()

    def repeated() -> Tensor:
        q, k, v = layer.project(x, x, x)
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return layer.out_proj(heads.transpose(1, 2).flatten(2))

    layers = {"explicit": task.layer(MultiHeadAttention), "fused": layer}
    calls = {n: lambda m=m: m(x, is_causal=True) for n, m in layers.items()}
    kernel = parts(task, task.shape[1], is_causal=True)
    return calls | {"keys repeated by hand": repeated, PARTS: kernel}


def decoding(task: Task) -> Calls:
    """The newest of T tokens: with a cache of the others, and in the ways without one."""
    x, layer, explicit = task.tokens(), task.layer(), task.layer(MultiHeadAttention)
    past, newest = x.shape[1] - 1, x[:, -1:].contiguous()
    sizes = len(x), layer.k_proj.out_features // layer.head_dim, x.shape[1], layer.head_dim
    made = {"device": task.device, "dtype": x.dtype}
    caches = {layer: KeyValueCache(*sizes, **made), explicit: KeyValueCache(*sizes, **made)}
    for module, cache in caches.items():
        module(x[:, :past], is_causal=True, cache=cache)
    old_k, old_v = (t[:, :, :past].clone() for t in (caches[layer].keys, caches[layer].values))

    def with_cache(module) -> Tensor:
        caches[module].rewind(past)
        return module(newest, is_causal=True, cache=caches[module])

    def with_cat() -> Tensor:
        q, k, v = layer.project(newest, newest, newest)
        k, v = torch.cat((old_k, k), dim=2), torch.cat((old_v, v), dim=2)
        heads = F.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1])
        return layer.out_proj(heads.transpose(1, 2).flatten(2))

    calls = {
        "fused": lambda: with_cache(layer),
        "explicit": lambda: with_cache(explicit),
        "torch.cat at each token": with_cat,
        "no cache, context": lambda: layer(newest, x, is_causal=True),
        "no cache, all again": lambda: layer(x, is_causal=True)[:, -1:],
        PARTS: parts(task, 1),
    }
    if task.num_kv_heads is None:
        module = to_torch(task.layer()).eval()
        calls["nn.MultiheadAttention"] = lambda: module(newest, x, x, need_weights=False)[0]
    return calls


TASKS = {
    "evaluation": evaluation,
    "causal + padding": causal_padding,
    "shared heads": shared_heads,
    "decoding": decoding,
}


def tasks_for(device: str, quick: bool = False) -> list[Task]:
    """The table of this device."""
    wide = (1, 64, 256, 8) if quick else (4, 1024, 768, 12)
    past, long = (65, wide) if quick else (1025, (1, 4096, 768, 12))
    dtypes = ("float32",) if quick else ("float32", "bfloat16")
    tasks = []
    for dtype in dtypes:
        made = {"dtype": dtype, "device": device}
        tasks += [Task(kind, wide, **made) for kind in ("evaluation", "causal + padding")]
        tasks += [Task("shared heads", wide, num_kv_heads=wide[3] // 4, **made)]
        tasks += [Task("decoding", (b, past, 256, 8), **made) for b in (1, 8)]
        tasks += [Task("decoding", (8, past, 256, 8), num_kv_heads=2, **made)]
    return [*tasks, *([] if quick else [Task("evaluation", long, device=device)])]
