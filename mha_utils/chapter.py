"""`setup_chapter`, the first cell of every chapter: look, digits, threads, the net under edits."""

import torch
from IPython import get_ipython
from matplotlib import pyplot as plt
from matplotlib_inline.backend_inline import set_matplotlib_formats
from matplotlib_inline.config import InlineBackend

from mha_utils import left_out, theme
from mha_utils.machine import NOT_SAVED, is_saved_here, is_voila


def setup_chapter() -> None:
    """What every chapter's first cell does: four decimals, no 1e-05, the series' look, one thread.

    With tensors as small as here several threads would mostly wait for each other. Who may not
    write where the chapter lies is told.
    """
    torch.set_num_threads(1)
    torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)
    plt.rcParams.update(theme.RC)
    if shell := get_ipython():
        show_through(shell)
        left_out.watch(shell)
        shell.events.register("post_run_cell", name_what_is_missing)
        if not (is_saved_here() or is_voila()):
            print(NOT_SAVED)


def name_what_is_missing(result) -> None:
    """After a cell that misses a name: the likely reason, in one sentence."""
    if isinstance(result.error_in_exec, NameError):
        made = f"No cell that has run to its end has made `{result.error_in_exec.name}`"
        print(f"{made}: run the cells above this one first, or look for a slip of the pen.")


def show_through(shell) -> None:
    """Let the figures of a notebook have no background, so that the page's is seen.

    A figure whose own colour is "none" would be put on white by JupyterLab's dark theme.
    """
    options = {"bbox_inches": "tight", "facecolor": "none"}
    InlineBackend.instance(parent=shell).print_figure_kwargs = options
    set_matplotlib_formats("png", **options)
