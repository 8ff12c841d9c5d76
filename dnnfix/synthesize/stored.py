"""Whether a program begins its training with weights that were stored before: these may be missing where it is tried."""

from __future__ import annotations

import ast

from dnnfix.detect.training_loop import function_around
from dnnfix.records import Site
from dnnfix.source.known import words
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.written import constant_written

LOADS = words("load_state_dict from_pretrained load_model load_weights")
"""Last names of what reads them."""

OTHER = words("pretrained IMAGENET1K_V1")
"""Words of what brings them along when a network is made."""


def begins_with_stored(subject: Subject, trained: Site) -> bool:
    """Whether weights are read before training, whose statement is at `trained`, as far as the text tells.

    What is read behind it, in the same function, is the best of the weights that were trained; and what an option asks for that
    is off is not read.
    """
    source = subject.source
    if source.words & OTHER:
        return True
    loads = [call for call in source.all_calls if _name(call) in LOADS]
    return any(not _is_behind(source, call, trained) and not _is_off(subject, call) for call in loads)


def _is_off(subject: Subject, call: ast.Call) -> bool:
    """Whether a call stands where a condition holds that does not, by what is written of the names in it."""
    source: Source = subject.source
    node: ast.AST = source.statement_of(call)
    above = source.parent(node)
    while above is not None:
        if isinstance(above, ast.If) and node in above.body and _is_false(subject, above.test):
            return True
        node, above = above, source.parent(above)
    return False


def _is_false(subject: Subject, test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_is_false(subject, value) for value in values)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = constant_written(subject, left), constant_written(subject, right)
            return all(side is not None for side in sides) and len({repr(side.value) for side in sides if side}) == 2
        case ast.Name() | ast.Attribute() | ast.Subscript():
            known = constant_written(subject, test)
            return known is not None and not known.value
    return False


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_behind(source: Source, call: ast.Call, trained: Site) -> bool:
    around = function_around(source, call)
    first, last = (around.lineno, around.end_lineno or 0) if around is not None else (1, 10**9)
    within = first <= trained.line <= last
    loops = [*source.nodes(ast.For), *source.nodes(ast.While)]
    again = any(one.lineno <= trained.line and call.lineno <= (one.end_lineno or 0) for one in loops)
    return within and call.lineno > trained.line and not again
