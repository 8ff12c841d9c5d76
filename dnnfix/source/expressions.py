"""Edits that replace an expression or wrap code around it, with parentheses where precedence needs them."""

from __future__ import annotations

import ast
from itertools import product

from dnnfix.errors import EditError, SiteNotFoundError
from dnnfix.records import Replace, Site, Unwrap, Wrap
from dnnfix.source.changes import TextChange
from dnnfix.source.document import spliced
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.tree import Tree, first_line

_HOLE = "_dnnfix_hole_"
_BARE, _PARENTHESES = ("", ""), ("(", ")")


def expression_of(code: str) -> ast.expr:
    """The expression that `code` is. Raises `EditError` where it is not one."""
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


def expression_changes(tree: Tree, edit: Replace | Wrap | Unwrap, node: ast.expr) -> list[TextChange]:
    """The changes that replace an expression by code, wrap code around it, or keep only a part of it.

    Raises `EditError` where the result cannot stand there. Only what the edit is about is written, so that what a wrapping
    keeps may be edited as well.
    """
    start, end = kept = tree.span(edit.site)
    lead, trail, inside = "", "", [_BARE]
    if isinstance(edit, Replace):
        lead, kept = edit.code.strip(), (end, end)
        expected = expression_of(lead)
    elif isinstance(edit, Wrap):
        lead, trail, inside = edit.before, edit.after, [_BARE, _PARENTHESES]
        expected = _filled(expression_of(f"{lead}{_HOLE}{trail}"), node)
    else:
        kept = tree.span(edit.inner)
        expected = expression_at(tree, edit.inner)
        if not edit.site.encloses(edit.inner) or edit.site == edit.inner:
            raise EditError(f"{edit.inner} does not lie within {edit.site}.")
    for inner, outer in product(inside, (_BARE, _PARENTHESES)):
        before, after = outer[0] + lead + inner[0], inner[1] + trail + outer[1]
        changes = [TextChange(start, kept[0], before), TextChange(kept[1], end, after)]
        if kept == (end, end):
            changes = [TextChange(start, end, before + after)]
        length = len(lead + inner[0] + inner[1] + trail) + kept[1] - kept[0]
        if _fits(tree, node, changes, start + len(outer[0]), length, ast.dump(expected)):
            return [change for change in changes if change.new or change.start < change.end]
    raise EditError(f"The expression cannot stand at {edit.site}. Received: {edit}")


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
    first, end = tree.starts[first_line(top) - 1], tree.offset((top.end_lineno or top.lineno) + 1, 1)
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
