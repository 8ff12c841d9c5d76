"""Evaluations beside training: what the network comes to on rows that it does not train on, and whether they are new to it.

Rows are told apart by a hash of their numbers; those of one number throughout, as empty ones are, do not count. Where no column tells
rows apart, how often the rows of training themselves come twice says how many of another set are to be expected among them. Of the evaluations since the last step each is a pass of its own; of all, the last ones count.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

from .examples import Examples, rows_of

_MOST_TRAINED = 8192
_MOST_NUMBERS = 32_000_000
"""Numbers of all rows together that are looked at: a third of a second."""
_MOST_PASSES = 6
_MOST_ROWS = 512
_FEWEST_ROWS = 40
_AGAIN = 1.9
"""How many times as often as the usual row one comes that the data hold twice."""


class _Pass:
    def __init__(self, total: Optional[int], declared: bool) -> None:
        self.total = total
        self.declared = declared
        self.hashes: List[int] = []
        self.inputs: List[Any] = []
        self.targets: List[Any] = []
        self.predictions: List[Any] = []
        self.waiting: Any = None
        """Rows of a batch that a loss is still to be taken of."""


class HeldBack:
    """Rows of training and of the last evaluations."""

    def __init__(self) -> None:
        self._times: Dict[int, int] = {}
        self._trained = 0
        self._numbers = 0
        self._passes: List[_Pass] = []
        self._next: Optional[_Pass] = None
        self._stepped = True
        self._classes: Optional[int] = None

    def trained(self, inputs: List[Any], count: int) -> None:
        """A step was taken on `count` rows; what is evaluated from now on is of another network."""
        self._stepped, self._next = True, None
        rows = None if self._trained >= _MOST_TRAINED else rows_of(inputs, count)
        if rows is None or self._numbers + rows.size > _MOST_NUMBERS:
            return
        self._trained += count
        for one in self._hashes(rows):
            self._times[one] = self._times.get(one, 0) + 1

    def begins(self, total: Optional[int], declared: bool = False) -> None:
        """What is evaluated from now on is a pass of its own.

        `total` is how many rows it would have without a budget, where that is known; `declared` whether the program calls it validation.
        """
        self._next = _Pass(total, declared)

    def evaluated(self, inputs: List[Any]) -> None:
        """A network was called on a batch that it does not train on."""
        first = next((one for one in inputs if one.ndim), None)
        rows = None if first is None else rows_of(inputs, int(first.shape[0]))
        if rows is None or self._numbers + rows.size > _MOST_NUMBERS:
            return
        if self._stepped:
            self._passes, self._stepped = [], False
        if self._next is None or self._next not in self._passes:  # without a loader each call is a pass
            self._passes.append(self._next or _Pass(None, False))
        current = self._passes[-1]
        if len(self._passes) > _MOST_PASSES or len(current.hashes) >= _MOST_ROWS:
            return
        current.hashes += self._hashes(rows)
        current.waiting = rows

    def compared(self, target: Any, prediction: Any, classes: Optional[int]) -> None:
        """A loss was taken of what the network gave for the batch; `classes` as in `Examples.add`."""
        current = self._passes[-1] if self._passes and not self._stepped else None
        rows = current.waiting if current is not None else None
        if current is None or rows is None or not target.ndim or not prediction.ndim:
            return
        if int(target.shape[0]) == len(rows) == int(prediction.shape[0]):
            current.waiting, self._classes = None, classes
            current.inputs.append(rows)
            current.targets.append(target.reshape(len(rows), -1).astype("float64"))
            current.predictions.append(prediction.reshape(len(rows), -1).astype("float64"))

    def found(self, examples: Examples) -> List[Dict[str, Any]]:
        """Each pass of enough rows: `rows`, `declared`, `shared` (share of its rows that training knows), `repeated` (what of that is
        to be expected), `covers` (share of the rows of training among it); `skill` of the network and `simple`, of the better of the
        simple learners fitted on the rows of training, both on a step's scale; null where the loss was not taken.
        """
        told = []
        repeated = 0.0 if examples.are_told_apart() else self._repeated()
        for one in self._passes:
            if len(one.hashes) < _FEWEST_ROWS or not self._times:
                continue
            shared = sum(each in self._times for each in one.hashes) / len(one.hashes)
            covers = shared * max(one.total or 0, len(one.hashes)) / len(self._times)
            learned = self._learned(one, examples)
            told.append(
                {
                    "rows": len(one.hashes),
                    "declared": one.declared,
                    "shared": round(shared, 4),
                    "repeated": round(repeated, 4),
                    "covers": round(covers, 4),
                    "skill": learned and learned[0],
                    "simple": learned and learned[1],
                    "learner": learned and learned[2],
                }
            )
        return told

    def _hashes(self, rows: Any) -> List[int]:
        self._numbers += rows.size
        varied = rows[(rows != rows[:, :1]).any(1)] if rows.shape[1] > 1 else rows
        return [hash(row.tobytes()) for row in varied]

    def _repeated(self) -> float:
        """Share of the rows of training that the data hold twice and more: those that come about twice as often as the usual one."""
        if not self._times:
            return 0.0
        times = sorted(self._times.values())
        usual = times[len(times) // 2]
        return sum(count for count in times if count >= _AGAIN * usual) / sum(times)

    def _learned(self, one: _Pass, examples: Examples) -> Any:
        if sum(map(len, one.inputs)) < _FEWEST_ROWS or len({part.shape[1] for part in one.targets}) > 1:
            return None
        numpy: Any = sys.modules["numpy"]
        inputs, targets, predictions = (
            numpy.concatenate(part)[:_MOST_ROWS] for part in (one.inputs, one.targets, one.predictions)
        )
        return examples.beside(inputs, targets, predictions, self._classes)
