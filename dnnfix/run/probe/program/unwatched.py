"""Stands in for `dnnfix` in a program that watches its own training: within a trial nothing is watched and no log written.

The package itself may be missing in the program's interpreter, or out of sight of the sandbox.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Optional, Sequence

_CALLBACKS = {
    "dnnfix.keras": ("keras.callbacks", "Callback"),
    "dnnfix.lightning": ("lightning.pytorch", "Callback"),
    "dnnfix.transformers": ("transformers", "TrainerCallback"),
}
"""Where the class is from which the callback of a module is derived."""


class TrainingStopped(Exception):
    """Is never raised here."""


class Watch:
    """What `dnnfix.watch` returns."""

    steps = 0
    share = 0.0
    stopped = broken = closed = False

    def __init__(self) -> None:
        self.seen: list = []  # type: ignore[type-arg]

    def __enter__(self) -> Watch:  # noqa: PYI034 - Self is younger than the interpreters that this runs in
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """There is nothing to close."""


def watch(*model: object, **options: object) -> Watch:
    """Watch nothing."""
    return Watch()


def install() -> None:
    """Have `import dnnfix` find this."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Optional[Sequence[str]], target: Any = None) -> Any:
        if fullname != "dnnfix" and fullname not in _CALLBACKS:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == "dnnfix")

    def create_module(self, spec: Any) -> Any:
        return None

    def exec_module(self, module: ModuleType) -> None:
        known = vars(module)
        if module.__name__ == "dnnfix":
            known.update(watch=watch, TrainingStopped=TrainingStopped)
        else:
            known["WatchCallback"] = _callback(*_CALLBACKS[module.__name__])


def _callback(home: str, name: str) -> Any:
    if home == "lightning.pytorch" and "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        home = "pytorch_lightning"
    base: Any = getattr(importlib.import_module(home), name)

    class WatchCallback(base):  # type: ignore[misc]
        """A callback that does nothing."""

        def __init__(self, *sample: object, **options: object) -> None:
            super().__init__()
            self.watch: Optional[Watch] = None

    return WatchCallback
