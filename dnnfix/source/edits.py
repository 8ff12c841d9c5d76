"""Applies edits: from the edit records of a candidate to the bytes of the edited file.

Every edit becomes changes of exactly the characters that it is about, computed on the original tree; all changes of
one call are then made in one pass. What no edit touches is never rewritten, so it stays identical to the byte.

Arguments and elements are edited on a LibCST tree, which has the commas, whitespace and comments between them.
Expressions and statements are replaced as the ranges that `ast` reports: nothing between their parts has to be kept,
and loading LibCST takes 0.1 s, as does one edit of a class of 200 lines with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dnnfix.errors import EditError, InputError, NestedSitesError, SiteNotFoundError
from dnnfix.records import (
    AddDefinition,
    AddImport,
    Delete,
    DeleteElement,
    Edit,
    Enclose,
    InsertAfter,
    InsertBefore,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Unwrap,
    Wrap,
)
from dnnfix.records.record import record
from dnnfix.source import statements
from dnnfix.source.changes import TextChange, in_document, ordered
from dnnfix.source.document import read_document, spliced
from dnnfix.source.expressions import expression_changes
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.program import Source, once
from dnnfix.source.tree import Tree

if TYPE_CHECKING:
    from dnnfix.source.elements import ElementEdit


@record
class Edited:
    """An edited program: the file's bytes, and the text that is analysed and run."""

    raw: bytes
    text: str


def apply_edits(source: Source, edits: Iterable[Edit]) -> bytes:
    """The bytes of the file with all edits carried out; equal edits count once.

    Raises `SiteNotFoundError` where a site has no node, `NestedSitesError` where two edits touch the same text, and
    `EditError` where an edit cannot be right there or the result would not be Python.
    """
    return edit(source, edits).raw


def edit(source: Source, edits: Iterable[Edit]) -> Edited:
    """As `apply_edits`, with the analysed text as it is after the edits."""
    return _edited(source, tuple(dict.fromkeys(edits)))


def text_changes(source: Source, edits: Iterable[Edit]) -> list[TextChange]:
    """The changes of the analysed text that the edits of one candidate come to, in the order of the text.

    Whether the whole would still be Python is not looked at. Raises `EditError` as `apply_edits` does.
    """
    asked = tuple(dict.fromkeys(edits))
    _refuse_nested([e for e in asked if isinstance(e, (Replace, Wrap, Unwrap, Delete))])
    return ordered(_changes(source, asked))


@once  # a file is migrated as a whole for each of its findings
def _edited(source: Source, asked: tuple[Edit, ...]) -> Edited:
    for each in asked:
        if each.site.path:
            raise EditError(f"The edit is for {each.site.path}, not for {source.path}.")
        if not _within(source.places, each.site):
            raise SiteNotFoundError(f"{source.path} has no {each.site}.")
    changes = text_changes(source, asked)
    text = spliced(source.text, changes)
    try:
        if not _parses_around(source.places, changes, text):
            parse(text)
    except Unparsable as error:
        raise EditError(f"The edited {source.path} would not be Python: {error}") from None
    raw = source.document.apply([in_document(change, source.places) for change in changes])
    if source.document.rewritten and _text_of(raw, source.path) != text:
        raise EditError(f"{source.path} had to be rewritten to be read, and the edit cannot be carried back to it.")
    return Edited(raw, text)


def _parses_around(tree: Tree, changes: list[TextChange], text: str) -> bool:
    """Whether the edited text surely parses, as the top-level statements with changes in them do by themselves.

    Of a file of ten thousand lines an edit is about a few.
    """
    if not changes:
        return False
    first, last = tree.whole_statements(tree.place(changes[0].start)[0], tree.place(changes[-1].end)[0])
    above = tree.lines[first - 2] if first > 1 else ""
    start, rest = tree.starts[first - 1], len(tree.text) - tree.offset(last + 1, 1)
    if above.endswith("\\"):
        return False
    try:
        parse(text[start : len(text) - rest])
    except Unparsable:
        return False
    return True


def _text_of(raw: bytes, path: str) -> str | None:
    try:
        return read_document(raw, path).text
    except InputError:
        return None


def _changes(source: Source, edits: tuple[Edit, ...]) -> list[TextChange]:
    tree = source.places
    changes: list[TextChange] = []
    by_site: dict[Site, list[ElementEdit]] = {}
    for each in edits:
        if isinstance(each, (SetArgument, RemoveArgument, RenameArgument, InsertElement, DeleteElement)):
            by_site.setdefault(each.site, []).append(each)
        elif isinstance(each, (InsertBefore, InsertAfter)):
            changes += statements.insert(tree, each)
        elif isinstance(each, Enclose):
            changes += statements.enclose(tree, each)
        elif isinstance(each, ReplaceLines):
            changes.append(statements.replace_lines(tree, each))
        elif isinstance(each, (Replace, Wrap, Unwrap)):
            changes += _whole(source, each)
    if by_site:
        from dnnfix.source.elements import element_changes  # LibCST takes long to load

        for site, group in by_site.items():
            changes += element_changes(tree, site, group)
    changes += statements.delete(tree, [e for e in edits if isinstance(e, Delete)])
    gone = frozenset(e.site for e in edits if isinstance(e, Delete))
    imports = [e for e in edits if isinstance(e, AddImport)]
    imported = statements.add_imports(tree, imports, source.imported_names, gone) if imports else []
    definitions = [e for e in edits if isinstance(e, AddDefinition)]
    if definitions:
        changes += statements.add_definitions(tree, definitions, gone, bool(imported))
    return imported + changes  # of what goes to one place, imports come first


@once  # it is tried whether the code can stand there, which takes a parse
def _whole(source: Source, each: Replace | Wrap | Unwrap) -> list[TextChange]:
    """The changes of an edit that is for a node as a whole."""
    tree = source.places
    node = tree.node_at(each.site)
    if isinstance(each, Replace) and isinstance(node, ast.stmt):
        return statements.replace_statement(tree, each, node)
    if not isinstance(node, ast.expr):
        raise SiteNotFoundError(f"There is no expression at {each.site}.")
    try:
        return expression_changes(tree, each, node)
    except EditError:
        above = tree.parent(node)
        if isinstance(each, Replace) and isinstance(above, ast.Expr):
            # An expression that is a statement may make way for any statement.
            return statements.replace_statement(tree, each, above)
        raise


def _refuse_nested(edits: list[Replace | Wrap | Unwrap | Delete]) -> None:
    for number, first in enumerate(edits):
        for second in edits[number + 1 :]:
            if first.site.overlaps(second.site) and not (_leaves(first, second) or _leaves(second, first)):
                raise NestedSitesError(f"The edits at {first.site} and {second.site} touch the same text.")


def _leaves(outer: Replace | Wrap | Unwrap | Delete, inner: Replace | Wrap | Unwrap | Delete) -> bool:
    """Whether `outer` leaves the text of `inner` as it is, so that both can be carried out."""
    if isinstance(outer, Wrap):
        return outer.site.encloses(inner.site) and outer.site != inner.site
    return isinstance(outer, Unwrap) and outer.inner.encloses(inner.site)


def _within(tree: Tree, site: Site) -> bool:
    """Whether a site is a range of places that the text has."""
    return (
        1 <= site.line <= site.end_line <= len(tree.lines)
        and 1 <= site.column <= len(tree.lines[site.line - 1]) + 1
        and 1 <= site.end_column <= len(tree.lines[site.end_line - 1]) + 1
        and (site.line, site.column) <= (site.end_line, site.end_column)
    )
