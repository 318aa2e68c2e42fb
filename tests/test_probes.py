"""The leak map says exactly what depends on what."""

import pytest
import torch

from mha_utils import attention, causal_mask, leak_map


def test_leak_map_of_a_linear_mix_is_the_mix():
    mix = torch.tensor([[1.0, 0.0, -2.0], [0.0, 3.0, 0.0]])
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(leak_map(lambda x: mix @ x, x), mix.abs() * 4**0.5)


def test_leak_map_is_the_size_of_the_change_that_a_small_step_makes():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 1, dtype=torch.float64, generator=generator)

    def function(x):
        return attention(x, x, x, causal_mask(4))[0]

    leak = leak_map(function, x)
    for j in range(4):
        step = torch.zeros_like(x)
        step[j] = 1e-6
        change = (function(x + step) - function(x - step)) / 2e-6
        assert torch.allclose(leak[:, j], change.abs().squeeze(1), atol=1e-8)


def test_leak_map_wants_one_sequence():
    with pytest.raises(ValueError, match=r"x does not fit"):
        leak_map(lambda x: x, torch.zeros(2, 3, 4))
    text = r"^the Jacobian of function must be \(T, Dv, S, D\), got shape \(3, 4\)$"
    with pytest.raises(ValueError, match=text):
        leak_map(lambda x: x.sum(), torch.zeros(3, 4))
