"""Which programs have to be analysed again after a change of other files. In doubt, a program is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePosixPath

from dnnfix.bot.entries import imported_names, is_program, module_of, with_importers
from dnnfix.bot.pins import REQUIREMENTS

EVERYTHING = re.compile(REQUIREMENTS.pattern + r"|Pipfile\.lock|(poetry|uv)\.lock|dnnfix\.toml|\.gitmodules")
"""Names of files that decide what every program runs with, or what the bot looks at."""


def touched(files: Mapping[str, bytes], changed: AbstractSet[str]) -> frozenset[str]:
    """The programs and modules among the files of a repository (content by path) that a change of other files may be felt in.

    These are the changed ones, what imports them, however far, what names a changed file of another kind, and what such a file names.
    """
    named = {path: raw for path, raw in files.items() if is_program(path)}
    if any(EVERYTHING.fullmatch(PurePosixPath(path).name) for path in changed):
        return frozenset(named)
    beside = [path for path in changed if not is_program(path)]
    found = {path for path, raw in named.items() if path in changed or _names(path, raw, beside, files)}
    gone = {module_of(path) for path in changed if path.endswith(".py")}
    names = {path: frozenset(imported_names(raw)) for path, raw in named.items() if path.endswith(".py")}
    names |= {path: frozenset(_words(raw)) for path, raw in named.items() if path not in names}
    return with_importers(found, names, gone)


def _names(path: str, raw: bytes, beside: list[str], files: Mapping[str, bytes]) -> bool:
    """Whether a program names one of the files beside, or one of those the program."""
    own = PurePosixPath(path).name.encode()
    return any(PurePosixPath(one).name.encode() in raw or own in files.get(one, b"") for one in beside)


def _words(raw: bytes) -> list[str]:
    """What may be a name in a notebook, whose cells are no module."""
    return re.findall(r"\w+", raw.decode("utf-8", "replace"))
