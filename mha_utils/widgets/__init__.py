"""The live views. Only this folder knows anywidget."""

from mha_utils.widgets.bug_hunt import BugHunt
from mha_utils.widgets.cell_steps import CellSteps
from mha_utils.widgets.dropout_draws import DropoutDraws
from mha_utils.widgets.head_budget import HeadBudget
from mha_utils.widgets.head_explorer import HeadExplorer
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.layer_cost import LayerCost
from mha_utils.widgets.mask_painter import MaskPainter
from mha_utils.widgets.memory_ribbon import MemoryRibbon
from mha_utils.widgets.pipeline import Pipeline
from mha_utils.widgets.shape_letters import ShapeLetters
from mha_utils.widgets.softmax_scale import SoftmaxScale
from mha_utils.widgets.training_film import TrainingFilm

__all__ = [
    "BugHunt",
    "CellSteps",
    "DropoutDraws",
    "HeadBudget",
    "HeadExplorer",
    "LayerCost",
    "LiveView",
    "MaskPainter",
    "MemoryRibbon",
    "Pipeline",
    "ShapeLetters",
    "SoftmaxScale",
    "TrainingFilm",
]
