"""The upper version bounds in a repository's requirement files: what only later versions removed is no fault there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from dnnfix.detect.versioning.era import ALIASES, PACKAGE
from dnnfix.detect.versioning.migration import next_version, version_number

REQUIREMENTS = re.compile(
    r"requirements.*\.(txt|in)|constraints.*\.txt|pyproject\.toml|setup\.(py|cfg)|environment.*\.ya?ml|Pipfile"
)
"""Names of files in which people write which versions they want."""

_WANTED = re.compile(
    rf"(?<![\w.-]){PACKAGE}(?![\w.-])[\"']?(?:\[[^]]*\])?(?P<versions>(?:\s*=\s*[\"'])?[^\n;#\"']*)", re.IGNORECASE
)
_BOUND = re.compile(r"(?P<operator>>=|!=|===?|~=|<=?|\^|~|=|>)\s*[\"']?v?(?P<version>\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Pin:
    """A requirement that keeps a package below `before` for the programs in `folder` and below."""

    folder: PurePosixPath
    package: str
    before: tuple[int, ...]


def pins(files: Mapping[str, bytes]) -> Iterator[Pin]:
    """The upper bounds in the requirement files among the files of a repository (content by path)."""
    for path, raw in files.items():
        if not REQUIREMENTS.fullmatch(PurePosixPath(path).name):
            continue
        for wanted in _WANTED.finditer(raw.decode("utf-8", "replace")):
            package = wanted["package"].lower()
            bounds = [_first_beyond(b["operator"], b["version"]) for b in _BOUND.finditer(wanted["versions"])]
            if known := [bound for bound in bounds if bound]:
                yield Pin(PurePosixPath(path).parent, ALIASES.get(package, package), min(known))


def _first_beyond(operator: str, version: str) -> tuple[int, ...]:
    """The first version that a requirement leaves out; empty where it sets no bound."""
    if operator in ("<", ">", ">=", "!="):
        return version_number(version) if operator == "<" else ()
    parts = version.split(".")[:3]
    if operator == "^":  # the first part that is not zero stays
        parts = parts[: next((place for place, part in enumerate(parts) if int(part)), len(parts) - 1) + 1]
    elif operator == "~=":
        parts = parts[: max(1, len(parts) - 1)]
    elif operator == "~":
        parts = parts[:2]
    return version_number(next_version(".".join(parts)))


def keep_below(found: Iterable[Pin], path: str, package: str, version: str) -> bool:
    """Whether one of the requirements says that the program at `path` runs with a package from before a version."""
    above, bound = PurePosixPath(path).parents, version_number(version)
    return any(pin.package == package and pin.folder in above and pin.before <= bound for pin in found)
