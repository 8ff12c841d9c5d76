"""Cases: instances of the benchmark, reconstructed as programs that run, each in a folder of its own.

cases/<id>/case.toml     what it reconstructs, its symptom and its fidelity
           buggy.py      the program with the fault
           repair.diff   the repair that people made, as `git diff` writes it
           *.diff        other repairs that are equally right, named under `alternatives`
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from dnnfix.bench.instances import Instance
from dnnfix.bench.symptoms import Predicate, read_predicate
from dnnfix.emit.hunks import apply, replacements
from dnnfix.errors import InputError
from dnnfix.records import Family

FOLDER = "cases"
PROGRAM = "buggy.py"
REPAIR = "repair.diff"
SEEDS = 5
"""Every case is proven on five seeds: `bench verify` asks for four of them, and lets one fail."""


class Framework(StrEnum):
    """The framework that a case is written in; those that are gone are carried over to torch."""

    TORCH = "torch"
    KERAS = "keras"
    TENSORFLOW = "tensorflow"


class Fidelity(StrEnum):
    """The source of the reconstruction: the original, its description, or its labels alone."""

    ORIGINAL = "original"
    DESCRIBED = "described"
    LABEL = "label"


@dataclass(frozen=True)
class Case:
    """One case. `repairs` are the ground truth: the repair that was made, then the alternatives, as diffs by file name."""

    instance: Instance
    folder: Path
    framework: Framework
    family: Family
    """The fault family that the fault belongs to: what a detection is held against."""
    fidelity: Fidelity
    read: str
    symptom: Predicate
    seeds: tuple[int, ...]
    program: bytes
    repairs: Mapping[str, str]
    notes: str = ""

    @property
    def id(self) -> str:
        """The id of the instance."""
        return self.instance.id

    @cached_property
    def repaired(self) -> tuple[bytes, ...]:
        """The program after each repair of the ground truth. Raises `InputError` where a diff does not apply."""
        return tuple(self.after(name) for name in self.repairs)

    def after(self, name: str) -> bytes:
        """The program after one repair of the ground truth."""
        try:
            changes = replacements(self.repairs[name])
            if not changes:
                raise InputError("it changes nothing")
            return apply(self.program, changes)
        except InputError as error:
            raise InputError(f"{self.folder / name}: the diff does not apply to {PROGRAM}: {error}") from None


_TEXTS = ("source", "address", "library", "fix_pattern", "bug_type", "framework", "family", "fidelity", "read")
_KEYS = {*_TEXTS, "symptom", "seeds", "alternatives", "notes"}


def case_ids(folder: Path) -> list[str]:
    """The ids of the cases of a benchmark, in order: its folders under `cases`."""
    cases = folder / FOLDER
    return sorted(place.name for place in cases.iterdir() if place.is_dir()) if cases.is_dir() else []


def programs(folder: Path) -> dict[str, bytes]:
    """Every program of a benchmark by id, also those of malformed cases."""
    places = {id: folder / FOLDER / id / PROGRAM for id in case_ids(folder)}
    return {id: path.read_bytes() for id, path in places.items() if path.is_file()}


def read_case(folder: Path, index: Mapping[str, Instance], id: str) -> Case:
    """The case of that id in a benchmark.

    Raises:
        InputError: a file is missing or malformed, or says otherwise than the index; the message names file and key.
    """
    place = folder / FOLDER / id
    if id not in index:
        raise InputError(f"{place}: no instance of the index has the id {id!r}")
    path = place / "case.toml"
    try:
        table = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    try:
        return _case(table, index[id], place)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _case(table: Mapping[str, Any], instance: Instance, place: Path) -> Case:
    _need(table.keys() <= _KEYS, f"known keys are {', '.join(sorted(_KEYS))}", sorted(table.keys() - _KEYS))
    for key in _TEXTS:
        _need(isinstance(table.get(key), str) and table[key].strip(), f"{key} needs a text", table.get(key))
    facts = {
        "source": instance.source,
        "address": instance.url,
        "library": instance.library,
        "fix_pattern": instance.fix_pattern,
        "bug_type": instance.bug_type,
    }
    for key, fact in facts.items():
        _need(table[key] == fact, f"{key} is {fact!s} in the index", table[key])
    seeds, alternatives, notes = table.get("seeds"), table.get("alternatives", []), table.get("notes", "")
    whole = isinstance(seeds, list) and all(type(seed) is int for seed in seeds)
    _need(whole and len(set(seeds or ())) == SEEDS, f"seeds needs {SEEDS} different whole numbers", seeds)
    named = isinstance(alternatives, list) and all(isinstance(name, str) for name in alternatives)
    beside = named and all(name.endswith(".diff") and name == Path(name).name for name in alternatives)
    _need(beside, "alternatives needs names of .diff files beside it", alternatives)
    _need(isinstance(notes, str), "notes needs a text", notes)
    _need(isinstance(table.get("symptom"), dict), "a table [symptom] is needed", table.get("symptom"))
    return Case(
        instance=instance,
        folder=place,
        framework=Framework(table["framework"]),
        family=Family(table["family"]),
        fidelity=Fidelity(table["fidelity"]),
        read=table["read"],
        symptom=read_predicate(table["symptom"]),
        seeds=tuple(seeds or ()),
        program=_text(place / PROGRAM).encode(),
        repairs={name: _text(place / name) for name in (REPAIR, *alternatives)},
        notes=notes,
    )


def _need(holds: object, said: str, received: object) -> None:
    if not holds:
        raise ValueError(f"{said}. Received: {received!r}")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; a case needs case.toml, {PROGRAM} and {REPAIR}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
