"""The names of the parts of a network that a library was at work on when it refused something.

A library that is told which parts to change (`target_modules` of `peft`) says which it did not find, and not which there
are. The frames that the exception left still hold the network.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Dict

from .. import sites

_MOST = 300
"""Parts that are told; those of layers in a row count once."""

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


def parts_of(error: BaseException) -> Dict[str, str]:
    """The parts without parts of their own, by dotted name, a `*` in place of a number, and the class of each."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(error, ValueError):
        return {}
    entries = list(sites.every_entry(error.__traceback__))
    if not entries or sites.is_user_frame(entries[-1].tb_frame):
        return {}
    for entry in reversed(entries):
        values = [value for value in entry.tb_frame.f_locals.values() if isinstance(value, torch.nn.Module)]
        # A layer whose constructor refused its arguments has no parts yet.
        networks = [value for value in values if "_modules" in vars(value)]
        found = [_leaves(network) for network in networks]
        if any(found):
            return max(found, key=len)
    return {}


def _leaves(network: Any) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for name, part in network.named_modules():
        if name and not part._modules and len(found) < _MOST:
            found[_NUMBER.sub("*", name)] = type(part).__name__
    return found
