"""Which classes are written in user code."""

from __future__ import annotations

import sys
from typing import Any, Dict

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


def _code(value: Any) -> Any:
    return getattr(getattr(value, "__func__", value), "__code__", None)


def forget_user_classes() -> None:
    """Begin a new run, with user code of its own."""
    _known.clear()
