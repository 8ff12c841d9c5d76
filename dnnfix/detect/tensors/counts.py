"""Functions that return counts of correct predictions in a list, as the usual `accuracy(output, target)` does."""

from __future__ import annotations

import ast

from dnnfix.detect.versioning.names import uses_of
from dnnfix.source.program import Source

INTO = frozenset({"mul_", "div_"})
"""What scales a tensor in its place, which then has the axes that it had, whatever it is scaled by."""

SCALED = frozenset({"mul", "div", "float", "cpu", "detach", "double", *INTO})
"""What keeps a tensor without axes one, where its arguments are numbers."""

FLAT = frozenset({"float", "contiguous", "cpu", "data", "detach", "double", "int", "long", "type_as", "eq"})
"""What keeps a tensor of one axis one."""

MEASURES = frozenset({"item", "nelement", "numel"})
"""Methods of tensors that give a number of Python."""

TENSORS = frozenset({"contiguous", "cpu", "detach", "expand_as", "mul_", "topk", "type_as", "unsqueeze", "view"})
"""Methods that the tables of pandas do not have, nor the arrays of NumPy with numbers."""

_DEEP = 6


def is_counted(source: Source, base: ast.expr) -> bool:
    """Whether a name holds what a function of the program counts and puts in a list, as a tensor without axes."""
    calls = given_by(source, base)
    return bool(calls) and all(_returns_numbers(source, call) for call in calls)


def given_by(source: Source, base: ast.expr) -> list[ast.Call]:
    """The calls from which a name has an item of a result: `a, b = f(x)` and `a = f(x)[0]`; none where it has another value."""
    if not isinstance(base, ast.Name):
        return []
    scope = source.enclosing(base, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree
    calls: list[ast.Call] = []
    for name in uses_of(source).names(base.id):
        if not isinstance(name.ctx, ast.Store):
            continue
        if (source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree) is not scope:
            continue
        above = source.parent(name)
        statement = source.parent(above) if isinstance(above, (ast.Tuple, ast.List)) else above
        value = statement.value if isinstance(statement, ast.Assign) else None
        if statement is above and isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            value = value.value
        elif statement is above:
            return []
        if not isinstance(value, ast.Call):
            return []
        calls.append(value)
    return calls


def _returns_numbers(caller: Source, call: ast.Call) -> bool:
    found = caller.defined(call.func)
    if found is None or not isinstance(found[1], ast.FunctionDef):
        return False
    source, function = found[0], found[1]
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.Name):
        return False
    made = source.bindings(returned[0])
    if not made or any(ast.unparse(value) not in ("[]", "list()") for value in made):
        return False
    given = {
        source.parent(node)
        for node in uses_of(source).names(returned[0].id)
        if isinstance(node.ctx, ast.Load) and _is_within(source, node, function)
    }
    kept = [
        node.args[0]
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == returned[0].id
        and len(node.args) == 1
    ]
    if len(given) != len(kept) + 1:
        return False  # what is put in otherwise, or elsewhere, stands at places that nobody counted
    numbers = _numbers_given(caller, call, function)
    return bool(kept) and all(_is_count(source, value, numbers) for value in kept)


def _is_within(source: Source, node: ast.AST, function: ast.FunctionDef) -> bool:
    return source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) is function


def counts_tensors(source: Source, base: ast.expr) -> bool:
    """Whether what such a function sums is seen to be a tensor: a table of pandas is summed by the same name."""
    return all(_sums_tensors(source, call) for call in given_by(source, base))


def _sums_tensors(caller: Source, call: ast.Call) -> bool:
    found = caller.defined(call.func)
    if found is None or not isinstance(found[1], ast.FunctionDef):
        return False
    source, function = found[0], found[1]
    summed = [
        node.func.value
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sum"
    ]
    return bool(summed) and all(_is_tensor(source, value) for value in summed)


def _is_tensor(source: Source, value: ast.expr, left: int = _DEEP) -> bool:
    """Whether an expression is a tensor of torch, as far as it or the names in it tell."""
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute) and node.attr in TENSORS:
            return True
        if isinstance(node, ast.Call) and (source.qualified(node.func) or "").startswith("torch."):
            return True
        if isinstance(node, ast.Name) and left:
            bound = source.bindings(node)
            if bound and all(_is_tensor(source, each, left - 1) for each in bound):
                return True
    return False


def _numbers_given(caller: Source, call: ast.Call, function: ast.FunctionDef) -> frozenset[str]:
    """The parameters of a function that a call of it gives numbers, and which keep them."""
    taken, spread = function.args, any(isinstance(arg, ast.Starred) for arg in call.args)
    if spread or any(keyword.arg is None for keyword in call.keywords) or taken.posonlyargs:
        return frozenset()
    names = [parameter.arg for parameter in taken.args]
    values = dict(zip(reversed(names), reversed(taken.defaults), strict=False))
    values |= {p.arg: value for p, value in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if value is not None}
    bound = isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"])
    values |= dict(zip(names[bound:], call.args, strict=False))
    values |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(name for name, value in values.items() if name not in stored and is_number(caller, value))


def _is_count(source: Source, value: ast.expr, numbers: frozenset[str], left: int = _DEEP) -> bool:
    """Whether an expression is a sum over the only axis of a tensor, or that scaled by numbers."""
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        counts = [_is_count(source, side, numbers, left) for side in sides]
        fits = (count or is_number(source, side, numbers) for side, count in zip(sides, counts, strict=True))
        return any(counts) and not isinstance(value.op, ast.MatMult) and all(fits)
    if isinstance(value, ast.Name):
        bound = source.bindings(value) if left else ()
        known = (not isinstance(each, ast.Name) and _is_count(source, each, numbers, left - 1) for each in bound)
        return bool(bound) and all(known)
    if isinstance(value, ast.Attribute) and value.attr == "data":
        return _is_count(source, value.value, numbers, left)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if value.func.attr in SCALED:
        scales = value.func.attr in INTO or all(is_number(source, each, numbers) for each in value.args)
        return scales and not value.keywords and _is_count(source, value.func.value, numbers, left)
    given = [*value.args, *(keyword.value for keyword in value.keywords if keyword.arg == "dim")]
    kept = any(keyword.arg != "dim" for keyword in value.keywords)
    if value.func.attr != "sum" or kept or len(given) > 1 or not all(is_zero(one) for one in given):
        return False
    return not given or _is_flat(value.func.value)


def is_number(source: Source, value: ast.expr, numbers: frozenset[str] = frozenset(), left: int = _DEEP) -> bool:
    """Whether an expression is a number of Python, as constants, lengths and sizes are."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (int, float))
    if isinstance(value, ast.UnaryOp):
        return is_number(source, value.operand, numbers, left)
    if isinstance(value, ast.BinOp):
        return all(is_number(source, part, numbers, left) for part in (value.left, value.right))
    if isinstance(value, ast.Name):
        bound = source.bindings(value) if left else ()
        known = bool(bound) and all(is_number(source, each, numbers, left - 1) for each in bound)
        return known or not bound and value.id in numbers
    if isinstance(value, ast.Subscript):
        whole = isinstance(value.slice, (ast.Constant, ast.UnaryOp))
        sizes = value.value.func if isinstance(value.value, ast.Call) else value.value
        return whole and isinstance(sizes, ast.Attribute) and sizes.attr in ("shape", "size")
    if not isinstance(value, ast.Call):
        return False
    if source.qualified(value.func) in ("builtins.len", "builtins.int", "builtins.float"):
        return True
    last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    return last in MEASURES or last == "size" and len(value.args) == 1


def is_zero(index: ast.expr) -> bool:
    """Whether an index, or each part of it, is the number 0."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return bool(parts) and all(isinstance(p, ast.Constant) and p.value == 0 and p.value is not False for p in parts)


def _is_flat(value: ast.expr) -> bool:
    """Whether a tensor has one axis, as far as its last methods tell: `correct[:k].view(-1).float()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in ("view", "reshape"):
            return len(value.args) == 1 and ast.unparse(value.args[0]) == "-1"
        if value.func.attr == "flatten":
            return not value.args and not value.keywords
        if value.func.attr not in FLAT:
            return False
        value = value.func.value
    return False
