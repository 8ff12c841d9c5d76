"""Whether a program starts training from stored weights (pretrained or a checkpoint), which may be missing here."""

from __future__ import annotations

import ast

from dnnfix.records import Site
from dnnfix.source.program import Source
from dnnfix.source.public_names import words
from dnnfix.subject import Subject
from dnnfix.synthesize.literals import constant_written

LOADS = words("load_state_dict from_pretrained load_model load_weights")
"""Last names of what reads them."""

OTHER = words("pretrained IMAGENET1K_V1")
"""Words of what brings them along when a network is made."""

FUNCTIONS_UP = 3
"""Calls that are followed upwards, to where a statement is reached from."""


def begins_with_stored(subject: Subject, trained: Site) -> bool:
    """Whether weights are read before training, whose statement is at `trained`, as far as the source shows.

    What is read behind it is the best of the weights that were trained, or what was saved of them; and what an option asks for that
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
    """Whether a call comes after training, in the function that both are reached from, and no loop comes back to training."""
    loops = [*source.nodes(ast.For), *source.nodes(ast.While)]
    behind = _reached_from(source, trained.line)
    for function, line in _reached_from(source, call.lineno):
        for other, start in behind:
            if function is other:
                again = any(loop.lineno <= start and line <= (loop.end_lineno or 0) for loop in loops)
                return line > start and not again
    return False


def _reached_from(source: Source, line: int) -> list[tuple[ast.AST | None, int]]:
    """A line, and those of the calls that lead to it, with the function that each of them is in: `None` for the module."""
    places: list[tuple[ast.AST | None, int]] = []
    for _ in range(FUNCTIONS_UP):
        function = _function_of(source, line)
        places.append((function, line))
        calls = [one for one in source.all_calls if function is not None and source.definition(one.func) is function]
        if len(calls) != 1:
            break
        line = calls[0].lineno
    return places


def _function_of(source: Source, line: int) -> ast.AST | None:
    functions = [*source.nodes(ast.FunctionDef), *source.nodes(ast.AsyncFunctionDef)]
    around = [one for one in functions if one.lineno <= line <= (one.end_lineno or 0)]
    return max(around, key=lambda one: one.lineno, default=None)
