"""The folders that a program writes into, as far as its source shows them."""

from __future__ import annotations

import ast
import os.path
import re
from collections.abc import Iterator

from dnnfix.reproduce.flow.reads import WRITERS
from dnnfix.source.program import Source

_PLACE = re.compile(r"%[^%]|\{")


def written_folders(source: Source) -> Iterator[tuple[str, int]]:
    """Paths that the program writes to, each with the line; the computed end of a path may be missing."""
    for call in source.all_calls:
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [*call.args[:2], *(k.value for k in call.keywords if k.arg in ("filepath", "fname", "path", "to_file"))]
        for value in given if last in WRITERS else ():
            head = _head(value)
            if "/" in head.lstrip("./"):
                yield head, call.lineno


def _head(value: ast.expr) -> str:
    """The text that a path begins with, up to the first place where something is put in; a folder ends in a slash."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) and "\n" not in value.value else ""
    if isinstance(value, ast.JoinedStr):
        return _folder(_head(value.values[0])) if value.values else ""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mod, ast.Add)):
        head = _head(value.left)
        return _folder(_PLACE.split(head)[0] if isinstance(value.op, ast.Mod) else head)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "format":
        return _folder(_PLACE.split(_head(value.func.value))[0])
    return ""


def _folder(head: str) -> str:
    return f"{os.path.dirname(head)}/" if "/" in head else ""
