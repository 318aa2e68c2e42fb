"""Room 5: wrong shared heads, positions, caches and windows."""

from mha_utils.core.rotary import LAYOUTS, Rotary
from mha_utils.museum.label import labelled
from mha_utils.museum.steps import Steps


@labelled("groups repeated instead of interleaved", "15", 3, "onnx/onnx #7274")
class GroupsRepeated(Steps):
    """Four heads share two of keys as 0 1 0 1 (repeat), not as 0 0 1 1 (repeat_interleave)."""

    def share(self, heads, num_heads):
        return heads.repeat(1, num_heads // heads.shape[1], 1, 1)


@labelled("rotary pairs the wrong features", "14", 3, "rasbt/LLMs-from-scratch #750")
class RotaryOfOtherLayout(Steps):
    """Neighbours are turned where the weights expect halves, or halves where they expect pairs."""

    def turn(self, heads, positions, start):
        if self.rotary is None:
            return heads
        layout = LAYOUTS[1 - LAYOUTS.index(self.rotary.layout)]
        return Rotary(self.rotary.head_dim, self.rotary.base, layout)(heads, positions, start)


@labelled("positions start again at 0 with each call", "15", 5, "Blaizzy/mlx-vlm #1983")
class PositionsRestart(Steps):
    """The length of the cache is not counted: while writing, every token stands at place 0."""

    def start(self, cache):
        return 0


@labelled("rotary after the cache", "15", 5, "NeuraLegion/shainet #110")
class RotaryAfterCache(Steps):
    """Keys are stored as they are, and turned at each call as if the oldest were the newest."""

    def turn_and_store(self, q, k, v, positions, cache):
        start = self.start(cache)
        k, v = (k, v) if cache is None else self.store(cache, k, v)
        of_keys = positions if k.shape[2] == q.shape[2] else None
        return self.turn(q, positions, start), self.turn(k, of_keys, start), v


@labelled("full cache starts again", "15", 5, "ggml-org/llama.cpp #5485")
class CacheStartsAgain(Steps):
    """Without a word the next token goes into the first place, and the text so far is forgotten."""

    def store(self, cache, k, v):
        if cache.length + k.shape[2] > cache.capacity:
            cache.rewind()
        return super().store(cache, k, v)


@labelled("window one key too wide", "15", 4, "ml-explore/mlx-lm #390")
class WindowTooWide(Steps):
    """The window is counted without the query's own key: it sees one more than it should."""

    def window(self, query_len, key_len, window, sinks=0):
        return super().window(query_len, key_len, window + 1, sinks)


@labelled("sinks forgotten", "15", 4)
class SinksForgotten(Steps):
    """Only the window is seen: the first tokens, which trained heads lean on, are hidden."""

    def window(self, query_len, key_len, window, sinks=0):
        return super().window(query_len, key_len, window)
