"""Lets the torch probe run tensor operations of its own that are neither recorded nor tracked by autograd.

The functions of `guard`, which serve every probe, are imported from here as well.
"""

from __future__ import annotations

from typing import Any

import torch as _torch

from .. import sites
from ..guard import Patches, forget_notes, guarded, note

__all__ = ["Patches", "Quiet", "forget_notes", "guarded", "head_site", "note"]

torch: Any = _torch


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


def head_site() -> Any:
    """The user's expression now running, or what its statement runs itself: the iterable of a loop, a `with`'s context.

    The interpreter gives the whole statement as the place from which a loop asks for the next item.
    """
    frame = sites.user_frame()
    site = sites.site_of(frame) if frame is not None else None
    if frame is not None and site is not None and site[0] != site[2]:
        return sites.line_site(frame.f_code.co_filename, site[0]) or site
    return site
