"""A view that a cell asks for what it can not show leaves that out, and says so."""

import inspect

import anywidget
import traitlets

from mha_utils.cells import is_a_cell_asking


class Lenient(type(anywidget.AnyWidget)):
    """The class of views: an argument that a view refuses stops no cell of a notebook."""

    def __call__(cls, *given, **named):
        if not is_a_cell_asking():
            return super().__call__(*given, **named)
        places = list(inspect.signature(cls.__init__).parameters)[1 : len(given) + 1]
        arguments = dict(zip(places, given, strict=True)) | named
        defaults = defaults_of(cls, arguments)
        while True:
            try:
                return super().__call__(**arguments)
            except (ValueError, traitlets.TraitError) as error:
                left_out = accused(arguments, defaults, str(error))
                if left_out is None:
                    raise
                del arguments[left_out]
                taken = f"{left_out} = {defaults[left_out]!r}"
                print(f"{str(error).rstrip('.')}. We go on with {taken}.")


def defaults_of(cls: type, arguments: dict) -> dict:
    """What these arguments are if nobody gives them, without those that must be given."""
    parameters = inspect.signature(cls.__init__).parameters
    traits = {name: trait.default_value for name, trait in cls.class_traits().items()}
    found = {n: parameters[n].default if n in parameters else traits.get(n) for n in arguments}
    return {n: value for n, value in found.items() if value is not inspect.Parameter.empty}


def accused(arguments: dict, defaults: dict, refusal: str) -> str | None:
    """The last argument that a refusal names and that can be left out; None if there is none."""
    named = [name for name in arguments if name in defaults and name in refusal]
    return next((n for n in reversed(named) if arguments[n] is not defaults[n]), None)
