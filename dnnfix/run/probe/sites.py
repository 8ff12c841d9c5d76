"""Finds sites for frames: which expression of the user's program is running.

A site is `[line, column, end_line, end_column, path]`: lines and columns count from 1, columns in characters, the end
column is one past the last character; `path` is empty for the program itself and relative for the modules beside it.
From Python 3.11 on, `co_positions()` gives the expression; before, the whole statement stands for it.
"""

from __future__ import annotations

import ast
import itertools
import os
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any, Dict, Iterator, List, Optional, Tuple

PROBE = os.path.dirname(os.path.abspath(__file__))
"""The folder of the probe: frames of code in it are none of the program's, and none of a library's."""

Site = List[Any]
Span = Tuple[int, int, int, int]

_root = ""
_program = ""
_user: Dict[str, Optional[str]] = {}
_texts: Dict[str, str] = {}
_files: Dict[str, "File"] = {}
_cache: Dict[Tuple[int, int], Optional[Site]] = {}
_positions: Dict[int, Tuple[CodeType, List[Any]]] = {}


def configure(root: str, program: str) -> None:
    """User code is what lies in the folder `root`, outside of installed packages; `program` is the program's file.

    Paths of sites are relative to the program's folder, which may lie deeper than `root`.
    """
    global _root, _program
    _root = root.rstrip(os.sep) + os.sep
    _program = program
    for known in (_user, _texts, _files, _cache, _positions):
        known.clear()


def add_source(filename: str, text: str) -> None:
    """Register the text from which the code of `filename` is compiled (columns are counted in it)."""
    _texts[filename] = text


def user_frame(frame: Optional[FrameType] = None) -> Optional[FrameType]:
    """The innermost frame of user code, of those from `frame` outwards; `None` where no user code is on the stack."""
    frame = frame or sys._getframe(1)
    while frame is not None and not is_user_frame(frame):
        frame = frame.f_back
    return frame


def caller_site(frame: Optional[FrameType] = None) -> Optional[Site]:
    """The user's expression now running, or that `frame` was called for: what the innermost frame of user code runs."""
    found = user_frame(frame or sys._getframe(1))
    return site_of(found) if found is not None else None


def site_of(frame: FrameType) -> Optional[Site]:
    """The site of what `frame`, a frame of user code, is executing."""
    return site_at(frame, frame.f_lasti, frame.f_lineno)


def site_at(frame: FrameType, lasti: int, line: int) -> Optional[Site]:
    """The site of an instruction, on a line, of the code of a frame of user code."""
    return _site(frame.f_code, lasti, line)


def frames_of(traceback: Optional[TracebackType]) -> List[Dict[str, Any]]:
    """The frames of user code of a traceback, outermost first: `{"site": ..., "function": ...}`."""
    return [
        {"site": site_of_entry(entry), "function": entry.tb_frame.f_code.co_name} for entry in entries_of(traceback)
    ]


def entries_of(traceback: Optional[TracebackType]) -> List[TracebackType]:
    """The entries of a traceback whose frames run user code at a known site, outermost first."""
    entries = every_entry(traceback)
    return [one for one in entries if is_user_frame(one.tb_frame) and site_of_entry(one) is not None]


def every_entry(traceback: Optional[TracebackType]) -> Iterator[TracebackType]:
    """The entries of a traceback, outermost first."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def causes(error: Optional[BaseException]) -> Iterator[BaseException]:
    """The exception and those that it was raised from (`raise … from …`)."""
    seen: List[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__


def expression(filename: str, site: Site) -> Optional[ast.AST]:
    """The expression, or else the statement, that spans a site of a user's file."""
    return file_of(filename).node(tuple(site[:4]))


def site_of_entry(entry: TracebackType) -> Optional[Site]:
    """The site of what the frame of a traceback's entry, a frame of user code, was executing."""
    return _site(entry.tb_frame.f_code, entry.tb_lasti, entry.tb_lineno)


def is_user_file(filename: str) -> bool:
    """Whether code of that file name is the user's."""
    try:
        return _user[filename] is not None
    except KeyError:
        _user[filename] = path = _relative(filename)
        return path is not None


def is_user_frame(frame: Optional[FrameType]) -> bool:
    """Whether a frame is there and runs code of the user's."""
    return frame is not None and is_user_file(frame.f_code.co_filename)


def path_of(filename: str) -> str:
    """The `path` of a site in that file: empty for the program itself."""
    return (_user.get(filename) if is_user_file(filename) else None) or ""


def file_at(path: str) -> str:
    """The name of the user's file that sites name by `path`."""
    return os.path.normpath(os.path.join(os.path.dirname(_program), path)) if path else _program


def line_site(filename: str, line: int) -> Optional[Site]:
    """The statement that begins on or spans a line of a user's file; `None` for files that are not the user's."""
    if not is_user_file(filename):
        return None
    return _as_site(filename, file_of(filename).statement(line))


def nodes_in(filename: str, site: Site) -> List[Tuple[ast.AST, Site]]:
    """The expressions of a user's file that lie within a site, each with its own, those further out first."""
    file = file_of(filename)
    found: List[Tuple[ast.AST, Site]] = []
    for node in file.nodes():
        if isinstance(node, ast.expr):
            own = _as_site(filename, file.in_characters(span_of(node)))
            if own is not None and tuple(site[:2]) <= tuple(own[:2]) and tuple(own[2:4]) <= tuple(site[2:4]):
                found.append((node, own))
    return found


def _relative(filename: str) -> Optional[str]:
    if filename == _program:
        return ""
    if not _root.strip(os.sep) or not filename.startswith(_root):
        return None
    if "site-packages" in filename or "dist-packages" in filename:
        return None
    return os.path.relpath(filename, os.path.dirname(_program)).replace(os.sep, "/")


def _site(code: CodeType, lasti: int, line: Optional[int]) -> Optional[Site]:
    key = (id(code), lasti)
    try:
        return _cache[key]
    except KeyError:
        pass
    file = file_of(code.co_filename)
    span = _span(code, lasti)
    if span is not None:
        span = file.whole(file.in_characters(span))
    elif line is not None:
        span = file.statement(line)
    _positions.setdefault(id(code), (code, []))
    site = _as_site(code.co_filename, span)
    _cache[key] = site
    return site


def _as_site(filename: str, span: Optional[Span]) -> Optional[Site]:
    if span is None or not is_user_file(filename):
        return None
    return [span[0], span[1], span[2], span[3], _user[filename] or ""]


def _span(code: CodeType, lasti: int) -> Optional[Span]:
    """The span of an instruction, columns still in bytes from 0."""
    if not hasattr(code, "co_positions"):
        return None
    if id(code) not in _positions or not _positions[id(code)][1]:
        _positions[id(code)] = (code, list(code.co_positions()))
    positions = _positions[id(code)][1]
    index = max(lasti, 0) // 2
    for line, end_line, column, end_column in itertools.islice(positions, index, index + 1):
        if line is not None and end_line is not None and column is not None and end_column is not None:
            return line, column, end_line, end_column
    return None


def file_of(filename: str) -> "File":
    """The text of a user's file, as it was compiled, read once."""
    if filename not in _files:
        text = _texts.get(filename)
        if text is None:
            try:
                with open(filename, "rb") as stream:
                    text = stream.read().decode("utf-8", "replace")
            except OSError:
                text = ""
        _files[filename] = File(text)
    return _files[filename]


class File:
    """The text of one file of user code, with its expressions by where they end."""

    def __init__(self, text: str) -> None:
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._text = text
        self._nodes: Optional[List[ast.AST]] = None
        self._ends: Dict[Tuple[int, int], List[Span]] = {}

    def in_characters(self, span: Span) -> Span:
        """The span with columns in characters from 1 instead of bytes from 0."""
        line, column, end_line, end_column = span
        return line, self.column(line, column), end_line, self.column(end_line, end_column)

    def whole(self, span: Span) -> Span:
        """The span of the call that ends where `span` ends.

        For a method called on a later line than the one its object begins on, the interpreter reports the call from
        the method's name on; the expression begins earlier.
        """
        self.nodes()
        candidates = self._ends.get((span[2], span[3]), [])
        if not candidates or span in candidates:
            return span
        around = [known for known in candidates if known[:2] <= span[:2]]
        return max(around) if around else span

    def statement(self, line: int) -> Optional[Span]:
        """The innermost statement, or head of a compound statement, that spans the line."""
        best: Optional[Span] = None
        for node in self.nodes():
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                head = _head(node)
                span = self.in_characters(span_of(head))
                if head is not node and not span[0] <= line <= span[2]:
                    continue
                if best is None or span >= best:
                    best = span
        return best

    def node(self, span: Any) -> Optional[ast.AST]:
        """The expression that spans exactly this, or else the statement."""
        found = [
            each
            for each in self.nodes()
            if isinstance(each, (ast.expr, ast.stmt)) and self.in_characters(span_of(each)) == span
        ]
        return next((each for each in found if isinstance(each, ast.expr)), found[0] if found else None)

    def column(self, line: int, column: int) -> int:
        """A column in characters from 1, of one in bytes from 0."""
        if not 0 < line <= len(self.lines):
            return column + 1
        text = self.lines[line - 1]
        if text.isascii():
            return column + 1
        return len(text.encode("utf-8")[:column].decode("utf-8", "ignore")) + 1

    def nodes(self) -> List[ast.AST]:
        """Every node of the syntax tree; none where the text is no Python."""
        if self._nodes is None:
            try:
                self._nodes = list(ast.walk(ast.parse(self._text)))
            except (SyntaxError, ValueError, RecursionError):
                self._nodes = []
            for node in self._nodes:
                if isinstance(node, ast.Call):
                    span = self.in_characters(span_of(node))
                    self._ends.setdefault(span[2:], []).append(span)
        return self._nodes


def _head(node: ast.stmt) -> ast.AST:
    """What of a compound statement runs itself: the iterable, the test, the context; else the statement."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter
    if isinstance(node, (ast.While, ast.If)):
        return node.test
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return node.items[0].context_expr
    return node


def span_of(node: Any) -> Span:
    """Where a node of a syntax tree begins and ends, columns in bytes from 0."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
