"""Shapes and numbers of the variables in the frames that an exception passed through; never the data itself.

A library that the probe does not watch (NumPy, the operations of TensorFlow) describes a crash in words only. The
variables in the frames show the shapes, whichever library made them.
"""

from __future__ import annotations

from types import FrameType, ModuleType, TracebackType
from typing import Any, Dict, List, Optional, Set

from .. import sites
from ..guard import guarded

MOST_FRAMES = 4
"""Frames of user code that are described, the innermost ones and the program's own."""
_MOST_NAMES = 64
_MOST_ITEMS = 8
_MOST_ROWS = 20000


@guarded
def add_names(frames: List[Dict[str, Any]], traceback: Optional[TracebackType]) -> None:
    """Add the variables of each frame to the records of `sites.frames_of(traceback)`."""
    for number, (record, entry) in enumerate(zip(frames, sites.entries_of(traceback))):
        if number == 0 or number >= len(frames) - MOST_FRAMES:
            record["names"] = names_of(entry.tb_frame)


def names_of(frame: FrameType) -> Dict[str, Any]:
    """The variables of a frame with a description of each; those that cannot be described are left out."""
    held = dict(frame.f_locals)
    owner = held.pop("self", None)
    for name in frame.f_code.co_names:
        if name not in held and name in frame.f_globals:
            held[name] = frame.f_globals[name]
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        held["self." + str(name)] = value
    described: Dict[str, Any] = {}
    for name, value in held.items():
        if name.startswith("__") or len(described) >= _MOST_NAMES:
            continue
        description = _described(value)
        if description is not None:
            described[name] = description
    return described


def _described(value: Any) -> Any:
    """A number as itself; an array by its shape and type; a list by its length and its items."""
    if isinstance(value, (bool, int, float)):
        return value
    if type(value) in (list, tuple):
        return _listed(value)
    if isinstance(value, (type, ModuleType)):  # to ask a module that loads itself late would load it
        return None
    try:
        sizes = [getattr(size, "value", size) for size in value.shape]
        shape = [None if size is None else int(size) for size in sizes]
        told = {"shape": shape, "dtype": str(getattr(value.dtype, "name", value.dtype)), "kind": _kind(value)}
        return dict(told, **_rows(value)) if told["dtype"] == "object" and len(shape) == 1 else told
    except Exception:  # no array, a shape of unknown rank, or something that only looks like an array
        return None


def _kind(value: Any) -> str:
    return "%s.%s" % (type(value).__module__.partition(".")[0], type(value).__name__)


def _listed(value: Any) -> Any:
    if not value:
        return {"length": 0, "items": []}
    items = [_described(item) if type(item) not in (list, tuple) else None for item in value[:_MOST_ITEMS]]
    return dict({"length": len(value), "items": items}, **_rows(value))


def _rows(values: Any) -> Dict[str, Any]:
    """Of values that are rows of numbers: the lengths of the shortest and the longest, and if all numbers are whole."""
    if not 0 < len(values) <= _MOST_ROWS or not all(_is_row(value) for value in values):
        return {}
    kinds: Set[str] = set()
    for row in values:
        kinds |= _kinds_in(row)
        if not kinds <= {"int", "float", "bool", "i", "u", "f", "b"}:
            return {}
    lengths = [len(row) for row in values]
    return {"shortest": min(lengths), "longest": max(lengths), "whole": not kinds & {"float", "f"}}


def _kinds_in(row: Any) -> Set[str]:
    """The kinds of the numbers in a row; an array of numbers tells it once, without a look at each."""
    dtype = getattr(row, "dtype", None)
    if dtype is not None and dtype.kind != "O":
        return {dtype.kind}
    return {getattr(getattr(number, "dtype", None), "kind", type(number).__name__) for number in row}


def _is_row(value: Any) -> bool:
    return type(value) in (list, tuple) or type(value).__name__ == "ndarray" and value.ndim == 1
