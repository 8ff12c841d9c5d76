"""Automated repair of deep-learning programs: find the fault, write the patch, prove it by running.

    >>> import dnnfix
    >>> report = dnnfix.suggest("train.py", budget=60)
    >>> for file, patch in report.patches():
    ...     print(patch.verdict, patch.diff)

`check` looks at the source alone, `suggest` runs the program in a sandbox and proves patches, `fix` applies what was
proven; `watch` tells the symptoms of a training while it runs. Their answers are the frozen records of `dnnfix.records`; their errors are below `DnnfixError`. Everything that is
named in `__all__` is stable; importing dnnfix imports none of it, and no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dnnfix.errors import ConfigError, DnnfixError, EnvironmentProblem, InputError, TrainingStopped
    from dnnfix.library import Fixed, Options, check, fix, suggest
    from dnnfix.records import FileReport, Finding, FindingResult, Patch, PatchVerdict, Report, Verdict
    from dnnfix.watching.start import watch

__all__ = [
    "ConfigError",
    "DnnfixError",
    "EnvironmentProblem",
    "FileReport",
    "Finding",
    "FindingResult",
    "Fixed",
    "InputError",
    "Options",
    "Patch",
    "PatchVerdict",
    "Report",
    "TrainingStopped",
    "Verdict",
    "__version__",
    "check",
    "fix",
    "suggest",
    "watch",
]

_HOMES = {
    "dnnfix.errors": ("ConfigError", "DnnfixError", "EnvironmentProblem", "InputError", "TrainingStopped"),
    "dnnfix.library": ("Fixed", "Options", "check", "fix", "suggest"),
    "dnnfix.records": ("FileReport", "Finding", "FindingResult", "Patch", "PatchVerdict", "Report", "Verdict"),
    "dnnfix.watching.start": ("watch",),
}


_CALLBACKS = ("keras", "lightning", "transformers")
"""Modules with a callback each, which import the framework of that name."""


if not TYPE_CHECKING:  # which would take any name to be there

    def __getattr__(name: str) -> object:
        if name in _CALLBACKS:
            return import_module(f"dnnfix.{name}")
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module 'dnnfix' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext dnnfix` calls: makes `%dnnfix` and `%%dnnfix` known to a shell of IPython."""
    from dnnfix.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext dnnfix` calls."""
    from dnnfix.notebook.extension import unload

    unload(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
