"""Measurements on a trained Keras model, made when the program has ended, so that the run itself stays as it is.

A few samples of each model's first batch are put aside. At the end the model is called on them and on changed copies,
in inference mode and with the random state put back.
"""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional

from .. import wire
from ..guard import guarded
from ..measures import rows
from ..measures.answers import Answers
from ..measures.learners import Examples
from ..measures.new_rows import HeldBack, Parts
from ..measures.rows import mapped
from .calls import Recorder
from .components import Components
from .names import is_transparent
from .unit_listener import Listener
from .values import as_array, is_symbolic, tensors_in

_SAMPLES_KEPT = 16
_EARLIER_KEPT = 64
"""Targets of earlier steps among which one is drawn for a batch of one."""
_BATCH_SIZES = (1, 3, 5)
_STEP_SHARE = 0.01
_TINY = 1e-12
_SEED = 20_240_229
_OF_TRAINING = frozenset({"shuffle-targets", "reference", "units", "answers"})
"""Experiments on the steps of training themselves, not on the model once it is trained."""


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

    def __init__(self, job: Dict[str, Any], recorder: Recorder, components: Components) -> None:
        self._wanted = set(job.get("experiments", ()))
        self._measuring = bool(self._wanted - _OF_TRAINING)
        self._examples = Examples() if "reference" in self._wanted else None
        self._answers = Answers() if "answers" in self._wanted else None
        self._held_back, self._parts = HeldBack(), Parts()
        self._batches = 0
        self.listener = Listener(components, recorder) if "units" in self._wanted else None
        self._recorder = recorder
        self._seen: Dict[int, _Seen] = {}
        self._shuffled = False
        self._earlier: List[Any] = []
        self._seed = int(job.get("seed", 0)) + _SEED
        self._random: Any = None

    @property
    def shuffle(self) -> Optional[Callable[[Any], Any]]:
        """What makes other targets of a batch's targets, where the job asks for that."""
        return self._shuffle if "shuffle-targets" in self._wanted else None

    def _generator(self) -> Any:
        """Randomness of the probe's own, so that none of the program's is used up."""
        if self._random is None:
            self._random = sys.modules["numpy"].random.RandomState(self._seed % 2**32)
        return self._random

    def _shuffle(self, y: Any) -> Any:
        first = next(tensors_in(y), None)
        if first is not None and len(first.shape) and int(first.shape[0]) == 1:
            return self._earlier_of(y)
        if first is None or not len(first.shape) or int(first.shape[0]) < 2:
            return y
        order = self._generator().permutation(int(first.shape[0]))
        take = sys.modules["keras"].ops.take  # tensors of TensorFlow have no subscript for it
        changed = mapped(
            y, lambda item: take(item, order, axis=0) if item.shape and item.shape[0] == len(order) else item
        )
        self._shuffled = True
        return changed

    def _earlier_of(self, y: Any) -> Any:
        self._earlier.append(y)
        del self._earlier[:-_EARLIER_KEPT]
        self._shuffled = self._shuffled or len(self._earlier) > 1
        return self._earlier[int(self._generator().randint(len(self._earlier)))]

    @guarded
    def saw_batch(self, inputs: Any, target: Any, prediction: Any, model: int = 0) -> None:
        """Put the rows of a step aside, with the targets that their predictions are compared with."""
        first = as_array(next(tensors_in(target), None)) if self._answers is not None else None
        if self._answers is not None and first is not None and first.dtype.kind in "biuf":
            self._answers.add(_numbers(inputs), first)
        compared = self._compared(target, prediction)
        if self._examples is None or compared is None:
            return
        self._batches += 1
        self._held_back.step_done(self._batches, model)
        if not (self._examples.full and self._held_back.full):
            labels, classes = compared
            arrays = _numbers(inputs)
            self._examples.add(arrays, labels, classes)
            if not self._held_back.full:
                self._held_back.trained(arrays, labels)

    @guarded
    def saw_evaluation(self, inputs: Any, target: Any, prediction: Any) -> None:
        """The same of a batch that is not trained on."""
        compared = self._compared(target, prediction)
        made = as_array(next(tensors_in(prediction), None))
        if compared is not None and made is not None:
            labels, classes = compared
            self._held_back.compared(_numbers(inputs), labels, made, classes)

    @guarded
    def saw_parts(self, training: Any, other: Any) -> None:
        """`fit` was given data to validate on beside those to train on."""
        if self._examples is not None:
            key = (id(training), id(other))
            self._parts.compared(key, _numbers(training), _numbers(other), declared=True)

    def _compared(self, target: Any, prediction: Any) -> Any:
        """The first target, and how many classes it is indices of, where it is; `None` where it does not go with the prediction."""
        wanted, given = next(tensors_in(target), None), next(tensors_in(prediction), None)
        if self._examples is None or wanted is None or given is None:
            return None
        labels = as_array(wanted)
        sizes = [int(size) for size in given.shape]
        if labels is None or labels.dtype.kind not in "biuf" or len(sizes) < 2:
            return None
        per_row = _product(labels.shape[1:])
        indices = len(sizes) == 2 and sizes[1] > 1 and per_row == 1
        return (labels, sizes[1] if indices else None) if indices or per_row == _product(sizes[1:]) else None

    @guarded
    def saw_input(self, model: Any, args: Any, kwargs: Any) -> None:
        """Put a model's first batch aside."""
        wanted = self._measuring and is_transparent(model) and id(model) not in self._seen
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
        if "shuffle-targets" in self._wanted:
            wire.emit("probe", name="shuffle-targets", value=self._shuffled)
        if self._answers is not None:
            wire.emit("probe", name="answers", value=self._answers.found())
        if self._examples is not None:
            wire.emit("probe", name="reference", value=guarded(self._examples.reference)())
            wire.emit("probe", name="held-back", value=guarded(self._held_back.found)(self._examples))
            wire.emit("probe", name="parts", value=self._parts.found)
        if self.listener is not None:
            wire.emit("probe", name="units", value=guarded(self.listener.units.found)())
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
        if seen.kept is None or seen.output_shape is None:
            return None
        answer: Dict[str, str] = {}
        for size in _BATCH_SIZES:
            try:
                output = self._output(seen, _resized(seen, size))
            except Exception as error:
                answer[str(size)] = "%s: %s" % (type(error).__name__, str(error)[:300])
                continue
            answer[str(size)] = _fits(seen, output, size)
        return answer

    def _input_dependence(self, seen: _Seen) -> Any:
        others = mapped(seen.args, self._other)
        if not _differ(seen.args, others):
            return None
        before = as_array(self._output(seen, seen.args))
        after = as_array(self._output(seen, others))
        if before is None or after is None or before.shape != after.shape:
            return None
        before, after = before.astype("float64"), after.astype("float64")
        return float((((after - before) ** 2).sum() ** 0.5) / ((before**2).sum() ** 0.5 + _TINY))

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
        if (
            torch is None
            or seen.loss is None
            or not isinstance(entered, torch.Tensor)
            or not entered.is_floating_point()
        ):
            return None
        with torch.enable_grad():
            start = entered.detach().clone().requires_grad_(True)
            before = self._loss(seen, _replaced(seen.args, entered, start))
            (gradient,) = torch.autograd.grad(before.sum(), start)
        step = _STEP_SHARE * (entered.max() - entered.min()) * gradient.sign()
        after = self._loss(seen, _replaced(seen.args, entered, entered.detach() + step))
        return float((after.sum() - before.sum()) / (before.sum().abs() + _TINY))

    def _loss(self, seen: _Seen, args: Any) -> Any:
        return seen.loss(seen.target, self._output(seen, args))

    def _information(self, seen: _Seen) -> Any:
        """The share of what was given to `fit` that reaches the first layer of the model."""
        entered = self._recorder.given
        first = next(tensors_in(seen.args), None)
        if first is None or not entered or not seen.kept:
            return None
        sizes = [_product(shape[1:]) for shape in entered]
        reached = sum(_product(item.shape[1:]) for item in tensors_in(seen.args))
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
    return mapped(item, lambda one: _copy(one[:_SAMPLES_KEPT] if one.shape else one))


def _copy(item: Any) -> Any:
    if hasattr(item, "detach"):
        return item.detach().clone()
    if hasattr(item, "numpy"):  # rows of a tensor of TensorFlow cannot be picked by a list
        return item.numpy()
    return item.copy() if hasattr(item, "copy") else item


def _replaced(args: Any, old: Any, new: Any) -> Any:
    return mapped(args, lambda item: new if item is old else item)


def _like(item: Any, array: Any) -> Any:
    torch: Any = sys.modules.get("torch")
    return torch.from_numpy(array).to(item.device) if torch is not None and isinstance(item, torch.Tensor) else array


def _numbers(inputs: Any) -> List[Any]:
    arrays = [as_array(item) for item in tensors_in(inputs)]
    return [one for one in arrays if one is not None and one.dtype.kind in "biuf"]


def _rows(item: Any) -> Optional[int]:
    return int(item.shape[0]) if getattr(item, "shape", None) else None


def _batch_of(args: Any) -> Optional[int]:
    first = next(tensors_in(args), None)
    return _rows(first) if first is not None else None


def _product(shape: Any) -> int:
    total = 1
    for size in shape:
        total *= int(size)
    return total


def _size(model: Any) -> int:
    return sum(_product(weight.shape) for weight in getattr(model, "weights", ()))


def _fits(seen: _Seen, output: Any, size: int) -> str:
    """`ok` where the output grew with the batch as it should."""
    was, now = seen.output_shape or [], [int(one) for one in getattr(output, "shape", ())]
    if not was or was[0] != seen.batch:
        return "ok"
    if len(now) != len(was):
        return "the output has %d dimensions instead of %d" % (len(now), len(was))
    return "ok" if now[0] == size else "the output has %d rows for %d samples" % (now[0], size)


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
