"""SelfAttentionHead as an nn.Module: numbers, gradients, and what modules must be able to do."""

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

from mha_utils import SelfAttentionHead, causal_mask, data, reference


def make(embed_dim=6, head_dim=4, value_dim=3, bias=True, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    return SelfAttentionHead(embed_dim, head_dim, value_dim, bias).to(dtype)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 6), (5, 6), (3, 5, 6), (2, 3, 17, 6)], ids=str)
@pytest.mark.parametrize("causal", [True, False])
def test_equals_the_reference(shape, bias, causal):
    head = make(bias=bias)
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    mask = causal_mask(shape[-2]) if causal else None
    out, weights = head(x, mask, need_weights=True)
    q, k, v = (
        x.numpy() @ layer.weight.detach().numpy().T + (layer.bias.detach().numpy() if bias else 0.0)
        for layer in (head.q_proj, head.k_proj, head.v_proj)
    )
    expected = reference.attention_batched(q, k, v, None if mask is None else mask.numpy())
    np.testing.assert_allclose(out.detach(), expected[0], atol=1e-12)
    np.testing.assert_allclose(weights.detach(), expected[1], atol=1e-12)
    assert torch.equal(head(x, mask), out)


def test_gradcheck():
    head = make(3, 2, 2)
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: head(x, causal_mask(4)), x)


def test_parameters_are_counted_by_the_widths():
    count = sum(p.numel() for p in make(6, 4, 3, bias=False).parameters())
    assert count == 6 * 4 + 6 * 4 + 6 * 3
    assert make(6, 4, None).v_proj.out_features == 4


def test_copy_pickle_and_state_dict_give_the_same_numbers():
    head, x = make(), torch.randn(2, 5, 6, dtype=torch.float64)
    buffer = io.BytesIO()
    torch.save(head.state_dict(), buffer)
    buffer.seek(0)
    loaded = make(seed=1)
    loaded.load_state_dict(torch.load(buffer))
    for other in (copy.deepcopy(head), pickle.loads(pickle.dumps(head)), loaded):
        assert torch.equal(other(x), head(x))


COMPILE = """
import torch
from mha_utils import SelfAttentionHead, causal_mask
head, x, mask = SelfAttentionHead(6, 4, 3), torch.randn(2, 5, 6), causal_mask(5)
compiled = torch.compile(head, fullgraph=True, backend="eager")
torch.testing.assert_close(compiled(x, mask), head(x, mask))
exported = torch.export.export(head, (x, mask)).module()
torch.testing.assert_close(exported(x, mask), head(x, mask))
"""


def test_compiles_without_a_graph_break_and_exports():
    """In a process of its own: the import hook of the tests cannot be traced."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)


def test_autocast_mixes_dtypes():
    head, x = make(dtype=torch.float32), torch.randn(2, 5, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = head(x)
    torch.testing.assert_close(out.float(), head(x), atol=0.05, rtol=0.05)


def published(text):
    return torch.tensor([float(number) for number in text.split()])


def test_published_context_vector_is_reproduced():
    """The second token of a published notebook, its 28 printed numbers."""
    _, ids = data.news_word_ids()
    torch.manual_seed(123)
    x = torch.nn.Embedding(13, 16)(ids).detach()
    w_q, w_k, w_v = torch.rand(24, 16), torch.rand(24, 16), torch.rand(28, 16)
    head = SelfAttentionHead(16, 24, 28)
    for layer, weight in zip((head.q_proj, head.k_proj, head.v_proj), (w_q, w_k, w_v)):
        layer.weight.data = weight
    expected = published(data.NEWS_CONTEXT)
    assert expected.shape == (28,)
    torch.testing.assert_close(head(x)[1].detach(), expected, atol=1e-4, rtol=0)
