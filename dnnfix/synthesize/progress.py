"""How far a run got, and whether the run of an edited program got past the crash of the original."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from dnnfix.records import Crash, Frame, RunOutcome, Site, Trace
from dnnfix.source.program import Source
from dnnfix.source.tree import first_line
from dnnfix.synthesize.lines import line_map

LACKING = frozenset({RunOutcome.NEEDS_DATA, RunOutcome.NEEDS_NETWORK, RunOutcome.NEEDS_GPU, RunOutcome.ENVIRONMENT})
"""Ends of a run for want of something that is no part of the program, at a place of the program."""

_BODY = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.If)
"""Statements whose body comes right after their header."""


def reached(trace: Trace, lines: Mapping[int, int] | None = None) -> tuple[int, int, tuple[int, ...]]:
    """How far a run came: optimizer steps, recorded calls, and the lines of the program that it was at, outermost first.

    `lines` has the line of the program to compare with for each line of this one.
    """
    calls = len(trace.network.calls) if trace.network is not None else 0
    frames = trace.crash.frames if trace.crash is not None else ()
    own = [frame.site.line for frame in takewhile(lambda frame: not frame.site.path, frames)]
    return (len(trace.steps), calls, tuple(lines.get(line, line) if lines is not None else line for line in own))


def same_crash(first: Trace, second: Trace, lines: Mapping[int, int]) -> bool:
    """Whether the second run stopped as the first did, `lines` having the first program's line for each of its own."""
    a, b = first.crash, second.crash
    if a is None or b is None or a.kind != b.kind or a.message != b.message:
        return False
    made = [crash.call.made_at if crash.call is not None else None for crash in (a, b)]
    if made[0] is not None and made[1] is not None and made[0].path == made[1].path:
        same_layer = made[0].line == lines.get(made[1].line, made[1].line)
        if not same_layer:
            return False
    if a.site is None or b.site is None or a.site.path or b.site.path:
        return a.site == b.site
    return a.site.line == lines.get(b.site.line, b.site.line)


def gets_past(before: Source, first: Trace, after: Source, second: Trace) -> bool:
    """Whether the second program demonstrably gets past the statement at which the first one crashes.

    It stops at a statement that comes later in the same block or in one around it, at a later part of the same statement,
    or after more optimizer steps. Where that is unknown, as with two branches or two functions, it does not.
    """
    if first.outcome is not RunOutcome.CRASHED or first.crash is None or second.crash is None:
        return False
    if len(second.steps) < len(first.steps) or same_crash(first, second, line_map(before.text, after.text)):
        return False
    return len(second.steps) > len(first.steps) or _later(before, first.crash, after, second.crash)


def may_be_past(source: Source, crash: Crash, lines: Sequence[tuple[str, int]]) -> bool:
    """Whether an exception that passed the lines (file, line), outermost first, may come after one that crashed before.

    `lines` begin at a frame of the crash or further in. It may where they part from those of the crash at a later line of
    the same function, or at what one line called.
    """
    known = [(frame.site.path, frame.site.line) for frame in crash.frames]
    start = next((n for n, place in enumerate(known) if lines and _in_one_function(source, place, lines[0])), None)
    if start is None:
        return False
    for old, new in zip(known[start:], lines, strict=False):
        if old != new:
            return not _in_one_function(source, old, new) or new[1] > old[1]
    return len(known) - start != len(lines)


def _in_one_function(source: Source, one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Whether two lines (file, line) stand in one function, or both in none."""
    if one[0] != other[0] or one[0] not in source.files:
        return False
    owners = [_function_at(source.files[path].tree, line) for path, line in (one, other)]
    return owners[0] is owners[1]


def _function_at(tree: ast.AST, line: int) -> ast.AST | None:
    """The innermost function around a line."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return max(around, key=lambda node: node.lineno, default=None)


def _later(before: Source, first: Crash, after: Source, second: Crash) -> bool:
    """Whether the outermost call in which two runs differ stands later in the second."""
    for old, new in zip(first.frames, second.frames, strict=False):
        path = old.site.path
        if (path, old.function) != (new.site.path, new.function) or path not in before.files or path not in after.files:
            return False
        file = before.files[path]
        line = original_line(before, after, new)
        if statement_at(file.tree, old.site.line) is not statement_at(file.tree, line):
            return _comes_later(file.tree, old.site.line, line)
        one, other = _left_to_do(file, old.site), _left_to_do(after.files[path], new.site)
        if one != other:
            return one is not None and other is not None and one > other
    return False


def _left_to_do(file: Source, site: Site) -> int | None:
    """How many parts of its statement are evaluated after the expression at a site; `None` where no expression is.

    What an edit changes stands at or before the failing part, so that two versions of a statement have the same parts left.
    """
    node = file.node_at(replace(site, path=""))
    if not isinstance(node, ast.expr):
        return None
    statement = file.statement_of(node)
    inside = {id(each) for block in blocks_of(statement) for inner in block for each in ast.walk(inner)}
    order = [each for each in _in_order(statement) if id(each) not in inside]
    return len(order) - next(n for n, each in enumerate(order) if each is node)


def _in_order(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement in the order in which they are evaluated, near enough: parts before what they are parts of."""
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
    if isinstance(node, ast.expr):
        yield node


def original_line(before: Source, after: Source, frame: Frame) -> int:
    """The line of a frame of the changed program in the program before; its own where the file is not known."""
    path, line = frame.site.path, frame.site.line
    if path not in before.files or path not in after.files:
        return line
    return line_map(before.files[path].text, after.files[path].text).get(line, line)


def statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement at a line; a compound one where the line is in its header."""
    path = list(_blocks_to(tree, line))
    return path[-1][0][path[-1][1]] if path else None


def _comes_later(tree: ast.Module, first: int, second: int) -> bool:
    """Whether the statement at the second line comes after the one at the first, in its block or in one around that."""
    a, b = list(_blocks_to(tree, first)), list(_blocks_to(tree, second))
    for (block, index), (other, later) in zip(a, b, strict=False):
        if block is not other:
            return False
        if index != later:
            return index < later
    if not a or len(b) <= len(a):
        return False
    header = a[-1][0][a[-1][1]]
    return isinstance(header, _BODY) and b[len(a)][0] is header.body


def _blocks_to(tree: ast.Module, line: int) -> Iterator[tuple[list[ast.stmt], int]]:
    """The blocks around a line, outermost first, each with the place of the statement that the line is in."""
    block: list[ast.stmt] | None = tree.body
    while block is not None:
        place = next((i for i, node in enumerate(block) if first_line(node) <= line <= _last_line(node)), None)
        if place is None:
            return
        yield block, place
        inner = (b for b in blocks_of(block[place]) if first_line(b[0]) <= line <= _last_line(b[-1]))
        block = next(inner, None)


def blocks_of(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement that have statements."""
    parts: list[ast.AST] = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    for part in parts:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(part, field, None)
            if isinstance(block, list) and block:
                yield block


def _last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno
