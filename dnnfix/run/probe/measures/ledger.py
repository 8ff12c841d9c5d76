"""What the tensor ledgers of torch and Keras share: the entry for one object, and limits for statistics."""

from __future__ import annotations

from typing import Any, Callable, Dict

LARGEST_FOR_STATISTICS = 1 << 22
"""Elements of which statistics are taken at the most."""
LARGEST_FOR_DISTINCT = 1 << 17
"""Elements that are sorted at the most, to count how many differ."""
ROW_SUM_TOLERANCE = 1e-3
"""By how much the sum of a row of probabilities may differ from one through rounding."""


class Entry:
    """The entry of a ledger for one object. `value` is the same dictionary that is written to the trace."""

    __slots__ = ("reference", "value")

    def __init__(self, reference: Callable[[], Any], value: Dict[str, Any]) -> None:
        self.reference = reference
        self.value = value
