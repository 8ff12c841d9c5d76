"""Tells which statements of the program's files ran, for jobs that ask for it: what a run says of a patch is about these.

A mark is set before each statement. The marks are shared with processes that the program forks, such as the workers of a
loader. TensorFlow compiles functions from their text, in which no marks are; so of its programs it is told under another name:
what is marked ran, and what is not marked may have run in such a function.
"""

from __future__ import annotations

import ast
import builtins
import mmap
import sys
from typing import Any, Dict, List, Optional, Tuple

from .. import sites, wire

RAN = "__dnnfix_ran__"
MOST = 1 << 20
"""Statements that are marked; files beyond that are left out."""

_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_ran: Optional[mmap.mmap] = None
_marked: List[Tuple[str, int]] = []
"""The file and line of the statement behind each mark."""


def configure(job: Dict[str, Any]) -> None:
    """Forget all marks, and set some from now on where the job asks for them."""
    global _ran
    _marked.clear()
    _ran = mmap.mmap(-1, MOST) if "lines" in job.get("experiments", ()) else None
    setattr(builtins, RAN, _ran)


def rewrite(tree: ast.Module, filename: str) -> None:
    """Put a mark before each statement of a file, in place; no statement changes its position."""
    if _ran is None:
        return
    blocks = [
        (node, block)
        for node in ast.walk(tree)
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        if isinstance(block, list)
    ]
    if len(_marked) + sum(len(block) for _node, block in blocks) > MOST:
        return
    for node, block in blocks:
        block[:] = [one for at, statement in enumerate(block) for one in _with_mark(node, at, statement, filename)]


def tell() -> None:
    """Write the lines on which statements begin that ran, by the path of each file that was loaded."""
    if _ran is None:
        return
    found: Dict[str, List[int]] = {}
    for number, (filename, line) in enumerate(_marked):
        lines = found.setdefault(sites.path_of(filename), [])
        if _ran[number]:
            lines.append(line)
    name = "some-lines" if "tensorflow" in sys.modules else "lines"
    wire.emit("probe", name=name, value={path: sorted(set(lines)) for path, lines in found.items()})


def _with_mark(around: ast.AST, at: int, statement: ast.stmt, filename: str) -> List[ast.stmt]:
    """A statement of a block with its mark; none comes before a docstring or an import from `__future__`."""
    documented = at == 0 and isinstance(around, _DOCUMENTED) and _is_text(statement)
    if documented or isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return [statement]
    place = ast.Subscript(ast.Name(RAN, ast.Load()), _index(len(_marked)), ast.Store())
    mark = ast.Assign(targets=[place], value=ast.Constant(value=1, kind=None), type_comment=None)
    _marked.append((filename, statement.lineno))
    return [ast.fix_missing_locations(ast.copy_location(mark, statement)), statement]


def _index(number: int) -> Any:
    """A number as an index, in the tree of this Python."""
    constant = ast.Constant(value=number, kind=None)
    return constant if sys.version_info >= (3, 9) else ast.Index(constant)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
