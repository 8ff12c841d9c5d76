"""Reports exceptions that broad `except` handlers of the program swallow, and disables handlers for the scaffold.

A handler is broad if it catches every `Exception`, and it swallows if it raises nothing itself. A handler is identified
by the path of its file and its number in it, so that a patch which moves lines leaves its identity unchanged.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import Any, Dict, List, Set, Tuple

from .. import sites, wire
from ..lookup import type_name

TELL = "__dnnfix_caught__"
EXPECTED = "__dnnfix_expected__"
MOST = 100
"""Exceptions that are told of one run."""

_BROAD = ("Exception", "BaseException")
_OF_THE_WORLD = (ImportError, OSError, EOFError, StopIteration, MemoryError)
"""What is caught on purpose, by an opened handler too: it comes of what the machine has, or is how iterators end."""

_opened: Set[Tuple[str, int]] = set()
_told: List[int] = []


def configure(scaffold: Dict[str, Any]) -> None:
    """Forget what was reported, and take the handlers that the scaffold disables."""
    _told.clear()
    _opened.clear()
    _opened.update((str(path), int(number)) for path, number in scaffold.get("opened", ()))
    setattr(builtins, TELL, _tell)
    setattr(builtins, EXPECTED, _OF_THE_WORLD)


def rewrite(tree: ast.Module, filename: str) -> None:
    """Have the broad handlers of a file report what they swallow, or catch nothing where they are disabled; in
    place.
    """
    handlers = (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))
    for number, handler in enumerate(sorted(handlers, key=lambda node: (node.lineno, node.col_offset))):
        if not _swallows(handler):
            continue
        if (sites.path_of(filename), number) in _opened:
            handler.type = ast.copy_location(ast.Name(id=EXPECTED, ctx=ast.Load()), handler)
        else:
            values = (filename, handler.lineno, handler.col_offset + 1, number)
            told = ast.Call(ast.Name(TELL, ast.Load()), [ast.Constant(value=v, kind=None) for v in values], [])
            handler.body.insert(0, ast.fix_missing_locations(ast.copy_location(ast.Expr(told), handler.body[0])))


def _swallows(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    broad = any(kind is None or isinstance(kind, ast.Name) and kind.id in _BROAD for kind in kinds)
    return broad and not any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def _tell(filename: str, line: int, column: int, number: int) -> None:
    from ..crash import outcome  # which knows scaffolds, which compile with this module

    error = sys.exc_info()[1]
    if error is None or isinstance(error, _OF_THE_WORLD) or len(_told) >= MOST:
        return
    if outcome.classify(error)[0] == outcome.CRASHED:
        _told.append(number)
        wire.emit(
            "caught",
            site=[line, column, line, column + len("except"), sites.path_of(filename)],
            number=number,
            kind=type_name(error),
            message=wire.shorten(str(error)),
        )
