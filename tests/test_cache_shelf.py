"""The shelf of keys and values: what it keeps is what a cache and a mask keep."""

import pytest
import torch

from mha_utils import KeyValueCache, sliding_window_mask, widgets

WORDS = ["once", "there", "was", "a", "brave", "owl", "called", "ben"]


def test_it_counts_what_a_cache_holds():
    view = widgets.CacheShelf(WORDS, num_heads=6, num_kv_heads=3, head_dim=4, length=5)
    cache = KeyValueCache(1, view.num_kv_heads, view.length, view.head_dim)
    assert view.numbers() == cache.keys.numel() + cache.values.numel()
    assert view.numbers(view.num_heads) == 2 * view.numbers()


@pytest.mark.parametrize("window", [1, 3, 8])
@pytest.mark.parametrize("sinks", [0, 2])
def test_it_keeps_what_the_newest_token_may_see(window, sinks):
    view = widgets.CacheShelf(WORDS, window=window, sinks=sinks)
    for view.length in range(1, 9):
        mask = sliding_window_mask(view.length, window=window, sinks=min(sinks, view.length))
        assert view.kept() == torch.nonzero(mask[-1]).flatten().tolist()


def test_the_finding_in_full():
    view = widgets.CacheShelf(WORDS, length=1)
    assert view.finding() == (
        "The newest of 1 token is “once”. 2 KV heads, 1 token kept: 32 numbers; "
        "a KV head for each of 8 heads would need 128."
    )
    view.length, view.window, view.sinks, view.num_kv_heads = 6, 2, 1, 1
    assert view.finding() == (
        "The newest of 6 tokens is “owl”. 1 KV head, 3 tokens kept: 48 numbers; "
        "a KV head for each of 8 heads would need 384. "
        "3 tokens forgotten: with all kept, 96 numbers."
    )
    view.num_heads = 1
    assert view.finding() == (
        "The newest of 6 tokens is “owl”. 1 KV head, 3 tokens kept: 48 numbers. "
        "3 tokens forgotten: with all kept, 96 numbers."
    )


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ValueError, match="num_kv_heads must divide num_heads 8, got 3"):
        widgets.CacheShelf(WORDS, num_kv_heads=3)
    for number in (0, 33):
        with pytest.raises(ValueError, match=f"tokens must be 1 to 32 words, got {number}"):
            widgets.CacheShelf(["a"] * number)
    with pytest.raises(ValueError, match="sinks must be at most 4 to be drawn, got 5"):
        widgets.CacheShelf(WORDS, sinks=5)
    with pytest.raises(ValueError, match="sinks must be 0 to 4, got -1"):
        widgets.CacheShelf(WORDS, sinks=-1)
