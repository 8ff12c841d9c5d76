"""`Merge([left, right], mode="concat")`: a layer of Keras 1 that joined branches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Hit,
    InsertAfter,
    RemoveArgument,
    RenameArgument,
    Replace,
    SetArgument,
    Source,
    Subject,
    Wrap,
    argument_value,
    changed_imports,
    keyword_value,
    uses_of,
)
from dnnfix.detect.versioning.migration import Claims

LAYERS = {
    "concat": "Concatenate",
    "sum": "Add",
    "mul": "Multiply",
    "ave": "Average",
    "max": "Maximum",
    "dot": "Dot",
    "cos": "Dot",
}
FUNCTIONS = {
    "concat": "concatenate",
    "sum": "add",
    "mul": "multiply",
    "ave": "average",
    "max": "maximum",
    "dot": "dot",
    "cos": "dot",
}
"""By the mode of Keras 1, the layer and the function of today."""

RENAMED = {"concat_axis": "axis", "dot_axes": "axes", "arguments": "arguments", "output_shape": "output_shape"}
"""What a mode was told by, and how its layer is told it. Other settings belong to other modes and did nothing."""

BELONG = {"Concatenate": ("concat_axis",), "Dot": ("dot_axes",), "Lambda": ("arguments", "output_shape")}

IDLE = frozenset({*RENAMED, "node_indices", "tensor_indices", "output_mask"})


class MergeLayer(ApiChange):
    """Keras 2 put a layer for each mode in the place of `Merge`, and takes tensors, not models.

    `merge(…)` on tensors becomes the function of its mode; a mode that is a function becomes a `Lambda`. Where `Merge`
    joined sequential models to begin another one, that one becomes functional: its layers are called one after the other,
    and a `Model` is made of the branches' inputs and the last output.

    Fix safety: unsafe: a sequential model becomes a functional one, whose layers have other places; the cosine had an axis
    more.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes.
    """

    code = "DNF517"
    name = "merge-layer"
    message = "{old} was removed in Keras 2.0; each mode is a layer of its own"
    triggers = ("Merge", "merge")

    def claims(self, subject: Subject) -> Claims:
        """The layer and the function, wherever they are used."""
        return Claims(frozenset({"keras.layers.Merge", "keras.layers.merge"}))

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """One hit for all calls of `Merge` and of `merge`, which share an import."""
        source = subject.source
        for old, names in (("Merge", LAYERS), ("merge", FUNCTIONS)):
            calls = [c for c in source.all_calls if _is_merge(subject, c, old)]
            if not calls:
                continue
            edits: list[Edit] = []
            modes: dict[str, None] = {}
            decline = ""
            for call in calls:
                name = _today(subject, call, names)
                made = _function(subject, call, name) if old == "merge" else _layer(subject, call, name)
                if not name or made is None:
                    what = "how the branches are joined and used cannot be read" if name else "its mode cannot be read"
                    decline = f"line {call.lineno}: {what}"
                    break
                modes[name] = None
                edits += made
            module = (source.written(calls[0].func) or "keras.layers").rpartition(".")[0]
            local = calls[0].func.id if isinstance(calls[0].func, ast.Name) else ""
            if local:
                edits += _imported(subject, local, module, [*modes])
            yield Hit(
                source.site(calls[0]),
                self.message.format(old=old),
                title=f"join the branches with {' and '.join(modes)}",
                edits=() if decline else tuple(edits),
                decline=decline,
                removed={"keras": "2.0"},
            )

    programs = """
=== example: two sequential branches
- from keras.models import Sequential
- from keras.layers import Dense, Merge
+ from keras.models import Model, Sequential
+ from keras.layers import Dense, Add

left = Sequential()
left.add(Dense(32, input_dim=784))
right = Sequential()
right.add(Dense(32, input_dim=784))
- model = Sequential()
- model.add(Merge([left, right], mode="sum"))
- model.add(Dense(10, activation="softmax"))
+ merged = Add()([left.outputs[0], right.outputs[0]])
+ merged = Dense(10, activation="softmax")(merged)
+ model = Model(inputs=[left.inputs[0], right.inputs[0]], outputs=merged)
model.compile(optimizer="rmsprop", loss="categorical_crossentropy")

=== example: a layer that is called
- from keras.layers import Input, Merge
+ from keras.layers import Input, Multiply

a, b = Input(shape=(3,)), Input(shape=(3,))
- product = Merge(mode="mul")([a, b])
+ product = Multiply()([a, b])

=== example: products along axes, and a function as the mode
- from keras.layers import Input, Lambda, merge
+ from keras.layers import Input, Lambda, dot

a, b = Input(shape=(3,)), Input(shape=(3,))
- scores = merge([a, b], mode="dot", dot_axes=1)
- alike = merge([a, b], mode="cos", dot_axes=-1)
- apart = merge([a, b], mode=lambda ab: ab[0] - ab[1], output_shape=lambda shapes: shapes[0])
+ scores = dot([a, b], axes=1)
+ alike = dot([a, b], axes=-1, normalize=True)
+ apart = Lambda(function=lambda ab: ab[0] - ab[1], output_shape=lambda shapes: shapes[0])([a, b])

=== example: functions that have names
- from keras.layers import Dense, Input, merge
+ from keras.layers import Dense, Input, Lambda, add
from keras.models import Model

left, right = Input(shape=(4,)), Input(shape=(4,))
distance = lambda x: abs(x[0] - x[1])
size = (4,)
- apart = merge([left, right], mode=distance, output_shape=lambda x: x[0])
- again = merge([left, right], distance, output_shape=size, name="again")
- model = Model([left, right], Dense(1)(merge([apart, again])))
+ apart = Lambda(function=distance, output_shape=lambda x: x[0])([left, right])
+ again = Lambda(distance, name="again")([left, right])
+ model = Model([left, right], Dense(1)(add([apart, again])))

=== example: branches at the head of a list, one of them joined itself
- from keras.layers import Dense, Merge
- from keras.models import Sequential
+ from keras.layers import Dense, Average, Concatenate
+ from keras.models import Model, Sequential

first = Sequential([Dense(4, input_shape=(3,))])
second = Sequential([Dense(4, input_shape=(3,))])
- both = Sequential()
- both.add(Merge([first, second], mode="ave"))
- both.add(Dense(5))
+ merged = Average()([first.outputs[0], second.outputs[0]])
+ merged = Dense(5)(merged)
+ both = Model(inputs=[first.inputs[0], second.inputs[0]], outputs=merged)
third = Sequential([Dense(5, input_shape=(2,))])
- model = Sequential([Merge([both, third], mode="concat", concat_axis=-1), Dense(1)])
- model.add(Dense(2))
+ merged = Concatenate(axis=-1)([both.outputs[0], third.outputs[0]])
+ merged = Dense(1)(merged)
+ merged = Dense(2)(merged)
+ model = Model(inputs=[*both.inputs, third.inputs[0]], outputs=merged)

=== reject: layers of today
from keras.layers import Concatenate, Input, add

a, b = Input(shape=(3,)), Input(shape=(3,))
joined = Concatenate()([a, add([a, b])])

=== reject: a function of today that is given to Lambda
from keras.layers import Input, Lambda

a, b = Input(shape=(3,)), Input(shape=(3,))
merge = lambda x: x[0] - x[1]
apart = Lambda(merge, output_shape=lambda x: x[0])([a, b])
print(merge([1, 2]))

=== reject: joining tables
import keras
import pandas as pd

table = pd.merge(a, b, on="id")
model = keras.Sequential()
"""


def _is_merge(subject: Subject, call: ast.Call, old: str) -> bool:
    written = subject.source.written(call.func) or ""
    return written.startswith(("keras.", "tensorflow.keras.")) and written.endswith(f".{old}")


def _imported(subject: Subject, local: str, module: str, names: list[str]) -> list[Edit]:
    """The edits that import the layers of today in the place of the one that is gone."""
    uses = uses_of(subject.source)
    package = "tensorflow.keras.layers" if module.startswith("tensorflow.") else "keras.layers"
    missing = [name for name in names if name not in uses.imported]
    taken = (
        changed_imports.replaced_import(uses, local, package, ", ".join(missing))
        if missing
        else changed_imports.replaced_import(uses, local)
    )
    return [taken] if taken is not None else []


def _today(subject: Subject, call: ast.Call, names: dict[str, str]) -> str:
    """The layer or function for the mode of a call; empty where the mode cannot be read."""
    mode = argument_value(call, "mode", 1) or ast.Constant("sum")
    if isinstance(mode, ast.Constant):
        return names.get(str(mode.value), "")
    if isinstance(subject.source.definition(mode), ast.FunctionDef):
        return "Lambda"
    values = subject.source.bindings(mode) if isinstance(mode, ast.Name) else (mode,)
    return "Lambda" if values and all(isinstance(value, ast.Lambda) for value in values) else ""


def _is_sizes(source: Source, shape: ast.expr) -> bool:
    """Whether a shape is stated as its sizes: of several inputs, Keras 3 cannot tell the batch, and needs no such word."""
    values = source.bindings(shape) if isinstance(shape, ast.Name) else (shape,)
    return bool(values) and all(isinstance(value, (ast.Tuple, ast.List, ast.Constant)) for value in values)


def _settings(source: Source, call: ast.Call, name: str) -> tuple[list[ast.keyword], list[ast.keyword], str] | None:
    """The keywords that stay, those that go, and what has to be added; `None` for one that is not known."""
    belong = BELONG.get(name[:1].upper() + name[1:], ())
    stay, go, added = [], [], ""
    for keyword in call.keywords:
        if keyword.arg in belong and not (keyword.arg == "output_shape" and _is_sizes(source, keyword.value)):
            stay.append(keyword)
        elif keyword.arg in IDLE:
            go.append(keyword)
        elif keyword.arg not in ("name", "mode", "layers", "inputs"):
            return None
    if name in ("Dot", "dot") and not any(k.arg == "dot_axes" for k in stay):
        added = "axes=-1"
    mode = argument_value(call, "mode", 1)
    if isinstance(mode, ast.Constant) and mode.value == "cos":
        added += ", " * bool(added) + "normalize=True"
    return stay, go, added


def _function(subject: Subject, call: ast.Call, name: str) -> list[Edit] | None:
    source = subject.source
    site = source.site(call)
    settings = _settings(source, call, name)
    if settings is None or len(call.args) > 2:
        return None
    stay, go, added = settings
    edits: list[Edit] = [Replace(source.site(call.func), _spelled(subject, call, name))]
    edits += [RenameArgument(site, str(k.arg), RENAMED[str(k.arg)]) for k in stay if RENAMED[str(k.arg)] != k.arg]
    edits += [RemoveArgument(site, str(k.arg)) for k in go]
    for pair in added.split(", ") if added else ():
        argument, _, code = pair.partition("=")
        edits.append(SetArgument(site, argument, code))
    if name == "Lambda":
        tensors = argument_value(call, "inputs", 0)
        if tensors is None:
            return None
        edits.append(RemoveArgument(site, "inputs", 0))
        edits += [RenameArgument(site, "mode", "function")] if keyword_value(call, "mode") is not None else []
        edits += [Wrap(site, "", f"({source.segment(source.site(tensors))})")]
        return edits
    if len(call.args) > 1:
        edits.append(RemoveArgument(site, "", 1))
    elif keyword_value(call, "mode") is not None:
        edits.append(RemoveArgument(site, "mode"))
    return edits


def _spelled(subject: Subject, call: ast.Call, name: str) -> str:
    if isinstance(call.func, ast.Attribute):
        return f"{subject.source.segment(subject.source.site(call.func.value))}.{name}"
    return name


def _layer(subject: Subject, call: ast.Call, name: str) -> list[Edit] | None:
    source = subject.source
    settings = _settings(source, call, name)
    if settings is None:
        return None
    stay, _, added = settings
    said = [f"{RENAMED[str(k.arg)]}={source.segment(source.site(k.value))}" for k in stay]
    said += [added] if added else []
    said += [f"name={source.segment(source.site(k.value))}" for k in call.keywords if k.arg == "name"]
    mode = argument_value(call, "mode", 1)
    if name == "Lambda" and mode is not None:
        said.insert(0, source.segment(source.site(mode)))
    layer = f"{_spelled(subject, call, name)}({', '.join(said)})"
    above = source.parent(call)
    branches = argument_value(call, "layers", 0)
    if branches is None:
        return [Replace(source.site(call), layer)] if isinstance(above, ast.Call) and above.func is call else None
    if not isinstance(branches, (ast.List, ast.Tuple)) or not all(isinstance(b, ast.Name) for b in branches.elts):
        return None
    return _functional(subject, call, layer, [b.id for b in branches.elts if isinstance(b, ast.Name)])


def _functional(subject: Subject, call: ast.Call, layer: str, branches: list[str]) -> list[Edit] | None:
    """The sequential model that begins with the merge, written as calls of its layers."""
    source = subject.source
    statement = source.statement_of(call)
    joined = f"{layer}([{', '.join(f'{b}.outputs[0]' for b in branches)}])"
    inputs = ", ".join(f"*{b}.inputs" if _is_joined(subject, b) else f"{b}.inputs[0]" for b in branches)
    made, imported = _model(subject)
    local = "merged"
    listed = _listed(subject, statement, call)
    if listed is not None:
        model, layers = listed
        lines = [f"{local} = {joined}", *(f"{local} = {source.segment(source.site(x))}({local})" for x in layers)]
        adds = _adds(subject, statement, model)
        if adds is None:
            return None
        end = f"{model} = {made}(inputs=[{inputs}], outputs={local})"
        edits: list[Edit] = [Replace(source.site(statement), "\n".join([*lines, *([] if adds else [end])]))]
        return [*edits, *_called(subject, adds, local, end), *imported]
    adding = _added(statement, call)
    if isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name):
        local = statement.targets[0].id
        block = getattr(source.parent(statement), "body", [])
        adding = next((a for s in block if (a := _added(s, local)) is not None), None)
    if adding is None:
        return None
    model, first = adding
    block = getattr(source.parent(first), "body", [])
    begun = [s for s in block[: block.index(first)] if _begins(subject, s, model)]
    adds = _adds(subject, first, model)
    if len(begun) != 1 or not adds:
        return None
    edits = [Delete(source.site(begun[0]))]
    if statement is first:
        edits.append(Replace(source.site(first), f"{local} = {joined}"))
    else:
        edits += [Replace(source.site(call), joined), Delete(source.site(first))]
    end = f"{model} = {made}(inputs=[{inputs}], outputs={local})"
    return [*edits, *_called(subject, adds, local, end), *imported]


def _listed(subject: Subject, statement: ast.stmt, call: ast.Call) -> tuple[str, list[ast.expr]] | None:
    """The model that a statement `model = Sequential([call, …])` makes, and the layers after the first."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    target, made = statement.targets[0], statement.value
    name = subject.source.qualified(made.func) or ""
    given = made.args[0] if len(made.args) == 1 and not made.keywords else None
    if not isinstance(target, ast.Name) or not name.endswith(".Sequential") or not isinstance(given, ast.List):
        return None
    return (target.id, given.elts[1:]) if given.elts[:1] == [call] else None


def _adds(subject: Subject, first: ast.stmt, model: str) -> list[tuple[ast.stmt, ast.expr]] | None:
    """The statements after `first` that add a layer to the model; `None` where layers are added elsewhere too."""
    source = subject.source
    block = getattr(source.parent(first), "body", [])
    after = block[block.index(first) + 1 :] if first in block else []
    for place, statement in enumerate(after):
        if _begins(subject, statement, model):  # the name goes on to hold another model
            after = after[:place]
            break
    found = [(s, layer) for s in after if (layer := _layer_of(s, model)) is not None]
    inside = [c for s in after for c in ast.walk(s) if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)]
    named = [c for c in inside if c.func.attr == "add" and getattr(c.func.value, "id", "") == model]  # type: ignore[attr-defined]
    return found if len(named) == len(found) else None


def _called(subject: Subject, adds: list[tuple[ast.stmt, ast.expr]], local: str, end: str) -> Iterator[Edit]:
    """Each added layer as a call of it, and the model after the last."""
    source = subject.source
    for number, (statement, layer) in enumerate(adds, 1):
        code = f"{local} = {source.segment(source.site(layer))}({local})"
        yield Replace(source.site(statement), code)
        if number == len(adds):
            yield InsertAfter(source.site(statement), end)


def _is_joined(subject: Subject, branch: str) -> bool:
    """Whether a branch is itself a model that begins with a merge, and so has several inputs."""
    for call in subject.source.all_calls:
        if _is_merge(subject, call, "Merge"):
            statement = subject.source.statement_of(call)
            adding = _added(statement, call)
            listed = _listed(subject, statement, call)
            if branch in (adding and adding[0], listed and listed[0]):
                return True
    return False


def _added(statement: ast.stmt, what: ast.Call | str) -> tuple[str, ast.stmt] | None:
    """The model to which a statement `model.add(what)` adds, with the statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "add":
        return None
    if not isinstance(call.func.value, ast.Name) or len(call.args) != 1:
        return None
    given = call.args[0]
    same = given is what or (isinstance(given, ast.Name) and given.id == what)
    return (call.func.value.id, statement) if same else None


def _layer_of(statement: ast.stmt, model: str) -> ast.expr | None:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "add":
        return None
    owner = call.func.value
    return call.args[0] if isinstance(owner, ast.Name) and owner.id == model and len(call.args) == 1 else None


def _begins(subject: Subject, statement: ast.stmt, model: str) -> bool:
    """Whether a statement is `model = Sequential()`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call) or statement.value.args:
        return False
    target = statement.targets[0]
    name = subject.source.qualified(statement.value.func) or ""
    return isinstance(target, ast.Name) and target.id == model and name.endswith(".Sequential")


def _model(subject: Subject) -> tuple[str, list[Edit]]:
    """The functional model as this program can write it, and the edit of the imports that this needs."""
    uses = uses_of(subject.source)
    for local, meant in uses.imported.items():
        if meant in ("keras.models.Model", "keras.Model", "tensorflow.keras.models.Model", "tensorflow.keras.Model"):
            return local, []
    for local, meant in uses.imported.items():
        if meant in ("keras.models.Sequential", "tensorflow.keras.models.Sequential") and local == "Sequential":
            edit = changed_imports.replaced_import(uses, local, meant.rpartition(".")[0], "Model, Sequential")
            if edit is not None:
                return "Model", [edit]
    return "Model", [AddImport("from keras.models import Model")]
