"""Functions and classes that libraries took away and that a program can hold itself, as data: `definitions.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from dnnfix.detect.api_names import DATA

_DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Definition:
    """The code that takes the place of what is gone, with what is said of it."""

    names: tuple[str, ...]
    removed: Mapping[str, str] = field(hash=False)
    said: str
    title: str
    reference: str
    imports: tuple[str, ...]
    code: str

    @property
    def defines(self) -> tuple[str, ...]:
        """The functions and classes that the code defines."""
        return tuple(_DEFINED.findall(self.code))

    def name_for(self, old: str) -> str:
        """What the code calls the function or class that had the qualified name `old`."""
        last = old.rpartition(".")[2]
        return last if last in self.defines else self.defines[0]


@cache
def definitions() -> Mapping[str, Definition]:
    """The definitions, by each qualified name under which a program knows them."""
    import tomllib

    found: dict[str, Definition] = {}
    for entry in tomllib.loads((DATA / "definitions.toml").read_text("utf-8"))["definition"]:
        each = Definition(
            names=tuple(entry["names"]),
            removed=entry["removed"],
            said=entry["said"],
            title=entry["title"],
            reference=entry["reference"],
            imports=tuple(entry["imports"]),
            code=entry["code"].strip("\n"),
        )
        found.update(dict.fromkeys(each.names, each))
    return found
