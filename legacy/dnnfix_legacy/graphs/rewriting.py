"""Merges nested rewrites of expressions into one edit for each outermost expression.

Edits must not be nested, but `tf.layers.dense(tf.layers.flatten(x), 10)` changes on both levels. Here each expression
says how it is written, asking for the text of its parts; one edit for each outermost expression comes out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from dnnfix.records import Edit, Replace
from dnnfix.source.program import Source
from dnnfix.source.tree import CHILD_FIELDS


class Rewriting:
    """The expressions of one program that are written anew."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._new: dict[ast.AST, Callable[[], str]] = {}

    def write(self, node: ast.expr, new: str | Callable[[], str]) -> None:
        """Write `node` as `new`; a function is asked when all is known, and may ask `text` for the parts."""
        self._new[node] = (lambda: new) if isinstance(new, str) else new

    def __contains__(self, node: ast.AST) -> bool:
        return node in self._new

    def text(self, node: ast.AST) -> str:
        """The code of an expression or statement, with every rewrite inside it applied."""
        if node in self._new:
            return self._new[node]()
        places = self.source.places
        site = self.source.site(node)
        start, end = places.offset(site.line, site.column), places.offset(site.end_line, site.end_column)
        parts, at = [], start
        for inner in self._outermost(node):
            where = self.source.site(inner)
            begin = places.offset(where.line, where.column)
            parts += [places.text[at:begin], self._new[inner]()]
            at = places.offset(where.end_line, where.end_column)
        return "".join([*parts, places.text[at:end]])

    def edits(self) -> tuple[Edit, ...]:
        """One edit for each expression that is written anew and in no other such expression."""
        tops = self._outermost(self.source.tree)
        return tuple(Replace(self.source.site(node), self._new[node]()) for node in tops)

    def _outermost(self, root: ast.AST) -> list[ast.AST]:
        found: list[ast.AST] = []
        pending = [root]
        while pending:
            node = pending.pop()
            if node is not root and node in self._new:
                found.append(node)
                continue
            for field in CHILD_FIELDS[node.__class__]:
                value = getattr(node, field)
                if value.__class__ is list:
                    pending.extend(value)
                elif value is not None:
                    pending.append(value)
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]
