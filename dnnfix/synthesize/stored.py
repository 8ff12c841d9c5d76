"""Whether a program begins its training with weights that were stored before: these may be missing where it is tried."""

from __future__ import annotations

import ast

from dnnfix.detect.training_loop import function_around
from dnnfix.records import Site
from dnnfix.source.known import words
from dnnfix.source.program import Source

LOADS = words("load_state_dict from_pretrained load_model load_weights")
"""Last names of what reads them."""

OTHER = words("pretrained IMAGENET1K_V1")
"""Words of what brings them along when a network is made."""


def begins_with_stored(source: Source, trained: Site) -> bool:
    """Whether weights are read before training, whose statement is at `trained`, as far as the text tells.

    What is read behind it, in the same function, is the best of the weights that were trained.
    """
    if source.words & OTHER:
        return True
    return any(_name(call) in LOADS and not _is_behind(source, call, trained) for call in source.all_calls)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_behind(source: Source, call: ast.Call, trained: Site) -> bool:
    around = function_around(source, call)
    first, last = (around.lineno, around.end_lineno or 0) if around is not None else (1, 10**9)
    within = first <= trained.line <= last
    loops = [*source.nodes(ast.For), *source.nodes(ast.While)]
    again = any(one.lineno <= trained.line and call.lineno <= (one.end_lineno or 0) for one in loops)
    return within and call.lineno > trained.line and not again
