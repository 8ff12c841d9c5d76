"""Compares training rows with other rows: skill on rows new to the network, and rows that two data sets share.

Rows are identified by a hash of their numbers; constant rows, such as empty ones, do not count.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Set

from .learners import Examples, own_inputs, rows_of

_MOST_TRAINED = 1024
_MOST_NUMBERS = 8_000_000
"""Numbers of all rows together that are looked at: 64 MB, and a tenth of a second."""
_MOST_ROWS = 512
_FEWEST_ROWS = 100
_KNOWN = 0.05
"""Share of the rows of a batch that training knows up to which the batch is new to it."""
_MOST_PARTS = 4
_DISTINCT = 40
"""Values of a column from which on it may tell rows apart."""


class HeldBack:
    """The latest evaluation of the trained network on rows that are new to it; not measured where several networks
    train.
    """

    def __init__(self) -> None:
        self._trained: Set[int] = set()
        self._rows = 0
        self._numbers = 0
        self._inputs: List[Any] = []
        self._targets: List[Any] = []
        self._predictions: List[Any] = []
        self._classes: Optional[int] = None
        self._models: Set[int] = set()
        self._step = 0
        self._taken = 0

    def step_done(self, step: int, model: int) -> None:
        """A step was taken of a model, told by its `id`: what is evaluated from now on is of another network."""
        self._step = step
        self._models.add(model)

    @property
    def full(self) -> bool:
        """Whether no more rows of training are remembered."""
        return self._rows >= _MOST_TRAINED or self._numbers >= _MOST_NUMBERS

    def trained(self, inputs: List[Any], target: Any) -> None:
        """Remember rows that a step was taken on."""
        size = sum(one.size for one in inputs)
        self._rows, self._numbers = self._rows + (len(target) if target.ndim else 0), self._numbers + size
        if size < _MOST_NUMBERS and target.ndim:
            rows = rows_of(own_inputs(inputs, target), len(target))
            self._trained.update(() if rows is None else hashes(rows))

    def compared(self, inputs: List[Any], target: Any, prediction: Any, classes: Optional[int]) -> None:
        """A loss was taken of what the network gave for a batch that it does not train on; `classes` as in `Examples.add`."""
        if self._taken != self._step:
            self._taken, self._classes = self._step, classes
            self._inputs, self._targets, self._predictions = [], [], []
        is_batch = target.ndim and prediction.ndim and len(target) == len(prediction) and classes == self._classes
        if not is_batch or sum(map(len, self._inputs)) >= _MOST_ROWS or sum(one.size for one in inputs) > _MOST_NUMBERS:
            return
        rows = rows_of(own_inputs(inputs, target), len(target))
        if rows is None or (self._inputs and rows.shape[1] != self._inputs[0].shape[1]):
            return
        known = hashes(rows)
        if sum(one in self._trained for one in known) > _KNOWN * len(known):
            return
        self._inputs.append(rows)
        self._targets.append(target.reshape(len(rows), -1).astype("float64"))
        self._predictions.append(prediction.reshape(len(rows), -1).astype("float64"))

    def found(self, examples: Examples) -> Optional[Dict[str, Any]]:
        """Of the latest evaluation: `rows`, the `step` behind which it was made, `skill` of the network and `simple`, that of the
        simple `learner` which does best on the rows of training; `None` where the rows are too few, or of a form that it does not know.
        """
        numpy: Any = sys.modules["numpy"]
        parts = self._inputs, self._targets, self._predictions
        if len(self._models) > 1 or not self._inputs or any(len({one.shape[1] for one in part}) > 1 for part in parts):
            return None
        inputs, targets, predictions = (numpy.concatenate(part)[:_MOST_ROWS] for part in parts)
        if len(inputs) < _FEWEST_ROWS:
            return None
        learned = examples.beside(inputs, targets, predictions, self._classes)
        if learned is None:
            return None
        skill, simple, learner = learned
        return {"rows": len(inputs), "step": self._taken, "skill": skill, "simple": simple, "learner": learner}


class Parts:
    """The overlap of the training data with evaluated data, where the program holds both as whole arrays."""

    def __init__(self) -> None:
        self.found: List[Dict[str, Any]] = []
        """For each pair: `rows` of the other part, `declared` (whether the program calls it validation), `shared` (share of its rows
        that the part for training has), `repeated` (share that is to be expected, as rows come twice in the part for training itself),
        `covers` (share of the part for training that is in it)."""
        self._seen: Set[Any] = set()

    def compared(self, key: Any, training: List[Any], other: List[Any], declared: bool) -> None:
        """Compare two parts, given as lists of inputs; pairs with the same `key` once."""
        if key in self._seen or len(self._seen) >= _MOST_PARTS:
            return
        self._seen.add(key)
        numbers = sum(one.size for one in training + other)
        if not training or not other or not training[0].ndim or not other[0].ndim or numbers > _MOST_NUMBERS:
            return
        own, others = rows_of(training, len(training[0])), rows_of(other, len(other[0]))
        if own is None or others is None or own.shape[1] != others.shape[1]:
            return
        trained, evaluated = hashes(own), hashes(others)
        times: Dict[int, int] = {}
        for one in trained:
            times[one] = times.get(one, 0) + 1
        if len(times) < _DISTINCT or len(evaluated) < _DISTINCT:
            return
        twice = 0.0 if _are_told_apart(own) else sum(count for count in times.values() if count > 1) / len(trained)
        whole = set(evaluated)
        self.found.append(
            {
                "rows": len(others),
                "declared": declared,
                "shared": round(sum(one in times for one in evaluated) / len(evaluated), 4),
                "repeated": round(twice, 4),
                "covers": round(sum(one in whole for one in times) / len(times), 4),
            }
        )


def hashes(rows: Any) -> List[int]:
    """A hash of each row of an array (rows, numbers), without the constant rows."""
    varied = rows[(rows != rows[:, :1]).any(1)] if rows.shape[1] > 1 else rows
    return [hash(row.tobytes()) for row in varied]


def _are_told_apart(rows: Any) -> bool:
    """Whether one column has another value in every second row, so that no two rows are the same by nature."""
    numpy: Any = sys.modules["numpy"]
    wanted = max(_DISTINCT, len(rows) // 4)
    return any(len(numpy.unique(column)) >= wanted for column in rows.T[:64])
