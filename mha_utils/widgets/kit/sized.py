"""What views of one layer's sizes share."""

import traitlets

from mha_utils.core.guards import require_divisible, require_sizes
from mha_utils.widgets.kit.base import LiveView, shows_problems
from mha_utils.widgets.kit.judged import judged


class SizedView(LiveView):
    """A view of the sizes B, T, D and H; H must divide D."""

    batch_size = judged(traitlets.Int, 1, require_sizes)
    seq_len = judged(traitlets.Int, 1, require_sizes)
    embed_dim = traitlets.Int(1).tag(sync=True)
    num_heads = traitlets.Int(1).tag(sync=True)

    def __init__(self, batch_size: int, seq_len: int, embed_dim: int, num_heads: int, **others):
        require_divisible(embed_dim, num_heads)
        sizes = {"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim}
        super().__init__(**sizes, num_heads=num_heads, **others)

    @traitlets.observe("embed_dim", "num_heads")
    @shows_problems
    def _keep_divisible(self, change):
        require_divisible(self.embed_dim, self.num_heads)
