"""Finds the matches of a rule's patterns in a program, by ast-grep, with the code that fills the holes.

ast-grep was taken after a comparison with LibCST's matchers on files of 10 and 40 kB: it is imported in 6 ms (LibCST in 160),
parses in 2 to 4 ms (34 to 50) and finds a pattern in 0.4 ms (27 to 57). It reads code that is not complete, its patterns are code
that people can write, and what it matches is known by its place in the text, so that all other bytes are kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from dnnfix.detect.loops.training_loop import method_calls
from dnnfix.records import Site
from dnnfix.records.record import record
from dnnfix.source.program import Source, once

if TYPE_CHECKING:
    from ast_grep_py import SgNode

_ANY = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)?")
_HOLE = re.compile(r"\${1,3}(?:[A-Z_][A-Z0-9_]*)?")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_METHOD = re.compile(r"\.(\w+)\(")
_ONE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")


@record
class Hole:
    """What fills a hole: its text, and the node of the program where it is one expression or statement."""

    text: str
    node: ast.expr | ast.stmt | None = None
    column: int = 1
    """Where its first line begins, from 1: its other lines are indented as far in the program."""


@record
class Match:
    """A place of a program that fits a pattern."""

    site: Site
    node: ast.expr | ast.stmt | None
    holes: Mapping[str, Hole]


@cache
def is_pattern(pattern: str) -> bool:
    """Whether a pattern is one expression or statement of Python once its holes are filled."""
    one_filled = _ONE.sub(r"one_\1", pattern.replace("$$$", "@@@"))
    for any_filled in (r"any_\1", r"*any_\1"):  # as a statement and a parameter, and between arguments with keywords
        with suppress(SyntaxError):
            return len(ast.parse(re.sub(r"@@@(\w*)", any_filled, one_filled)).body) == 1
    return False


def matches(source: Source, pattern: str, root: ast.AST | None = None) -> Iterator[Match]:
    """The matches of a pattern in the program, or in a part of it, in source order."""
    span = source.places.span(source.site(root)) if root is not None else None
    for match in _all(source, pattern):
        start, end = source.places.span(match.site)
        if span is None or (span[0] <= start and end <= span[1]):
            yield match


@once
def _all(source: Source, pattern: str) -> tuple[Match, ...]:
    found: dict[Site, Match] = {}
    for one in _variants(pattern):
        if _may_fit(source, one):
            found |= {
                match.site: match for match in (_match(source, n, pattern) for n in _root(source).find_all(pattern=one))
            }
    return tuple(match for _, match in sorted(found.items()))


def _may_fit(source: Source, pattern: str) -> bool:
    """Whether the pieces of a pattern stand together: somewhere in the text, or where it calls a method, in a statement that calls it."""
    called = _METHOD.search(pattern) if "\n" not in pattern else None
    pieces = _pieces(pattern)
    if not all(piece.search(source.text) for piece in pieces):
        return False
    if called is None:
        return True
    around = {source.statement_of(call) for call in method_calls(source, called[1])}
    texts = (source.segment(source.site(statement)) for statement in around)
    return any(all(piece.search(text) for piece in pieces) for text in texts)


@cache
def _pieces(pattern: str) -> tuple[re.Pattern[str], ...]:
    """What a text has to contain for a pattern to fit: the code between its holes, however it is spaced. Most files need not be parsed for it."""
    found = []
    for piece in _HOLE.split(pattern):
        before_text = re.split(r"[\"'#]", piece)[0]  # a text may be written with other quotes
        words = _TOKEN.findall(before_text.strip(" ,()[]{}:"))
        if words:
            found.append(re.compile(r"\s*".join(map(re.escape, words))))
    return tuple(found)


@cache
def _variants(pattern: str) -> tuple[str, ...]:
    """A pattern with and without each of its holes for any number of arguments: ast-grep wants the commas beside them, also of empty ones.

    The pattern itself comes last, whose match counts where several fit.
    """
    found = [pattern]
    for hole in re.findall(r"\$\$\$[A-Z_][A-Z0-9_]*", pattern):
        if f"{hole}, " in pattern or f", {hole}" in pattern:
            found += [one.replace(f"{hole}, ", "", 1).replace(f", {hole}", "", 1) for one in found]
    return tuple(reversed(found))


@once
def _root(source: Source) -> SgNode:
    from ast_grep_py import SgRoot

    return SgRoot(source.text, "python").root()


def _match(source: Source, node: SgNode, pattern: str) -> Match:
    holes: dict[str, Hole] = {}
    for name in _ANY.findall(pattern):
        parts = [part for part in node.get_multiple_matches(name) if part.kind() != ","] if name else []
        site = _between(source, parts[0], parts[-1]) if parts else None
        holes[name] = Hole(source.segment(site), None, site.column) if site is not None else Hole("")
    for name in _ONE.findall(_ANY.sub(" ", pattern)):
        part = node.get_match(name)
        if part is not None:
            its = _between(source, part, part)
            holes[name] = Hole(part.text(), source.node_at(its), its.column)
    place = _between(source, node, node)
    return Match(place, source.node_at(place), holes)


def _between(source: Source, first: SgNode, last: SgNode) -> Site:
    start, end = first.range().start.index, last.range().end.index
    return Site(*source.places.place(start), *source.places.place(end))
