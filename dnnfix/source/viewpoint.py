"""Translates site paths in records between the program's point of view and that of a module beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Any, TypeVar

from dnnfix.records import AddDefinition, AddImport, Site

Record = TypeVar("Record")


def from_module(path: str, program: str) -> dict[str, str]:
    """The mapping of paths as seen from a module at `path` beside `program`: the module is "", the program has its
    name.
    """
    return {path: "", "": PurePath(program).name}


def from_program(path: str, program: str) -> dict[str, str]:
    """The inverse mapping of `from_module`."""
    return {name: place for place, name in from_module(path, program).items()}


def seen_from(record: Record, places: Mapping[str, str]) -> Record:
    """The record with the path of every site in it mapped; the same object where nothing changes."""
    seen: Record = _seen(record, places)
    return seen


def _seen(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, Site):
        path = places.get(value.path, value.path)
        return value if path == value.path else Site(value.line, value.column, value.end_line, value.end_column, path)
    if isinstance(value, (AddDefinition, AddImport)):
        return replace(value, path=places.get(value.path, value.path))
    if isinstance(value, tuple):
        items = tuple(_seen(item, places) for item in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if is_dataclass(value) and not isinstance(value, type):
        names = _names(type(value))
        given = [getattr(value, name) for name in names]
        exchanged = [_seen(item, places) for item in given]
        if all(a is b for a, b in zip(exchanged, given, strict=True)):
            return value
        return type(value)(**dict(zip(names, exchanged, strict=True)))
    return value


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
