"""A button that runs a changed cell and everything below it."""

from mha_utils.machine import is_voila
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.still import picture

MENU = "After an edit, choose Run ▸ Run Selected Cell and All Below."


class RunBelow(LiveView):
    """Run the cell that this stands in, and all below; where that can not be, say how to do it."""

    script = "run_below"

    def finding(self) -> str:
        return MENU

    def still(self):
        return picture(MENU)

    def _ipython_display_(self) -> None:
        """Nothing in an app of Voila, in which nothing is edited; elsewhere as other views."""
        if not is_voila():
            raise NotImplementedError
