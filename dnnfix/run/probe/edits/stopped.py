"""The stopped program: for each frame of a traceback its current statement, the blocks around it, and its source.

A statement that a frame was at can be run again in that frame, as it is written or edited, and so can what follows it.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from types import FrameType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .. import sites

Place = Tuple[int, int]
"""Line from 1 and column from 1, in characters."""

RESULT = "__dnnfix_result__"
"""The name that the value of what is returned, or of an expression that stands alone, is given."""

_BODIES = ("body", "orelse", "finalbody")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Change(NamedTuple):
    """A replacement of the source text from `start` to before `end`."""

    start: Place
    end: Place
    text: str


class Standing(NamedTuple):
    """One frame: the statement that it is at, and the blocks around that, from the frame's own code inwards."""

    frame: FrameType
    filename: str
    statement: ast.stmt
    blocks: List[Tuple[Any, List[ast.stmt], int]]
    """(owner, block, index of the statement in it that is under way), outermost first; the owner of the first has the code."""

    @property
    def rest(self) -> List[ast.stmt]:
        """The statements that follow in the innermost block."""
        _, block, index = self.blocks[-1]
        return block[index + 1 :]

    def space(self) -> Dict[str, Any]:
        """Where the frame's statements are run: of a function a copy, as comprehensions in it see one space only."""
        if self.frame.f_locals is self.frame.f_globals:
            return self.frame.f_globals
        space = {**self.frame.f_globals, **self.frame.f_locals}
        if "self" in space and "__class__" not in space:  # a method has it where it asks for `super()`
            kinds = type(space["self"]).__mro__
            code = self.frame.f_code
            own = (kind for kind in kinds if getattr(vars(kind).get(code.co_name), "__code__", None) is code)
            space["__class__"] = next(own, kinds[0])
        return space


class Text:
    """The source text of one file, addressed by line and column."""

    def __init__(self, filename: str) -> None:
        self._file = sites.file_of(filename)
        self.lines = self._file.lines
        self.tree = ast.parse("\n".join(self.lines))

    def span(self, node: Any) -> Tuple[Place, Place]:
        """Where a node begins and ends."""
        line, column, end_line, end_column = self._file.in_characters(sites.span_of(node))
        return (line, column), (end_line, end_column)

    def whole(self, statement: Any) -> Tuple[Place, Place]:
        """Where a statement begins, its decorators included, and ends."""
        start, end = self.span(statement)
        for decorator in getattr(statement, "decorator_list", ()):
            line, column = self.span(decorator)[0]
            start = min(start, (line, column - 1))
        return start, end

    def between(self, start: Place, end: Place, changes: List[Change]) -> str:
        """The text between two positions, with the changes between them applied."""
        parts, at = [], start
        for change in sorted(changes, key=lambda c: (c.start, c.end)):
            if start <= change.start and change.end <= end:
                parts += [self._cut(at, change.start), change.text]
                at = change.end
        return "".join([*parts, self._cut(at, end)])

    def _cut(self, start: Place, end: Place) -> str:
        if start[0] == end[0]:
            return self.lines[start[0] - 1][start[1] - 1 : end[1] - 1]
        first = self.lines[start[0] - 1][start[1] - 1 :]
        return "\n".join([first, *self.lines[start[0] : end[0] - 1], self.lines[end[0] - 1][: end[1] - 1]])


def standings(error: BaseException) -> List[Standing]:
    """The frames of user code that an exception passed through, outermost first; none where their source is not
    known.
    """
    found = []
    for entry in sites.entries_of(error.__traceback__):
        site = sites.site_of_entry(entry)
        frame = entry.tb_frame
        name = frame.f_code.co_name
        if name.startswith("<") and name != "<module>":  # a part of the statement that the next frame out is at
            continue
        standing = at(frame, site) if site is not None else None
        if standing is None:
            return []
        found.append(standing)
    return found


def text_of(filename: str, known: Dict[str, Text]) -> Text:
    """The text of a file, parsed once."""
    if filename not in known:
        known[filename] = Text(filename)
    return known[filename]


def at(frame: FrameType, site: List[Any]) -> Optional[Standing]:
    """A frame at the statement that a site lies in; `None` where the source has no such statement."""
    filename = frame.f_code.co_filename
    text = text_of(filename, _texts)
    start, end = (site[0], site[1]), (site[2], site[3])
    blocks: List[Tuple[Any, List[ast.stmt], int]] = []
    owner: Any = text.tree
    while True:
        step = next(_towards(text, owner, start, end), None)
        if step is None:
            break
        block, index = step
        statement = block[index]
        blocks.append((owner, block, index))
        owner = statement
    first = max((n for n, (above, _, _) in enumerate(blocks) if isinstance(above, _FUNCTIONS)), default=0)
    blocks = blocks[first:]
    if not blocks or (frame.f_code.co_name == "<module>") != isinstance(blocks[0][0], ast.Module):
        return None
    return Standing(frame, filename, blocks[-1][1][blocks[-1][2]], blocks)


def _towards(text: Text, owner: Any, start: Place, end: Place) -> Iterator[Tuple[List[ast.stmt], int]]:
    for block in blocks_of(owner):
        for index, statement in enumerate(block):
            first, last = text.whole(statement)
            if first <= start and end <= last:
                yield block, index


def blocks_of(owner: Any) -> List[List[ast.stmt]]:
    """The blocks of statements that a compound statement or a module has."""
    blocks = [getattr(owner, name, None) for name in _BODIES] + [h.body for h in getattr(owner, "handlers", ())]
    return [block for block in blocks if isinstance(block, list)]


_texts: Dict[str, Text] = {}


def forget() -> None:
    """Forget all texts, before another program runs."""
    _texts.clear()


def text(filename: str) -> Text:
    """The text of a user's file."""
    return text_of(filename, _texts)


def piece(standing: Standing, changes: List[Change]) -> List[ast.stmt]:
    """The statement that a frame is at, with the changes in it made, to be run by itself; raises `SyntaxError`.

    Of a compound statement it is the head: what a loop goes over gives its first item, a test its value.
    """
    own = text(standing.filename)
    statement: Any = standing.statement
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        target = own.between(*own.span(statement.target), changes)
        over = own.between(*own.span(statement.iter), changes)
        return _parsed("%s = next(iter((\n%s\n)))" % (target, over))
    if isinstance(statement, (ast.While, ast.If)):
        return _parsed("(\n%s\n)" % own.between(*own.span(statement.test), changes))
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        first = own.span(statement.items[0].context_expr)[0]
        last = own.span(statement.items[-1].optional_vars or statement.items[-1].context_expr)[1]
        return _parsed("with %s:\n    pass" % own.between(first, last, changes))
    whole = isinstance(statement, (ast.Try, ast.ClassDef, *_FUNCTIONS))
    if whole:
        raise SyntaxError("no piece of such a statement runs by itself")
    return _parsed(textwrap.dedent(_with_indent(own, statement, changes)))


def _with_indent(own: Text, statement: ast.stmt, changes: List[Change]) -> str:
    """The whole lines of a statement, so that statements put before and behind it belong to it."""
    (line, column), end = own.span(statement)
    before = own.lines[line - 1][: column - 1]
    if before.strip():  # another statement stands on the line before it
        return own.between((line, column), end, changes)
    last = (end[0], len(own.lines[end[0] - 1]) + 1)
    behind = own.lines[end[0] - 1][end[1] - 1 :].strip()
    around = [c for c in changes if c.start == c.end and c.start in ((line, 1), (end[0] + 1, 1))]
    lead = "".join(c.text for c in around if c.start[0] == line)
    tail = "".join(c.text for c in around if c.start[0] != line)
    inner = [in_lines(change, last) for change in changes if change not in around]
    stop = end if behind and not behind.startswith("#") else last
    return "%s%s\n%s" % (lead, own.between((line, 1), stop, inner), tail)


def in_lines(change: Change, last: Place) -> Change:
    """A change of whole lines, which leaves the end of the last line in place."""
    of_lines = change.end == (last[0] + 1, 1)
    return Change(change.start, last, change.text.rstrip("\n")) if of_lines else change


def _parsed(code: str) -> List[ast.stmt]:
    return [_free(statement) for statement in ast.parse(code).body]


def alone(statements: List[ast.stmt]) -> List[ast.stmt]:
    """Statements of a function's body, changed to run outside of it: a returned value is assigned to a name."""
    return [_free(copy.deepcopy(statement)) for statement in statements]


def _free(statement: ast.stmt) -> ast.stmt:
    freed: ast.stmt = ast.fix_missing_locations(_Freed().visit(statement))
    return freed


class _Freed(ast.NodeTransformer):
    """Takes out of a statement what only works within its function."""

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        return ast.copy_location(_named(node.value or ast.Constant(value=None, kind=None)), node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        return ast.copy_location(_named(node.value), node)

    def visit_Yield(self, node: ast.Yield) -> Any:
        self.generic_visit(node)
        return node.value or ast.Constant(value=None, kind=None)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            node.args = [ast.Name(id=name, ctx=ast.Load()) for name in ("__class__", "self")]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return ast.copy_location(ast.Pass(), node)

    def _untouched(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _untouched


def _named(value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(id=RESULT, ctx=ast.Store())], value=value, type_comment=None)
