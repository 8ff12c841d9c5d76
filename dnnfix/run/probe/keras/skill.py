"""Skill, output spread and norms of a Keras program's steps, by the same measures as for torch.

Targets in the forms of Keras (classes on the last axis, class indices in a column, numbers of any dtype) are brought
into the form that the measures expect.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any, Dict, List, Optional, Tuple

from .values import as_array

_BY_CLASS = frozenset({"CategoricalCrossentropy", "CategoricalFocalCrossentropy", "CategoricalHinge", "KLDivergence",
                       "categorical_crossentropy", "kl_divergence"})  # fmt: skip
_BY_INDEX = frozenset({"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy"})


class Measure:
    """Measures steps; the order of the steps matters."""

    def __init__(self) -> None:
        self._skills: Dict[Any, Any] = {}
        torch: Any = sys.modules.get("torch")
        self._torch = torch

    def of_many(self, pairs: List[Any]) -> List[Tuple[Optional[float], Optional[float]]]:
        """(skill, spread of the output) for each (prediction, target, loss, model); `None` for what cannot be measured."""
        torch = self._torch
        if torch is None:
            return [(self._plain(*pair), _numpy_spread(pair[0])) for pair in pairs]
        from ..torch.skill import output_spreads

        found: List[Tuple[Optional[float], Optional[float]]] = []
        with torch.no_grad():
            for key, group in itertools.groupby(pairs, lambda pair: pair[2:]):
                formed = [self._formed(*pair[:3]) for pair in group]
                known = [pair for pair in formed if pair is not None]
                skills, spreads = iter(self._skill_of(key).of_many(known)), iter(output_spreads(known))
                found += [(None, None) if pair is None else (next(skills), next(spreads)) for pair in formed]
        return found

    def _plain(self, prediction: Any, target: Any, loss: str, *model: Any) -> Optional[float]:
        """The skill of one pair, without torch."""
        from ..measures.skill import Skill

        made, wanted = as_array(prediction), as_array(target)
        if made is None or wanted is None or {made.dtype.kind, wanted.dtype.kind} - set("biuf") or not made.ndim:
            return None
        known = self._skills.setdefault((loss, *model), Skill())
        name = loss.rpartition(".")[2]
        whole = wanted[..., 0] if wanted.ndim == made.ndim and wanted.shape[-1] == 1 else wanted
        as_classes = made.ndim == whole.ndim + 1 and made.shape[:-1] == whole.shape and made.shape[-1] > 1
        if as_classes and (name in _BY_INDEX or whole.dtype.kind in "iu"):
            found: Optional[float] = known.of_classes(made.argmax(-1), whole.astype("int64"))
        elif name in _BY_CLASS and made.shape == wanted.shape and made.shape[-1] > 1:
            found = known.of_classes(made.argmax(-1), wanted.argmax(-1))
        else:
            wanted = wanted[..., None] if wanted.ndim == made.ndim - 1 and made.shape[-1] == 1 else wanted
            found = known.of_values(made, wanted) if made.shape == wanted.shape else None
        return found

    def _skill_of(self, key: Any) -> Any:
        """What was learnt of the targets of one model and loss: those of another say nothing about them."""
        from ..torch.skill import Skill

        if key not in self._skills:
            self._skills[key] = Skill()
        return self._skills[key]

    def _formed(self, prediction: Any, target: Any, loss: str) -> Any:
        prediction, target = self._tensor(prediction), self._tensor(target)
        if prediction is None or target is None:
            return None
        return _as_torch_does(self._torch, prediction, target, loss.rpartition(".")[2])

    def norm(self, tensors: List[Any]) -> Any:
        """The norm of all the tensors' elements together."""
        if not tensors:
            return None
        if self._torch is not None and all(isinstance(one, self._torch.Tensor) for one in tensors):
            with self._torch.no_grad():
                return self._torch.linalg.vector_norm(self._torch.stack(self._torch._foreach_norm(list(tensors))))
        total = 0.0
        for one in tensors:
            array = as_array(getattr(one, "values", None) if hasattr(one, "indices") else one)
            total += float((array.astype("float64") ** 2).sum()) if array is not None else 0.0
        return total**0.5

    @staticmethod
    def norm_in_graph(tensors: List[Any]) -> Any:
        """The same as a tensor of TensorFlow, within a function that is being traced."""
        return sys.modules["tensorflow"].linalg.global_norm(tensors)

    def _tensor(self, item: Any) -> Any:
        if isinstance(item, self._torch.Tensor):
            return item
        array = as_array(item)
        return self._torch.from_numpy(array.copy()) if array is not None and array.dtype.kind in "biuf" else None


def _as_torch_does(torch: Any, prediction: Any, target: Any, loss: str) -> Tuple[Any, Any, str]:
    if loss in _BY_INDEX or _looks_like_indices(prediction, target):
        if target.dim() == prediction.dim() and target.shape[-1] == 1:
            target = target[..., 0]
        return (
            prediction.movedim(-1, 1) if prediction.dim() > 2 else prediction,
            target.to(torch.int64),
            "cross_entropy",
        )
    if loss in _BY_CLASS and prediction.dim() > 1 and prediction.shape == target.shape and prediction.shape[-1] > 1:
        return prediction.movedim(-1, 1), target.movedim(-1, 1), "cross_entropy"
    return (*_of_one_width(torch, prediction, target), loss)


def _of_one_width(torch: Any, prediction: Any, target: Any) -> Tuple[Any, Any]:
    """One value per sample repeated against several, as the loss does: how well each of the several is met."""
    if target.dim() == prediction.dim() - 1:
        target = target[..., None]
    one = 1 in (prediction.shape[-1:] + target.shape[-1:])
    if one and prediction.dim() > 1 and prediction.shape[:-1] == target.shape[:-1]:
        prediction, target = torch.broadcast_tensors(prediction, target)
    return prediction, target


def _looks_like_indices(prediction: Any, target: Any) -> bool:
    """Whether a loss of the program's own is given classes as indices."""
    return (
        not target.is_floating_point()
        and prediction.dim() == target.dim() + 1
        and prediction.shape[:-1] == target.shape
        and prediction.shape[-1] > 1
    )


def _numpy_spread(prediction: Any) -> Optional[float]:
    array = as_array(prediction)
    if array is None or array.ndim == 0 or array.shape[0] < 2:
        return None
    return float(array.astype("float64").std(0).mean())
