"""Skill, a measure of learning that does not depend on the loss: 1 for perfect predictions, about 0 for chance.

The kind of measure follows from the targets: classes give the accuracy beyond that of naming the commonest class,
two-valued targets the rank agreement (the area under the ROC curve, rescaled), floating-point targets the explained
variance. Small batches are pooled over the last steps, and the chance level (commonest class, spread of the targets) is
computed from all the targets so far, so that a batch of one sample does not count for a whole run.

Several steps are measured at a time, in one tensor, since a small network's step takes no longer than ten operations.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

import torch as _torch

from ..measures.skill import MOST_SAMPLES, SAMPLES_POOLED, WORST, pool

torch: Any = _torch

_MOST_PAIRED = 96
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

Pair = Tuple[Any, Any, str]
Skills = List[Optional[float]]


class Skill:
    """Computes the skill of one step after another; the order of the steps matters."""

    def __init__(self) -> None:
        self._counts: Dict[int, int] = {}
        self._correct: Deque[Tuple[int, int]] = deque()
        self._scores: Deque[Tuple[Any, Any]] = deque()
        self._errors: Deque[Tuple[float, int]] = deque()
        self._seen = 0
        self._sum: Any = None
        self._squares: Any = None

    def of_many(self, pairs: List[Pair]) -> Skills:
        """The skill that each prediction shows for its target; `None` where the two cannot be compared."""
        found: Skills = []
        for key, group in itertools.groupby(pairs, _likeness):
            members = list(group)
            predictions = torch.stack([pair[0] for pair in members])
            targets = torch.stack([pair[1] for pair in members])
            found += self._alike(predictions, targets, key[-1])
        return found

    def _alike(self, predictions: Any, targets: Any, loss: str) -> Skills:
        """The skills of steps whose predictions, and whose targets, have one shape (after the axis of the steps)."""
        nothing: Skills = [None] * len(predictions)
        if loss in _WITHOUT_TARGET or predictions[0].numel() == 0 or predictions.is_complex():
            return nothing
        if not targets.is_floating_point() and targets.dim() == predictions.dim() - 1 and loss in _CLASS_LOSSES:
            named = predictions.argmax(2 if predictions.dim() > 2 else 1)
            return self._accuracy(named, targets) if named.shape == targets.shape else nothing
        if predictions[0].numel() != targets[0].numel():
            return nothing
        predictions, targets = predictions.to(torch.float64), targets.reshape(predictions.shape).to(torch.float64)
        flat = targets.reshape(len(targets), -1)
        one_hot = self._chosen(predictions, flat, targets, loss)
        finite = torch.isfinite(predictions.reshape(len(targets), -1)).all(1)
        low, high = torch.aminmax(flat, dim=1)
        binary = ((flat == 0) | (flat.abs() == 1)).all(1) & ((flat == low[:, None]) | (flat == high[:, None])).all(1)
        kinds = zip(one_hot.tolist(), finite.tolist(), binary.tolist())
        kind = ["class" if c else "none" if not f else "binary" if b else "real" for c, f, b in kinds]
        return self._by_kind(kind, predictions, targets)

    @staticmethod
    def _chosen(predictions: Any, flat: Any, targets: Any, loss: str) -> Any:
        """For each step whether the targets are classes, said by one-hot rows or by probabilities."""
        several = predictions.dim() > 2 and predictions.shape[2] > 1
        if not several or loss in {"cross_entropy", "kl_div"}:
            return torch.full((len(flat),), several)
        two_valued = ((flat == 0) | (flat == 1)).all(1)
        return two_valued & (targets.sum(2) == 1).reshape(len(flat), -1).all(1)

    def _by_kind(self, kind: List[str], predictions: Any, targets: Any) -> Skills:
        found: Skills = [None] * len(kind)
        measures = {"class": self._classes, "binary": self._rank_agreement, "real": self._explained_variance}
        for name, measure in measures.items():
            which = [number for number, one in enumerate(kind) if one == name]
            if which:
                chosen = slice(None) if len(which) == len(kind) else which
                for number, skill in zip(which, measure(predictions[chosen], targets[chosen])):
                    found[number] = skill
        return found

    def _classes(self, predictions: Any, targets: Any) -> Skills:
        return self._accuracy(predictions.argmax(2), targets.argmax(2))

    def _accuracy(self, named: Any, wanted: Any) -> Skills:
        found: Skills = []
        right = (named == wanted).reshape(len(wanted), -1).sum(1).tolist()
        for correct, labels in zip(right, wanted.reshape(len(wanted), -1).tolist()):
            kept = [label for label in labels if label >= 0]
            for label in kept:
                self._counts[label] = self._counts.get(label, 0) + 1
            pool(self._correct, (correct, len(kept)))
            samples = sum(count for _, count in self._correct)
            commonest = max(self._counts.values(), default=0) / max(sum(self._counts.values()), 1)
            if commonest >= 1.0 or not samples:
                found.append(None)
            else:
                share = sum(part for part, _ in self._correct) / samples
                found.append((share - commonest) / (1.0 - commonest))
        return found

    def _rank_agreement(self, predictions: Any, targets: Any) -> Skills:
        scores, positive = predictions.reshape(len(predictions), -1), targets.reshape(len(targets), -1) > 0
        if not self._scores and SAMPLES_POOLED <= scores.shape[1] <= _MOST_PAIRED:
            order = torch.sign(scores[:, :, None] - scores[:, None, :])
            paired = positive[:, :, None] & ~positive[:, None, :]
            total = paired.sum((1, 2))
            shares = ((order * paired).sum((1, 2)) / total.clamp(min=1)).tolist()
            return [share if count else None for share, count in zip(shares, total.tolist())]
        return [self._pooled_rank_agreement(one, which) for one, which in zip(scores, positive)]

    def _pooled_rank_agreement(self, scores: Any, positive: Any) -> Optional[float]:
        if len(scores) > MOST_SAMPLES:
            stride = -(-len(scores) // MOST_SAMPLES)
            scores, positive = scores[::stride], positive[::stride]
        self._scores.append((scores, positive))
        while len(self._scores) > 1 and sum(len(part) for part, _ in list(self._scores)[1:]) >= SAMPLES_POOLED:
            self._scores.popleft()
        scores = torch.cat([part for part, _ in self._scores])
        positive = torch.cat([part for _, part in self._scores])
        high, low = scores[positive], scores[~positive].sort().values
        if not high.numel() or not low.numel():
            return None
        below = torch.searchsorted(low, high).sum() + torch.searchsorted(low, high, right=True).sum()
        return float(below) / int(high.numel() * low.numel()) - 1.0

    def _explained_variance(self, predictions: Any, targets: Any) -> Skills:
        steps = len(targets)
        rows = targets.reshape(steps, targets.shape[1], -1) if targets.dim() > 1 else targets.reshape(steps, 1, 1)
        if self._sum is not None and self._sum.shape != rows.shape[2:]:
            self._sum, self._seen = None, 0
        if self._sum is None:
            self._sum, self._squares = torch.zeros_like(rows[0, 0]), torch.zeros_like(rows[0, 0])
        sums = self._sum + rows.sum(1).cumsum(0)
        squares = self._squares + (rows**2).sum(1).cumsum(0)
        count = int(rows.shape[1])
        seen = self._seen + count * torch.arange(1, steps + 1, dtype=torch.float64)[:, None]
        variances = (squares / seen - (sums / seen) ** 2).sum(1).tolist()
        errors = ((predictions - targets) ** 2).reshape(steps, -1).sum(1).tolist()
        self._sum, self._squares, self._seen = sums[-1], squares[-1], self._seen + count * steps
        scale = float((squares[-1] / seen[-1]).sum())
        found: Skills = []
        for error, variance in zip(errors, variances):
            pool(self._errors, (error, count))
            if variance <= 1e-12 * scale:
                found.append(None)
                continue
            mean_error = sum(part for part, _ in self._errors) / sum(part for _, part in self._errors)
            found.append(max(1.0 - mean_error / variance, WORST))
        return found


def class_count(pair: Pair) -> Optional[int]:
    """The number of classes that a pair's targets are indices of; 0 where they are not indices, `None` where it is
    unknown.
    """
    prediction, target, loss = pair
    if loss in _WITHOUT_TARGET or prediction.is_complex() or target.dim() == 0:
        return None
    if not target.is_floating_point() and target.dim() == prediction.dim() - 1 and loss in _CLASS_LOSSES:
        return int(prediction.shape[1]) if target.dim() else None
    return 0 if prediction.numel() == target.numel() else None


def _likeness(pair: Pair) -> Tuple[Any, ...]:
    prediction, target, loss = pair
    return prediction.shape, target.shape, prediction.dtype, target.dtype, loss


def output_spreads(pairs: List[Pair]) -> List[Optional[float]]:
    """For each step the standard deviation of the prediction over the samples, averaged over the outputs.

    It is 0 for a constant output, and `None` for a batch of one sample.
    """
    found: List[Optional[float]] = []
    for _, group in itertools.groupby(pairs, _likeness):
        predictions = [pair[0] for pair in group]
        if predictions[0].dim() == 0 or predictions[0].shape[0] < 2 or predictions[0].is_complex():
            found += [None] * len(predictions)
        else:
            spread = torch.stack(predictions).to(torch.float64).std(1, correction=0)
            found += spread.reshape(len(predictions), -1).mean(1).tolist()
    return found


def norms_of(tensors: List[Any]) -> List[Any]:
    """The norm of each tensor, as tensors of no dimension: cheap, since nothing is read from them yet."""
    if all(tensor.layout == torch.strided for tensor in tensors):
        return list(torch._foreach_norm(tensors)) if tensors else []
    return [
        torch.linalg.vector_norm(tensor if tensor.layout == torch.strided else tensor.to_dense()) for tensor in tensors
    ]
