"""The whole numbers that an expression of a program may be."""

from __future__ import annotations

import ast

from dnnfix.reproduce.arguments import options
from dnnfix.source.program import Source
from dnnfix.source.tree import last_name


def numbers_of(source: Source, node: ast.AST | None, within: frozenset[str] = frozenset()) -> list[int]:
    """The numbers that an expression may be: constants, what a name is bound to, or the default of a parameter or an option.

    `within` are the names that led here: `k=k` and `k = max(k, 3)` lead nowhere else.
    """
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, int) and not isinstance(node.value, bool) else []
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    if isinstance(node, ast.Call) and last_name(node.func) == "max":
        parts = node.args
    if isinstance(node, ast.Attribute):
        value = options.defaults(source).get(node.attr)
        return [value] if isinstance(value, int) and not isinstance(value, bool) else []
    if parts or not isinstance(node, ast.Name):
        return [number for part in parts for number in numbers_of(source, part, within)]
    if node.id in within:
        return []
    within |= {node.id}
    function = source.enclosing(node, ast.FunctionDef)
    if function is not None:
        given = function.args
        defaults = dict(zip([a.arg for a in given.args][::-1], given.defaults[::-1], strict=False))
        if node.id in defaults:
            return numbers_of(source, defaults[node.id], within)
    values = source.bindings(node)
    return numbers_of(source, values[0], within) if len(values) == 1 and not isinstance(values[0], ast.Name) else []
