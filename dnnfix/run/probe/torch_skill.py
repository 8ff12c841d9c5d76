"""How much was learned, on a scale that does not depend on the loss: 1 for perfect, about 0 for guessing.

The kind of measure follows from the targets: classes give the accuracy beyond that of naming the commonest class,
two-valued targets the rank agreement (the area under the ROC curve, rescaled), real targets the explained variance.
Small batches are pooled over the last steps, and what guessing means (commonest class, spread of the targets) is learnt
from all the targets so far, so that a batch of one sample does not count for a whole run.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

import torch as _torch

torch: Any = _torch

_SAMPLES_POOLED = 32
_MOST_SAMPLES = 4096
_WORST = -10.0
_CLASS_LOSSES = frozenset({"cross_entropy", "nll_loss", "multi_margin_loss"})
_WITHOUT_TARGET = frozenset(
    {
        "ctc_loss",
        "triplet_margin_loss",
        "triplet_margin_with_distance_loss",
        "margin_ranking_loss",
        "cosine_embedding_loss",
        "hinge_embedding_loss",
    }
)


class Skill:
    """Computes the skill of one step after another; the order of the steps matters."""

    def __init__(self) -> None:
        self._counts: Dict[int, int] = {}
        self._correct: Deque[Tuple[int, int]] = deque()
        self._scores: Deque[Tuple[Any, Any]] = deque()
        self._errors: Deque[Tuple[float, int]] = deque()
        self._seen = 0
        self._mean: Any = None
        self._spread: Any = None

    def of(self, prediction: Any, target: Any, loss: str) -> Optional[float]:
        """The skill shown by a prediction for a target; `None` where the two cannot be compared."""
        if loss in _WITHOUT_TARGET or prediction.numel() == 0 or prediction.is_complex():
            return None
        classes = _as_classes(prediction, target, loss)
        if classes is not None:
            return self._accuracy(*classes)
        if prediction.numel() != target.numel():
            return None
        target = target.reshape(prediction.shape).to(torch.float64)
        prediction = prediction.to(torch.float64)
        if not bool(torch.isfinite(prediction).all()):
            return None
        low, high = torch.aminmax(target)
        if bool(((target == low) | (target == high)).all()) and {float(low), float(high)} <= {-1.0, 0.0, 1.0}:
            return self._rank_agreement(prediction.reshape(-1), target.reshape(-1) > 0)
        return self._explained_variance(prediction, target)

    def _accuracy(self, named: Any, wanted: Any) -> Optional[float]:
        for label in wanted.tolist():
            self._counts[label] = self._counts.get(label, 0) + 1
        _pool(self._correct, (int((named == wanted).sum()), int(wanted.numel())))
        samples = sum(count for _, count in self._correct)
        commonest = max(self._counts.values(), default=0) / max(sum(self._counts.values()), 1)
        if commonest >= 1.0 or not samples:
            return None
        return (sum(right for right, _ in self._correct) / samples - commonest) / (1.0 - commonest)

    def _rank_agreement(self, scores: Any, positive: Any) -> Optional[float]:
        if scores.numel() > _MOST_SAMPLES:
            stride = -(-scores.numel() // _MOST_SAMPLES)
            scores, positive = scores[::stride], positive[::stride]
        self._scores.append((scores, positive))
        while len(self._scores) > 1 and sum(len(part) for part, _ in list(self._scores)[1:]) >= _SAMPLES_POOLED:
            self._scores.popleft()
        scores = torch.cat([part for part, _ in self._scores])
        positive = torch.cat([part for _, part in self._scores])
        high, low = scores[positive], scores[~positive].sort().values
        if not high.numel() or not low.numel():
            return None
        below = torch.searchsorted(low, high).sum() + torch.searchsorted(low, high, right=True).sum()
        return float(below) / int(high.numel() * low.numel()) - 1.0

    def _explained_variance(self, prediction: Any, target: Any) -> Optional[float]:
        rows = target.reshape(target.shape[0], -1) if target.dim() > 1 else target.reshape(-1, 1)
        if self._mean is not None and self._mean.shape != rows.shape[1:]:
            rows = rows.reshape(-1, 1)
            if self._mean.shape != rows.shape[1:]:
                self._mean, self._seen = None, 0
        if self._mean is None:
            self._mean, self._spread = torch.zeros_like(rows[0]), torch.zeros_like(rows[0])
        count, mean = len(rows), rows.mean(0)
        shift, total = mean - self._mean, self._seen + count
        self._spread = self._spread + ((rows - mean) ** 2).sum(0) + shift**2 * self._seen * count / total
        self._mean = self._mean + shift * count / total
        self._seen = total
        _pool(self._errors, (float(((prediction - target) ** 2).sum()), count))
        variance = float(self._spread.sum()) / self._seen
        if variance <= 0.0:
            return None
        error = sum(part for part, _ in self._errors) / sum(part for _, part in self._errors)
        return max(1.0 - error / variance, _WORST)


def _pool(window: Deque[Any], latest: Any) -> None:
    """Add the latest step, and forget the ones that are not needed to have enough samples."""
    window.append(latest)
    while len(window) > 1 and sum(count for _, count in list(window)[1:]) >= _SAMPLES_POOLED:
        window.popleft()


def _as_classes(prediction: Any, target: Any, loss: str) -> Optional[Tuple[Any, Any]]:
    """(classes named, classes wanted), both flat, where the targets are classes."""
    if not target.is_floating_point() and target.dim() == prediction.dim() - 1 and loss in _CLASS_LOSSES:
        axis = 1 if prediction.dim() > 1 else 0
        named, wanted = prediction.argmax(axis).reshape(-1), target.reshape(-1)
        if named.shape != wanted.shape:
            return None
        kept = wanted >= 0
        return named[kept], wanted[kept]
    several = prediction.shape == target.shape and prediction.dim() > 1 and prediction.shape[1] > 1
    if several and (loss in {"cross_entropy", "kl_div"} or _is_one_hot(target)):
        return prediction.argmax(1).reshape(-1), target.argmax(1).reshape(-1)
    return None


def _is_one_hot(target: Any) -> bool:
    two_valued = bool(((target == 0) | (target == 1)).all())
    return two_valued and bool((target.sum(1) == 1).all())


def output_spread(prediction: Any) -> Optional[float]:
    """The standard deviation over the samples of a batch, averaged over the outputs; 0 for a constant output."""
    if prediction.dim() == 0 or prediction.shape[0] < 2 or prediction.is_complex():
        return None
    return float(prediction.to(torch.float64).std(0, correction=0).mean())


def norm_of(tensors: List[Any]) -> Any:
    """The norm of all the tensors' elements together, as a tensor of no dimension; `None` for no tensors."""
    if not tensors:
        return None
    if len(tensors) == 1:
        return torch.linalg.vector_norm(tensors[0])
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(tensors)))
