"""Operators: schemas of small edits with holes, which the values seen at a crash fill.

One schema is one module of this package. It has `PATTERN`, the fix pattern that its edits instantiate, and
`changes(scene, place)`, which yields what may be done at one place, the most usual first. A place is an expression; for
`statements` it is a whole statement. No schema decides whether an edit is right: that is for the run.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from dnnfix.errors import CatalogueError, not_importable
from dnnfix.records import FixPattern
from dnnfix.synthesize.operators.change import Change
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place
from dnnfix.template import each_of

__all__ = ["Change", "Operator", "operators"]


class Operator(NamedTuple):
    """One schema: its name, the pattern of its edits, and what it offers at a place."""

    name: str
    pattern: FixPattern
    changes: Callable[[Scene, Place], Iterator[Change]]


NOT_OPERATORS = ("beginnings", "change", "statements")
"""Modules of the package that have no schema for expressions."""


@cache
def operators() -> tuple[Operator, ...]:
    """All schemas for expressions, by name."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        if module.name not in NOT_OPERATORS:
            found.append(_operator(module.name))
    return tuple(found)


def _operator(name: str) -> Operator:
    """The schema that a module is. Raises `CatalogueError` with its file and what is wrong in it."""
    module = f"{__name__}.{name}"
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        raise not_importable(module, error) from error
    lacking = [word for word in ("PATTERN", "changes") if not hasattr(loaded, word)]
    if lacking:
        raise CatalogueError(f"{loaded.__file__}: an operator has PATTERN and changes. Missing: {', '.join(lacking)}")
    if not isinstance(loaded.PATTERN, FixPattern):
        patterns = ", ".join(FixPattern.__members__)
        raise CatalogueError(
            f"{loaded.__file__}: PATTERN is one of FixPattern.{patterns}. Received: {loaded.PATTERN!r}"
        )

    def changes(scene: Scene, place: Place) -> Iterator[Change]:
        otherwise = f"{loaded.__file__}: changes yields changes, as `replaced` of change.py makes them"
        return each_of(Change, loaded.changes(scene, place), otherwise)

    return Operator(name, loaded.PATTERN, changes)
