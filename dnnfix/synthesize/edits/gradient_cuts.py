"""Edits that let gradients flow: calls that cut the graph (`detach`, `item`) are removed, and `requires_grad` set on a
loss.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.records import Delete, Edit, RemoveArgument, Replace, Site, Unwrap
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.spelling import spell

METHODS = frozenset({"detach", "item", "numpy", "tolist", "requires_grad_"})
"""Methods that are applied to what they cut off; functions take it as their first argument."""


def taken_out(subject: Subject, sites: Sequence[Site | None]) -> tuple[Edit, ...] | None:
    """Edits that replace the calls at the sites by their operand; nested ones are removed together."""
    source = subject.source
    nodes = {}
    for site in dict.fromkeys(sites):
        node = subject.node(site)
        if site is None or node is None:
            return None
        nodes[site] = node
    edits: list[Edit] = []
    inside: set[Site] = set()
    for site in sorted(nodes, key=lambda place: (place.line, place.column, -place.end_line, -place.end_column)):
        if site in inside:
            continue
        kept: ast.expr | None = _inner(nodes[site])
        while kept is not None and source.site(kept) in nodes:
            inside.add(source.site(kept))
            kept = _inner(nodes[source.site(kept)])
        if kept is None:
            return None
        edits += _unwrapped(subject, nodes[site], site, kept)
    return tuple(edits)


def flags_on_losses(subject: Subject) -> Iterator[Edit]:
    """Edits that delete `loss.requires_grad = True`, which is refused once the loss has a graph."""
    source = subject.source
    called: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            called.add(ast.unparse(node.func.value))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            target = node.targets[0]
            if target.attr == "requires_grad" and ast.unparse(target.value) in called:
                yield Delete(source.site(node))


def _inner(node: ast.AST) -> ast.expr | None:
    """What a cutting expression was applied to."""
    if isinstance(node, ast.Attribute):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        return node.func.value
    return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None


def _unwrapped(subject: Subject, node: ast.AST, site: Site, kept: ast.expr) -> tuple[Edit, ...]:
    source = subject.source
    if isinstance(node, ast.Call) and source.qualified(node.func) == "torch.tensor" and _is_row(source, kept):
        stack = spell(subject, "torch.stack")
        settings = [RemoveArgument(site, keyword.arg) for keyword in node.keywords if keyword.arg is not None]
        return (Replace(source.site(node.func), stack.code), *settings, *stack.imports)
    statement = source.statement_of(node)
    if isinstance(statement, ast.Expr) and statement.value is node:
        return (Delete(source.site(statement)),)
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(kept, (ast.Name, ast.Attribute)) and ast.unparse(target) == ast.unparse(kept):
            return (Delete(source.site(statement)),)
    return (Unwrap(site, source.site(kept)),)


def _is_row(source: Source, kept: ast.expr) -> bool:
    """Whether it surely is a list or tuple: its tensors are joined in one, as `torch.tensor` did."""
    values = source.bindings(kept, kept) if isinstance(kept, ast.Name) else [kept]
    return bool(values) and all(isinstance(value, ast.List | ast.Tuple | ast.ListComp) for value in values)
