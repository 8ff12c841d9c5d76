"""The axes of a network's input: the shape that it expects, that of the data, and the expression that passes it.

A fault in the shape of the data crashes deep in the network and is repaired where the program passes its data in. So
the readings here go back from the call that failed: to the first layer that received the data, and outwards to the
argument of the outermost call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from dnnfix.detect.tensors.identity import same_thing
from dnnfix.detect.tensors.shapes import StatedInput, stated_keras_input, way_back
from dnnfix.network.facts import LayerFacts, layer_facts, loss_facts
from dnnfix.records import Call, Edit, Json, RenameArgument, Replace, Value
from dnnfix.records.record import record
from dnnfix.source.arguments import keyword_value
from dnnfix.subject import Subject

MAX_CALLERS = 16
"""Callers looked through on the way out to the expression that was given."""

KERAS_METHODS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})
"""Methods of a Keras model whose first argument is data for its input."""

FUNCTIONAL = re.compile(r"torch\.(?:nn\.functional\.)?conv([123])d")
"""The functions that convolve with a weight that they are given."""

Shape = tuple[int | None, ...]


@record
class Arrival:
    """Data on its way into a network that failed on it.

    `call` is the first layer (or the Keras model) that received it and `facts` what is known of that kind of layer;
    `value` is what came, `wanted` the batched shape that a Keras model was built for, `node` the expression that the
    program hands over.
    """

    call: Call
    facts: LayerFacts | None
    value: Value
    wanted: Shape | None
    node: ast.expr

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes that came; an arrival is only read where all of them are known."""
        return tuple(size for size in self.value.shape or () if size is not None)

    @property
    def is_keras(self) -> bool:
        """Whether the data goes into a Keras model."""
        return self.call.name.startswith("keras.")


def arrival(subject: Subject) -> Arrival | None:
    """The data that came in before the crash, where the crash lies in the network and not in its loss."""
    crash = subject.crash
    if crash is None or crash.call is None or not crash.call.inputs or loss_facts(crash.call) is not None:
        return None
    return arrival_at(subject, crash.call)


def arrival_at(subject: Subject, last: Call) -> Arrival | None:
    """The data behind the first input of a call: as the first layer on the way received it."""
    if not last.inputs:
        return None
    path = [as_layer(call) for call in (last, *way_back(subject, last.inputs[0]))]
    layers = [call for call in path if layer_facts(call) is not None or call.name.startswith("keras.models.")]
    if not layers:
        return None
    call = layers[-1]
    value = _real(subject, call) if call.inputs else None
    if value is None or value.shape is None or None in value.shape:
        return None
    node = handed_over(subject, call, value)
    if node is None:
        return None
    return Arrival(call, layer_facts(call), value, wanted_shape(subject, call), node)


def as_layer(call: Call) -> Call:
    """A convolution that is called with a weight of the program's own, as a call of the layer that would hold it."""
    found = FUNCTIONAL.fullmatch(call.name)
    weight = call.inputs[1].shape if found is not None and len(call.inputs) > 1 else None
    groups = call.args.get("groups", 1)
    if found is None or weight is None or weight[1] is None or not isinstance(groups, int):
        return call
    stated: dict[str, Json] = {
        "in_channels": weight[1] * groups,
        "out_channels": weight[0],
        "kernel_size": list(weight[2:]),
    }
    return replace(call, name=f"torch.nn.Conv{found[1]}d", args={**call.args, **stated})


def _real(subject: Subject, call: Call) -> Value | None:
    """The data behind a layer's input: a Keras model that was not built yet is first built on symbols of its shape."""
    value = call.inputs[0]
    if value.origin != "symbolic":
        return value
    given = [seen for seen in subject.network.calls if seen.name.startswith("keras.Model.") and seen.inputs]
    shape = given[-1].inputs[0].shape if given else None
    same = shape is not None and value.shape is not None and shape[1:] == value.shape[1:]
    return given[-1].inputs[0] if same and value.site is None else None


@record
class Declared:
    """A Keras layer that refuses the input shape that the program states for it, before any data came.

    `shape` is the stated shape, without the batch axis, and `stated` its expression.
    """

    call: Call
    facts: LayerFacts
    shape: Shape
    stated: StatedInput


def declared(subject: Subject) -> Declared | None:
    """The stated input shape in whose layer the program crashed while the model was built."""
    call = subject.crash.call if subject.crash is not None else None
    facts = layer_facts(call) if call is not None else None
    if call is None or facts is None or not call.inputs or not call.name.startswith("keras."):
        return None
    value = call.inputs[0]
    if value.origin != "symbolic" or value.shape is None or value.producer is not None:
        return None
    stated = stated_keras_input(subject, call)
    if stated is None or value.shape[1:] != stated.shape:
        return None
    return Declared(call, facts, stated.shape, stated)


def declare(subject: Subject, stated: StatedInput, shape: Sequence[int | None]) -> tuple[Edit, ...]:
    """Edits that state another input shape (without the batch axis) where the program states one."""
    text = f"({', '.join(str(size) for size in shape)}{',' if len(shape) == 1 else ''})"
    if stated.form != "input_dim":
        return (Replace(subject.source.site(stated.node), text),)
    if len(shape) == 1:
        return (Replace(subject.source.site(stated.node), str(shape[0])),)
    node = subject.source.parent(stated.node)
    call = subject.source.parent(node) if isinstance(node, ast.keyword) else None
    if not isinstance(call, ast.Call):
        return ()
    site = subject.source.site(call)
    return (RenameArgument(site, "input_dim", "input_shape"), Replace(subject.source.site(stated.node), text))


def fitted_inputs(subject: Subject) -> tuple[ast.expr, ...]:
    """The expressions that the program passes to Keras models as input, where it trains them in one place."""
    fits = [
        call for call in subject.source.all_calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and len(call.args) + len(call.keywords) > 1
    ]  # fmt: skip
    first = first_argument(fits[0]) if fits and len({ast.dump(call.func) for call in fits}) == 1 else None
    return sibling_inputs(subject, first) if first is not None else ()


def handed_over(subject: Subject, call: Call, value: Value | None = None) -> ast.expr | None:
    """The expression that passes the data in: the outermost one that is passed down unchanged to the call."""
    if call.name.startswith("keras."):
        came = value or (call.inputs[0] if call.inputs else None)
        node = subject.node(came.site) if came is not None else None
        return node if isinstance(node, ast.expr) else None
    node = subject.node(call.site)
    if not isinstance(node, ast.Call):
        return None
    if call.name.startswith("torch.Tensor.") and isinstance(node.func, ast.Attribute):
        return outward(subject, node.func.value)
    given = first_argument(node)
    return outward(subject, given) if given is not None else None


def first_argument(node: ast.Call) -> ast.expr | None:
    """The first argument of a call, by position or under one of the usual names of an input."""
    if node.args:
        return None if isinstance(node.args[0], ast.Starred) else node.args[0]
    return next((keyword.value for keyword in node.keywords if keyword.arg in ("input", "x", "inputs")), None)


def outward(subject: Subject, node: ast.expr) -> ast.expr:
    """The expression of the outermost caller whose value arrives as `node`, along the frames of the crash."""
    for _ in range(MAX_CALLERS):
        outer = _one_outward(subject, node)
        if outer is None:
            return node
        node = outer
    return node


def _one_outward(subject: Subject, node: ast.expr) -> ast.expr | None:
    source, crash = subject.source, subject.crash
    function = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    if crash is None or not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef):
        return None
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if node.id not in names or _rebound(subject, function, node):
        return None
    place = source.site(function)
    inside = [i for i, frame in enumerate(crash.frames) if place.encloses(frame.site)]
    caller = subject.node(crash.frames[inside[0] - 1].site) if inside and inside[0] > 0 else None
    if not isinstance(caller, ast.Call):
        return None
    method = isinstance(source.parent(function), ast.ClassDef) and names[:1] == ["self"]
    index = names.index(node.id) - int(method)
    for keyword in caller.keywords:
        if keyword.arg == node.id:
            return keyword.value
    if not 0 <= index < len(caller.args) or any(isinstance(one, ast.Starred) for one in caller.args[: index + 1]):
        return None
    return caller.args[index]


def _rebound(subject: Subject, function: ast.FunctionDef, node: ast.Name) -> bool:
    """Whether the function gives the name another value before the expression."""
    own = subject.source.statement_of(node)
    return any(
        isinstance(other, ast.Name)
        and other.id == node.id
        and isinstance(other.ctx, ast.Store)
        and other.lineno <= node.lineno
        and subject.source.statement_of(other) is not own
        for other in ast.walk(function)
    )


def wanted_shape(subject: Subject, call: Call) -> Shape | None:
    """The batched shape that a Keras model or layer was built for; `None` where it was never built, or for torch."""
    if not call.name.startswith("keras."):
        return None
    for seen in subject.network.calls:
        if seen.component != call.component or call.component is None or not seen.inputs or seen.phase != "symbolic":
            continue
        value = seen.inputs[0]
        if call.name.startswith("keras.models.") or call.name == "keras.Model":
            path = way_back(subject, value)
            value = path[-1].inputs[0] if path and path[-1].inputs else value
        if value.origin == "symbolic" and value.shape is not None:
            return value.shape
    return None


def meets(shape: Shape, wanted: Shape) -> bool:
    """Whether a shape is one that is wanted; an unknown size meets any."""
    return len(shape) == len(wanted) and all(
        a is None or b is None or a == b for a, b in zip(shape, wanted, strict=True)
    )


# --- where the same data is handed over elsewhere -------------------------------------------------------------------


def sibling_inputs(subject: Subject, node: ast.expr) -> tuple[ast.expr, ...]:
    """The expressions that pass data to the same model, `node` itself first.

    For Keras the first arguments of `fit`, `evaluate`, `predict` and the first half of `validation_data`; for torch the
    first arguments of all calls of the same thing. Calls that went well before a crash are left out.
    """
    found = [node]
    call = _call_around(subject, node)
    if call is None:
        return (node,)
    for other in subject.source.all_calls:
        if _same_callee(subject, call, other) and not _went_well(subject, other):
            first = _input_of(other)
            if first is not None and first is not node:
                found.append(first)
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in KERAS_METHODS
            and _same_callee(subject, call, other)
        ):
            held = _validation(other, 0)
            if held is not None and held is not node:
                found.append(held)
    return tuple(found)


def sibling_targets(subject: Subject, node: ast.expr) -> tuple[ast.expr, ...]:
    """The expressions that pass targets to the same Keras model, `node` itself first."""
    found = [node]
    call = _call_around(subject, node)
    if call is None:
        return (node,)
    for other in subject.source.all_calls:
        if _same_callee(subject, call, other):
            for one in (_target_of(other), _validation(other, 1)):
                if one is not None and one is not node:
                    found.append(one)
    return tuple(found)


def _call_around(subject: Subject, node: ast.expr) -> ast.Call | None:
    parent = subject.source.parent(node)
    while isinstance(parent, (ast.Tuple, ast.keyword)):
        parent = subject.source.parent(parent)
    return parent if isinstance(parent, ast.Call) else None


def _same_callee(subject: Subject, call: ast.Call, other: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in KERAS_METHODS:
        return (
            isinstance(other.func, ast.Attribute)
            and other.func.attr in KERAS_METHODS
            and same_thing(subject, other.func.value, call.func.value)
        )
    return same_thing(subject, other.func, call.func)


def _went_well(subject: Subject, node: ast.Call) -> bool:
    site, crash = subject.source.site(node), subject.crash
    if crash is None or any(frame.site == site for frame in crash.frames):
        return False
    return any(call.site == site for call in subject.network.calls if subject.network.known_from == "trace")


def _input_of(call: ast.Call) -> ast.expr | None:
    return first_argument(call)


def _target_of(call: ast.Call) -> ast.expr | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr in ("predict", "predict_on_batch"):
        return None
    if len(call.args) > 1 and not any(isinstance(one, ast.Starred) for one in call.args[:2]):
        return call.args[1]
    return keyword_value(call, "y")


def _validation(call: ast.Call, index: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == "validation_data" and isinstance(keyword.value, (ast.Tuple, ast.List)):
            return keyword.value.elts[index] if index < len(keyword.value.elts) else None
    return None
