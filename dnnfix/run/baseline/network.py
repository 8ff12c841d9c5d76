"""Reads a Keras model for the recorder (layers in order, weights, loss, optimizer), and sets its weights."""

from typing import Any, Dict, Iterator, List, Optional

from . import hooks

SHIFT = 0.05
"""By how much biases, scales and constant weights are moved at most: zeros would hide that two of them were swapped."""
RATES_AT = (0, 1000)
"""Numbers of steps after which the learning rate is read: `decay` and a schedule can only be told apart later on."""
RATE = ("lr", "learning_rate", "decay", "weight_decay")
"""Settings of optimizers that are compared as rates, or have no counterpart in older versions."""


def leaves(model: Any) -> List[Any]:
    """The layers of a model and of models within it, in the order in which they were made.

    The model itself stands for them where it keeps weights of its own.
    """
    found = list(_walk(model))
    held = sum(len(layer.weights) for layer in found)
    last = (len(hooks.made), None)
    return (
        sorted(found, key=lambda layer: hooks.made.get(id(layer), last)[0]) if held == len(model.weights) else [model]
    )


def describe(layers: List[Any]) -> List[Dict[str, Any]]:
    """Class, name, shape of the output (null where unknown) and shapes of the weights, layer by layer."""
    return [
        {
            "kind": type(layer).__name__,
            "name": str(getattr(layer, "name", "")),
            "output": _output(layer),
            "weights": [[int(size) for size in value.shape] for value in layer.get_weights()],
        }
        for layer in layers
        if type(layer).__name__ != "InputLayer"
    ]


def weights(layers: List[Any]) -> List[Any]:
    """The weights of the layers, one after the other."""
    return [value for layer in layers for value in layer.get_weights()]


def put(layers: List[Any], values: List[Any]) -> None:
    """Set the weights of the layers, in the same order."""
    rest = list(values)
    for layer in layers:
        number = len(layer.get_weights())
        if number:
            layer.set_weights(rest[:number])
            rest = rest[number:]


def moved(values: List[Any]) -> List[Any]:
    """The weights, with a small offset by position on biases and on weights whose elements are all equal: equal ones
    hide errors.
    """
    import numpy

    changed = []
    for number, value in enumerate(values):
        draw = numpy.random.RandomState(number).uniform(-SHIFT, SHIFT, value.shape)
        says_little = value.dtype.kind == "f" and value.size and (value.ndim < 2 or value.std() == 0.0)
        changed.append((value + draw).astype(value.dtype) if says_little else value)
    return changed


def starts(values: List[Any]) -> List[List[float]]:
    """Mean and standard deviation of each weight as the program initialized it: they tell initializers apart."""
    return [[float(value.mean()), float(value.std())] if value.size else [0.0, 0.0] for value in values]


def trained_by(model: Any) -> Dict[str, Any]:
    """Loss and optimizer of a model, with the optimizer's numbers and its learning rate after several numbers of
    steps.
    """
    optimizer, loss = getattr(model, "optimizer", None), getattr(model, "loss", None)
    try:
        config = dict(optimizer.get_config()) if optimizer is not None else {}
    except Exception:
        config = {}
    numbers = {
        name: number for name, number in ((name, _number(config[name])) for name in config) if number is not None
    }
    return {
        "loss": loss if isinstance(loss, str) else str(getattr(loss, "__name__", None) or type(loss).__name__),
        "optimizer": type(optimizer).__name__,
        "numbers": {name: number for name, number in numbers.items() if name not in RATE},
        "rates": _rates(optimizer, numbers),
    }


def _rates(optimizer: Any, numbers: Dict[str, float]) -> List[float]:
    schedule = getattr(optimizer, "_learning_rate", None)
    if callable(schedule) and not hasattr(schedule, "shape"):
        return [float(schedule(step)) for step in RATES_AT]
    rate, decay = numbers.get("lr", numbers.get("learning_rate")), numbers.get("decay", 0.0)
    return [] if rate is None else [rate / (1.0 + decay * step) for step in RATES_AT]


def _number(value: Any) -> Optional[float]:
    try:
        return None if value is None or isinstance(value, (str, dict, list)) else float(value)
    except (TypeError, ValueError):
        return None


def _walk(model: Any) -> Iterator[Any]:
    for layer in model.layers:
        if hasattr(layer, "layers") and hasattr(layer, "predict_on_batch"):
            yield from _walk(layer)
        else:
            yield layer


def _output(layer: Any) -> Any:
    try:
        shape = layer.output_shape if hasattr(layer, "output_shape") else layer.output.shape
        return _plain(shape)
    except Exception:
        return None


def _plain(shape: Any) -> Any:
    if isinstance(shape, list):
        return _plain(shape[0]) if len(shape) == 1 else None
    return [None if size is None else int(size) for size in tuple(shape)]
