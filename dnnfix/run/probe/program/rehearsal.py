"""Two services of the probe for scaffold code: calls that are not recorded, and whether the training is over.

A scaffold that has to find out which input a network accepts calls it a few times. Those calls do not belong to the
program, so they are not recorded. A scaffold that trains stops when the budget of the run is used up.
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
    """Make both available to the scaffold as builtins; a script that runs without the probe does without them."""
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
