"""Edits of losses and of the output of a network: another loss, another output activation, another number of outputs.

As the other recipes, each answers `None` where it cannot tell how to make the edit right.
"""

from __future__ import annotations

import ast

from dnnfix.detect.call_arguments import added_by_statement, argument, element_of, input_expression
from dnnfix.detect.tensors.values import LossUse, whole
from dnnfix.network.facts import LOSSES, Prediction, activation_of, layer_facts, signature, through
from dnnfix.records import AddImport, Call, Edit, InsertElement, RemoveArgument, Replace, SetArgument, Wrap
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.recipes import bypass, reword, set_constructor_argument, together

Edits = tuple[Edit, ...]

TORCH_ACTIVATIONS = {
    "sigmoid": ("Sigmoid()", "torch.sigmoid({})"),
    "softmax": ("Softmax(dim={axis})", "torch.softmax({}, dim={axis})"),
    "log_softmax": ("LogSoftmax(dim={axis})", "torch.log_softmax({}, dim={axis})"),
    "relu": ("ReLU()", "torch.relu({})"),
    "tanh": ("Tanh()", "torch.tanh({})"),
}
"""By activation, the layer and the function of torch that apply it."""


def change_loss(subject: Subject, call: Call, to: str) -> Edits | None:
    """Edits that make the program use the loss class `to` (a canonical name) in place of the one that is called.

    The form stays: a string becomes a string, a function a function. Arguments that the new loss does not have go.
    """
    source = subject.source
    node = subject.node(call.made_at) if call.made_at is not None else subject.node(call.site)
    facts = LOSSES.get(to)
    if facts is None or not isinstance(node, ast.expr):
        return None
    if isinstance(node, ast.Name):
        values = source.bindings(node)
        if len(values) == 1 and isinstance(values[0], (ast.Constant, ast.Call)):
            node = values[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and facts.twin is not None:
        return (reword(subject, node, facts.twin.rpartition(".")[2]),)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return rename(subject, node, facts.twin or to)
    if not isinstance(node, ast.Call):
        return None
    now = LOSSES.get(source.qualified(node.func) or "")
    if now is None:
        return None
    name = (facts.twin or "") if now.function else to
    renamed = rename(subject, node.func, name) if name else None
    dropped = _arguments_to_drop(subject, node, now.name, name)
    return together(renamed, dropped)


def _arguments_to_drop(subject: Subject, node: ast.Call, old: str, new: str) -> Edits | None:
    before, after = signature(old), signature(new)
    if before is None or after is None or any(keyword.arg is None for keyword in node.keywords):
        return None
    if before.positional[: len(node.args)] != after.positional[: len(node.args)]:
        inputs = 2 if LOSSES[old].function else 0
        if len(node.args) > inputs or LOSSES[old].prediction_first is not LOSSES[new].prediction_first:
            return None
    gone = [k.arg for k in node.keywords if k.arg is not None and k.arg not in after.parameters]
    return tuple(RemoveArgument(subject.source.site(node), name) for name in gone)


def rename(subject: Subject, function: ast.expr, to: str) -> Edits | None:
    """Edits that put another class or function of the same module in place of `function`."""
    source = subject.source
    module, _, short = to.rpartition(".")
    if isinstance(function, ast.Attribute):
        base = source.segment(source.site(function.value))
        if source.qualified(function.value) in (module, None):
            return (Replace(source.site(function), f"{base}.{short}"),)
        return None
    if not isinstance(function, ast.Name):
        return None
    written = source.written(function) or ""
    home = written.rpartition(".")[0] or module
    return (Replace(source.site(function), short), AddImport(f"from {home} import {short}"))


def change_activation(subject: Subject, maker: Call, to: str, axis: int = 1) -> Edits | None:
    """Edits that make an activation, or the layer that applies one by its argument, apply `to` instead."""
    use = activation_of(maker)
    if use is None:
        return None
    if use.as_argument is not None:
        if maker.name == "keras.layers.Activation" and to == "linear":
            return None
        return set_constructor_argument(subject, maker, use.as_argument, _quoted(subject, maker, use.as_argument, to))
    if maker.name.startswith("keras.layers."):
        node = subject.constructor_node(maker)
        named = rename(subject, node.func, "keras.layers.Activation") if node is not None else None
        if node is None or named is None or not isinstance(named[0], Replace):
            return None
        return (Replace(subject.source.site(node), f'{named[0].code}("{to}")'), *named[1:])
    return _torch_activation(subject, maker, to, axis) if maker.name.startswith("torch.") else None


def _torch_activation(subject: Subject, maker: Call, to: str, axis: int) -> Edits | None:
    source = subject.source
    layer, function = TORCH_ACTIVATIONS[to]
    given = activation_of(maker)
    axis = given.axis if given is not None and given.axis is not None else axis
    node = subject.constructor_node(maker) if maker.made_at is not None else subject.call_node(maker)
    if node is None:
        return None
    if maker.made_at is not None:
        named = rename(subject, node.func, f"torch.nn.{layer.partition('(')[0]}")
        if named is None or not isinstance(named[0], Replace):
            return None
        both = {given.name if given is not None else "", to} <= {"softmax", "log_softmax"}
        if both:
            return named
        arguments = layer[layer.index("(") :].format(axis=axis)
        return (Replace(source.site(node), named[0].code + arguments), *named[1:])
    if {given.name if given is not None else "", to} <= {"softmax", "log_softmax"}:
        return rename(subject, node.func, maker.name.rpartition(".")[0] + "." + to)
    inner = input_expression(subject, maker)
    if inner is None:
        return None
    text = source.segment(source.site(inner))
    torch = torch_import(subject)
    return (Replace(source.site(node), function.format(text, axis=axis)), *torch)


def torch_import(subject: Subject) -> tuple[AddImport, ...]:
    """The import that code with `torch.…` needs; empty where the program has it."""
    has = any(name == "torch" and what == "torch" for name, what in subject.source.imported_names)
    return () if has else (AddImport("import torch"),)


def add_activation(subject: Subject, maker: Call, to: str, axis: int = 1) -> Edits | None:
    """Edits that put an activation behind a layer that has none: its argument in Keras, a layer or call in torch."""
    source = subject.source
    if maker.name.startswith("keras.layers."):
        if "activation" not in maker.args and subject.constructor_node(maker) is None:
            return None
        return set_constructor_argument(subject, maker, "activation", _quoted(subject, maker, "activation", to))
    if not maker.name.startswith("torch.nn.") or layer_facts(maker) is None:
        return None
    layer, function = (form.replace("{axis}", str(axis)) for form in TORCH_ACTIVATIONS[to])
    constructor = subject.constructor_node(maker)
    element = element_of(subject, constructor) if constructor is not None else None
    if constructor is not None and element is not None:
        named = rename(subject, constructor.func, f"torch.nn.{layer.partition('(')[0]}")
        if named is None or not isinstance(named[0], Replace):
            return None
        code = named[0].code + layer[layer.index("(") :]
        return (InsertElement(element[0], element[1] + 1, code), *named[1:])
    if constructor is not None and added_by_statement(subject, constructor) is not None:
        return None
    node = subject.call_node(maker)
    if node is None or constructor is None or source.constructor(node.func) is not constructor:
        return None
    before, after = function.split("{}")
    return (Wrap(source.site(node), before, after), *torch_import(subject))


def without_activation(subject: Subject, use: LossUse) -> Edits | None:
    """Edits that leave a loss's prediction without its activation; none where it has none."""
    return () if use.bare or use.producer is None else bypass(subject, use.producer)


def _quoted(subject: Subject, maker: Call, name: str, code: str) -> str:
    """The activation's name as a string, in the quotes that the call uses."""
    node = subject.constructor_node(maker)
    given = argument(subject, node, maker.name, name) if node is not None else None
    nodes = [given, *(k.value for k in node.keywords)] if node is not None else []
    for each in nodes:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            return reword(subject, each, code).code
    return f'"{code}"'


def set_width(subject: Subject, maker: Call, width: int) -> Edits | None:
    """Edits that change the number of outputs of the last layer."""
    facts = layer_facts(maker)
    if facts is None or facts.gives is None:
        return None
    node = subject.constructor_node(maker)
    given = argument(subject, node, maker.name, facts.gives) if node is not None else None
    if not isinstance(given, ast.Constant):
        return None
    return set_constructor_argument(subject, maker, facts.gives, str(width))


def wrap_input(subject: Subject, call: Call, index: int, before: str, after: str) -> Edits | None:
    """Edits that put code around an argument of a loss that the program calls: 0 the prediction, 1 the target."""
    node = input_expression(subject, call, index)
    return (Wrap(subject.source.site(node), before, after),) if node is not None else None


def set_from_logits(subject: Subject, call: Call, wanted: bool) -> Edits | None:
    """Edits that make a Keras loss take logits, or take probabilities again."""
    source = subject.source
    node = subject.node(call.made_at) if call.made_at is not None else subject.node(call.site)
    if isinstance(node, ast.Call) and LOSSES.get(source.qualified(node.func) or "") is not None:
        if wanted:
            return (SetArgument(source.site(node), "from_logits", "True", None),)
        if any(k.arg == "from_logits" for k in node.keywords):
            return (RemoveArgument(source.site(node), "from_logits"),)
        return (SetArgument(source.site(node), "from_logits", "False", 0),) if node.args else None
    if not wanted or not isinstance(node, ast.Constant):
        return None
    holder = keras_name(subject)
    if holder is None:
        return None
    return (
        Replace(source.site(node), f"{holder[0]}.losses.{call.name.rpartition('.')[2]}(from_logits=True)"),
        *holder[1],
    )


def keras_name(subject: Subject) -> tuple[str, tuple[AddImport, ...]] | None:
    """How the program spells the package keras, with the import that it needs for that."""
    names = subject.source.imported_names
    for name, what in names:
        if what in ("keras", "tensorflow.keras"):
            return name, ()
    tf = next((name for name, what in names if what == "tensorflow"), None)
    if tf is not None:
        return f"{tf}.keras", ()
    written = [what for _, what in names]
    if any(what.startswith("tensorflow.keras") for what in written):
        return "keras", (AddImport("from tensorflow import keras"),)
    return ("keras", (AddImport("import keras"),)) if any(what.startswith("keras.") for what in written) else None


def for_one_unit(subject: Subject, use: LossUse) -> list[tuple[str, Edits, float]]:
    """Ways to repair a loss over classes whose prediction has one value per sample: a title, edits and a prior each.

    Either the one value becomes the probability of the second class of two, with a loss for that, or the layer gets a
    value per class. What the targets showed decides which is likelier.
    """
    maker = use.producer
    if maker is None:
        return []
    found: list[tuple[str, Edits, float]] = []
    target = use.target
    high = target.high if target is not None and whole(target) else None
    two = high is None or high <= 1
    if two:
        edits = _binary(subject, use, maker)
        if edits is not None:
            found.append(("Use a sigmoid output with binary cross-entropy", edits, 0.8 if high is not None else 0.6))
    classes = max(2, int(high) + 1) if high is not None and 0 < high < 10_000 else None
    if use.target_is_one_hot or (use.facts.target.value == "one-hot" and target is not None and target.shape):
        last = target.shape[-1] if target is not None and target.shape else None
        classes = last if last is not None and last > 1 else classes
    layer = through(subject.network, maker.inputs[0]) if layer_facts(maker) is None and maker.inputs else maker
    edits = set_width(subject, layer, classes) if layer is not None and classes is not None else None
    if edits is not None:
        if use.in_keras and use.facts.prediction is Prediction.PROBABILITIES:
            softmax = _made_softmax(subject, use, maker)
            edits = (*edits, *softmax) if softmax is not None else edits
        found.append((f"Give the output one unit for each of the {classes} classes", edits, 0.9 if not two else 0.45))
    return found


def _made_softmax(subject: Subject, use: LossUse, maker: Call) -> Edits | None:
    if use.activation is not None and use.activation.name == "softmax":
        return ()
    if use.activation is None:
        return add_activation(subject, maker, "softmax")
    return change_activation(subject, maker, "softmax")


def _binary(subject: Subject, use: LossUse, maker: Call) -> Edits | None:
    """A sigmoid output with binary cross-entropy in Keras; raw scores with the loss that has the sigmoid in torch."""
    now = use.activation.name if use.activation is not None else "linear"
    if use.in_keras:
        loss: Edits | None = ()
        if "binary" not in use.call.name.lower():
            loss = change_loss(subject, use.call, "keras.losses.BinaryCrossentropy")
        logits = use.facts.prediction is Prediction.LOGITS
        if logits:
            output: Edits | None = () if now == "linear" else bypass(subject, maker)
        elif now == "sigmoid":
            output = ()
        else:
            output = change_activation(subject, maker, "sigmoid") or add_activation(subject, maker, "sigmoid")
        return together(output, loss)
    if use.in_torch:
        loss = change_loss(subject, use.call, "torch.nn.BCEWithLogitsLoss")
        output = () if now == "linear" else bypass(subject, maker)
        target = _target_like_prediction(subject, use)
        return together(output, loss, target)
    return None


def _target_like_prediction(subject: Subject, use: LossUse) -> Edits | None:
    target, shape = use.target, use.prediction.shape
    if target is None or target.shape is None or shape is None:
        return wrap_input(subject, use.call, 1, "", ".float()") if use.in_torch else ()
    code = "" if target.dtype in ("float32", "float64") else ".float()"
    code += ".unsqueeze(1)" if len(target.shape) == len(shape) - 1 and len(shape) == 2 else ""
    return wrap_input(subject, use.call, 1, "", code) if code else ()
