"""Records a training call: the model, its outputs for the first batch, and the losses of its first steps.

Without `given`, the model's own weights (slightly changed) and the program's own data are used and written to the
trace; with it, the weights and data of the other interpreter's run replace them.
"""

from typing import Any, Dict, List, Optional

from . import batches, hooks, network, wire
from .batches import NotComparable

LARGEST = 72 << 20
"""Bytes of weights and data that can be carried to the other interpreter."""
SATURATED = 1e-5
"""How near that is: Keras clips at 1e-7, of which single precision leaves two digits near 1."""
RATE = 0.01
"""The learning rate of the steps."""
NUMBERS = 20000
"""Outputs that are written down, from the first sample on."""

__all__ = ["NotComparable", "make"]


def make(given: Optional[Dict[str, Any]], keras: Any, model: Any, method: str, arguments: Dict[str, Any]) -> None:
    """Record and write; raises `NotComparable`, and whatever the training itself raises."""
    record: Dict[str, Any] = {"method": method}
    if given is None:
        data = batches.of_call(method, arguments)
    else:
        arrays = wire.read_arrays(given["pieces"])
        data = [{key: batches.part_of(form, arrays) for key, form in batch.items()} for batch in given["data"]]
        record["same_data"] = _same(method, arguments, data)
    if not model.weights:
        model.predict_on_batch(_fed(data[0]["x"]))
    layers = network.leaves(model)
    record["layers"] = network.describe(layers)
    record["starts"] = network.starts(network.weights(layers))
    record.update(network.trained_by(model))
    record["classes"] = _class_weight(arguments.get("class_weight")) if given is None else given["classes"]
    if given is None:
        values = network.moved(network.weights(layers))
        _carry(record, values, data)
    else:
        values = arrays[: given["count"]]
        if [value.shape for value in values] != [value.shape for value in network.weights(layers)]:
            wire.emit("probe", name="recording", value=record)
            return
    _measure(record, keras, model, layers, values, data)
    record["switched_off"] = sorted(set(hooks.switched_off))
    wire.emit("probe", name="recording", value=record)


def _carry(record: Dict[str, Any], values: List[Any], data: List[batches.Batch]) -> None:
    """Write weights and data, the weights first."""
    arrays = list(values)
    record["count"] = len(values)
    record["data"] = [{key: batches.spec(part, arrays) for key, part in batch.items()} for batch in data]
    size = sum(array.nbytes for array in arrays)
    if size > LARGEST:
        raise NotComparable("its weights and data take %d MiB, of which %d can be copied" % (size >> 20, LARGEST >> 20))
    wire.emit_arrays(arrays)


def _measure(
    record: Dict[str, Any], keras: Any, model: Any, layers: List[Any], values: List[Any], data: List[batches.Batch]
) -> None:
    """Outputs and losses under these weights and data.

    The steps are those of plain gradient descent: the optimizers of old versions have chance in them (Adam of Keras 2 on
    TensorFlow 1 reads its count of steps before or after it is raised), so the program's own is compared by its numbers.
    """
    network.put(layers, values)
    outputs = _outputs(model, data[0])
    again = _outputs(model, data[0])
    record["shapes"] = [list(output.shape) for output in outputs]
    numbers = [float(number) for output in outputs for number in output.ravel()[:NUMBERS]][:NUMBERS]
    record["outputs"] = numbers
    record["random_outputs"] = any(not _equal(one, other) for one, other in zip(outputs, again))
    model.optimizer = keras.optimizers.SGD(RATE)
    model.train_function = None
    losses: List[float] = []
    record["saturated"] = []
    for batch in data:
        record["saturated"].append(any(_saturated(output) for output in _outputs(model, batch)))
        losses.append(_step(model, batch, record["classes"]))
    network.put(layers, values)
    repeated = _step(model, data[0], record["classes"])
    record["losses"] = losses
    record["random_training"] = abs(repeated - losses[0]) > 1e-5 * max(abs(losses[0]), 1e-6)


def _outputs(model: Any, batch: batches.Batch) -> List[Any]:
    import numpy

    found = model.predict_on_batch(_fed(batch["x"]))
    if isinstance(found, dict):
        found = [found[name] for name in sorted(found)]
    parts = found if isinstance(found, (list, tuple)) else [found]
    return [numpy.asarray(part.detach().cpu() if hasattr(part, "detach") else part) for part in parts]


def _saturated(output: Any) -> bool:
    """Whether a probability is so near 0 or 1 that its logarithm depends on how the framework clips it."""
    return bool(((abs(output) < SATURATED) | (abs(output - 1.0) < SATURATED)).any())


def _step(model: Any, batch: batches.Batch, classes: Optional[Dict[str, float]]) -> float:
    """The loss of one step of training, before its update; what earlier steps had is not averaged in."""
    import numpy

    if hasattr(model, "reset_metrics"):
        model.reset_metrics()
    more: Dict[str, Any] = {}
    if batch["w"] is not None:
        more["sample_weight"] = _fed(batch["w"])
    if classes:
        more["class_weight"] = {int(key): value for key, value in classes.items()}
    told = model.train_on_batch(_fed(batch["x"]), _fed(batch["y"]), **more)
    return float(numpy.ravel(told[0] if isinstance(told, (list, tuple)) else told)[0])


def _fed(part: Any) -> Any:
    """A part as Keras takes it: a list of one array is that array to some, and an error to others."""
    return part[0] if isinstance(part, list) and len(part) == 1 else part


def _class_weight(given: Any) -> Optional[Dict[str, float]]:
    if not isinstance(given, dict):
        return None
    try:
        return {str(int(key)): float(value) for key, value in given.items()}
    except (TypeError, ValueError):
        return None


def _same(method: str, arguments: Dict[str, Any], data: List[batches.Batch]) -> Optional[bool]:
    """Whether this program made the same first batch itself; `None` where its data cannot be read."""
    try:
        own = batches.of_call(method, arguments)
    except Exception:
        return None
    ours = [list(batches.leaves(own[0][key])) for key in ("x", "y")]
    theirs = [list(batches.leaves(data[0][key])) for key in ("x", "y")]
    return all(
        len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other)) for one, other in zip(ours, theirs)
    )


def _equal(one: Any, other: Any) -> bool:
    import numpy

    return one.shape == other.shape and bool(numpy.allclose(one, other, rtol=1e-5, atol=1e-7, equal_nan=True))
