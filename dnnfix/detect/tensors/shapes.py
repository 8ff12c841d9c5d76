"""Shapes and sizes: which layer produced a size, which shape a tensor had before it was flattened, which data a model
receives.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod

from dnnfix.detect.tensors.values import seen_of
from dnnfix.network.facts import KEEPS_VALUES, activation_of, layer_facts, stated_output
from dnnfix.records import Call, Site, Value
from dnnfix.records.record import record
from dnnfix.source.arithmetic import number
from dnnfix.subject import Subject

MAX_STEPS = 64
"""Calls looked through on the way back to the origin of a value."""

CONCATENATIONS = frozenset(
    {
        "torch.cat",
        "torch.concat",
        "torch.concatenate",
        "torch.hstack",
        "keras.layers.Concatenate",
        "keras.ops.concatenate",
    }
)

FLATTENINGS = frozenset(
    {"torch.flatten", "torch.Tensor.flatten", "torch.nn.Flatten", "torch.Tensor.view", "torch.Tensor.reshape"}
    | {"torch.reshape", "keras.layers.Flatten"}
)

IMAGE_KINDS = frozenset({"convolution", "pooling", "padding"})


def by(shape: Sequence[int | None]) -> str:
    """A shape as people write it: `2 x 3`."""
    return " x ".join(map(str, shape))


def keeps_shape(call: Call) -> bool:
    """Whether the call's output has the shape of its first input, where both are known."""
    if not call.inputs or not call.outputs or call.inputs[0].shape is None:
        return False
    return call.inputs[0].shape == call.outputs[0].shape


def sized_producer(subject: Subject, value: Value, axis: int) -> Call | None:
    """The layer whose own argument states the size of the value's axis, looking through calls that leave it alone.

    A call that leaves the size of the axis alone is an activation, a dropout, a normalization, or for an axis that is
    not spatial a pooling or padding; anything else ends the search.
    """
    network = subject.network
    call = network.producer(model_output(subject, value))
    for _ in range(MAX_STEPS):
        if call is None:
            return None
        facts = layer_facts(call)
        if facts is not None and facts.gives is not None and _same_axis(call, facts.gives_axis, axis, value):
            return call if stated_output(call) is not None else None
        if not _leaves_alone(call, axis, value) or not call.inputs:
            return None
        call = network.producer(call.inputs[0])
    return None


def _same_axis(call: Call, gives: int | None, axis: int, value: Value) -> bool:
    rank = len(value.shape or ())
    return gives is not None and rank > 0 and gives % rank == axis % rank


def _leaves_alone(call: Call, axis: int, value: Value) -> bool:
    facts = layer_facts(call)
    if activation_of(call) is not None or (facts is not None and facts.kind in ("dropout", "normalization")):
        return True
    if facts is not None and facts.kind in ("pooling", "padding", "shape") and facts.spatial:
        rank = len(value.shape or ())
        return rank > 0 and axis % rank < rank - facts.spatial
    if call.name in KEEPS_VALUES or call.name.startswith("torch.nn.functional."):
        before = call.inputs[0].shape if call.inputs else None
        return before is not None and call.outputs != () and call.outputs[0].shape == before
    return call.name in ("torch.nn.Identity", "torch.Tensor.add", "torch.Tensor.mul") and keeps_shape(call)


def before_flattening(subject: Subject, value: Value) -> tuple[Call, tuple[int, ...]] | None:
    """The call that flattened the value's last axis, and the sizes of the axes that it put together.

    Only where the batch axis was left alone: the sizes of the axes after the first multiply to the last one.
    """
    network = subject.network
    call = network.producer(value)
    for _ in range(MAX_STEPS):
        if call is None or not call.inputs:
            return None
        if call.name in FLATTENINGS:
            shape = call.inputs[0].shape
            if shape is None or value.shape is None or len(shape) < 3 or any(size is None for size in shape[1:]):
                return None
            sizes = tuple(size for size in shape[1:] if size is not None)
            return (call, sizes) if value.shape[-1] == prod(sizes) else None
        if not keeps_shape(call):
            return None
        call = network.producer(call.inputs[0])
    return None


def image_behind(subject: Subject, value: Value) -> Call | None:
    """The convolution or pooling that made the value, looking through what keeps its shape; `None` for anything else."""
    network = subject.network
    call = network.producer(value)
    for _ in range(MAX_STEPS):
        if call is None:
            return None
        facts = layer_facts(call)
        if facts is not None and facts.kind in IMAGE_KINDS:
            return call
        if call.name.startswith("torch.nn.functional.") and any(word in call.name for word in ("conv", "pool", "pad")):
            return call
        if not keeps_shape(call) or not call.inputs:
            return None
        call = network.producer(call.inputs[0])
    return None


@record
class DataGiven:
    """The input of `fit`, or of a call of a model: the value and its expression."""

    value: Value
    text: str | None


def fit_data(subject: Subject) -> tuple[DataGiven | None, DataGiven | None]:
    """The inputs and targets of the first training call of a Keras program, from the run or else from the source."""
    networks = [subject.network]
    if subject.network.known_from == "trace":
        networks.append(subject.source_network)
    for network in networks:
        for call in network.calls:
            if call.name in ("keras.Model.fit", "keras.Model.train_on_batch") and call.inputs:
                given = [DataGiven(value, _name_at(subject, value.site)) for value in call.inputs]
                if given[0].value.shape is not None:
                    return given[0], given[1] if len(given) > 1 else None
    return None, None


def _name_at(subject: Subject, site: Site | None) -> str | None:
    node = subject.node(site)
    return subject.text(site) if site is not None and isinstance(node, (ast.Name, ast.Attribute)) else None


@record
class StatedInput:
    """Where a Keras program states the shape of a model's input: the expression, its value, and how it is given.

    `form` is `input_shape`, `input_dim`, `batch_input_shape`, `shape` or `batch_shape`; `shape` is without the batch.
    """

    node: ast.expr
    shape: tuple[int | None, ...]
    form: str


def where_written(subject: Subject, node: ast.expr) -> ast.expr:
    """The expression that a name or attribute is bound to, where it is bound once; else the node itself."""
    for _ in range(3):
        bound = subject.source.bindings(node) if isinstance(node, (ast.Name, ast.Attribute)) else ()
        if len(bound) != 1:
            return node
        node = bound[0]
    return node


INPUT_FORMS = ("input_shape", "input_dim")


def stated_keras_input(subject: Subject, call: Call) -> StatedInput | None:
    """The expression that states the input shape that reaches this layer or model first."""
    constructor = subject.constructor_node(call)
    if constructor is not None and call.name.startswith("keras.layers."):
        for keyword in constructor.keywords:
            if keyword.arg in INPUT_FORMS:
                shape = _plain_shape(call.args.get(keyword.arg))
                if shape is not None:
                    return StatedInput(keyword.value, shape, keyword.arg)
    if call.name.startswith("keras.models."):
        first = _first_layer(subject, call)
        stated = stated_keras_input(subject, first) if first is not None else None
        if stated is not None:
            return stated
    return _stated_by_input(subject, call)


def _first_layer(subject: Subject, model: Call) -> Call | None:
    """The layer that the model's graph begins with, where it has one input."""
    for call in subject.network.calls:
        if call.component == model.component and call.name == model.name and len(call.inputs) == 1:
            path = way_back(subject, call.inputs[0])
            return path[-1] if path and path[-1].name.startswith("keras.layers.") else None
    return None


def _stated_by_input(subject: Subject, call: Call) -> StatedInput | None:
    """The same, where a `keras.Input(…)` states it: the symbolic value that this layer or model was built on."""
    symbolic: list[Value] = []
    for seen in (*subject.network.calls, call):
        same = seen.component == call.component and seen.component is not None
        whole = call.name.startswith("keras.models.") or call.name == "keras.Model"
        for value in seen.inputs if same or whole else ():
            if value.origin == "symbolic" and value.site is not None and value.shape is not None:
                symbolic.append(value)
    stated = _plain_shape(call.args.get("input_shape"))
    for value in symbolic:
        shape = tuple(value.shape or ())[1:]
        if stated is not None and call.name.startswith("keras.models.") and shape != stated[1:]:
            continue
        node = subject.node(value.site)
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "shape":
                return StatedInput(keyword.value, shape, "shape")
        if node.args and not isinstance(node.args[0], ast.Starred):
            return StatedInput(node.args[0], shape, "shape")
    return None


def _plain_shape(value: object) -> tuple[int | None, ...] | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, (list, tuple)) and all(one is None or isinstance(one, int) for one in value):
        return tuple(value)
    return None


def known(shape: Sequence[int | None] | None) -> tuple[int, ...] | None:
    """The shape where every size of it is known."""
    if shape is None or any(size is None for size in shape):
        return None
    return tuple(size for size in shape if size is not None)


def model_output(subject: Subject, value: Value) -> Value:
    """The value as the model's graph knows it: Keras runs a model on real tensors that the graph did not make."""
    if subject.network.producer(value) is not None or value.shape is None or value.origin in ("data", "symbolic"):
        return value
    for call in reversed(subject.network.calls):
        if call.name.startswith("keras.models.") or call.name == "keras.Model":
            for output in call.inputs:
                if output.producer is not None and _same_but_batch(output.shape, value.shape):
                    return output
    return value


def _same_but_batch(first: Sequence[int | None] | None, second: Sequence[int | None]) -> bool:
    if first is None or len(first) != len(second):
        return False
    return all(a is None or b is None or a == b for a, b in zip(first[1:], second[1:], strict=True))


def way_back(subject: Subject, value: Value) -> list[Call]:
    """The calls that made the value, the last one first, along first inputs."""
    found: list[Call] = []
    call = subject.network.producer(model_output(subject, value))
    while call is not None and len(found) < MAX_STEPS and call not in found:
        found.append(call)
        call = subject.network.producer(call.inputs[0]) if call.inputs else None
    return found


RANDOM_BOUNDS = frozenset({"torch.randint", "numpy.random.randint", "torch.randint_like"})


def label_count(subject: Subject, target: Value) -> int | None:
    """How many classes integer labels speak of: one more than the largest that was seen or that can be drawn."""
    highest = [value.high for value in seen_of(subject, target) if value.high is not None]
    if not highest or target.low is None or target.low < 0 or not all(high == int(high) for high in highest):
        return None
    return max(int(max(highest)) + 1, _drawn(subject, target) or 0)


def _drawn(subject: Subject, target: Value) -> int | None:
    """The bound given to the random generator that made the value, where it is written as a number."""
    node = subject.node(target.site)
    if isinstance(node, ast.Name):
        bound = subject.source.bindings(node, node)
        node = bound[0] if len(bound) == 1 else node
    if not isinstance(node, ast.Call) or subject.source.qualified(node.func) not in RANDOM_BOUNDS:
        return None
    numbers = [number(given) for given in node.args[:2]]
    return numbers[1] if len(numbers) > 1 and numbers[1] is not None else numbers[0] if numbers else None
