"""Permutes the targets of each batch in a Keras program, for the experiment that shows what is learned from noise."""

from __future__ import annotations

import sys
from typing import Any, List

from ..measures.experiments import EARLIER_KEPT, SEED
from ..measures.rows import mapped
from .values import tensors_in


class ShuffledTargets:
    """Permutes a batch's targets with a random generator of the probe's own; a single target becomes one of an
    earlier batch.
    """

    def __init__(self, seed: int) -> None:
        self.happened = False
        """Whether any batch had other targets than its own."""
        self._random: Any = sys.modules["numpy"].random.RandomState((seed + SEED) % 2**32)
        self._earlier: List[Any] = []

    def shuffled(self, y: Any) -> Any:
        """The targets that a loss is to be taken of."""
        first = next(tensors_in(y), None)
        rows = int(first.shape[0]) if first is not None and len(first.shape) else 0
        if rows == 1:
            return self._earlier_of(y)
        if not rows:
            return y
        self.happened = True
        order = self._random.permutation(rows)
        take = sys.modules["keras"].ops.take  # tensors of TensorFlow have no subscript for it
        return mapped(y, lambda item: take(item, order, axis=0) if item.shape and item.shape[0] == rows else item)

    def _earlier_of(self, y: Any) -> Any:
        self._earlier.append(y)
        del self._earlier[:-EARLIER_KEPT]
        self.happened = self.happened or len(self._earlier) > 1
        return self._earlier[int(self._random.randint(len(self._earlier)))]
