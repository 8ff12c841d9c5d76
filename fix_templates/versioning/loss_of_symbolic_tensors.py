"""`vae.add_loss(kl_loss)`, or a loss function that closes over tensors of the network other than its outputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddDefinition,
    AddImport,
    ApiChange,
    Edit,
    Hit,
    InsertBefore,
    InsertElement,
    RemoveArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Source,
    Subject,
    Wrap,
    added,
    argument_value,
    compile_calls,
    keras_era,
    symbolic,
    trees,
    uses_of,
)

_TENSOR = '''\
class AddedLoss(keras.layers.Layer):
    """Adds a loss computed from tensors of the network to the training loss; the outputs stay as they are."""

    def call(self, outputs, loss):
        self.add_loss(loss)
        return outputs'''

_FUNCTION = '''\
class LossOfTensors(keras.layers.Layer):
    """Adds the mean of a function of tensors of the network to the training loss; the outputs stay as they are."""

    def __init__(self, function, **settings):
        super().__init__(**settings)
        self.function = function

    def call(self, outputs, *tensors):
        self.add_loss(keras.ops.mean(self.function(*tensors)))
        return outputs'''

_TRAINS = frozenset({"fit", "fit_generator", "train_on_batch", "evaluate", "test_on_batch", "evaluate_generator"})
_WEIGHED = frozenset({"sample_weight", "class_weight"})
_SAVES = frozenset({"save", "save_model", "to_json", "to_yaml", "export", "clone_model"})
_PLACES = {"fit": 7, "train_on_batch": 2, "test_on_batch": 2, "evaluate": 4}
"""By method, the number of positional arguments before those for other data or weights."""


class LossOfSymbolicTensors(ApiChange):
    """A loss uses other tensors than a model's outputs and targets, as variational autoencoders do.

    Keras 3 does not keep the graph: `model.add_loss` refuses a symbolic tensor, and a loss function that closes over
    one fails on the first data. Both become a layer of the network that adds the loss when it is called and returns the
    outputs unchanged; the model is created again with the same layers and weights. A loss function gets the tensors as
    parameters from the layer, and `compile` gets no loss; if it reads its targets, the model has to be trained on its
    own input.

    Declined where the model is saved, has a second name, is indexed by layer, or is compiled with another loss later.

    Fix safety: unsafe: the model is another object of the same layers, with one more at its end.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/losses/.
    """

    code = "DNF597"
    name = "loss-of-symbolic-tensors"
    message = (
        "{loss} closes over tensors of the network ({tensors}); since Keras 3.0 a layer has to pass them to the loss"
    )
    triggers = ("add_loss", "compile")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if any(keras_era.keeps_to_keras_2(file) for file in source.files.values()):
            return
        for call in source.all_calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in self.triggers:
                continue
            model = call.func.value
            if isinstance(model, ast.Name) and model.id in ("self", "super") or not _is_model(source, model):
                continue
            if compile_calls.is_compile(call):
                yield from _compiled(source, call, model)
            else:
                yield from _added(source, call, model)

    programs = f"""
=== example (runs): the loss of a variational autoencoder
from keras import layers, ops
from keras.models import Model
+ import keras
+
+
{added(_TENSOR)}
+

x = layers.Input((8,))
mean, log_var = layers.Dense(2)(x), layers.Dense(2)(x)
decoded = layers.Dense(8)(mean)
vae = Model(x, decoded)
loss = ops.sum(ops.square(x - decoded), axis=-1)
loss *= 0.5
loss += ops.sum(ops.square(mean) + ops.exp(log_var) - log_var, axis=-1)
- vae.add_loss(ops.mean(loss))
+ vae = keras.Model(vae.inputs, AddedLoss()(vae.outputs[0], ops.mean(loss)), name=vae.name)
vae.compile("adam")

=== example (runs): by the name of the loss, of a model in parts
import keras
+
+
{added(_TENSOR)}


def build(size, code):
    start = keras.Input(shape=(size,))
    hidden = keras.layers.Dense(code)(start)
    encoder = keras.Model(start, [hidden, keras.layers.Dense(code)(hidden)])
    mean, deviation = encoder(start)
    penalty = keras.ops.mean(keras.ops.square(mean)) + keras.ops.mean(keras.ops.abs(deviation))
    network = keras.Model(inputs=start, outputs=keras.layers.Dense(size)(mean), name="network")
-     network.add_loss(penalty)
+     network = keras.Model(network.inputs, AddedLoss()(network.outputs[0], penalty), name=network.name)
    network.compile(optimizer="sgd", loss="mse")
    return network


build(6, 2).summary()

=== example (runs): a model with several outputs
import keras
from keras import ops
+
+
{added(_TENSOR)}
+

first, second = keras.Input((3,)), keras.Input((3,))
one, other = keras.layers.Dense(2)(first), keras.layers.Dense(2)(second)
model = keras.Model([first, second], [one, other])
apart = ops.mean(ops.square(one - other))
- model.add_loss(apart)
+ model = keras.Model(model.inputs, [AddedLoss()(model.outputs[0], apart), *model.outputs[1:]], name=model.name)
model.compile(loss=["mse", "mae"], optimizer="sgd")

=== example (runs): a function that closes over the network's tensors
import numpy as np
import keras
from keras import losses, ops
+
+
{added(_FUNCTION)}
+

size = 6
x = keras.Input(shape=(size,))
mean = keras.layers.Dense(2)(x)
log_var = keras.layers.Dense(2)(x)
vae = keras.Model(x, keras.layers.Dense(size, activation="sigmoid")(mean))


- def vae_loss(x, decoded):
+ def vae_loss(x, decoded, log_var, mean):
    fit = size * losses.binary_crossentropy(x, decoded)
    return fit - 0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)


- vae.compile(optimizer="rmsprop", loss=vae_loss)
+ vae = keras.Model(vae.inputs, LossOfTensors(vae_loss)(vae.outputs[0], vae.inputs[0], vae.outputs[0], log_var, mean), name=vae.name)
+ vae.compile(optimizer="rmsprop")
data = np.random.rand(32, size)
vae.fit(data, data, epochs=1, validation_data=(data, data))

=== example: within a function, with functions beside it that close over tensors too
import numpy as np
from keras import layers, ops
from keras.models import Model
+ import keras
+
+
{added(_FUNCTION)}


def build(size, weight):
    inputs = layers.Input((size,))
    code = layers.Dense(3)(inputs)

    def distance(true, predicted):
        return ops.mean(ops.square(true - predicted), axis=-1)

-     def sparsity():
+     def sparsity(code):
        return ops.mean(ops.abs(code), axis=-1)

-     def total(true, predicted):
-         return distance(true, predicted) + weight * sparsity()
+     def total(true, predicted, code):
+         return distance(true, predicted) + weight * sparsity(code=code)

    model = Model(inputs, layers.Dense(size)(code))
-     model.compile("adam", total, metrics=["mae"])
+     model = keras.Model(model.inputs, LossOfTensors(total)(model.outputs[0], model.inputs[0], model.outputs[0], code), name=model.name)
+     model.compile("adam", metrics=["mae"])
    return model, code.shape


x = np.random.rand(16, 5)
model, shape = build(5, 0.1)
model.fit(x=x, y=x)

=== reject (runs): a loss that a layer or a model adds as it is called
import keras
from keras import ops


class Sparse(keras.layers.Layer):
    def call(self, x):
        self.add_loss(ops.mean(ops.abs(x)))
        return x


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        h = self.dense(x)
        self.add_loss(ops.sum(h))
        return h


x = keras.Input((3,))
model = keras.Model(x, Sparse()(x))
model.compile("sgd", "mse")

=== reject (runs): a loss that asks a tensor of the network for its shape, and a layer for its weights
import keras
from keras import ops

x = keras.Input((3,))
layer = keras.layers.Dense(2)
h = layer(x)
model = keras.Model(x, h)


def loss(y_true, y_pred):
    return ops.sum(ops.square(y_true - y_pred)) / h.shape[-1] + ops.sum(ops.abs(layer.kernel))


model.compile(optimizer="sgd", loss=loss)

=== reject (runs): a loss whose parameters are called as tensors of the network are
import keras
from keras import ops

x = keras.Input((3,))
h = keras.layers.Dense(3)(x)
model = keras.Model(x, h)


def loss(x, h):
    return ops.mean(ops.square(x - h))


model.compile("sgd", loss)
"""


def _is_model(source: Source, model: ast.expr) -> bool:
    """Whether it is a model created by a call of `Model` or `Sequential`."""
    made = source.constructor(model)
    return made is not None and source.qualified(made.func) in ("keras.models.Model", "keras.models.Sequential")


def _added(source: Source, call: ast.Call, model: ast.expr) -> Iterator[Hit]:
    """A loss that is added to a model from outside."""
    given = [*call.args, *(k.value for k in call.keywords if k.arg in ("loss", "losses"))]
    if not any(symbolic.is_symbolic(source, each) for each in given):  # a number, or a function that returns one
        return
    decline = _why_not(source, call, model)
    named = {k.arg for k in call.keywords}
    if not decline and (len(given) != 1 or named - {"loss", "losses"}):
        decline = "its arguments are not known"
    loss = given[0] if given else None
    edits: list[Edit] = []
    several = _several(source, source.constructor(model))
    text = source.segment(source.site(model))
    if decline or loss is None:
        pass
    elif several or named or not isinstance(model, ast.Name) or not _is_old(source, loss):
        layer = f"AddedLoss()({text}.outputs[0], {source.segment(source.site(loss))})"
        edits.append(Replace(source.site(source.statement_of(call)), _anew(text, layer, several)))
    else:
        edits.append(Wrap(source.site(call), f"{text} := keras.Model({text}.inputs, ", f", name={text}.name)"))
        edits.append(Replace(source.site(call.func), "AddedLoss()"))
        edits.append(InsertElement(source.site(call), 0, f"{text}.outputs[0]"))
    yield Hit(
        source.site(call),
        "add_loss does not accept symbolic tensors since Keras 3.0; a layer has to add the loss when it is called",
        title="add the loss in a layer",
        edits=(*edits, *_defined(source, _TENSOR)) if edits else (),
        decline=decline,
        removed={"keras": "3.0"},
    )


def _compiled(source: Source, call: ast.Call, model: ast.expr) -> Iterator[Hit]:
    """A loss function of `compile` that closes over tensors of the network."""
    loss = argument_value(call, "loss", 1)
    function = source.definition(loss) if isinstance(loss, ast.Name) else None
    if not isinstance(loss, ast.Name) or not isinstance(function, ast.FunctionDef):
        return
    closed = _closed(source, function)
    if not any(closed.values()):
        return
    edits: list[Edit] = []
    decline = (
        _why_not(source, call, model)
        or _why_not_function(source, function, loss)
        or _why_not_trained(source, function, call, model)
    )
    if not decline:
        made = _parameters(source, closed, call)
        decline, edits = (made, []) if isinstance(made, str) else ("", made)
    if not decline:
        text = source.segment(source.site(model))
        tensors = [f"{text}.outputs[0]", f"{text}.inputs[0]", f"{text}.outputs[0]", *closed[function]]
        layer = f"LossOfTensors({loss.id})({', '.join(tensors)})"
        edits.append(InsertBefore(source.site(source.statement_of(call)), _anew(text, layer, False)))
        place = None if any(k.arg == "loss" for k in call.keywords) else 1
        edits.append(RemoveArgument(source.site(call), "loss" if place is None else "", place))
        edits += _defined(source, _FUNCTION)
    yield Hit(
        source.site(call),
        LossOfSymbolicTensors.message.format(loss=loss.id, tensors=", ".join(closed[function])),
        title="add the loss in a layer that gets the tensors",
        edits=tuple(edits) if not decline else (),
        decline=decline,
        removed={"keras": "3.0"},
    )


def _is_old(source: Source, loss: ast.expr) -> bool:
    """Whether an expression has calls that may need a migration themselves, for which its source has to stay."""
    names = (source.written(n) or "" for n in ast.walk(loss) if isinstance(n, (ast.Name, ast.Attribute)))
    return any(name.startswith(("tensorflow.", "keras.")) and not name.startswith("keras.ops") for name in names)


def _anew(model: str, layer: str, several: bool) -> str:
    """The statement that creates the model again, with the layer at its end."""
    outputs = f"[{layer}, *{model}.outputs[1:]]" if several else layer
    return f"{model} = keras.Model({model}.inputs, {outputs}, name={model}.name)"


def _defined(source: Source, code: str) -> Iterator[Edit]:
    if uses_of(source).imported.get("keras") is None:
        yield AddImport("import keras")
    yield AddDefinition(code)


def _why_not(source: Source, call: ast.Call, model: ast.expr) -> str:
    """Why the model cannot be created again at the statement of the call."""
    uses = uses_of(source)
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return "it is part of another expression"
    if {"AddedLoss", "LossOfTensors"} & uses.bound or "keras" in uses.bound:
        return "another object of the program has the layer's name"
    made = source.constructor(model)
    if made is None:
        return "how the model is created cannot be read"
    if decline := _why_not_alone(source, call, model, made) or _why_not_used(source, made):
        return decline
    if _several(source, made):
        for compiled in source.all_calls:
            if compile_calls.is_compile(compiled) and any(isinstance(k.value, ast.Dict) for k in compiled.keywords):
                return "losses are chosen by the names of the outputs, one of which would change"
    return ""


def _why_not_alone(source: Source, call: ast.Call, model: ast.expr, made: ast.Call) -> str:
    """Why the model may be held under another name, which would keep the old one."""
    text = ast.unparse(model)
    bound = source.statement_of(made)
    targets = bound.targets if isinstance(bound, ast.Assign) else [getattr(bound, "target", None)]
    if getattr(bound, "value", None) is not made or [t and ast.unparse(t) for t in targets] != [text]:
        return "the model has another name, too"
    function = source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    apart = source.enclosing(made, ast.FunctionDef, ast.AsyncFunctionDef) is not function
    if apart and isinstance(model, ast.Name):
        return "the model is created elsewhere, where it would stay unchanged"
    for use in source.nodes(type(model)):
        if not isinstance(use, (ast.Name, ast.Attribute)) or not isinstance(use.ctx, ast.Load):
            continue
        before = made.lineno < use.lineno < call.lineno
        elsewhere = apart and source.enclosing(use, ast.FunctionDef, ast.AsyncFunctionDef) is not function
        if not (before or elsewhere) or ast.unparse(use) != text:
            continue
        above = source.parent(use)
        if not isinstance(above, ast.Attribute):
            return f"line {use.lineno} uses the model as it was before"
        if above.attr == "compile":
            return "the model is compiled before"
    return ""


def _why_not_used(source: Source, made: ast.Call) -> str:
    """Why a model with one more custom layer would not work in place of the old one."""
    for node in source.nodes(ast.Attribute):
        if node.attr != "layers" or not _may_be(source, node.value, made):
            continue
        above = source.parent(node)
        if not (isinstance(above, (ast.For, ast.comprehension)) and above.iter is node):
            return f"line {node.lineno} reads the model's layers by their indices, which would change"
    for call in source.all_calls:
        named = {k.arg: k.value for k in call.keywords}
        placed = len(call.args) > 1 or "index" in named
        fetches = placed and isinstance(call.func, ast.Attribute) and call.func.attr == "get_layer"
        if fetches and _may_be(source, call.func.value, made):  # type: ignore[attr-defined]
            return f"line {call.lineno} reads a layer by its index, which would change"
        name = trees.last_name(call.func)
        if name == "ModelCheckpoint" and not trees.is_true(named.get("save_weights_only")):
            return f"line {call.lineno} saves the model, which would have a layer of the program's own"
        library = (source.qualified(call.func) or "keras").partition(".")[0]
        if name in _SAVES and library in ("keras", "tensorflow"):
            held = [*call.args, *named.values()]
            held += [call.func.value] if isinstance(call.func, ast.Attribute) else []
            if any(_may_be(source, each, made) for each in held if isinstance(each, (ast.Name, ast.Attribute))):
                return f"line {call.lineno} saves the model, which would have a layer of the program's own"
    return ""


def _may_be(source: Source, expr: ast.expr, made: ast.Call) -> bool:
    """Whether an expression may hold the model that a call created, perhaps in a function that returns it."""
    other = source.constructor(expr)
    if other is None:
        return source.qualified(expr) is None and all(
            isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp))
            for value in source.bindings(expr)
        )
    if other is made:
        return True
    name = trees.last_name(other.func)
    function = source.enclosing(made, ast.FunctionDef)
    while function is not None and function.name != name:
        function = source.enclosing(function, ast.FunctionDef)
    return function is not None


def _several(source: Source, made: ast.Call | None, met: frozenset[ast.Call] = frozenset()) -> bool:
    """Whether a model has several outputs."""
    if made is None or made in met:
        return False
    given = [k.value for k in made.keywords if k.arg in ("outputs", "output")] + made.args[1:2]
    values = (symbolic.values_of(source, given[0]) if given and isinstance(given[0], ast.Name) else given) or []
    for value in values:
        if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) > 1:
            return True
        called = value.func if isinstance(value, ast.Call) else None
        if (
            called is not None
            and _is_model(source, called)
            and _several(source, source.constructor(called), met | {made})
        ):
            return True
    return False


def _closed(source: Source, function: ast.FunctionDef) -> dict[ast.FunctionDef, list[str]]:
    """By function, the network's tensors that it, and the program's functions it calls, close over."""
    found: dict[ast.FunctionDef, list[str]] = {}
    calls: dict[ast.FunctionDef, set[ast.FunctionDef]] = {}
    pending = [function]
    while pending:
        current = pending.pop()
        if current in found:
            continue
        found[current], calls[current] = [], set()
        for name in _free(source, current):
            if symbolic.is_symbolic(source, name):
                if symbolic.reads_value(source, name) and name.id not in found[current]:
                    found[current].append(name.id)
            elif isinstance(called := source.definition(name), ast.FunctionDef) and called is not current:
                calls[current].add(called)
                pending.append(called)
    for _ in found:  # a function that is called gets them from its caller
        for current, several in calls.items():
            for called in several:
                found[current] += [name for name in found[called] if name not in found[current]]
    return found


def _free(source: Source, function: ast.FunctionDef) -> Iterator[ast.Name]:
    """The names that a function reads from outside."""
    within = {function, *(n for n in ast.walk(function) if isinstance(n, (ast.FunctionDef, ast.Lambda)))}
    for node in ast.walk(ast.Module(function.body, [])):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and symbolic.scope_of(source, node) not in within
        ):
            yield node


def _why_not_function(source: Source, function: ast.FunctionDef, loss: ast.Name) -> str:
    """Why the loss function cannot get parameters."""
    used = [n for n in uses_of(source).names(function.name) if isinstance(n.ctx, ast.Load)]
    if any(name is not loss for name in used if source.definition(name) is function):
        return f"{function.name} is used elsewhere, too"
    if len(function.args.args) != 2 or len(symbolic.parameters(function)) != 2 or function.args.defaults:
        return f"{function.name} has other parameters than the targets and the outputs"
    return ""


def _why_not_trained(source: Source, function: ast.FunctionDef, call: ast.Call, model: ast.expr) -> str:
    """Why the network cannot provide what the loss got from outside."""
    made = source.constructor(model)
    if made is None or _several(source, made):
        return "the loss is computed for each of several outputs"
    if any(k.arg in ("loss_weights", "sample_weight_mode", "weighted_metrics") for k in call.keywords) or any(
        k.arg is None for k in call.keywords
    ):
        return "the loss is weighted"
    metrics = [k.value for k in call.keywords if k.arg == "metrics"] + call.args[2:3]
    for metric in (n for value in metrics for n in ast.walk(value) if isinstance(n, ast.Name)):
        definition = source.definition(metric)
        if isinstance(definition, ast.FunctionDef) and any(_closed(source, definition).values()):
            return f"the metric {metric.id} closes over tensors of the network, too"
    for other in source.all_calls:
        if other is not call and compile_calls.is_compile(other) and _may_be(source, other.func.value, made):  # type: ignore[attr-defined]
            return f"line {other.lineno} compiles the model with another loss"
    target = function.args.args[0].arg
    reads = any(isinstance(n, ast.Name) and n.id == target for n in ast.walk(function))
    trained = [
        other
        for other in source.all_calls
        if isinstance(other.func, ast.Attribute)
        and other.func.attr in _TRAINS
        and _may_be(source, other.func.value, made)
    ]
    for other in trained:
        named = {k.arg: k.value for k in other.keywords}
        if _WEIGHED & named.keys():
            return f"line {other.lineno} weights the loss"
        method = other.func.attr  # type: ignore[attr-defined]
        if None in named or any(isinstance(arg, ast.Starred) for arg in other.args):
            return f"the arguments of line {other.lineno} are not known"
        if len(other.args) > _PLACES.get(method, len(other.args)):
            return f"line {other.lineno} may weight the loss"
        held = _pairs(source, named.get("validation_data"))
        if held is None and not method.endswith("generator") or any(len(pair) > 2 for pair in held or ()):
            return f"the validation data of line {other.lineno} are not known"
        data = named.get("x", other.args[0] if other.args else None)
        wanted = named.get("y", other.args[1] if len(other.args) > 1 else None)
        pairs = [(data, wanted), *(held or ())]
        if reads and (method.endswith("generator") or not all(_are_same(*pair) for pair in pairs)):
            return f"the network does not know the targets of line {other.lineno}"
    return f"whether {target} is the network's input is not known" if reads and not trained else ""


def _pairs(source: Source, data: ast.expr | None) -> list[list[ast.expr]] | None:
    """The validation data with targets and perhaps weights; `None` where they are not known."""
    values = symbolic.values_of(source, data) if isinstance(data, ast.Name) else [data]
    found: list[list[ast.expr]] = []
    for value in values or ():
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) in (2, 3):
            found.append(value.elts)
        elif value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            return None
    return found if values else None


def _are_same(data: ast.expr | None, wanted: ast.expr | None) -> bool:
    """Whether two expressions are provably the same data, without calls that may return something else each time."""
    if data is None or wanted is None or ast.dump(data) != ast.dump(wanted):
        return False
    parts = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.GeneratorExp, ast.Starred)
    return not any(isinstance(node, parts) for node in ast.walk(data))


def _parameters(source: Source, closed: dict[ast.FunctionDef, list[str]], call: ast.Call) -> list[Edit] | str:
    """The edits that pass the tensors from function to function, or the reason why there are none."""
    edits: list[Edit] = []
    for function, names in closed.items():
        for name in _free(source, function):
            values = symbolic.values_of(source, name) or []
            if name.id in names and symbolic.scope_of(source, name) is not symbolic.scope_of(source, name, call):
                return f"{name.id} is another one where the model is compiled"
            if name.id not in names and name.id in ("self", "cls"):
                return f"{function.name} reads other values of an object"
            if any(isinstance(value, ast.Call) and _is_model(source, value.func) for value in values):
                return f"{name.id} is not known to be a tensor of the network"
        if not names:
            continue
        line = source.places.lines[function.lineno - 1]
        head, ends, rest = line.rstrip().rpartition("):")
        if not ends or rest or set(names) & set(symbolic.parameters(function)):
            return f"the parameters of {function.name} are written in another way"
        given = ", ".join([*(["", *names] if symbolic.parameters(function) else names)])
        edits.append(ReplaceLines(Site(function.lineno, 1, function.lineno, len(line) + 1), f"{head}{given}):"))
        if function is next(iter(closed)):
            continue
        for use in uses_of(source).names(function.name):
            if not isinstance(use.ctx, ast.Load) or source.definition(use) is not function:
                continue
            above = source.parent(use)
            holder = source.enclosing(use, ast.FunctionDef)
            if not isinstance(above, ast.Call) or above.func is not use or holder not in closed:
                return f"{function.name} is used elsewhere, too"
            edits += [SetArgument(source.site(above), name, name) for name in names]
    return edits
