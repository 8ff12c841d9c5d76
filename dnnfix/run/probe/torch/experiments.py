"""Measurements on a trained torch model that a job asks for, made after the program has ended.

The first recorded batch of each model is put aside (a few samples of it). At the end the model is called on it and on
changed copies, in evaluation mode, without gradients unless needed, with its prints discarded, and with its buffers,
mode and the random state restored.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import torch as _torch

from .. import wire
from ..measures import rows
from ..measures.experiments import OF_TRAINING, SAMPLES_KEPT, SEED, TINY, adversarial, on_other_sizes
from .calls import Recorder
from .components import Components, members
from .quiet import Quiet, guarded
from .targets import Targets
from .values import tensors_in

torch: Any = _torch

_ROUNDING = 1e-6
"""Relative change that rounding alone may give; float32 gives about 1e-7."""
_PRODUCTS = frozenset({"matmul", "mm", "bmm", "baddbmm", "einsum", "scaled_dot_product_attention"})
"""Last names of functions by which rows may meet."""

Result = Any


class _Seen:
    """A model's first recorded batch."""

    def __init__(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.output_shape: Optional[List[int]] = None
        self.outputs: List[Any] = []
        self.loss: Optional[Callable[[Any], Any]] = None
        self.batch: Optional[int] = None
        self.shape: List[int] = []
        """Shape of the first input, before it was cut."""
        self.target: Optional[List[int]] = None
        """Shape of the first target that a loss was given."""


class Experiments:
    """Carries out the experiments that a job asks for."""

    def __init__(
        self, wanted: Set[str], seed: int, recorder: Recorder, components: Components, targets: Targets
    ) -> None:
        self._wanted = wanted - OF_TRAINING
        self._recorder = recorder
        self._components = components
        self._seen: Dict[int, _Seen] = {}
        self._generator = torch.Generator().manual_seed(seed + SEED) if self._wanted else None
        if self._wanted:
            targets.observe = self._saw_loss

    @guarded
    def saw_input(self, root: Any, args: Any, kwargs: Any) -> None:
        """Put a model's first batch aside."""
        if self._wanted and id(root) not in self._seen:
            seen = _Seen(_copied(args), _copied(kwargs))
            first = next(tensors_in(list(args)), None)
            # A vector of numbers is one sample without a batch axis; a vector of integers may be a batch of indices.
            if first is not None and (first.dim() > 1 or (first.dim() == 1 and not first.is_floating_point())):
                seen.batch = int(first.shape[0])
            seen.shape = next((list(item.shape) for item in tensors_in([args, kwargs])), [])
            self._seen[id(root)] = seen

    @guarded
    def saw_output(self, root: Any, output: Any) -> None:
        """Remember the shape of the first output."""
        seen = self._seen.get(id(root))
        if seen is not None and seen.output_shape is None:
            seen.outputs = list(tensors_in(output))
            if seen.outputs:
                seen.output_shape = list(seen.outputs[0].shape)

    def _saw_loss(self, name: str, function: Any, prediction: Any, target: Any, rest: Dict[str, Any]) -> None:
        """Where a loss is taken of a model's first output as it is, remember how to compute it again."""
        for seen in self._seen.values():
            seen.target = seen.target if seen.target is not None else list(target.shape)
            for position, output in enumerate(seen.outputs):
                if output is prediction and seen.loss is None:
                    kwargs = {key: value for key, value in rest["kwargs"].items() if key not in {"input", "target"}}
                    seen.loss = _again(function, position, target.detach().clone(), rest["args"], kwargs)
            seen.outputs = [] if seen.loss is not None else seen.outputs

    def run(self) -> None:
        """Make the measurements and write them."""
        measures: Dict[str, Callable[[Any, _Seen], Result]] = {
            "batch-sizes": self._batch_sizes,
            "input-dependence": self._input_dependence,
            "adversarial": self._adversarial,
            "information": self._information,
            "rows-apart": self._rows_apart,
        }
        root = self._main_root()
        for name, measure in measures.items():
            if name in self._wanted:
                seen = self._seen.get(id(root)) if root is not None else None
                value = self._measured(measure, root, seen) if seen is not None else None
                wire.emit("probe", name=name, value=value)

    @guarded
    def _measured(self, measure: Callable[[Any, _Seen], Result], root: Any, seen: _Seen) -> Result:
        with _undisturbed(root), Quiet():
            return measure(root, seen)

    def _main_root(self) -> Any:
        """The model with the most parameters."""
        sizes = [
            (
                sum(p.numel() for _, part, _ in members(root) for p in part._parameters.values() if p is not None),
                -number,
                root,
            )
            for number, root in enumerate(self._components.roots)
        ]
        return max(sizes, key=lambda item: item[:2])[2] if sizes else None

    def _batch_sizes(self, root: Any, seen: _Seen) -> Result:
        axes = _batch_axes(seen)
        if axes is None:
            return None
        was = seen.output_shape or []
        axis = was.index(seen.batch) if seen.batch in was else None

        def output_for(size: int) -> Any:
            args, kwargs = _resized(seen, axes, size)
            return next(tensors_in(root(*args, **kwargs)), None)

        return on_other_sizes(output_for, was, axis)

    def _input_dependence(self, root: Any, seen: _Seen) -> Result:
        """The change of the output for the rows in another order or, where that is none, for other values.

        A model that sums over its first axis, as over the words of a context, does not see the order of the rows.
        """
        before = _flat(root(*seen.args, **seen.kwargs))
        if before is None:
            return None
        reordered = self._change(root, seen, before, _reordered)
        if reordered is not None and reordered > _ROUNDING:
            return reordered
        try:
            disturbed = self._change(root, seen, before, self._disturbed)
        except Exception:
            disturbed = None  # the values may mean more than numbers: lengths, offsets
        return reordered if disturbed is None else max(disturbed, reordered or 0.0)

    def _change(self, root: Any, seen: _Seen, before: Any, another: Callable[[Any], Any]) -> Optional[float]:
        """The relative change of the output for other inputs; `None` where they are the same or it has another shape."""
        others = [another(item) for item in seen.args]
        if all(other is item or torch.equal(other, item) for item, other in zip(seen.args, others)):
            return None
        after = _flat(root(*others, **seen.kwargs))
        if after is None or before.shape != after.shape:
            return None
        return float(torch.linalg.vector_norm(after - before) / (torch.linalg.vector_norm(before) + TINY))

    def _disturbed(self, item: Any) -> Any:
        """Other values of the same kind and range."""
        if not isinstance(item, torch.Tensor) or item.dim() == 0:
            return item
        if item.dtype == torch.bool:
            return ~item
        if item.is_floating_point():
            noise = torch.randn(item.shape, generator=self._generator).to(item)
            return item + noise * (item.std(correction=0) + 0.1)
        return (item + 1) % (item.max() + 1)

    def _adversarial(self, root: Any, seen: _Seen) -> Result:
        taken = seen.loss
        entered = seen.args[0] if seen.args else None
        if taken is None or not isinstance(entered, torch.Tensor) or not entered.is_floating_point():
            return None
        return adversarial(torch, entered, lambda other: taken(root(other, *seen.args[1:], **seen.kwargs)))

    def _information(self, root: Any, seen: _Seen) -> Result:
        for call in self._recorder.calls():
            fields = self._components.fields.get(call["component"] or 0)
            if fields is None or fields["kind"] != "layer" or not fields["parameters"] or not call["inputs"]:
                continue
            reached = _per_sample(call["inputs"][0]["shape"], seen.batch)
            entered = [_per_sample(shape, None) or 0.0 for shape in self._sources(call)]
            if reached is None or not max(entered, default=0.0):
                return None
            return min(1.0, reached / max(entered))
        return None

    def _rows_apart(self, root: Any, seen: _Seen) -> Result:
        first = next(tensors_in([seen.args, seen.kwargs]), None)
        sizes = list(first.shape) if first is not None else []
        inputs = [seen.args, seen.kwargs]

        def call(given: Any) -> List[Any]:
            args, kwargs = rows.mapped(given, torch.clone)
            outputs = tensors_in(root(*args, **kwargs))
            return [item.detach().to("cpu", torch.float64) for item in outputs if item.is_floating_point()]

        axis = self._batch_axis(root, seen, lambda axis: rows.follows(call, inputs, axis, sizes[axis]))
        try:
            return None if axis is None else rows.apart(call, inputs, axis, sizes[axis])
        except Exception:
            return None  # what goes in beside the batch may have its size, too, along another axis

    def _batch_axis(self, root: Any, seen: _Seen, follows: Callable[[int], bool]) -> Optional[int]:
        """The axis of a model's input that holds the batch; `None` where it may be that of time, nodes or channels.

        A loader's batch size tells it. Without one, the targets do where there is one for each row and the model takes
        fewer rows as well; of models that read sequences, only where the rows have steps of their own and no target each.
        """
        shape, target = seen.shape, seen.target or []
        loaded = [axis for axis, size in enumerate(shape[:2]) if size in self._batch_sizes_loaded()]
        if len(loaded) == 1:
            return loaded[0]
        if not shape or target[:1] != shape[:1] or shape[0] in shape[1:2] or shape[0] < 2:
            return None
        if not self._reads_sequences(root):
            return 0 if follows(0) else None
        first = next(tensors_in([seen.args, seen.kwargs]))
        rank = 3 if first.is_floating_point() else 2
        return 0 if len(shape) == rank and shape[1] > 1 and shape[1:2] != target[1:2] else None

    def _batch_sizes_loaded(self) -> Set[int]:
        loaders = [fields["args"] for fields in self._components.fields.values() if fields["kind"] == "loader"]
        sizes = {args.get("batch_size") for args in loaders}
        return {size for size in sizes if isinstance(size, int) and size > 1}

    def _reads_sequences(self, root: Any) -> bool:
        """Whether rows may be steps of one sequence, or nodes of one graph: recurrence, attention, products of tensors."""
        nn = torch.nn
        kinds = (nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)
        if any(isinstance(part, kinds) for _, part, _ in members(root)):
            return True
        products = [call for call in self._recorder.calls() if call["name"].rpartition(".")[2] in _PRODUCTS]
        return any(all(value["origin"] != "parameter" for value in call["inputs"]) for call in products)

    def _sources(self, call: Dict[str, Any]) -> List[List[int]]:
        """The shapes of the data from which the call's input was made."""
        shapes: List[List[int]] = []
        waiting = [call["inputs"][0]]
        seen: Set[Any] = set()
        while waiting and len(seen) < 200:
            value = waiting.pop()
            if value["id"] in seen:
                continue
            seen.add(value["id"])
            producer = self._recorder.call_of(value["producer"])
            if producer is not None:
                waiting.extend(producer["inputs"][:1])
            elif value["origin"] == "data" and value.get("shape"):
                shapes.append(value["shape"])
        return shapes


def _per_sample(shape: Optional[List[int]], batch: Optional[int]) -> Optional[float]:
    if not shape:
        return None
    total = 1
    for size in shape:
        total *= size
    return total / (batch or shape[0] or 1)


def _again(function: Any, position: int, target: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    kept = target[:SAMPLES_KEPT] if target.dim() else target

    def loss(output: Any) -> Any:
        return function(list(tensors_in(output))[position], kept, *args, **kwargs)

    return loss


def _copied(items: Any) -> Any:
    """The arguments with their tensors cut to a few samples and taken out of the program's hands."""

    def few(item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return item
        return (item.detach()[:SAMPLES_KEPT] if item.dim() else item.detach()).clone()

    return rows.mapped(items, few)


@contextlib.contextmanager
def _undisturbed(root: Any) -> Iterator[None]:
    """Evaluation mode and silence within; mode, buffers and random state as before afterwards."""
    modes = [(part, part.training) for _, part, _ in members(root)]
    buffers = [(b, b.detach().clone()) for _, part, _ in members(root) for b in part._buffers.values() if b is not None]
    state = torch.get_rng_state()
    try:
        for part, _ in modes:
            part.training = False
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for part, training in modes:
            part.training = training
        torch.set_rng_state(state)
        with Quiet():
            for buffer, value in buffers:
                buffer.copy_(value)


def _batch_axes(seen: _Seen) -> Optional[List[Optional[int]]]:
    """For each positional argument the axis that holds the batch; `None` where no argument has one."""
    batch = min(seen.batch, SAMPLES_KEPT) if seen.batch else None
    if batch is None or seen.output_shape is None:
        return None
    axes: List[Optional[int]] = []
    for item in seen.args:
        is_batch = isinstance(item, torch.Tensor) and item.dim() > 0 and item.shape[0] == batch
        axes.append(0 if is_batch else None)
    return axes if any(axis is not None for axis in axes) and len(axes) == axes.count(0) else None


def _resized(seen: _Seen, axes: List[Optional[int]], size: int) -> Tuple[List[Any], Dict[str, Any]]:
    args = []
    for item, axis in zip(seen.args, axes):
        if axis is not None:
            item = item[torch.arange(size, device=item.device) % item.shape[0]]
        args.append(item)
    return args, seen.kwargs


def _reordered(item: Any) -> Any:
    """The rows in another order: surely an input that the model can take."""
    return item.roll(1, 0) if isinstance(item, torch.Tensor) and item.dim() else item


def _flat(output: Any) -> Any:
    parts = [
        tensor.detach().reshape(-1).to(torch.float64) for tensor in tensors_in(output) if tensor.is_floating_point()
    ]
    return torch.cat(parts) if parts else None
