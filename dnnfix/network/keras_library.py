"""Interpreter: calls of Keras and TensorFlow, which construct layers and losses or apply functions to tensors."""

from __future__ import annotations

import ast

from dnnfix.network.activations import ACTIVATION_FORMS, activation_name
from dnnfix.network.constructors import FrameworkLibrary
from dnnfix.network.containers import several
from dnnfix.network.created_arrays import dimensions
from dnnfix.network.layers import LAYERS
from dnnfix.network.losses import LOSSES
from dnnfix.network.machine import Arguments
from dnnfix.network.names import KERAS_FUNCTIONAL, KERAS_SEQUENTIALS, component_kind
from dnnfix.network.values import (
    Abstract,
    Function,
    Item,
    Items,
    KerasModel,
    Made,
    Opaque,
    Plain,
    Tensor,
    string,
)
from dnnfix.records import Json, Value

INPUTS = ("keras.Input", "keras.layers.Input", "keras.engine.input_layer.Input", "keras.layers.InputLayer")
_MERGES = {"add": "Add", "concatenate": "Concatenate", "multiply": "Multiply", "average": "Average",
           "maximum": "Maximum", "minimum": "Minimum", "subtract": "Subtract", "dot": "Dot"}  # fmt: skip
_AREAS = ("keras.ops", "keras.backend", "keras.activations", "tensorflow", "tensorflow.nn", "tensorflow.math",
          "tensorflow.image", "tensorflow.linalg")  # fmt: skip
_ALWAYS = ("keras.ops", "keras.activations", "tensorflow.nn")
_ENCODINGS = (
    "keras.utils.to_categorical",
    "keras.utils.np_utils.to_categorical",
    "tensorflow.one_hot",
    "keras.ops.one_hot",
)
_KEPT = ("dropout", "normalization")


class KerasLibrary(FrameworkLibrary):
    """Constructors and calls of Keras layers and functions; models are in `keras_models`."""

    framework = "keras"
    first_part = "layer"

    def call(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """A call of the Keras or TensorFlow function or class `name`."""
        if name in INPUTS:
            return self._input(name, arguments, node)
        if name in KERAS_SEQUENTIALS:
            return self._sequential(arguments, node)
        if name in KERAS_FUNCTIONAL:
            return self._functional(arguments, node)
        kind = component_kind(name)
        if kind is not None:
            return self.made(kind, name, arguments, node)
        if name in LOSSES:
            return self.loss(name, arguments, node)
        area, _, short = name.rpartition(".")
        if area in ("keras.layers", "keras.layers.merge") and short in _MERGES:
            return self._merge(f"keras.layers.{_MERGES[short]}", arguments, node)
        if name in _ENCODINGS or (
            area in _AREAS and (area in _ALWAYS or any(_has_tensor(v) for v, _ in arguments.all()))
        ):
            return self._function(name, arguments, node)
        if area in _AREAS and name in ACTIVATION_FORMS:
            return self._function(name, arguments, node)
        self.machine.escape_all(arguments)
        return Opaque(node)

    # --- constructors

    def _input(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        shape = dimensions(arguments.get(0, "shape", "input_shape"))
        batch = dimensions(arguments.get(None, "batch_shape", "batch_input_shape"))
        whole = batch if batch is not None else (None, *shape) if shape is not None else None
        kind = string(arguments.get(None, "dtype")) if "dtype" in arguments.keywords else "float32"
        return self.recorder.tensor("keras", shape=whole, dtype=kind, origin="symbolic", site=self.recorder.site(node))

    def _sequential(self, arguments: Arguments, node: ast.Call | None) -> Abstract:
        draft = self.recorder.draft("model", "keras.Sequential", node)
        given = arguments.get(0, "layers")
        if isinstance(given, Items) and given.draft is None:
            held = [Item(i.value, i.certain, i.name) for i in given.items]
        else:
            held = [Item(Opaque(), False)] if given is not None or arguments.open else []
        layers = Items("keras.Sequential", held, self.machine.context, draft)
        made = KerasModel(draft, self.machine.context, layers)
        self.recorder.roots.append(made)
        return made

    def _functional(self, arguments: Arguments, node: ast.Call | None) -> Abstract:
        draft = self.recorder.draft("model", "keras.Model", node)
        inputs = arguments.get(0, "inputs", "input")
        outputs = arguments.get(1, "outputs", "output")
        made = KerasModel(draft, self.machine.context)
        made.inputs = several(inputs)
        made.outputs = several(outputs)
        self.recorder.roots.append(made)
        return made

    def arguments(self, name: str, arguments: Arguments) -> dict[str, Json]:
        """As for any library, with activations by their short names."""
        found = super().arguments(name, arguments)
        if "activation" in found:
            found["activation"] = self._activation(arguments, found["activation"])
        return found

    def _activation(self, arguments: Arguments, given: Json) -> Json:
        value = arguments.get(None, "activation")
        if isinstance(value, Function | Made):
            text = value.draft.name if isinstance(value, Made) else "function"
            return {"repr": text}
        return activation_name(given) or given if isinstance(given, str) else given

    # --- calls

    def call_made(self, made: Made, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """Calling a Keras layer, loss or model."""
        draft = made.draft
        if draft.kind == "loss" and draft.name in LOSSES:
            return self.loss(draft.name, arguments, node, made)
        if draft.kind != "layer":
            draft.called += 1
            self.machine.escape_all(arguments)
            return Opaque(node)
        inputs = self._inputs(arguments, node)
        outputs = self.recorder.call(draft.name, node, inputs, draft=draft, facts=self._facts(made, inputs))
        return Tensor(outputs[0], "keras", multiple=draft.args.get("return_state", False) is not False)

    def _facts(self, made: Made, inputs: list[Value]) -> dict[str, object]:
        name, args = made.draft.name, made.draft.args
        if len(inputs) != 1 or inputs[0].shape is None:
            return {}
        shape = inputs[0].shape
        layer = LAYERS.get(name)
        if name == "keras.layers.Dense" and isinstance(args.get("units"), int) and shape:
            return {"shape": (*shape[:-1], args["units"]), "dtype": "float32"}
        if (layer is not None and layer.kind in _KEPT) or name in ACTIVATION_FORMS or name == "keras.layers.Activation":
            return {"shape": shape, "dtype": inputs[0].dtype}
        return {}

    def _inputs(self, arguments: Arguments, node: ast.AST | None) -> list[Value]:
        found: list[Value] = []
        for index, (value, at) in enumerate(arguments.positional):
            if isinstance(value, Items) and any(isinstance(v, Tensor | Opaque) for v in value.values()):
                known = value.exact
                found.extend([self.recorder.value_of(v, at or node) for v in value.values()] if known else [Value()])
            elif isinstance(value, Tensor) or (index == 0 and not isinstance(value, Plain)):
                found.append(self.recorder.value_of(value, at or node))
        for name, (value, at) in arguments.keywords.items():
            if isinstance(value, Tensor) and (
                name in ("inputs", "query", "value", "key", "initial_state") or not found
            ):
                found.append(self.recorder.value_of(value, at or node))
        return found

    def _merge(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        axis = arguments.get(1, "axis")
        args: dict[str, Json] = {"axis": axis.value} if isinstance(axis, Plain) else {}
        return Tensor(self.recorder.call(name, node, self._inputs(arguments, node), args=args)[0], "keras")

    def loss(self, name: str, arguments: Arguments, node: ast.Call | None, made: Made | None = None) -> Abstract:
        """A call of a loss in a custom training loop; inputs are put in the order prediction, target."""
        facts = LOSSES[name]
        prediction, target = (0, 1) if facts.prediction_first else (1, 0)
        values: list[Value] = []
        for position, argument in ((prediction, facts.prediction_argument), (target, facts.target_argument)):
            found = arguments.node(position, argument)
            values.append(self.recorder.value_of(found[0], found[1] or node) if found is not None else Value())
        args: dict[str, Json] | None = None
        if made is None:
            flag = arguments.get(2, "from_logits") if facts.has_from_logits else None
            args = {"from_logits": flag.value if isinstance(flag, Plain) else {"repr": "?"}} if flag is not None else {}
        draft = made.draft if made is not None else None
        return Tensor(self.recorder.call(name, node, values, draft=draft, args=args)[0], "keras")

    def _function(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        inputs = self._inputs(arguments, node)
        args: dict[str, Json] = {}
        for label, (value, _) in arguments.keywords.items():
            if isinstance(value, Plain):
                args[label] = value.value
        if name in ACTIVATION_FORMS and len(arguments.positional) > 1:
            axis = arguments.positional[1][0]
            args["axis"] = axis.value if isinstance(axis, Plain) else {"repr": "?"}
        if name in _ENCODINGS:
            count = arguments.get(1, "num_classes", "depth")
            args["num_classes"] = count.value if isinstance(count, Plain) else None
        facts: dict[str, object] = {}
        if name in ACTIVATION_FORMS and inputs and inputs[0].shape is not None:
            facts = {"shape": inputs[0].shape, "dtype": inputs[0].dtype}
        return Tensor(self.recorder.call(name, node, inputs, args=args, facts=facts)[0], "keras")


def _has_tensor(value: Abstract) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, Items) and any(_has_tensor(v) for v in value.values()))


def is_keras(name: str) -> bool:
    """Whether a canonical name is one of Keras's or TensorFlow's."""
    return name.startswith(("keras.", "tensorflow.")) or name in ("keras", "tensorflow")
