"""Permutes the targets of each batch in a torch program, for the experiment that shows what is learned from noise."""

from __future__ import annotations

from typing import Any, List

import torch as _torch

from ..measures.experiments import EARLIER_KEPT, SEED

torch: Any = _torch


class ShuffledTargets:
    """Permutes a batch's targets with a random generator of the probe's own; a single target becomes one of an
    earlier batch.
    """

    def __init__(self, seed: int) -> None:
        self.happened = False
        """Whether any batch had other targets than its own."""
        self._generator = torch.Generator().manual_seed(seed + SEED)
        self._earlier: List[Any] = []

    def shuffled(self, target: Any) -> Any:
        """The targets that a loss is to be taken of."""
        if target.dim() == 0 or target.shape[0] < 2:
            return self._earlier_of(target)
        self.happened = True
        order = torch.randperm(target.shape[0], generator=self._generator)
        return target[order.to(target.device)]

    def _earlier_of(self, target: Any) -> Any:
        self._earlier.append(target.detach().clone())
        del self._earlier[:-EARLIER_KEPT]
        alike = [one for one in self._earlier if one.shape == target.shape and one.dtype == target.dtype]
        self.happened = self.happened or len(alike) > 1
        return alike[int(torch.randint(len(alike), (1,), generator=self._generator))]
