"""The index of the benchmark: the 667 (bug, repair) instances of the study, one row of `index.csv` each.

Source of the instances, their patterns and their bug types: Islam, Pan, Nguyen and Rajan, "Repairing Deep Neural
Networks: Fix Patterns and Challenges" (ICSE 2020), and the labels that its authors published.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.records import FixPattern

FOLDER = "benchmark_667"
INDEX = "index.csv"

_ID = re.compile(r"(so|gh)-[\w.-]+")


class Library(StrEnum):
    """The library that the original program used."""

    CAFFE = "caffe"
    KERAS = "keras"
    TENSORFLOW = "tensorflow"
    THEANO = "theano"
    TORCH = "torch"


class Origin(StrEnum):
    """Where the repair was made public."""

    STACK_OVERFLOW = "stack-overflow"
    GITHUB = "github"


class Half(StrEnum):
    """Whether those who improve the engine look at an instance. What it does on the others says what a stranger gets."""

    OPEN = "open"
    HELD_OUT = "held-out"


@dataclass(frozen=True, slots=True)
class Instance:
    """One (bug, repair) pair of the study. `url` is a question, a bug-fix commit (perhaps with file and line), or a repository."""

    id: str
    source: Origin
    url: str
    library: Library
    fix_pattern: FixPattern
    bug_type: str
    statement_change: str

    @property
    def half(self) -> Half:
        """The half of the benchmark that it belongs to, drawn by its id: nobody chose."""
        drawn = int(sha256(self.id.encode()).hexdigest()[:8], 16)
        return Half.HELD_OUT if drawn % 2 else Half.OPEN


def find_benchmark(given: Path | None = None) -> Path:
    """The folder of the benchmark: the one given, else `benchmark_667` in the working folder or one above it.

    Raises `InputError` where there is none: the benchmark is part of the repository, not of the installed package.
    """
    if given is not None:
        if not (given / INDEX).is_file():
            raise InputError(f"{given}: no benchmark is here ({INDEX} is missing). Name the folder {FOLDER}.")
        return given
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, checkout):
        for place in (folder, folder / FOLDER):
            if place.name == FOLDER and (place / INDEX).is_file():
                return place
    raise InputError(
        f"there is no folder {FOLDER} here or above. It is part of dnnfix's repository: run this in a clone of it, or "
        "give its place with --benchmark."
    )


def read_index(folder: Path) -> Mapping[str, Instance]:
    """The instances by their id, in the order of the file.

    Raises:
        InputError: a line of the file is not an instance; the message names it.
    """
    path = folder / INDEX
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    reader = csv.DictReader(io.StringIO(text))
    names = [field.name for field in fields(Instance)]
    if reader.fieldnames != names:
        raise InputError(f"{path}:1: the columns have to be {','.join(names)}. Received: {reader.fieldnames}")
    found: dict[str, Instance] = {}
    for row in reader:
        place = f"{path}:{reader.line_num}"
        if None in row or None in row.values():
            raise InputError(f"{place}: {len(names)} columns are needed. Received: {list(row.values())}")
        try:
            instance = Instance(
                row["id"],
                Origin(row["source"]),
                row["url"],
                Library(row["library"]),
                FixPattern(row["fix_pattern"]),
                row["bug_type"],
                row["statement_change"],
            )
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
        if not _ID.fullmatch(instance.id) or instance.id in found:
            raise InputError(f"{place}: {instance.id!r} is no id (so-… or gh-…), or stands twice")
        found[instance.id] = instance
    return found
