"""Maps the paths of missing files that lie outside of the program's folder to paths inside it."""

from __future__ import annotations

import ast
import re

from dnnfix.reproduce.syntax import strings
from dnnfix.run.sandbox import SCRATCH
from dnnfix.source.program import Source, once

MADE = "made"
"""The folder for files whose own path leads out of the program's folder."""

_HOME = f"{SCRATCH}/home/"
"""The home of a program in a run, which is its own to write to."""
_AT_HOME = re.compile(r"""(['"])~/[^'"\n]*\1""")

_OUTSIDE = re.compile(r"(?:[A-Za-z]:[\\/]|[\\/~]|\.\.(?:[\\/]|$)|\$)")


def inside(source: Source, path: str) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """The path that the program is to use, and the string constants to replace for that.

    None where the path leads outside and no constant of the program begins it. One below the home of a run stays there: `~/data`.
    """
    if path.startswith(_HOME):
        return f"~/{path[len(_HOME) :]}", ()
    if not _OUTSIDE.match(path):
        if "\\" not in path or "/" in path:
            return path, ()
        here = path.replace("\\", "/")
        return here, ((path, here),) if path in strings(source.nodes(ast.Constant)) else ()
    starts = [text for text in _outer_constants(source) if path.startswith(text)]
    if not starts:
        return None
    old = max(starts, key=len)
    new = _renamed(old)
    rest = path[len(old) :]
    return (new + rest).replace("\\", "/"), ((old, new),)


def expanded(code: str) -> str:
    """Code that makes files, with paths below the home written out when it runs."""
    if not _AT_HOME.search(code):
        return code
    return "import os as _made_os\n" + _AT_HOME.sub(r"_made_os.path.expanduser(\g<0>)", code)


@once
def _outer_constants(source: Source) -> frozenset[str]:
    """The string constants of a program and the modules beside it that begin a path outside of its folder."""
    texts = [text for one in (source, *source.beside) for text in strings(one.nodes(ast.Constant))]
    return frozenset(text for text in texts if len(text) < 400 and "\n" not in text and _OUTSIDE.match(text))


def _renamed(old: str) -> str:
    """`C:\\data\\train.csv` as `made/train.csv`, `../data/names/*.txt` as `made/data/names/*.txt`."""
    text = old.replace("\\", "/")
    ending = "/" if text.endswith("/") else ""
    relative = text.startswith("..")
    kept = [part for part in text.split("/") if part not in ("", ".", "..", "~", "$HOME") and not part.endswith(":")]
    return "/".join([MADE, *(kept if relative else kept[-2:])]) + ending
