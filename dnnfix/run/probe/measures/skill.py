"""The skill of a Keras program's steps on numpy arrays, where torch, and so `torch/skill.py`, is not installed."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any, Deque, Dict, Optional, Tuple

from .learners import agreement

SAMPLES_POOLED = 32
"""Samples that small batches are pooled to, over the last steps."""
MOST_SAMPLES = 4096
"""Samples of one step whose order is looked at."""
WORST = -10.0
"""The least that an explained variance counts."""


class Skill:
    """Computes the skill of one step after another; the order of the steps matters."""

    def __init__(self) -> None:
        self._counts: Dict[int, int] = {}
        self._correct: Deque[Tuple[Any, int]] = deque()
        self._scores: Deque[Tuple[Any, int]] = deque()
        self._errors: Deque[Tuple[Any, int]] = deque()
        self._seen = 0
        self._sum: Any = 0.0
        self._squares: Any = 0.0

    def of_classes(self, named: Any, wanted: Any) -> Optional[float]:
        """The accuracy of the classes named, beyond that of naming the commonest class so far; labels below 0 do not count."""
        numpy: Any = sys.modules["numpy"]
        if named.shape != wanted.shape:
            return None
        labels = wanted[wanted >= 0].reshape(-1)
        for label, count in zip(*numpy.unique(labels, return_counts=True)):
            self._counts[int(label)] = self._counts.get(int(label), 0) + int(count)
        pool(self._correct, (int((named == wanted).sum()), len(labels)))
        samples = sum(count for _, count in self._correct)
        commonest = max(self._counts.values(), default=0) / max(sum(self._counts.values()), 1)
        if commonest >= 1.0 or not samples:
            return None
        return float((sum(part for part, _ in self._correct) / samples - commonest) / (1.0 - commonest))

    def of_values(self, prediction: Any, target: Any) -> Optional[float]:
        """Rank agreement where the targets are two-valued, else explained variance; both arrays have one shape."""
        numpy: Any = sys.modules["numpy"]
        prediction, target = prediction.astype("float64"), target.astype("float64")
        if not prediction.size or not numpy.isfinite(prediction).all():
            return None
        several = target.ndim > 1 and target.shape[-1] > 1
        zeros_and_ones = bool(((target == 0) | (target == 1)).all())
        if several and zeros_and_ones and bool((target.sum(-1) == 1).all()):
            return self.of_classes(prediction.argmax(-1), target.argmax(-1))
        values = numpy.unique(target)
        if len(values) <= 2 and bool(((values == 0) | (numpy.abs(values) == 1)).all()):
            return self._rank_agreement(numpy, prediction.reshape(-1), target.reshape(-1))
        return self._explained_variance(prediction, target)

    def _rank_agreement(self, numpy: Any, scores: Any, wanted: Any) -> Optional[float]:
        stride = -(-len(scores) // MOST_SAMPLES)
        pool(self._scores, (numpy.stack([scores, wanted > 0])[:, ::stride], len(scores[::stride])))
        scores, wanted = numpy.concatenate([part for part, _ in self._scores], axis=1)
        return agreement(numpy, scores, wanted)

    def _explained_variance(self, prediction: Any, target: Any) -> Optional[float]:
        rows = target.reshape(len(target), -1) if target.ndim else target.reshape(1, 1)
        self._seen += len(rows)
        self._sum = self._sum + rows.sum(0)
        self._squares = self._squares + (rows**2).sum(0)
        pool(self._errors, (float(((prediction - target) ** 2).sum()), len(rows)))
        variance = float((self._squares / self._seen - (self._sum / self._seen) ** 2).sum())
        if variance <= 1e-12 * float((self._squares / self._seen).sum()):
            return None
        error = sum(part for part, _ in self._errors) / sum(count for _, count in self._errors)
        return float(max(1.0 - error / variance, WORST))


def pool(window: Deque[Any], latest: Any) -> None:
    """Append the latest step, and drop earlier ones that are not needed to have enough samples."""
    window.append(latest)
    while len(window) > 1 and sum(count for _, count in list(window)[1:]) >= SAMPLES_POOLED:
        window.popleft()
