"""Watches a Keras training by a callback, on the backends torch and TensorFlow.

A step of Keras is compiled, so that nothing can be seen within it. A look calls the model once more, as it is in evaluation, on a
few rows of the training data: that changes no statistics, and draws no random numbers.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import keras as _keras
import numpy

from dnnfix.errors import ConfigError
from dnnfix.records import Json
from dnnfix.run.probe.measures.skill import Skill
from dnnfix.watching import pace
from dnnfix.watching.monitor import PATIENCE, Look
from dnnfix.watching.outlets import LOGGER
from dnnfix.watching.pace import SHARE
from dnnfix.watching.places import Program, program_of
from dnnfix.watching.session import LOG, Watch, Wishes

keras: Any = _keras

MOST_ROWS = 64
"""Rows that a look takes."""

MOST_EXAMPLES = 1024
"""Rows that simple learners are tried on."""

MOST_LAYERS = 64
"""Layers whose outputs are looked at."""

PIECE = 1 << 16
"""Elements of each weight that are kept to see by how much a step changes it."""

Sample = tuple[Any, Any]


class WatchCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Tells the symptoms of a training while `fit` runs; the other arguments are those of `dnnfix.watch`.

    With `stop`, `fit` ends after the step at which the loss was found to be no finite number. Its subject is read at a few
    steps, as often as there is time for it.

    Args:
        sample: the inputs and the targets of a few rows of training, as arrays. By default the first rows of the arrays that
            `fit` is called with; data of another form (`tf.data`, a generator) are not looked into, and without a sample
            only losses, weights and updates are watched.

    Raises:
        ConfigError: a number makes no sense, or the sample is no pair.
    """

    def __init__(
        self,
        sample: Sample | None = None,
        *,
        log: str | os.PathLike[str] | None = LOG,
        stop: bool = False,
        share: float = SHARE,
        patience: int = PATIENCE,
        to: object | None = None,
    ) -> None:
        super().__init__()
        if sample is not None and (not isinstance(sample, (tuple, list)) or len(sample) != 2):
            raise ConfigError(f"sample is a pair of inputs and targets. Received: {type(sample).__name__}")
        self.watch: KerasWatch | None = None
        """The watch of the training under way, or of the last one."""
        self._sample = sample
        self._stop = stop
        self._wishes = Wishes.of(log, False, share, patience, to)

    def on_train_begin(self, logs: Any = None) -> None:
        """Begin to watch."""
        sample = self._sample or _given_to_fit(self.model)
        self.watch = KerasWatch(self.model, self._wishes, program_of(self.model), sample)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """The mean of the losses begins anew."""
        if self.watch is not None:
            self.watch.epoch_begins()

    # What comes after a batch is called with its losses, which makes every step wait for them; what comes before the next is not.
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The steps before this one are over."""
        if self.watch is not None:
            self.watch.batch_begins(batch)
            if self._stop and self.watch.broken:
                self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """The last step of the epoch is over."""
        if self.watch is not None:
            steps = self.params.get("steps") if self.params else None
            self.watch.epoch_ends(steps, (logs or {}).get("loss"))
            if self._stop and self.watch.broken:
                self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        """Watch no longer."""
        if self.watch is not None:
            self.watch.close()


class KerasWatch(Watch):
    """The watch of one `fit`."""

    def __init__(self, model: Any, wishes: Wishes, program: Program, sample: Sample | None) -> None:
        self.framework = f"keras-{keras.backend.backend()}"
        super().__init__(model, type(model).__name__, wishes, program)
        self._skill = Skill()
        self._inputs: Any = None
        self._targets: Any = None
        if sample is not None:
            try:
                self._inputs, self._targets = _rows(sample, MOST_ROWS)
                self._put_aside(*_rows(sample, MOST_EXAMPLES))
            except Exception as error:  # noqa: BLE001 - data of a form that only Keras takes
                self._inputs = None
                LOGGER.info("dnnfix: the data are not looked into: %s: %s", type(error).__name__, error)
        self._listening: Any = None
        self._before: list[tuple[str, Any]] = []
        self._epoch_batch = 0
        self._mean = (0, 0.0)
        self._next = self._pace.next

    def _put_aside(self, inputs: Any, targets: Any) -> None:
        """Keep rows for the simple learners, where the targets are of a form that they know."""
        wanted = None if targets is None or isinstance(targets, (dict, list, tuple)) else numpy.asarray(targets)
        if wanted is None or not wanted.ndim:
            return
        outputs: list[Any] = getattr(self._model, "outputs", None) or []
        width = outputs[0].shape[-1] if len(outputs) == 1 else None
        is_index = wanted.dtype.kind in "iu" and width is not None and width > 1 and wanted.size == len(wanted)
        self._examples.add(list(_arrays(inputs)), wanted, int(width) if is_index and width else None)
        self._has_all_rows = True

    # Each step

    def epoch_begins(self) -> None:
        """The mean of the losses begins anew."""
        self._epoch_batch, self._mean = 0, (0, 0.0)

    def batch_begins(self, batch: int) -> None:
        """So many batches of this epoch are over."""
        done = batch - self._epoch_batch
        if done <= 0:
            return
        self._epoch_batch = batch
        monitor = self._monitor
        if not self._before:
            if monitor.step + done < self._next:
                monitor.step += done
                return
            begun = pace.now()
            loss = self._loss(batch, None)
            monitor.step += done - 1
            self._took(loss)
            self._pace.also(pace.since(begun))
            if self._pace.has_time(monitor.step):
                self._keep()
            self._next = self._pace.next
            return
        monitor.step += done - 1
        self._took(self._loss(batch, None))
        self._look()

    def epoch_ends(self, steps: int | None, loss: float | None) -> None:
        """The epoch is over; `loss` is its mean."""
        if isinstance(steps, int) and steps > self._epoch_batch:
            monitor, done = self._monitor, steps - self._epoch_batch
            self._epoch_batch = steps
            monitor.step += done - 1
            self._took(self._loss(steps, loss))
        self._before = []  # validation comes between

    def _took(self, loss: float | None) -> None:
        monitor = self._monitor
        if not monitor.took(loss) and not monitor.broken:
            lost = [variable.path for variable in self._model.trainable_variables if not _is_finite(variable)]
            numbers: dict[str, Json] = {
                "loss": str(loss),
                "not_finite": len(lost),
                "of": len(self._model.trainable_variables),
            }
            monitor.loss_broke(lost[0] if lost else "", numbers)

    def _loss(self, batch: int, mean: float | None) -> float | None:
        """The mean loss of the steps since it was read last; Keras has that of the epoch so far."""
        if mean is None:
            found = self._model.get_metrics_result().get("loss")
            mean = None if found is None else float(_array(found))
        if mean is None:
            return None
        known, before = self._mean
        self._mean = (batch, mean)
        return (mean * batch - before * known) / (batch - known) if batch > known else mean

    # Looks

    def _keep(self) -> None:
        """Keep the weights as they are before the step that is looked at."""
        begun = pace.now()
        self._before = [(variable.path, _piece(variable)) for variable in self._model.trainable_variables]
        self._pace.also(pace.since(begun))

    def _look(self) -> None:
        begun = pace.now()
        before, self._before = self._before, []
        try:
            look = self._measured(before)
            self._layers_looked({name: look.gradients[name] for name in look.matrices if name in look.gradients})
            self._monitor.looked(look)
        except Exception as error:  # noqa: BLE001 - whatever the model is, its training goes on
            self._inputs = None
            LOGGER.info("dnnfix: a look failed: %s: %s", type(error).__name__, error)
        self._pace.looked(self.steps, pace.since(begun))
        self._next = self._pace.next
        self._ask_learners()

    def _measured(self, before: Sequence[tuple[str, Any]]) -> Look:
        variables = list(self._model.trainable_variables)
        now = {variable.path: variable for variable in variables}
        look = Look(weights={path: _size(_piece(variable)) for path, variable in now.items()})
        look.matrices = frozenset(path for path, variable in now.items() if len(variable.shape) >= 2)
        look.updates = {path: _size(_piece(now[path]) - kept) for path, kept in before if path in now}
        optimizer = self._model.optimizer
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        look.rates = ((type(optimizer).__name__, float(_array(optimizer.learning_rate))),)
        if self._inputs is not None:
            prediction, gradients = _called(self._model, self._inputs, self._targets)
            look.gradients = {
                variable.path: _size(gradient)
                for variable, gradient in zip(variables, gradients, strict=True)
                if gradient is not None
            }
            self._look_at_layers()
            self._compare(look, prediction)
        return look

    def _look_at_layers(self) -> None:
        if self._listening is None:
            self._listening = _listening(self._model)
        if not self._listening:
            return
        listener, layers = self._listening
        for layer, output in zip(layers, listener(self._inputs, training=False), strict=True):
            array = _array(output)
            activation = getattr(getattr(layer, "activation", None), "__name__", "")
            name = activation if activation not in ("", "linear") else type(layer).__name__
            self._paths.setdefault(id(layer), layer.name)
            self._units.gave(self.steps, id(layer), name, None, array)

    def _compare(self, look: Look, prediction: Any) -> None:
        """The skill of the network on the rows of the sample, and how different what it gives for them is."""
        targets = self._targets
        if targets is None or not isinstance(prediction, numpy.ndarray) or not prediction.ndim:
            return
        wanted = numpy.asarray(targets)
        look.spread = float(prediction.reshape(len(prediction), -1).std(0).mean()) if len(prediction) > 1 else None
        classes = (
            prediction.ndim > 1 and prediction.shape[-1] > 1 and wanted.size == prediction.size // prediction.shape[-1]
        )
        if classes:
            shape = prediction.shape[:-1]
            look.skill = self._skill.of_classes(prediction.argmax(-1), wanted.reshape(shape).astype(int))
        elif wanted.size == prediction.size:
            look.skill = self._skill.of_values(prediction, wanted.reshape(prediction.shape))

    def _path_of(self, where: str) -> str:
        """The number of a layer in a list of layers, or the attribute that holds it; `where` names the layer, or a weight of it."""
        names = where.split("/")
        layer = next((one for one in self._model.layers if one.name in names), None)
        if layer is None:
            return ""
        if isinstance(self._model, keras.Sequential):
            return str(self._model.layers.index(layer))
        return next((name for name, value in vars(self._model).items() if value is layer), "")

    def _attribute(self, owner: Any, name: str, default: Any) -> Any:
        if name.isdigit():
            layers = getattr(owner, "layers", ())
            return layers[int(name)] if int(name) < len(layers) else default
        return getattr(owner, name, default)


def _given_to_fit(model: Any) -> Sample | None:
    """The arrays that the `fit` under way was called with, where they are arrays."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "fit" and frame.f_locals.get("self") is model:
            inputs, targets = frame.f_locals.get("x"), frame.f_locals.get("y")
            several = (
                inputs
                if isinstance(inputs, (list, tuple))
                else list(inputs.values())
                if isinstance(inputs, dict)
                else [inputs]
            )
            known = all(hasattr(one, "shape") and hasattr(one, "__getitem__") for one in [*several, targets])
            return (inputs, targets) if known and several else None
        frame = frame.f_back
    return None


def _rows(sample: Sample, most: int) -> Sample:
    """At most so many rows, evenly spread."""
    inputs, targets = sample
    first = next(_arrays(inputs))
    stride = max(1, len(first) // most)

    def of(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: of(one) for key, one in item.items()}
        if isinstance(item, (list, tuple)):
            return type(item)(of(one) for one in item)
        return None if item is None else _array(item[::stride][:most])

    return of(inputs), of(targets)


def _arrays(item: Any) -> Iterator[Any]:
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else (item,)
    yield from (one for one in parts if one is not None)


def _called(model: Any, inputs: Any, targets: Any) -> tuple[Any, Sequence[Any]]:
    """What the model gives for rows, and the gradients of its loss for each weight that trains."""
    values = [variable.value for variable in model.trainable_variables]

    def loss_of() -> tuple[Any, Any]:
        given = model(inputs, training=False)
        wanted = keras.tree.map_structure(keras.ops.convert_to_tensor, targets)
        return given, model.compute_loss(x=inputs, y=wanted, y_pred=given, training=False)

    if keras.backend.backend() == "tensorflow":
        import tensorflow

        with tensorflow.GradientTape() as tape:
            given, loss = loss_of()
        found = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    elif keras.backend.backend() == "torch":
        import torch

        with torch.enable_grad():
            given, loss = loss_of()
            found = torch.autograd.grad(loss, values, allow_unused=True)
    else:
        return _array(model(inputs, training=False)), [None] * len(values)
    whole = [None if gradient is None else _array(keras.ops.convert_to_tensor(gradient)) for gradient in found]
    return given if isinstance(given, (dict, list, tuple)) else _array(given), whole


def _listening(model: Any) -> Any:
    """A model that gives what every layer of a model gives, and these layers; nothing where the layers are not a graph."""
    try:
        layers = [layer for layer in model.layers if not isinstance(layer, keras.layers.InputLayer)]
        chosen = layers[:: -(-len(layers) // MOST_LAYERS) or 1]
        inputs = model.inputs[0] if len(model.inputs) == 1 else model.inputs
        return keras.Model(inputs, [layer.output for layer in chosen]), chosen
    except (AttributeError, ValueError, TypeError):
        return ()


def _array(item: Any) -> Any:
    return keras.ops.convert_to_numpy(item)


def _piece(variable: Any) -> Any:
    """The first elements of a weight, as a vector of their own."""
    return _array(keras.ops.reshape(variable.value, (-1,))[:PIECE]).astype("float32", copy=True)


def _size(array: Any) -> float:
    """The root mean square."""
    return float(math.sqrt(numpy.mean(numpy.square(array.astype("float64"))))) if array.size else 0.0


def _is_finite(variable: Any) -> bool:
    return bool(numpy.isfinite(_piece(variable)).all())
