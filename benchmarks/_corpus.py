"""Real deep-learning files to scan: those of a folder that import a framework, by default of the installed frameworks."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(?:torch|keras|tensorflow)\b", re.MULTILINE)
FRAMEWORKS = ("keras", "torch")
LARGEST = 40_000
"""Bytes of the largest installed file that is taken: frameworks hold files of ten times the size of people's programs."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Copies of files in a folder of their own."""

    folder: Path
    files: tuple[Path, ...]
    lines: int

    def __str__(self) -> str:
        return f"{len(self.files)} files, {self.lines / 1000:.1f} kLOC"


def find(root: Path | None) -> list[tuple[Path, Path]]:
    """The files below a folder (none: below the installed torch and keras) that import a framework, each with its root."""
    if root is not None:
        return [(file, root) for file in _below(root)]
    found = ((file, where) for where in _installed() for file in _below(where))
    return [(file, where) for file, where in found if file.stat().st_size <= LARGEST]


def _installed() -> Iterator[Path]:
    for name in FRAMEWORKS:
        spec = importlib.util.find_spec(name)  # found, not imported
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed here; run this in the project's environment, or give --corpus.")
        yield Path(spec.origin).parent


def _below(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(names):
            file = Path(folder, name)
            if name.endswith(".py") and file.is_file() and _IMPORT.search(file.read_bytes()):
                yield file


def spread(items: Sequence[tuple[Path, Path]], count: int) -> list[tuple[Path, Path]]:
    """At most `count` of the items, as far apart in their order as can be."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]


def copied(items: Sequence[tuple[Path, Path]], folder: Path) -> Corpus:
    """Copies of the files, in folders as they were: tools pass over what lies in `site-packages`."""
    made: list[Path] = []
    for file, root in items:
        target = folder / root.name / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        made.append(target)
    return Corpus(folder, tuple(made), sum(file.read_bytes().count(b"\n") for file in made))
