"""One layer on several processes: heads or tokens are shared out, and what travels is counted."""

from mha_utils.distributed.collectives import add_up, give_out, to_neighbour, trade
from mha_utils.distributed.team import LostProcessError, Team
from mha_utils.distributed.traffic import bytes_sent, layer_bytes
from mha_utils.distributed.ways import (
    WAYS,
    cut_heads,
    largest_difference,
    notes_kept,
    on_one_process,
    run_way,
    whole,
)
