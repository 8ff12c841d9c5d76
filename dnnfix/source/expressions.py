"""Edits that exchange or surround one expression, with parentheses where the place needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.errors import EditError, SiteNotFoundError
from dnnfix.records import Replace, Site, Unwrap, Wrap
from dnnfix.source.changes import TextChange
from dnnfix.source.document import spliced
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.tree import Tree, first_line

_HOLE = "_dnnfix_hole_"


def expression_of(code: str) -> ast.expr:
    """The expression that `code` is. Raises `EditError` where it is none."""
    try:
        body = parse(f"({code}\n)").body
        if len(body) == 1 and isinstance(body[0], ast.Expr) and code.strip():
            parse(f"_ = [\n{code}\n]" if not code.lstrip().startswith("*") else code)
            return body[0].value
    except Unparsable as error:
        raise EditError(f"The edit's code is not an expression ({error.message}). Received: {code!r}") from None
    raise EditError(f"The edit's code is not an expression. Received: {code!r}")


def expression_at(tree: Tree, site: Site) -> ast.expr:
    """The expression at a site. Raises `SiteNotFoundError` where there is none."""
    node = tree.node_at(site)
    if not isinstance(node, ast.expr):
        raise SiteNotFoundError(f"There is no expression at {site}.")
    return node


def replace(tree: Tree, edit: Replace, node: ast.expr) -> list[TextChange]:
    """New code for an expression."""
    code = edit.code.strip()
    expected = ast.dump(expression_of(code))
    start, end = _range(tree, edit.site)
    for before, after in _around():
        change = TextChange(start, end, before + code + after)
        if _fits(tree, node, [change], start + len(before), len(code), expected):
            return [change]
    raise EditError(f"{code!r} cannot stand at {edit.site}.")


def wrap(tree: Tree, edit: Wrap, node: ast.expr) -> list[TextChange]:
    """Text around an expression, whose own text stays."""
    start, end = _range(tree, edit.site)
    whole = expression_of(f"{edit.before}{_HOLE}{edit.after}")
    expected = ast.dump(_filled(whole, node))
    length = end - start
    for inner_before, inner_after in _around():
        before, after = edit.before + inner_before, inner_after + edit.after
        for outer_before, outer_after in _around():
            changes = [
                TextChange(start, start, outer_before + before),
                TextChange(end, end, after + outer_after),
            ]
            size = len(before) + length + len(after)
            if _fits(tree, node, changes, start + len(outer_before), size, expected):
                return [change for change in changes if change.new]
    raise EditError(f"{edit.before!r} and {edit.after!r} cannot be put around the expression at {edit.site}.")


def unwrap(tree: Tree, edit: Unwrap, node: ast.expr) -> list[TextChange]:
    """A part of an expression in place of the whole."""
    inner = expression_at(tree, edit.inner)
    if not edit.site.encloses(edit.inner) or edit.site == edit.inner:
        raise EditError(f"{edit.inner} does not lie within {edit.site}.")
    start, end = _range(tree, edit.site)
    inner_start, inner_end = _range(tree, edit.inner)
    for before, after in _around():
        changes = [TextChange(start, inner_start, before), TextChange(inner_end, end, after)]
        if _fits(tree, node, changes, start + len(before), inner_end - inner_start, ast.dump(inner)):
            return [change for change in changes if change.new or change.start < change.end]
    raise EditError(f"The expression at {edit.inner} cannot stand at {edit.site}.")


def _around() -> Iterator[tuple[str, str]]:
    yield "", ""
    yield "(", ")"


def _range(tree: Tree, site: Site) -> tuple[int, int]:
    return tree.offset(site.line, site.column), tree.offset(site.end_line, site.end_column)


def _filled(whole: ast.expr, node: ast.expr) -> ast.expr:
    """`whole` with its hole filled by `node`. Raises `EditError` unless there is exactly one."""

    class _Fill(ast.NodeTransformer):
        holes = 0

        def visit_Name(self, name: ast.Name) -> ast.expr:
            if name.id != _HOLE:
                return name
            self.holes += 1
            return node

    fill = _Fill()
    filled: ast.expr = fill.visit(whole)
    if fill.holes != 1:
        raise EditError("The text to put around an expression does not go around one.")
    return filled


def _fits(tree: Tree, node: ast.expr, changes: list[TextChange], start: int, length: int, expected: str) -> bool:
    """Whether the changes alone give a top-level statement with the expected expression in the expected place."""
    top: ast.AST = node
    above = tree.parent(top)
    while above is not None and above is not tree.module:
        top, above = above, tree.parent(above)
    if not isinstance(top, ast.stmt):
        return False
    first, last = tree.starts[first_line(top) - 1], top.end_lineno or top.lineno
    end = tree.starts[last] if last < len(tree.starts) else len(tree.text)
    moved = [TextChange(c.start - first, c.end - first, c.new) for c in changes]
    text = spliced(tree.text[first:end], moved)
    try:
        edited = Tree(text, parse(text))
    except Unparsable:
        return False
    line, column = edited.place(start - first)
    end_line, end_column = edited.place(start - first + length)
    found = edited.node_at(Site(line, column, end_line, end_column))
    return found is not None and _loaded(ast.dump(found)) == _loaded(expected)


def _loaded(dump: str) -> str:
    """A dump without the difference between reading and binding a name."""
    return dump.replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")
