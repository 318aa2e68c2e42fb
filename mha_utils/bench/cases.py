"""What is measured: sizes, number format, direction; and how a layer is called there."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from mha_utils.core.costs import Workload
from mha_utils.core.modules import MultiHeadAttention

SMALL = (2, 128, 512, 8)
SHAPES = (SMALL, (32, 64, 256, 8), (8, 256, 768, 12), (4, 1024, 768, 12))
LONG = (1, 4096, 768, 12)
LARGEST = (1, 16384, 2048, 16)
WIDE_HEADS = ((4, 2048, 2048, 16), (4, 4096, 2048, 16), (2, 8192, 2048, 16))  # Dh = 128
FOR_COMPILERS = (SHAPES[3], WIDE_HEADS[1])  # on a GPU


@dataclass(frozen=True)
class Case:
    """One row of the table: (B, T, D, H) and what happens with it."""

    shape: tuple[int, int, int, int]
    dtype: str = "float32"
    device: str = "cpu"
    is_causal: bool = True
    is_training: bool = False
    dropout: float = 0.0
    with_compiled: bool = False

    @property
    def label(self) -> str:
        """For people: `(2, 128, 512, 8) float32 causal forward`."""
        mask = "causal" if self.is_causal else "no mask"
        direction = "forward + backward" if self.is_training else "forward"
        dropout = f", dropout {self.dropout:g}" if self.dropout else ""
        return f"{self.shape} {self.dtype} {mask} {direction}{dropout}"

    @property
    def work(self) -> Workload:
        return Workload(*self.shape, self.is_causal, self.torch_dtype.itemsize)

    @property
    def torch_dtype(self) -> torch.dtype:
        return getattr(torch, self.dtype)

    def draw_input(self) -> Tensor:
        """x (B, T, D); gradients flow to it in training, as inside a model."""
        generator = torch.Generator(self.device).manual_seed(1)
        x = torch.randn(self.shape[:3], generator=generator, device=self.device)
        return x.to(self.torch_dtype).requires_grad_(self.is_training)

    def draw_module(self) -> MultiHeadAttention:
        """The layer whose numbers all contestants get; its biases are 0, some have none."""
        torch.manual_seed(0)
        module = MultiHeadAttention(*self.shape[2:], dropout=self.dropout)
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
        return self.placed(module)

    def placed(self, module: nn.Module) -> nn.Module:
        """The module where and in what the case is computed."""
        return module.to(self.device, self.torch_dtype).train(self.is_training)


def call_of(layer: Callable, case: Case) -> Callable[[], Tensor]:
    """A call without arguments that does the case's work: forward, or forward and backward."""
    x = case.draw_input()
    if not case.is_training:
        return torch.no_grad()(lambda: layer(x))
    leaves = [x, *(layer.parameters() if isinstance(layer, nn.Module) else ())]
    return training_step([lambda: layer(x)], leaves)


def training_step(calls: Iterable[Callable], leaves: list[Tensor]) -> Callable[[], Tensor]:
    """Each call forward and backward, with fresh gradients; the last result."""
    grads = {call: torch.randn_like(call()) for call in calls}

    def step() -> Tensor:
        for leaf in leaves:
            leaf.grad = None
        for call, grad in grads.items():
            result = call()
            result.backward(grad)
        return result

    return step


def cases_for(device: str, quick: bool = False) -> list[Case]:
    """The table of this device, small cases first."""
    if quick:
        quick_cases = (Case(SMALL, device=device), Case((8, 64, 256, 8), device=device))
        return [*quick_cases, replace(quick_cases[1], is_training=True)]
    dtypes = ("float32", "bfloat16", "float16") if device == "cuda" else ("float32", "bfloat16")
    shapes = (*SHAPES, LONG, *WIDE_HEADS) if device == "cuda" else SHAPES
    cases = [
        Case(shape, dtype, device, is_causal, is_training)
        for dtype in dtypes
        for shape in shapes
        for is_causal in (True, False)
        for is_training in (False, True)
        if not (is_training and is_slow(shape, dtype, device))
    ]
    cases = [replace(c, with_compiled=_is_compiled(c, device)) for c in cases]
    dropped = [Case(shape, "float32", device, True, True, 0.1) for shape in SHAPES]
    long = [Case(LONG, device=device), Case(LARGEST, device=device)]
    return [*cases, *dropped, *long]


def is_slow(shape: tuple, dtype: str, device: str) -> bool:
    """Whether a step takes tens of seconds: many processors only imitate bfloat16."""
    return device == "cpu" and dtype == "bfloat16" and shape[1] >= 1024


def _is_compiled(case: Case, device: str) -> bool:
    """Compiling takes longer than measuring; two shapes are enough."""
    if device == "cuda":
        return case.is_causal and case.dtype == "bfloat16" and case.shape in FOR_COMPILERS
    is_shown = case.shape == SMALL or (case.shape == SHAPES[2] and not case.is_training)
    return case.is_causal and case.dtype == "float32" and is_shown
