"""How the torch probe stays out of the program's way: patches that can be undone, and failures that become notes.

Whatever goes wrong in the probe, the program under observation must run as it would without it. So every piece of the
probe that runs between two lines of the program is wrapped by `guarded`, and every tensor operation of the probe's own
runs inside `Quiet`, where nothing is recorded and no gradient is tracked.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

import torch as _torch

from . import sites, wire

torch: Any = _torch
_MOST_NOTES = 8
_ABSENT = object()

Function = TypeVar("Function", bound=Callable[..., Any])

_noted: Dict[str, int] = {}


class Quiet:
    """A context in which the probe's own tensor operations are neither recorded nor differentiated."""

    depth = 0
    outer_gradients = True
    """Whether the program tracks gradients, as of the outermost `Quiet` under way."""

    def __init__(self, gradients: bool = False) -> None:
        self._gradients = gradients
        self._before = False

    def __enter__(self) -> None:
        self._before = torch.is_grad_enabled()
        if not Quiet.depth:
            Quiet.outer_gradients = self._before
        Quiet.depth += 1
        torch._C._set_grad_enabled(self._gradients)

    def __exit__(self, *exception: object) -> None:
        torch._C._set_grad_enabled(self._before)
        Quiet.depth -= 1


def note(text: str) -> None:
    """Tell the reader of the report something, once and not without end."""
    if text not in _noted and len(_noted) < _MOST_NOTES:
        _noted[text] = 1
        wire.emit("note", text=text)


def forget_notes() -> None:
    """Begin a new run: every note may be written again."""
    _noted.clear()


def guarded(function: Function) -> Function:
    """The function, with its own failures turned into a note and `None`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            note("the probe failed in %s: %s: %s" % (function.__name__, type(error).__name__, str(error)[:200]))
            return None

    return wrapper  # type: ignore[return-value]


def head_site() -> Any:
    """The user's expression now running, or what its statement runs itself: the iterable of a loop, a `with`'s context.

    The interpreter gives the whole statement as the place from which a loop asks for the next item.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        if sites.is_user_file(frame.f_code.co_filename):
            site = sites.site_of(frame)
            if site is not None and site[0] != site[2]:
                return sites.line_site(frame.f_code.co_filename, site[0]) or site
            return site
        frame = frame.f_back
    return None


class Patches:
    """Attributes put in place of others, and put back."""

    def __init__(self) -> None:
        self._made: List[Tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Set `owner.name` to `make(what it is now)`; nothing happens where the owner has no such attribute."""
        original = getattr(owner, name, None)
        if original is None:
            return
        own = vars(owner).get(name, _ABSENT)
        self._made.append((owner, name, own))
        setattr(owner, name, make(original))

    def undo(self, owner: Optional[Any] = None, name: Optional[str] = None) -> None:
        """Put back everything, or what was put at one owner (under one name)."""
        for entry in reversed(list(self._made)):
            if owner is not None and (entry[0] is not owner or (name is not None and entry[1] != name)):
                continue
            self._made.remove(entry)
            if entry[2] is _ABSENT:
                delattr(entry[0], entry[1])
            else:
                setattr(entry[0], entry[1], entry[2])
