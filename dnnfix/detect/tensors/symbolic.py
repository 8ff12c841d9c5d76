"""Which expressions hold a symbolic Keras tensor: the result of `Input` or of a layer called on one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.calls import receiver_is
from dnnfix.source.program import Source

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ENDS = frozenset({"input", "inputs", "output", "outputs"})
"""Attributes by which a model or layer gives its symbolic tensors."""
_FORM = frozenset({"shape", "get_shape", "ndim", "dtype", "name", "set_shape", "_keras_shape"})
"""Attributes of a symbolic tensor that are known before any data are there."""
_ASKS = frozenset({"int_shape", "ndim", "dtype", "len", "print", "isinstance", "type", "str", "is_keras_tensor"})
"""Functions that ask only for what is known of a symbolic tensor."""

_FAR = 50
"""After how many names a layer that is called is believed to be called on a symbolic tensor, as those before it were."""
_MOST_NAMES = 80


def scope_of(source: Source, name: ast.Name, at: ast.AST | None = None) -> Scope | ast.Module | None:
    """The function that binds a name as it is read there, or the module; `None` where neither does."""
    scope: Scope | None = _scope(source, at or name)
    while scope is not None:
        if name.id in parameters(scope) or any(True for _ in _stores(source, name.id, scope)):
            return scope
        scope = _scope(source, scope)
    return source.tree if any(True for _ in _stores(source, name.id, None)) else None


def parameters(function: Scope) -> list[str]:
    """The names of all parameters."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [parameter.arg for parameter in every if parameter is not None]


def values_of(source: Source, name: ast.Name) -> list[ast.expr] | None:
    """All that is assigned to a name, also what it is unpacked from; `None` where something else binds it."""
    scope = scope_of(source, name)
    if scope is None or isinstance(scope, _SCOPES) and name.id in parameters(scope):
        return None
    within = scope if isinstance(scope, _SCOPES) else None
    found = [_given(source, store) for store in _stores(source, name.id, within)]
    return [value for value in found if value is not None] if None not in found else None


def is_symbolic(source: Source, expr: ast.expr, known: dict[tuple[object, str], bool] | None = None) -> bool:
    """Whether an expression provably holds a symbolic tensor, or several.

    `known` has the names that were asked for on the way; one that is asked for by its own values is taken to be one.
    """
    known = {} if known is None else known

    def also(other: ast.expr) -> bool:
        return is_symbolic(source, other, known)

    if isinstance(expr, ast.Name):
        key = (scope_of(source, expr), expr.id)
        if key not in known and len(known) < _MOST_NAMES:
            known[key] = True
            values = [v for v in values_of(source, expr) or () if not isinstance(v, ast.Constant)]
            changed = [v for v in values if isinstance(source.parent(v), ast.AugAssign)]
            begun = [
                v for v in values if all(getattr(n, "id", "") != expr.id for n in ast.walk(v)) and v not in changed
            ]
            known[key] = all(map(also, begun)) if begun else any(map(also, changed))
        return known.get(key, False)
    if isinstance(expr, ast.Attribute):
        if expr.attr in _ENDS:
            owner = expr.value
            fetched = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute)
            if fetched and owner.func.attr == "get_layer":  # type: ignore[attr-defined]
                return True
            return any(receiver_is(source, owner, kind) for kind in ("keras.Model", "keras.layers.Layer"))
        held = (None, ast.dump(expr))
        if held not in known and len(known) < _MOST_NAMES:
            known[held] = True
            values = list(source.bindings(expr))
            known[held] = bool(values) and all(map(also, values))
        return known.get(held, False)
    if isinstance(expr, ast.Call):
        return _is_called(source, expr, known)
    if isinstance(expr, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.List, ast.Tuple, ast.IfExp)):
        return any(also(part) for part in ast.iter_child_nodes(expr) if isinstance(part, ast.expr))
    return isinstance(expr, (ast.Subscript, ast.Starred)) and also(expr.value)


def reads_value(source: Source, name: ast.expr) -> bool:
    """Whether a symbolic tensor is used for more than what is known of it without data, as its shape."""
    above = source.parent(name)
    if isinstance(above, ast.Attribute) and above.attr in _FORM:
        return False
    return not (isinstance(above, ast.Call) and above.func is not name and _last(source, above.func) in _ASKS)


def _is_called(source: Source, call: ast.Call, known: dict[tuple[object, str], bool]) -> bool:
    if receiver_is(source, call, "keras.KerasTensor"):
        return True
    maker = call.func.func if isinstance(call.func, ast.Call) else None
    if maker is not None and len(known) > _FAR and (source.qualified(maker) or "").startswith("keras.layers."):
        return True
    last = _last(source, call.func)
    made = (source.qualified(call.func) or "").startswith("keras.") and last[:1].isupper()
    if made or last in _ASKS | {"shape", "function", "compile", "fit", "predict"}:
        return False
    definition = source.definition(call.func)
    if isinstance(definition, ast.ClassDef):
        return False
    given = any(is_symbolic(source, arg, known) for arg in (*call.args, *(k.value for k in call.keywords)))
    if isinstance(definition, ast.FunctionDef):
        returned = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value]
        if any(receiver_is(source, value, "keras.Model") for value in returned):
            return False
        if given or known.get((definition, "")) is not None:
            return given
        known[definition, ""] = False
        return bool(returned) and all(is_symbolic(source, value, known) for value in returned)
    return given


def _scope(source: Source, node: ast.AST) -> Scope | None:
    above = source.enclosing(node, *_SCOPES)
    return above if isinstance(above, _SCOPES) else None


def _last(source: Source, function: ast.expr) -> str:
    return (source.qualified(function) or getattr(function, "attr", "") or "").rpartition(".")[2]


def _stores(source: Source, name: str, scope: Scope | None) -> Iterator[ast.Name]:
    """Where a function, or the module without one, binds a name."""
    for node in source.nodes(ast.Name):
        bound = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        if bound and _scope(source, node) is scope:
            yield node


def _given(source: Source, store: ast.Name) -> ast.expr | None:
    """What a name is given where it is bound: a value, or what the value is unpacked from."""
    target: ast.AST = store
    above = source.parent(target)
    while isinstance(above, (ast.Tuple, ast.List, ast.Starred)):
        target, above = above, source.parent(above)
    if isinstance(above, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and above.value is not None:
        value = above.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            return value.elts[target.elts.index(store)] if store in target.elts else value
        return value
    return None
