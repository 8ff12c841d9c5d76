"""The script under which a watched program runs: it hooks Keras or torch and writes down what published monitors look at.

    python benchmarks/_watching.py PROGRAM RECORD SECONDS

It is run by the interpreter that has the program's frameworks and imports nothing but those; the checks of what it writes
are in `_monitors.py`. Both frameworks give the same record, but not at the same places: Keras is looked at once in an epoch,
on the first 256 rows of its data and without dropout, as a callback would; torch at each step, on that step's own batch.
"""

from __future__ import annotations

import json
import math
import random
import re
import runpy
import signal
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 100
"""Parts at most that the steps of a torch training are cut into, for want of epochs. Chosen here."""

HIDDEN = ("relu", "leaky_relu", "elu", "selu", "gelu", "sigmoid", "tanh", "softmax", "log_softmax")


@dataclass(slots=True)
class Layer:
    """A layer in the order of use: mean |gradient|, and the share of its units without a gradient, at each look."""

    name: str
    kind: str
    weighted: bool = False
    activation: str = ""
    dropped: float = 0.0
    gradients: list[float] = field(default_factory=list)
    dead: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """What was seen of one training. Losses and accuracies are means over epochs (Keras) or rounds of steps (torch)."""

    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    later_losses: list[float] = field(default_factory=list)
    """Those of the validation, and the accuracies below; Keras only."""
    later_accuracies: list[float] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    """The look in which NaN or Inf first came up: phases and layers, in DeepLocalize's order."""
    least: float = 0.0
    most: float = 0.0
    shape: list[int] = field(default_factory=list)
    rate: float | None = None
    wanted: str = ""
    """The activation that the loss wants its predictions to come from; none where it takes logits or any numbers."""

    @property
    def progress(self) -> list[float]:
        """Accuracies, or in their place the share of the first loss that is gone, from 0 to 1."""
        if self.accuracies or not self.losses:
            return self.accuracies
        first = abs(self.losses[0]) or 1e-12
        return [
            min(1.0, max(0.0, (self.losses[0] - loss) / first)) if math.isfinite(loss) else 0.0 for loss in self.losses
        ]


def is_keras(program: bytes) -> bool:
    """Whether a program trains by Keras, its own or TensorFlow's, else by torch."""
    return re.search(rb"^[ \t]*(?:import|from)[ \t]+(?:keras|tensorflow)\b", program, re.MULTILINE) is not None


def read(text: str) -> Record:
    """A record from the JSON that the watched process wrote."""
    known = json.loads(text)
    layers = [Layer(**layer) for layer in known.pop("layers")]
    return Record(**{**known, "layers": layers, "errors": [(phase, layer) for phase, layer in known["errors"]]})


def _accuracy(predicted: Any, targets: Any) -> float | None:
    """Share of right predictions (NumPy arrays), where the targets are classes or one of a row; else nothing."""
    rows = predicted.reshape(-1, predicted.shape[-1]) if predicted.ndim > 1 else predicted.reshape(-1, 1)
    if rows.shape[1] > 1 and targets.size == rows.size:
        flat = targets.reshape(rows.shape)
        is_one_hot = bool(((flat == 0) | (flat == 1)).all() and (flat.sum(1) == 1).all())
        return float((rows.argmax(1) == flat.argmax(1)).mean()) if is_one_hot else None
    if targets.size != rows.shape[0] or not bool((targets == targets.astype(int)).all()):
        return None
    if rows.shape[1] > 1:
        return float((rows.argmax(1) == targets.reshape(-1)).mean())
    if not bool(((targets == 0) | (targets == 1)).all()):
        return None
    middle = 0.0 if bool((rows < 0).any()) else 0.5
    return float(((rows[:, 0] > middle) == (targets.reshape(-1) > 0.5)).mean())


class _Watch:
    """What both frameworks' hooks write down of a training."""

    def __init__(self) -> None:
        self.seen = Record()
        self.layers: dict[str, Layer] = {}

    def layer(self, name: str, kind: str) -> Layer:
        if name not in self.layers:
            self.layers[name] = Layer(name, kind)
            self.seen.layers.append(self.layers[name])
        return self.layers[name]

    def inputs(self, values: Any) -> None:
        """The first batch of inputs (NumPy) that training sees."""
        if self.seen.shape or not values.size or values.dtype.kind not in "fiub":
            return
        self.seen.shape = list(values.shape)
        self.seen.least, self.seen.most = float(values.min()), float(values.max())

    def gradient(self, layer: Layer, values: Any, units: int) -> None:
        """The gradient (NumPy) of a layer's weights, whose axis `units` counts the layer's units."""
        sizes = abs(values)
        layer.gradients.append(float(sizes.mean()))
        layer.dead.append(
            float((sizes.max(axis=tuple(i for i in range(sizes.ndim) if i != units % sizes.ndim)) == 0).mean())
        )


def _watch_keras(watch: _Watch) -> None:
    """Look at each epoch of every `fit`, at one batch of its data, as the monitors' callbacks do."""
    import keras
    import numpy as np

    seen = watch.seen
    is_torch = keras.backend.backend() == "torch"
    fitted = keras.Model.fit

    def gradients(model: Any, inputs: Any, targets: Any) -> tuple[Any, float, list[Any]]:
        if is_torch:
            model.zero_grad()
            predicted = model(inputs, training=False)
            loss = model.compute_loss(x=inputs, y=keras.ops.convert_to_tensor(targets), y_pred=predicted)
            loss.backward()
            found = [variable.value.grad for variable in model.trainable_variables]
            model.zero_grad()
        else:
            import tensorflow

            with tensorflow.GradientTape() as tape:
                predicted = model(inputs, training=False)
                loss = model.compute_loss(x=inputs, y=keras.ops.convert_to_tensor(targets), y_pred=predicted)
            found = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
        whole = [None if each is None else keras.ops.convert_to_numpy(each) for each in found]
        return keras.ops.convert_to_numpy(predicted), float(keras.ops.convert_to_numpy(loss)), whole

    def describe(model: Any) -> None:
        weighted = None
        for layer in model.layers:
            found = watch.layer(layer.name, type(layer).__name__)
            found.weighted = any(weight.name in ("kernel", "recurrent_kernel") for weight in layer.trainable_weights)
            weighted = found if found.weighted else weighted
            found.dropped = float(getattr(layer, "rate", 0.0) or 0.0) if found.kind.endswith("Dropout") else 0.0
            applied = {"ReLU": "relu", "LeakyReLU": "leaky_relu", "Softmax": "softmax"}.get(found.kind, "")
            inner = getattr(layer, "layer", layer)  # of TimeDistributed
            function = getattr(getattr(inner, "activation", None), "__name__", applied)
            if weighted is not None and function not in ("", "linear"):
                weighted.activation = function
        loss = model.loss if not isinstance(model.loss, str) else keras.losses.get(model.loss)
        name = str(getattr(loss, "name", getattr(loss, "__name__", loss)))
        takes_logits = hasattr(loss, "get_config") and loss.get_config().get("from_logits", False)
        if not takes_logits and "crossentropy" in name:
            seen.wanted = "sigmoid" if name.startswith("binary") else "softmax"
        seen.rate = float(keras.ops.convert_to_numpy(model.optimizer.learning_rate))

    class Look(keras.callbacks.Callback):  # type: ignore[misc]
        def __init__(self, inputs: Any, targets: Any, every: int) -> None:
            super().__init__()
            self.inputs, self.targets, self.every, self.known = inputs, targets, every, False

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if not self.known:
                describe(self.model)
                self.known = True
            if not math.isfinite(logs["loss"]) and not seen.errors:
                self.look()
                seen.errors = seen.errors or [("loss", "")]

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            known = {name: float(value) for name, value in logs.items()}
            right = self.look() if epoch % self.every == 0 else None
            seen.losses.append(known["loss"])
            told = [value for name, value in known.items() if "acc" in name and not name.startswith("val_")]
            if told or right is not None:
                seen.accuracies.append(told[0] if told else right or 0.0)
            if "val_loss" in known:
                seen.later_losses.append(known["val_loss"])
            seen.later_accuracies += [v for name, v in known.items() if "acc" in name and name.startswith("val_")][:1]

        def look(self) -> float | None:
            if self.inputs is None:
                return None
            try:
                predicted, loss, found = gradients(self.model, self.inputs, self.targets)
            except Exception:  # noqa: BLE001 - whatever the model is, its training is to go on, if unseen
                self.inputs = None
                return None
            owners = {id(weight): layer for layer in self.model.layers for weight in layer.trainable_weights}
            errors: list[tuple[str, str]] = []
            for layer, values in outputs(self.model, self.inputs):
                errors += [("forward", layer.name)] if not np.isfinite(values).all() else []
            errors += [("loss", "")] if not math.isfinite(loss) else []
            for variable, values in reversed(list(zip(self.model.trainable_variables, found, strict=True))):
                owner = owners.get(id(variable))
                if owner is None or values is None:
                    continue
                errors += [("backward", owner.name)] if not np.isfinite(values).all() else []
                if variable.name == "kernel":
                    watch.gradient(watch.layer(owner.name, type(owner).__name__), values, -1)
            for layer in self.model.layers:
                errors += (
                    [("weights", layer.name)] if not all(np.isfinite(w).all() for w in layer.get_weights()) else []
                )
            seen.errors = seen.errors or list(dict.fromkeys(errors))
            return _accuracy(predicted, self.targets)

    def outputs(model: Any, inputs: Any) -> list[tuple[Any, Any]]:
        try:
            layers = [layer for layer in model.layers if hasattr(layer, "output")]
            values = keras.Function(model.inputs, [layer.output for layer in layers])(inputs)
        except (AttributeError, ValueError, TypeError):
            return []  # a model of a class of its own does not show what lies between its layers
        return [(layer, keras.ops.convert_to_numpy(value)) for layer, value in zip(layers, values, strict=True)]

    def sample(values: Any) -> Any:
        return np.asarray(values)[:256] if hasattr(values, "__array__") or isinstance(values, (list, tuple)) else None

    def fit(self: Any, x: Any = None, y: Any = None, *given: Any, **named: Any) -> Any:
        inputs, targets = sample(x), sample(y)
        if inputs is not None:
            watch.inputs(inputs)
        if inputs is None or targets is None:
            inputs = targets = None
        look = Look(inputs, targets, max(1, int(named.get("epochs", 1)) // 50))
        named["callbacks"] = [*(named.get("callbacks") or []), look]
        return fitted(self, x, y, *given, **named)

    keras.Model.fit = fit


def _watch_torch(watch: _Watch) -> None:
    """Look at each step: what comes out of each layer, the loss, the gradients and the weights."""
    import torch
    from torch.nn.modules import module
    from torch.optim import optimizer as optimizers

    seen = watch.seen
    names: dict[int, str] = {}  # of weights
    depth, steps = 0, 0
    last: Layer | None = None
    current: list[tuple[str, str]] = []

    def sound(values: Any) -> bool:
        return not isinstance(values, torch.Tensor) or bool(torch.isfinite(values).all())

    def enter(called: Any, given: Any) -> None:
        nonlocal depth, last
        if (
            depth == 0
            and given
            and isinstance(given[0], torch.Tensor)
            and not isinstance(called, torch.nn.modules.loss._Loss)
        ):
            last = None
            if called.training and any(True for _ in called.parameters()):
                watch.inputs(given[0].detach().numpy())
        depth += 1

    def leave(called: Any, given: Any, result: Any) -> None:
        nonlocal depth, last
        depth -= 1
        if next(called.children(), None) is not None or isinstance(called, torch.nn.modules.loss._Loss):
            return
        kind, held = type(called).__name__, list(called.named_parameters())
        name = names.get(id(held[0][1])) if held else None
        layer = watch.layer(name or f"{kind.lower()}-{len(watch.layers)}" if held else kind.lower(), kind)
        names.update({id(weight): layer.name for _, weight in held})
        layer.dropped = float(getattr(called, "p", 0.0)) if "Dropout" in kind else 0.0
        if any(weight.dim() > 1 for _, weight in held):
            layer.weighted, last = True, layer
        if torch.is_grad_enabled() and not sound(result[0] if isinstance(result, tuple) else result):
            current.append(("forward", layer.name))

    def told(function: Any, name: str) -> Any:
        def applied(*given: Any, **named: Any) -> Any:
            if torch.is_grad_enabled() and last is not None and last.activation in ("", name):
                last.activation = name
            return function(*given, **named)

        return applied

    def scored(function: Any, wanted: str) -> Any:
        def measured(*given: Any, **named: Any) -> Any:
            predicted, targets = [*given, *(named[key] for key in ("input", "target") if key in named)][:2]
            if torch.is_grad_enabled():
                seen.wanted = wanted
                right = _accuracy(predicted.detach().numpy(), targets.detach().numpy())
                if right is not None:
                    seen.accuracies.append(right)
            return function(*given, **named)

        return measured

    returned = torch.Tensor.backward

    def backward(self: Any, *given: Any, **named: Any) -> Any:
        seen.losses.append(float(self.detach().mean()))
        if not math.isfinite(seen.losses[-1]):
            current.append(("loss", ""))
        return returned(self, *given, **named)

    def before(optimizer: Any, *_: object) -> None:
        nonlocal steps
        steps += 1
        seen.rate = float(optimizer.param_groups[0]["lr"]) if seen.rate is None else seen.rate
        if steps > 200 and steps % 10:
            return
        for weight in reversed([one for group in optimizer.param_groups for one in group["params"]]):
            if weight.grad is None or id(weight) not in names:
                continue
            layer = watch.layers[names[id(weight)]]
            if not sound(weight.grad):
                current.append(("backward", layer.name))
            if weight.dim() > 1:
                watch.gradient(layer, weight.grad.detach().numpy(), 0)

    def after(optimizer: Any, *_: object) -> None:
        for weight in (one for group in optimizer.param_groups for one in group["params"]):
            if not seen.errors and not sound(weight):
                current.append(("weights", names.get(id(weight), "")))
        seen.errors = seen.errors or list(dict.fromkeys(current))
        current.clear()

    module.register_module_forward_pre_hook(enter)
    module.register_module_forward_hook(leave)
    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)
    torch.Tensor.backward = backward
    functional = torch.nn.functional
    for place in (torch, functional, torch.Tensor):
        for name in HIDDEN:
            if hasattr(place, name):
                setattr(place, name, told(getattr(place, name), name))
    for name, wanted in {
        "cross_entropy": "",
        "nll_loss": "log_softmax",
        "binary_cross_entropy": "sigmoid",
        "binary_cross_entropy_with_logits": "",
        "mse_loss": "",
        "l1_loss": "",
        "smooth_l1_loss": "",
    }.items():
        setattr(functional, name, scored(getattr(functional, name), wanted))


def _rounds(values: Sequence[float]) -> list[float]:
    """Means over at most `ROUNDS` parts of a series."""
    size = max(1, math.ceil(len(values) / ROUNDS))
    return [statistics.fmean(values[start : start + size]) for start in range(0, len(values), size)]


def _watch(program: str, told: str, seconds: float) -> None:
    """Run the program in this process under the monitors, and write what they saw."""
    import numpy

    watch, by_keras = _Watch(), is_keras(Path(program).read_bytes())
    random.seed(0)
    numpy.random.seed(0)
    if by_keras:
        import keras

        keras.utils.set_random_seed(0)
        _watch_keras(watch)
    else:
        import torch

        torch.manual_seed(0)
        _watch_torch(watch)
    sys.path[0], sys.argv = str(Path.cwd()), [program]
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("the time is up"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        seen = watch.seen
        if not by_keras:
            seen.losses, seen.accuracies = _rounds(seen.losses), _rounds(seen.accuracies)
        if seen.losses:
            Path(told).write_text(json.dumps(asdict(seen)))


if __name__ == "__main__":
    _watch(sys.argv[1], sys.argv[2], float(sys.argv[3]))
