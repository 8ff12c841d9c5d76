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

from dnnfix.errors import CatalogueError
from dnnfix.records import FixPattern
from dnnfix.synthesize.operators.change import Change
from dnnfix.synthesize.scene import Scene
from dnnfix.synthesize.slices import Place

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
            loaded = importlib.import_module(f"{__name__}.{module.name}")
            lacking = [word for word in ("PATTERN", "changes") if not hasattr(loaded, word)]
            if lacking:
                raise CatalogueError(f"{loaded.__file__}: an operator has PATTERN and changes. Missing: {lacking[0]}")
            found.append(Operator(module.name, loaded.PATTERN, loaded.changes))
    return tuple(found)
