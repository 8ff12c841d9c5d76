"""The class `Tree`, a syntax tree with sites, parents and text positions, and helpers on nodes."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import TypeAlias, TypeVar

from dnnfix.records import Site
from dnnfix.source.public_names import words

Positioned: TypeAlias = "ast.expr | ast.stmt"
Node = TypeVar("Node", bound=ast.AST)

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_PLAIN = words(
    "arg attr conversion ctx id is_async kind kwd_attrs level module n op ops rest s simple tag type_comment"
)
"""Fields that hold no node, or an operator or context, which has no place of its own."""


def _child_fields() -> dict[type[object], tuple[str, ...]]:
    """For each type of node, its fields that can hold nodes; some lists of them hold `None` as well."""
    fields: dict[type[object], tuple[str, ...]] = {type(None): ()}
    pending: list[type[ast.AST]] = list(ast.AST.__subclasses__())
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        plain = {"name"} if kind is not getattr(ast, "TypeAlias", None) else set()
        if kind in (ast.Constant, ast.MatchSingleton):
            plain = {"value"}
        elif kind in (ast.Global, ast.Nonlocal):
            plain = {"names"}
        fields[kind] = tuple(name for name in kind._fields if name not in _PLAIN and name not in plain)
    fields[ast.alias] = ()
    return fields


_POSITION = attrgetter("lineno", "col_offset", "end_lineno", "end_col_offset")
"""As `position`, for nodes that were read from a text: these know their ends."""

CHILD_FIELDS = _child_fields()
"""By type of node, the fields that can hold nodes with a place: what every walk over a tree goes through."""


class Tree:
    """A syntax tree with the text that it was parsed from.

    `ast` counts columns in bytes of UTF-8 from 0; all columns that leave this class are characters from 1.
    """

    def __init__(self, text: str, module: ast.Module) -> None:
        self.text = text
        self.module = module
        self._ascii = text.isascii()
        self._parents: dict[ast.AST, ast.AST] = {}
        self._linked: set[ast.AST] = set()
        self._ordered: dict[type[ast.AST], tuple[ast.AST, ...]] = {}

    @cached_property
    def lines(self) -> list[str]:
        """The analysed lines without their endings."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """The offset in the text of the first character of each line."""
        return line_starts(self.lines)

    def column(self, line: int, byte: int) -> int:
        """The column in characters from 1 of a byte offset in a line."""
        if self._ascii or line > len(self.lines):
            return byte + 1
        content = self.lines[line - 1]
        if content.isascii():
            return byte + 1
        return len(content.encode("utf-8", "surrogatepass")[:byte].decode("utf-8", "ignore")) + 1

    def offset(self, line: int, column: int) -> int:
        """The offset in the text of a line and column; positions beyond the text count as its end."""
        if line > len(self.starts):
            return len(self.text)
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset in the text."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def span(self, site: Site) -> tuple[int, int]:
        """The offsets in the text of the start and the end of a site."""
        return self.offset(site.line, site.column), self.offset(site.end_line, site.end_column)

    def segment(self, site: Site) -> str:
        """The text at a site."""
        start, end = self.span(site)
        return self.text[start:end]

    def site(self, node: ast.AST) -> Site:
        """The site of a node. Raises `ValueError` for nodes without a position (operators, arguments)."""
        line = getattr(node, "lineno", None)
        end_line = getattr(node, "end_lineno", None)
        if line is None or end_line is None:
            raise ValueError(f"A {type(node).__name__} has no place in the source. Received: node={node!r}")
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return Site(line, self.column(line, start), end_line, self.column(end_line, end))

    def node_at(self, site: Site) -> Positioned | None:
        """The outermost expression that spans exactly the site, else the statement that does."""
        pending = self._top_level(site.line, site.end_line)
        statement: ast.stmt | None = None
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.expr, ast.stmt)):
                starts_above = isinstance(node, _DEFINITIONS) and node.decorator_list
                if not starts_above and not node.lineno <= site.line <= site.end_line <= (node.end_lineno or 0):
                    continue
                own = self.site(node)
                if own == site and isinstance(node, ast.expr):
                    return node
                if own == site and isinstance(node, ast.stmt):
                    statement = statement or node
                elif not own.encloses(site) and not starts_above:
                    continue
            if not isinstance(node, ast.JoinedStr):
                pending.extend(ast.iter_child_nodes(node))
        return statement

    def nodes(self, kind: type[Node]) -> tuple[Node, ...]:
        """The nodes of exactly that type, which must be one with positions, in source order."""
        found = self._ordered.get(kind)
        if found is None:
            found = self._ordered[kind] = tuple(sorted(self.by_type.get(kind, ()), key=_POSITION))
        return found  # type: ignore[return-value]

    @cached_property
    def by_type(self) -> dict[type[ast.AST], list[ast.AST]]:
        """All nodes by their type; several times as fast as `ast.walk`, which a scan feels."""
        found: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        fields = CHILD_FIELDS
        pending: list[ast.AST] = [self.module]
        while pending:
            node = pending.pop()
            kind = node.__class__
            found[kind].append(node)
            for field in fields[kind]:
                value = getattr(node, field)
                if value.__class__ is list:
                    pending.extend(value)
                elif value is not None:
                    pending.append(value)
        return found

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that holds `node`; `None` for the module."""
        found = self._parents.get(node)
        if found is not None or node is self.module:
            return found
        line = getattr(node, "lineno", None)
        if line is not None:
            self._link(self._top_level(line, getattr(node, "end_lineno", line)))
        if node not in self._parents:
            self._link(list(self.module.body))
        return self._parents.get(node)

    def enclosing(self, node: ast.AST, *kinds: type[Node]) -> Node | None:
        """The innermost node of one of the kinds around `node`, which does not count itself."""
        above = self.parent(node)
        while above is not None and not isinstance(above, kinds):
            above = self.parent(above)
        return above

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The statement that `node` is or is part of."""
        found: ast.AST | None = node
        while found is not None and not isinstance(found, ast.stmt):
            found = self.parent(found)
        if found is None:
            raise ValueError(f"A {type(node).__name__} stands in no statement of this source. Received: node={node!r}")
        return found

    @cached_property
    def _first_lines(self) -> list[int]:
        return [first_line(statement) for statement in self.module.body]

    def _top_level(self, line: int, end_line: int) -> list[ast.AST]:
        """The top-level statements that have a part on the lines."""
        first = bisect_right(self._first_lines, line) - 1
        body = self.module.body
        while first > 0 and (body[first - 1].end_lineno or 0) >= line:
            first -= 1
        found: list[ast.AST] = []
        for statement in body[max(first, 0) :]:
            if first_line(statement) > end_line:
                break
            found.append(statement)
        return found

    def whole_statements(self, line: int, end_line: int) -> tuple[int, int]:
        """The lines, extended until no statement at the top level is only partly on them."""
        while True:
            statements = [node for node in self._top_level(line, end_line) if isinstance(node, ast.stmt)]
            first = min([line, *map(first_line, statements)])
            last = max([end_line, *(s.end_lineno or 0 for s in statements)])
            if (first, last) == (line, end_line):
                return line, end_line
            line, end_line = first, last

    def _link(self, roots: list[ast.AST]) -> None:
        """Record the parents of everything below the top-level statements `roots`."""
        parents, fields = self._parents, CHILD_FIELDS
        for root in roots:
            if root in self._linked:
                continue
            self._linked.add(root)
            parents[root] = self.module
            pending = [root]
            while pending:
                node = pending.pop()
                for field in fields[node.__class__]:
                    value = getattr(node, field)
                    if value.__class__ is list:
                        for child in value:
                            parents[child] = node
                            if fields[child.__class__]:
                                pending.append(child)
                    elif value is not None:
                        parents[value] = node
                        if fields[value.__class__]:
                            pending.append(value)


def within(root: ast.AST, *kinds: type[Node]) -> list[Node]:
    """The nodes of exactly these types in the tree below `root`, itself included, in the order of the source.

    Several times as fast as `ast.walk`, which a scan feels. Operators and contexts, which have no place, are left out.
    """
    fields, wanted = CHILD_FIELDS, frozenset(kinds)
    found: list[ast.AST] = []
    pending: list[ast.AST] = [root]
    while pending:
        node = pending.pop()
        kind = node.__class__
        if kind in wanted:
            found.append(node)
        for field in fields[kind]:
            value = getattr(node, field)
            if value.__class__ is list:
                pending.extend(value)
            elif value is not None:
                pending.append(value)
    found.sort(key=position)
    return found  # type: ignore[return-value]


def line_starts(lines: Iterable[str]) -> list[int]:
    """The offset of each line in the joined text."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))[:-1]


def names_in(root: ast.AST) -> set[str]:
    """All names in the tree below `root`."""
    return {node.id for node in within(root, ast.Name)}


def parameter_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[str, ...]:
    """The names of the parameters of a function in their order, but for those that gather the rest."""
    arguments = function.args
    return tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def receiver(call: ast.Call) -> str:
    """The source of the object whose method is called; empty where a plain name is called."""
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def is_self(node: ast.expr) -> bool:
    """Whether an expression is the name `self`."""
    return isinstance(node, ast.Name) and node.id == "self"


def is_true(node: ast.expr | None) -> bool:
    """Whether an expression is the constant `True`."""
    return isinstance(node, ast.Constant) and node.value is True


def stored_names(root: ast.AST) -> set[str]:
    """The names that are assigned, in any way, in the tree below `root`."""
    return {node.id for node in within(root, ast.Name) if isinstance(node.ctx, ast.Store)}


def is_main_part(node: ast.AST) -> bool:
    """Whether a statement is done only where its file is the program: `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)


def bound_in(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """The names of a function's own: its parameters, and what is assigned in it."""
    return {*parameter_names(function), *stored_names(function)}


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    return min([statement.lineno, *(d.lineno for d in decorators)]) if decorators else statement.lineno


def position(node: ast.AST) -> tuple[int, int, int, int]:
    """The position of a node, to sort nodes in source order."""
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0  # type: ignore[attr-defined]


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name: `fit` of `model.fit`; empty where the node is not a name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
