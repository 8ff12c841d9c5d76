"""Measurements on a trained Keras model that a job asks for, made after the program has ended.

A few samples of each model's first batch are put aside. At the end the model is called on them and on changed copies,
in inference mode and with the random state put back.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from .. import wire
from ..guard import guarded
from ..measures import rows
from ..measures.experiments import OF_TRAINING, SAMPLES_KEPT, SEED, TINY, adversarial, on_other_sizes
from ..measures.rows import mapped
from .calls import Recorder
from .names import is_transparent
from .values import as_array, is_symbolic, tensors_in


class _Seen:
    """A model's first batch, cut to a few samples, with the loss that was taken of it."""

    def __init__(self, model: Any, args: Any, kwargs: Any) -> None:
        self.model = model
        self.args = _few(args)
        self.kwargs = {
            key: value for key, value in kwargs.items() if key not in ("training", "mask") and value is not None
        }
        self.batch = _batch_of(args)
        self.kept = _batch_of(self.args)
        self.output: Any = None
        self.output_shape: Optional[List[int]] = None
        self.loss: Any = None
        self.target: Any = None


class Experiments:
    """Carries out the experiments that a job asks for."""

    def __init__(self, wanted: Set[str], seed: int, recorder: Recorder) -> None:
        self._wanted = wanted - OF_TRAINING
        self._recorder = recorder
        self._seen: Dict[int, _Seen] = {}
        self._seed = (seed + SEED) % 2**32
        self._random: Any = None

    def _generator(self) -> Any:
        """Randomness of the probe's own, so that none of the program's is used up."""
        if self._random is None:
            self._random = sys.modules["numpy"].random.RandomState(self._seed)
        return self._random

    @guarded
    def saw_input(self, model: Any, args: Any, kwargs: Any) -> None:
        """Put a model's first batch aside."""
        wanted = bool(self._wanted) and is_transparent(model) and id(model) not in self._seen
        if wanted and not any(is_symbolic(item) for item in tensors_in([args, kwargs])):
            self._seen[id(model)] = _Seen(model, args, kwargs)

    @guarded
    def saw_output(self, model: Any, output: Any) -> None:
        """Remember the first output."""
        seen = self._seen.get(id(model))
        first = next(tensors_in(output), None)
        if seen is not None and seen.output_shape is None and first is not None:
            seen.output = first
            seen.output_shape = [int(size) for size in first.shape]

    @guarded
    def saw_loss(self, loss: Any, target: Any, prediction: Any) -> None:
        """Where a loss is taken of a model's first output, remember how to compute it again."""
        for seen in self._seen.values():
            if loss is not None and seen.loss is None and seen.output is not None and seen.output is prediction:
                seen.loss, seen.target = loss, _few(target)
                seen.output = None

    def run(self) -> None:
        """Make the measurements and write them."""
        measures: Dict[str, Callable[[_Seen], Any]] = {
            "batch-sizes": self._batch_sizes,
            "input-dependence": self._input_dependence,
            "adversarial": self._adversarial,
            "information": self._information,
            "rows-apart": self._rows_apart,
        }
        seen = max(self._seen.values(), key=lambda one: _size(one.model), default=None)
        for name, measure in measures.items():
            if name in self._wanted:
                wire.emit("probe", name=name, value=self._measured(measure, seen) if seen is not None else None)

    @guarded
    def _measured(self, measure: Callable[[_Seen], Any], seen: _Seen) -> Any:
        with _undisturbed(seen.model):
            return measure(seen)

    def _output(self, seen: _Seen, args: Any) -> Any:
        return next(self._outputs(seen, args, seen.kwargs), None)

    def _outputs(self, seen: _Seen, args: Any, kwargs: Any) -> Iterator[Any]:
        kwargs = dict(kwargs)
        if getattr(seen.model, "_call_has_training_arg", False):
            kwargs["training"] = False
        return tensors_in(seen.model(*args, **kwargs))

    def _batch_sizes(self, seen: _Seen) -> Any:
        was = seen.output_shape
        if seen.kept is None or was is None:
            return None
        axis = 0 if was and was[0] == seen.batch else None
        return on_other_sizes(lambda size: self._output(seen, _resized(seen, size)), was, axis)

    def _input_dependence(self, seen: _Seen) -> Any:
        others = mapped(seen.args, self._other)
        if not _differ(seen.args, others):
            return None
        before = as_array(self._output(seen, seen.args))
        after = as_array(self._output(seen, others))
        if before is None or after is None or before.shape != after.shape:
            return None
        before, after = before.astype("float64"), after.astype("float64")
        return float((((after - before) ** 2).sum() ** 0.5) / ((before**2).sum() ** 0.5 + TINY))

    def _other(self, item: Any) -> Any:
        """Another input of the same kind: the samples in another order, or disturbed where there is only one."""
        array = as_array(item)
        numpy: Any = sys.modules["numpy"]
        if array is None or array.ndim == 0:
            return item
        if array.shape[0] > 1 and bool((array != array[:1]).any()):
            return item[numpy.roll(numpy.arange(array.shape[0]), 1)] if not hasattr(item, "roll") else item.roll(1, 0)
        if array.dtype.kind == "f":
            noise = self._generator().standard_normal(array.shape) * (float(array.std()) + 0.1)
            return _like(item, (array + noise).astype(array.dtype))
        return _like(item, (array + 1) % (array.max() + 1))

    def _adversarial(self, seen: _Seen) -> Any:
        torch: Any = sys.modules.get("torch")
        entered = next(tensors_in(seen.args), None)
        if torch is None or seen.loss is None or not isinstance(entered, torch.Tensor):
            return None
        if not entered.is_floating_point():
            return None

        def loss(other: Any) -> Any:
            args = mapped(seen.args, lambda item: other if item is entered else item)
            return seen.loss(seen.target, self._output(seen, args))

        return adversarial(torch, entered, loss)

    def _information(self, seen: _Seen) -> Any:
        """The share of what was given to `fit` that reaches the first layer of the model."""
        entered = self._recorder.given
        first = next(tensors_in(seen.args), None)
        if first is None or not entered or not seen.kept:
            return None
        sizes = [math.prod(shape[1:]) for shape in entered]
        reached = sum(math.prod(item.shape[1:]) for item in tensors_in(seen.args))
        return min(1.0, reached / sum(sizes)) if sum(sizes) else None

    def _rows_apart(self, seen: _Seen) -> Any:
        """Keras has the batch on the first axis."""
        inputs = [seen.args, seen.kwargs]

        def call(given: Any) -> List[Any]:
            args, kwargs = mapped(given, _copy)
            arrays = map(as_array, self._outputs(seen, args, kwargs))
            return [array.astype("float64") for array in arrays if array is not None and array.dtype.kind == "f"]

        try:
            return rows.apart(call, inputs, 0, seen.kept or 0)
        except Exception:
            return None  # what goes in beside the batch may have its size, too, along another axis


def _resized(seen: _Seen, size: int) -> Any:
    """The batch with `size` samples, the kept ones in turn."""
    order = [index % (seen.kept or 1) for index in range(size)]
    return mapped(seen.args, lambda item: item[order] if _rows(item) == seen.kept else item)


def _differ(items: Any, others: Any) -> bool:
    """Whether any array of the one structure differs from its counterpart in the other."""
    pairs = zip(tensors_in(items), tensors_in(others))
    arrays = [(as_array(item), as_array(other)) for item, other in pairs]
    return any(a is None or b is None or bool((a != b).any()) for a, b in arrays)


def _few(item: Any) -> Any:
    return mapped(item, lambda one: _copy(one[:SAMPLES_KEPT] if one.shape else one))


def _copy(item: Any) -> Any:
    if hasattr(item, "detach"):
        return item.detach().clone()
    if hasattr(item, "numpy"):  # rows of a tensor of TensorFlow cannot be picked by a list
        return item.numpy()
    return item.copy() if hasattr(item, "copy") else item


def _like(item: Any, array: Any) -> Any:
    torch: Any = sys.modules.get("torch")
    return torch.from_numpy(array).to(item.device) if torch is not None and isinstance(item, torch.Tensor) else array


def _rows(item: Any) -> Optional[int]:
    return int(item.shape[0]) if getattr(item, "shape", None) else None


def _batch_of(args: Any) -> Optional[int]:
    first = next(tensors_in(args), None)
    return _rows(first) if first is not None else None


def _size(model: Any) -> int:
    return sum(math.prod(weight.shape) for weight in getattr(model, "weights", ()))


@contextlib.contextmanager
def _undisturbed(model: Any) -> Iterator[None]:
    """Silence and no gradients within; state and randomness as before afterwards."""
    torch: Any = sys.modules.get("torch")
    weights = [
        (one, as_array(getattr(one, "value", one)).copy()) for one in getattr(model, "non_trainable_variables", ())
    ]
    state = torch.get_rng_state() if torch is not None else None
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            with torch.no_grad() if torch is not None else contextlib.nullcontext():
                yield
        finally:
            if torch is not None:
                torch.set_rng_state(state)
            for variable, value in weights:
                variable.assign(value)
