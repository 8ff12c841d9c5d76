"""Possible causes of a training that does not learn: one module for each setting, with the edits that change it.

A module has `edits(subject, symptoms)`, which yields what may be done about its setting, the likeliest first. How
likely it is to be the cause follows from what the run showed: how far a rate is from the usual one, how large the
inputs are. No module decides whether an edit is right: training does.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

__all__ = ["Cause", "causes"]

_NOT_SETTINGS = ("arrays", "cause", "optimizing", "written")
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
            edits: Setting = importlib.import_module(f"{__name__}.{module.name}").edits
            yield edits
