"""Collects the rows that a Keras program trains on and evaluates, for the experiments that a job asks for."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Set, Tuple

from ..guard import guarded
from ..measures.experiments import TrainingRows
from .values import as_array, tensors_in


class TrainingData:
    """Puts rows aside, as far as a job asks for them."""

    def __init__(self, wanted: Set[str]) -> None:
        self._rows = TrainingRows(wanted)
        self._batches = 0

    def tell(self) -> None:
        """Write what was asked for."""
        self._rows.tell()

    @guarded
    def saw_batch(self, inputs: Any, target: Any, prediction: Any, model: int = 0) -> None:
        """Put the rows of a step aside, with the targets that their predictions are compared with."""
        rows = self._rows
        first = as_array(next(tensors_in(target), None)) if rows.answers is not None else None
        if rows.answers is not None and first is not None and first.dtype.kind in "biuf":
            rows.answers.add(_numbers(inputs), first)
        compared = self._compared(target, prediction)
        if compared is None:
            return
        self._batches += 1
        rows.held_back.step_done(self._batches, model)
        if not rows.full:
            rows.trained(_numbers(inputs), *compared)

    @guarded
    def saw_evaluation(self, inputs: Any, target: Any, prediction: Any) -> None:
        """The same of a batch that is not trained on."""
        compared = self._compared(target, prediction)
        made = as_array(next(tensors_in(prediction), None))
        if compared is not None and made is not None:
            labels, classes = compared
            self._rows.held_back.compared(_numbers(inputs), labels, made, classes)

    @guarded
    def saw_parts(self, training: Any, other: Any) -> None:
        """`fit` was given data to validate on beside those to train on."""
        if self._rows.examples is not None:
            key = (id(training), id(other))
            self._rows.parts.compared(key, _numbers(training), _numbers(other), declared=True)

    def _compared(self, target: Any, prediction: Any) -> Optional[Tuple[Any, Optional[int]]]:
        """The first target, and how many classes it is indices of, where it is; `None` where it does not go with the prediction."""
        wanted, given = next(tensors_in(target), None), next(tensors_in(prediction), None)
        if self._rows.examples is None or wanted is None or given is None:
            return None
        labels = as_array(wanted)
        sizes = [int(size) for size in given.shape]
        if labels is None or labels.dtype.kind not in "biuf" or len(sizes) < 2:
            return None
        per_row = math.prod(labels.shape[1:])
        indices = len(sizes) == 2 and sizes[1] > 1 and per_row == 1
        return (labels, sizes[1] if indices else None) if indices or per_row == math.prod(sizes[1:]) else None


def _numbers(inputs: Any) -> List[Any]:
    arrays = [as_array(item) for item in tensors_in(inputs)]
    return [one for one in arrays if one is not None and one.dtype.kind in "biuf"]
