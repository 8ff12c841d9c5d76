"""Where a call has its arguments in the source, and which container (`nn.Sequential`, `model.add`) a layer is put
into.
"""

from __future__ import annotations

import ast

from dnnfix.network.facts import argument_position
from dnnfix.network.names import KERAS_SEQUENTIALS
from dnnfix.records import Call, Site
from dnnfix.subject import Subject

CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", *KERAS_SEQUENTIALS})


def argument(subject: Subject, node: ast.Call, canonical: str, name: str) -> ast.expr | None:
    """The expression given for parameter `name` in a call of the canonical function or constructor."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    position = argument_position(canonical, name)
    return positional(node, position) if position is not None else None


def input_expression(subject: Subject, call: Call, index: int = 0) -> ast.expr | None:
    """The expression that is given as input number `index` in the source of the call.

    `None` where the call's site is not a call of the thing itself, as for the children of a container.
    """
    node = subject.node(call.site)
    if not isinstance(node, ast.Call):
        return None
    if call.name.startswith("torch.Tensor.") and isinstance(node.func, ast.Attribute):
        return node.func.value if index == 0 else positional(node, index - 1)
    constructor = subject.constructor_node(call)
    if constructor is not None and (element_of(subject, constructor) or added_by_statement(subject, constructor)):
        return None
    return positional(node, index)


def positional(node: ast.Call, index: int) -> ast.expr | None:
    """The positional argument at an index, where no starred one comes before it."""
    if any(isinstance(given, ast.Starred) for given in node.args[: index + 1]) or index >= len(node.args):
        return None
    return node.args[index]


def element_of(subject: Subject, node: ast.expr) -> tuple[Site, int] | None:
    """The container that lists the expression, and its index there: a `Sequential(…)` call or the list inside it."""
    parent = subject.source.parent(node)
    if isinstance(parent, ast.Call) and node in parent.args and subject.source.qualified(parent.func) in CONTAINERS:
        return subject.source.site(parent), parent.args.index(node)
    if isinstance(parent, (ast.List, ast.Tuple)) and node in parent.elts:
        outer = subject.source.parent(parent)
        if isinstance(outer, ast.Call) and subject.source.qualified(outer.func) in CONTAINERS:
            return subject.source.site(parent), parent.elts.index(node)
    return None


def added_by_statement(subject: Subject, node: ast.expr) -> ast.stmt | None:
    """The statement `model.add(node)` that puts a layer into a sequential model."""
    parent = subject.source.parent(node)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "add":
        statement = subject.source.parent(parent)
        if isinstance(statement, ast.Expr) and parent.args[:1] == [node]:
            return statement
    return None
