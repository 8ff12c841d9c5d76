"""`Merge([left, right], mode="concat")`: a layer of Keras 1 that joined branches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Example,
    Hit,
    InsertAfter,
    Reject,
    RemoveArgument,
    RenameArgument,
    Replace,
    Subject,
    replaced_import,
    uses_of,
)

LAYERS = {"concat": "Concatenate", "sum": "Add", "mul": "Multiply", "ave": "Average", "max": "Maximum"}
FUNCTIONS = {"concat": "concatenate", "sum": "add", "mul": "multiply", "ave": "average", "max": "maximum"}
"""By the mode of Keras 1, the layer and the function of today. `dot` and `cos` have axes of another meaning."""

RENAMED = {"concat_axis": "axis"}


class MergeLayer(ApiChange):
    """Keras 2 put a layer for each mode in the place of `Merge`, and takes tensors, not models.

    `merge(…)` on tensors becomes the function of its mode. Where `Merge` joined sequential models to begin another one,
    that one becomes functional: its layers are called one after the other, and a `Model` is made of the branches'
    inputs and the last output. Modes given by a function, and products along axes, are left.

    Fix safety: unsafe: a sequential model becomes a functional one, whose layers have other places.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes.
    """

    code = "DNF517"
    name = "merge-layer"
    triggers = ("Merge", "merge")

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
                mode = _mode(call)
                if mode not in names:
                    decline = f"the mode of {old} at line {call.lineno} has no layer of its own"
                    break
                modes[names[mode]] = None
                made = _function(subject, call, names[mode]) if old == "merge" else _layer(subject, call, names[mode])
                if made is None:
                    decline = f"how the branches at line {call.lineno} are joined and used cannot be told"
                    break
                edits += made
            module = (source.written(calls[0].func) or "keras.layers").rpartition(".")[0]
            local = calls[0].func.id if isinstance(calls[0].func, ast.Name) else ""
            taken = replaced_import(uses_of(source), local, _layers(module), ", ".join(modes)) if local else None
            if taken is not None:
                edits.append(taken)
            yield Hit(
                source.site(calls[0]),
                f"{old} is gone since Keras 2.0; each mode has a layer of its own",
                title=f"join the branches with {' and '.join(modes)}",
                edits=() if decline else tuple(edits),
                decline=decline,
                removed={"keras": "2.0"},
            )

    examples = (
        Example(
            "tensors of a functional model",
            """\
from keras.layers import Dense, Input, merge
from keras.models import Model

a, b = Input(shape=(3,)), Input(shape=(3,))
joined = merge([Dense(2)(a), Dense(2)(b)], mode='concat', concat_axis=1)
model = Model(inputs=[a, b], outputs=Dense(1)(joined))
""",
            """\
from keras.layers import Dense, Input, concatenate
from keras.models import Model

a, b = Input(shape=(3,)), Input(shape=(3,))
joined = concatenate([Dense(2)(a), Dense(2)(b)], axis=1)
model = Model(inputs=[a, b], outputs=Dense(1)(joined))
""",
        ),
        Example(
            "two sequential branches",
            """\
from keras.models import Sequential
from keras.layers import Dense, Merge

left = Sequential()
left.add(Dense(32, input_dim=784))
right = Sequential()
right.add(Dense(32, input_dim=784))
model = Sequential()
model.add(Merge([left, right], mode="sum"))
model.add(Dense(10, activation="softmax"))
model.compile(optimizer="rmsprop", loss="categorical_crossentropy")
""",
            """\
from keras.models import Model, Sequential
from keras.layers import Dense, Add

left = Sequential()
left.add(Dense(32, input_dim=784))
right = Sequential()
right.add(Dense(32, input_dim=784))
merged = Add()([left.outputs[0], right.outputs[0]])
merged = Dense(10, activation="softmax")(merged)
model = Model(inputs=[left.inputs[0], right.inputs[0]], outputs=merged)
model.compile(optimizer="rmsprop", loss="categorical_crossentropy")
""",
        ),
        Example(
            "a layer that is called",
            """\
from keras.layers import Input, Merge

a, b = Input(shape=(3,)), Input(shape=(3,))
product = Merge(mode="mul")([a, b])
""",
            """\
from keras.layers import Input, Multiply

a, b = Input(shape=(3,)), Input(shape=(3,))
product = Multiply()([a, b])
""",
        ),
    )
    rejects = (
        Reject(
            "layers of today",
            """\
from keras.layers import Concatenate, Input, add

a, b = Input(shape=(3,)), Input(shape=(3,))
joined = Concatenate()([a, add([a, b])])
""",
        ),
        Reject(
            "joining tables",
            """\
import keras
import pandas as pd

table = pd.merge(a, b, on="id")
model = keras.Sequential()
""",
        ),
    )


def _is_merge(subject: Subject, call: ast.Call, old: str) -> bool:
    written = subject.source.written(call.func) or ""
    return written.startswith(("keras.", "tensorflow.keras.")) and written.endswith(f".{old}")


def _layers(module: str) -> str:
    """The package that has the layers today, for the module that had `Merge`."""
    return "tensorflow.keras.layers" if module.startswith("tensorflow.") else "keras.layers"


def _mode(call: ast.Call) -> str:
    given = next((k.value for k in call.keywords if k.arg == "mode"), None)
    if given is None:
        given = call.args[1] if len(call.args) > 1 else ast.Constant("sum")
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""


def _function(subject: Subject, call: ast.Call, name: str) -> list[Edit] | None:
    source = subject.source
    site = source.site(call)
    edits: list[Edit] = [Replace(source.site(call.func), _spelled(subject, call, name))]
    if len(call.args) > 1:
        edits.append(RemoveArgument(site, "", 1))
    for keyword in call.keywords:
        if keyword.arg == "mode":
            edits.append(RemoveArgument(site, "mode"))
        elif keyword.arg in RENAMED:
            edits.append(RenameArgument(site, keyword.arg, RENAMED[keyword.arg]))
        elif keyword.arg not in ("name", "inputs"):
            return None
    return edits


def _spelled(subject: Subject, call: ast.Call, name: str) -> str:
    if isinstance(call.func, ast.Attribute):
        return f"{subject.source.segment(subject.source.site(call.func.value))}.{name}"
    return name


def _layer(subject: Subject, call: ast.Call, name: str) -> list[Edit] | None:
    source = subject.source
    options = [k for k in call.keywords if k.arg not in ("mode", "layers")]
    if any(k.arg not in (*RENAMED, "name") for k in options):
        return None
    said = ", ".join(f"{RENAMED.get(k.arg or '', k.arg)}={source.segment(source.site(k.value))}" for k in options)
    layer = f"{_spelled(subject, call, name)}({said})"
    above = source.parent(call)
    branches = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "layers"), None)
    if branches is None:
        return [Replace(source.site(call), layer)] if isinstance(above, ast.Call) and above.func is call else None
    if not isinstance(branches, (ast.List, ast.Tuple)) or not all(isinstance(b, ast.Name) for b in branches.elts):
        return None
    return _functional(subject, call, layer, [b.id for b in branches.elts if isinstance(b, ast.Name)])


def _functional(subject: Subject, call: ast.Call, layer: str, branches: list[str]) -> list[Edit] | None:
    """The sequential model that begins with the merge, written as calls of its layers."""
    source = subject.source
    statement = source.statement_of(call)
    local = "merged"
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
    adds = [(s, _layer_of(s, model)) for s in block if s is not first and _layer_of(s, model) is not None]
    if len(begun) != 1 or any(block.index(s) < block.index(first) for s, _ in adds) or not adds:
        return None
    joined = f"{layer}([{', '.join(f'{b}.outputs[0]' for b in branches)}])"
    edits: list[Edit] = [Delete(source.site(begun[0]))]
    if statement is first:
        edits.append(Replace(source.site(first), f"{local} = {joined}"))
    else:
        edits += [Replace(source.site(call), joined), Delete(source.site(first))]
    for add, inner in adds:
        if inner is not None:
            edits.append(Replace(source.site(add), f"{local} = {source.segment(source.site(inner))}({local})"))
    inputs = ", ".join(f"{b}.inputs[0]" for b in branches)
    made, imported = _model(subject)
    edits.append(InsertAfter(source.site(adds[-1][0]), f"{model} = {made}(inputs=[{inputs}], outputs={local})"))
    return [*edits, *imported]


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
            edit = replaced_import(uses, local, meant.rpartition(".")[0], "Model, Sequential")
            if edit is not None:
                return "Model", [edit]
    return "Model", [AddImport("from keras.models import Model")]
