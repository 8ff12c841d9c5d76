"""Keeps the probe from disturbing the program: patches that can be undone, and failures of the probe that become notes.

Whatever goes wrong in the probe, the program under observation must run as it would without it. So every piece of a
probe that runs between two lines of the program is wrapped by `guarded`.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Tuple, TypeVar

from . import wire

_MOST_NOTES = 8
_ABSENT = object()

Function = TypeVar("Function", bound=Callable[..., Any])

_noted: Dict[str, int] = {}


def note(text: str) -> None:
    """Write a note for the reader of the report, each text once and only so many of them."""
    if text not in _noted and len(_noted) < _MOST_NOTES:
        _noted[text] = 1
        wire.emit("note", text=text)


def forget_notes() -> None:
    """Begin a new run, in which every note may be written again."""
    _noted.clear()


def guarded(function: Function) -> Function:
    """The function, with its exceptions turned into a note and the result `None`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            note("the probe failed in %s: %s: %s" % (function.__name__, type(error).__name__, str(error)[:200]))
            return None

    return wrapper  # type: ignore[return-value]


class Patches:
    """Attributes replaced by others, which can be put back."""

    def __init__(self) -> None:
        self._made: List[Tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Set `owner.name` to `make(what it is now)`; nothing happens where the owner has no such attribute."""
        original = getattr(owner, name, None)
        if original is None:
            return
        self._made.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, make(original))

    def undo(self) -> None:
        """Put everything back."""
        for owner, name, own in reversed(self._made):
            if own is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        self._made.clear()
