"""Which classes are written in user code, and the names of classes in the trace."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict

from . import sites

_known: Dict[type, bool] = {}


def is_user_class(cls: type) -> bool:
    """Whether the class is written in user code."""
    known = _known.get(cls)
    if known is None:
        files = [code.co_filename for code in map(_code, vars(cls).values()) if code is not None]
        if files:
            known = any(sites.is_user_file(name) for name in files)
        else:
            module = sys.modules.get(cls.__module__)
            known = cls.__module__ == "__main__" or sites.is_user_file(str(getattr(module, "__file__", "")))
        _known[cls] = known
    return known


class ClassNames:
    """The names of classes in the trace: `user.Net`, or what `public` says of those of the library."""

    def __init__(self, public: Callable[[type], str]) -> None:
        self._public = public
        self._names: Dict[type, str] = {}

    def __call__(self, cls: type) -> str:
        """The name of a class."""
        if cls not in self._names:
            self._names[cls] = "user." + cls.__name__ if is_user_class(cls) else self._public(cls)
        return self._names[cls]

    def forget(self) -> None:
        """Begin a new run, with user code of its own."""
        self._names.clear()
        _known.clear()


def _code(value: Any) -> Any:
    return getattr(getattr(value, "__func__", value), "__code__", None)
