"""What the code of a scaffold may ask of the probe: to look away for a moment, and whether the training may end.

A scaffold that has to find out what a network takes calls it a few times for that. Those calls are no part of what the
program does, and nothing of them is recorded. A scaffold that trains ends with the budget of the run.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
from typing import Iterator

from .. import budget

REHEARSE = "__dnnfix_rehearse__"
IS_OVER = "__dnnfix_over__"


def install() -> None:
    """Make both known to the scaffold; a script that runs without the probe does without them."""
    setattr(builtins, REHEARSE, unseen)
    setattr(builtins, IS_OVER, budget.used_up)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """A context in which calls of torch are neither recorded nor differentiated."""
    if "torch" not in sys.modules:
        yield
        return
    from ..torch.quiet import Quiet

    with Quiet():
        yield
