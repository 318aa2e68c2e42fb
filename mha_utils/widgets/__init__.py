"""The live views. Only this folder knows anywidget."""

from mha_utils.widgets.bet import Bet, count_bets
from mha_utils.widgets.bug_hunt import BugHunt
from mha_utils.widgets.cache_shelf import CacheShelf
from mha_utils.widgets.dropout_draws import DropoutDraws
from mha_utils.widgets.following import follow, link
from mha_utils.widgets.head_budget import HeadBudget
from mha_utils.widgets.head_explorer import HeadExplorer
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.layer_cost import LayerCost
from mha_utils.widgets.mask_painter import MaskPainter
from mha_utils.widgets.memory_ribbon import MemoryRibbon
from mha_utils.widgets.position_dials import PositionDials
from mha_utils.widgets.process_tiles import ProcessTiles
from mha_utils.widgets.run_below import RunBelow
from mha_utils.widgets.shape_letters import ShapeLetters
from mha_utils.widgets.softmax_scale import SoftmaxScale
from mha_utils.widgets.training_film import TrainingFilm
from mha_utils.widgets.training_staircase import TrainingStaircase
from mha_utils.widgets.writer_at_work import WriterAtWork
