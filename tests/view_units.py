"""Modules of the live views without a browser: deno imports them, Python gives and judges."""

import base64
import json
from pathlib import Path

from mha_utils.widgets.kit.base import SOURCES
from tools.bundle import deno

RUN = Path(__file__).with_name("run_units.js")


def evaluate(module: str, expression: str, given=None, view=None):
    """What a function of JavaScript makes of the module's exports, `given` and the view's model.

    `expression` is the source of `(module, given, model) => …`. Numbers that JSON has no name for
    come back as floats; arrays of numbers as lists.
    """
    state, sent = {}, {}
    if view is not None:
        kept = {n: v for n, v in view.get_state().items() if not n.startswith("_")}
        sent = {n: base64.b64encode(v).decode() for n, v in kept.items() if isinstance(v, bytes)}
        kinds = bool | int | float | str | list
        state = {n: v for n, v in kept.items() if isinstance(v, kinds)}
    order = {"module": (SOURCES / module).as_uri(), "expression": expression}
    order |= {"given": given, "state": state, "sent": sent}
    done = deno("run", "--quiet", "--allow-read", str(RUN), input=json.dumps(order))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=float)
