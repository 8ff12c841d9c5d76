"""The expressions that a program minimizes: operands of `backward` and `minimize`, and returns of a Keras loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.compiled_losses import is_compile
from dnnfix.detect.loops.metric_direction import name_of
from dnnfix.source.arguments import argument_value
from dnnfix.source.tree import within
from dnnfix.subject import Subject

_REDUCTIONS = frozenset({"mean", "sum", "reduce_mean", "reduce_sum"})


def minimized(subject: Subject) -> Iterator[ast.expr]:
    """The expressions that the program minimizes.

    They are the operands of `backward`, `minimize` and `tape.gradient`, looked up where it is a name, and what a loss
    of the program's own returns that it passes to `compile`.
    """
    seen: set[ast.expr] = set()
    if subject.source.words.isdisjoint(("backward", "minimize", "gradient", "compile")):
        return
    for call in subject.source.all_calls:
        for loss in (_given(subject, call), _returned(subject, call)):
            value = written(subject, loss) if loss is not None else None
            if value is not None and value not in seen:
                seen.add(value)
                yield value


def written(subject: Subject, expr: ast.expr) -> ast.expr | None:
    """The expression, or the one that its name is bound to; `None` where the name has several values."""
    if not isinstance(expr, ast.Name):
        return expr
    values = subject.source.bindings(expr, at=expr) or subject.source.bindings(expr)
    return values[0] if len(values) == 1 else None


def reduced(call: ast.Call) -> ast.expr | None:
    """What a call of `mean` or `sum`, as a function or a method, reduces; `None` for any other call."""
    name = name_of(call.func)
    if name not in _REDUCTIONS:
        return None
    first = call.args[0] if call.args else None
    if not isinstance(call.func, ast.Attribute):
        return first
    if name in ("reduce_mean", "reduce_sum") or (
        first is not None and not isinstance(first, (ast.Constant, ast.Tuple))
    ):
        return first
    return call.func.value


def _given(subject: Subject, call: ast.Call) -> ast.expr | None:
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "backward" and not call.args:
        return call.func.value
    if call.func.attr in ("minimize", "gradient"):
        return argument_value(call, "target" if call.func.attr == "gradient" else "loss", 0)
    return None


def _returned(subject: Subject, call: ast.Call) -> ast.expr | None:
    if not is_compile(call):
        return None
    given = argument_value(call, "loss", 1)
    function = subject.source.definition(given) if isinstance(given, ast.Name) else None
    if not isinstance(function, ast.FunctionDef):
        return None
    values = [node.value for node in within(function, ast.Return)]
    return values[0] if len(values) == 1 else None
