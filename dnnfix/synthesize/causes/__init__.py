"""Possible causes of a training that does not learn: one module for each setting, with the edits that change it.

A module has `edits(subject, symptoms)`, which yields what may be done about its setting, the likeliest first. How
likely it is to be the cause follows from what the run showed: how far a rate is from the usual one, how large the
inputs are. No module decides whether an edit is right: training does.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

from dnnfix.errors import CatalogueError, not_importable
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.template import each_of
from dnnfix.validate.reading import Reading

__all__ = ["Cause", "causes"]

_NOT_SETTINGS = ("arrays", "cause", "optimizing")
"""Modules of the package that other modules build on."""


def causes(subject: Subject, symptoms: tuple[Reading, ...]) -> list[Cause]:
    """What may be done about a training that shows these symptoms, the likeliest first."""
    found = [cause for settings in _settings() for cause in settings(subject, symptoms)]
    distinct = {cause.edits: cause for cause in sorted(found, key=lambda cause: cause.prior)}
    return sorted(distinct.values(), key=lambda cause: -cause.prior)


Setting = Callable[[Subject, tuple[Reading, ...]], Iterator[Cause]]


def _settings() -> Iterator[Setting]:
    for module in pkgutil.iter_modules(__path__):
        if module.name not in _NOT_SETTINGS:
            yield _setting(module.name)


def _setting(name: str) -> Setting:
    """What a module says. Raises `CatalogueError` with its file and what is wrong in it."""
    module = f"{__name__}.{name}"
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        raise not_importable(module, error) from error
    if not hasattr(loaded, "edits"):
        raise CatalogueError(f"{loaded.__file__}: a module of a setting has edits(subject, symptoms). Missing: edits")

    def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
        return each_of(Cause, loaded.edits(subject, symptoms), f"{loaded.__file__}: edits yields causes (cause.py)")

    return edits
