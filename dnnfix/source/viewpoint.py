"""Records seen from another file: a site is named relative to the file that it is looked at from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Any, TypeVar

from dnnfix.records import AddDefinition, AddImport, Site

Record = TypeVar("Record")


def from_module(path: str, program: str) -> dict[str, str]:
    """The places as a module at `path` beside the file `program` names them: itself "", the program by its name; see `from_program`."""
    return {path: "", "": PurePath(program).name}


def from_program(path: str, program: str) -> dict[str, str]:
    """The way back from `from_module`."""
    return {name: place for place, name in from_module(path, program).items()}


def seen_from(record: Record, places: Mapping[str, str]) -> Record:
    """The record with the path of every site in it exchanged as `places` says; itself where that changes nothing."""
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
