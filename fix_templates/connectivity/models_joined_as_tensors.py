"""A layer that joins branches is given the branches as models, where it takes their outputs."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Delete,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    spell,
)

_LAYERS = frozenset(
    f"keras.layers.{name}" for name in ("Add", "Average", "Concatenate", "Dot", "Maximum", "Multiply", "Subtract")
)
_FUNCTIONS = frozenset(name.lower() for name in _LAYERS)
_MODELS = frozenset({"keras.Sequential", "keras.models.Sequential", "keras.Model", "keras.models.Model"})


@dataclass(frozen=True, slots=True)
class _Joined:
    """The expression that joins, what it should read, and the branches by name."""

    expr: ast.Call
    text: str
    branches: tuple[str, ...]


class ModelsJoinedAsTensors(FaultTemplate[_Joined]):
    """`Concatenate([left, right])` is given two models, and often put into a third as its first layer.

    A layer that joins takes tensors when it is called; its constructor takes settings. The outputs of the models are
    joined, and a sequential model that begins with the join becomes a functional one, whose inputs are those of the
    branches.

    Fix safety: unsafe. A sequential model becomes a functional one.

    References: keras.layers.Concatenate, keras.Model (functional API).
    """

    code = "DNF437"
    name = "models-joined-as-tensors"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{text}` joins the models {branches}, and it takes tensors"
    triggers = tuple(sorted({name.rpartition(".")[2] for name in (*_LAYERS, *_FUNCTIONS)}))
    declined = "the model that begins with the join is built in another way than by adding layers in a row"

    def faults(self, subject: Subject) -> Faults[_Joined]:
        if subject.ran and subject.crash is None:
            return
        for call in subject.source.all_calls:
            found = _joined(subject.source, call)
            if found is not None:
                yield subject.source.site(call), found

    def report(self, site: Site, found: _Joined) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            text=ast.unparse(found.expr),
            branches=", ".join(f"`{name}`" for name in found.branches),
        )

    def repairs(self, subject: Subject, found: _Joined) -> Repairs:
        edits = _edits(subject, found)
        yield "Join the outputs of the models", edits, 0.9

    examples = (
        Example(
            "a third model that begins with the join",
            """\
from keras.layers import Concatenate, Dense, Input
from keras.models import Model, Sequential

left = Sequential([Input((2,)), Dense(4)])
right = Sequential([Input((3,)), Dense(4)])
- merged = Concatenate([left, right])
- net = Sequential()
- net.add(merged)
- net.add(Dense(8, activation="relu"))
- net.add(Dense(1))
+ merged = Concatenate()([left.outputs[0], right.outputs[0]])
+ merged = Dense(8, activation="relu")(merged)
+ net = Model([left.inputs[0], right.inputs[0]], Dense(1)(merged))
net.compile(loss="mse", optimizer="adam")
""",
        ),
        Example(
            "the join written into the third model, with its axis",
            """\
import keras
from keras.layers import Concatenate, Dense

def build():
    words = keras.Sequential([keras.Input((5,)), Dense(4)])
    image = keras.Sequential([keras.Input((7,)), Dense(4)])
-     both = keras.Sequential()
-     both.add(Concatenate([words, image], axis=1))
-     both.add(Dense(2))
+     joined = Concatenate(axis=1)([words.outputs[0], image.outputs[0]])
+     both = keras.Model([words.inputs[0], image.inputs[0]], Dense(2)(joined))
    return both
""",
        ),
        Example(
            "a function, in the functional way",
            """\
from keras.layers import Dense, Input, concatenate
from keras.models import Model, Sequential

a = Sequential([Input((2,)), Dense(4)])
b = Sequential([Input((2,)), Dense(4)])
- x = concatenate([a, b])
+ x = concatenate([a.outputs[0], b.outputs[0]])
model = Model([a.inputs[0], b.inputs[0]], Dense(1)(x))
""",
        ),
    )
    rejects = (
        Reject(
            "outputs that are joined",
            """\
from keras.layers import Concatenate, Dense, Input, concatenate
from keras.models import Model, Sequential

a = Sequential([Input((2,)), Dense(4)])
b = Sequential([Input((2,)), Dense(4)])
both = Concatenate()([a.outputs[0], b.outputs[0]])
x, y = Input((2,)), Input((2,))
again = concatenate([a(x), b(y)])
""",
        ),
        Reject(
            "arrays that are joined, and a list of sizes",
            """\
import numpy as np
from keras.layers import Add, Dot
from keras.models import Sequential

left, right = np.zeros((2, 2)), np.ones((2, 2))
both = np.concatenate([left, right])
score = Dot([1, 2])
""",
        ),
    )


def _joined(source: Source, call: ast.Call) -> _Joined | None:
    given = call.args[0] if call.args else None
    if not isinstance(given, (ast.List, ast.Tuple)) or len(given.elts) < 2:
        return None
    name = source.qualified(call.func) or ""
    branches = [each.id for each in given.elts if isinstance(each, ast.Name) and _is_model(source, each)]
    if len(branches) != len(given.elts):
        return None
    outputs = f"[{', '.join(f'{branch}.outputs[0]' for branch in branches)}]"
    settings = ", ".join(ast.unparse(keyword) for keyword in call.keywords)
    maker = call.func.func if isinstance(call.func, ast.Call) else None
    if name in _LAYERS and len(call.args) == 1:
        return _Joined(call, f"{ast.unparse(call.func)}({settings})({outputs})", tuple(branches))
    if name in _FUNCTIONS or (maker is not None and source.qualified(maker) in _LAYERS):
        text = f"{ast.unparse(call.func)}({', '.join([outputs, *([settings] if settings else [])])})"
        return _Joined(call, text, tuple(branches))
    return None


def _is_model(source: Source, name: ast.Name) -> bool:
    made = source.constructor(name)
    return made is not None and source.qualified(made.func) in _MODELS


def _edits(subject: Subject, found: _Joined) -> tuple[Edit, ...] | None:
    source = subject.source
    own = source.statement_of(found.expr)
    adds = _added_to(source, own)
    if isinstance(own, ast.Assign) and own.value is found.expr and isinstance(own.targets[0], ast.Name):
        tensor = own.targets[0].id
        users = [call for call in source.all_calls if _adds(call) and ast.unparse(call.args[0]) == tensor]
        if not users:
            return (Replace(source.site(found.expr), found.text),)
        adds = _added_to(source, source.statement_of(users[0]))
        edits: list[Edit] = [Replace(source.site(found.expr), found.text)]
        if adds is not None:
            edits.append(Delete(source.site(adds[1])))
    elif adds is not None:
        tensor = "joined" if "joined" not in source.words else "joined_branches"
        edits = [Replace(source.site(own), f"{tensor} = {found.text}")]
    else:
        return None
    if adds is None or len(adds) < 3:
        return None
    model = spell(subject, "keras.Model")
    if any(name == "Model" and full.endswith("keras.models.Model") for name, full in source.imported_names):
        model = spell(subject, "keras.models.Model")
    edits.append(Delete(source.site(adds[0])))
    for statement, call in _calls(adds)[1:]:
        layer = source.segment(source.site(call.args[0]))
        text = f"{tensor} = {layer}({tensor})"
        if statement is adds[-1]:
            inputs = ", ".join(f"{branch}.inputs[0]" for branch in found.branches)
            text = f"{_owner(call)} = {model.code}([{inputs}], {layer}({tensor}))"
        edits.append(Replace(source.site(statement), text))
    return (*edits, *model.imports)


def _adds(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add" and len(call.args) == 1


def _calls(block: list[ast.stmt]) -> list[tuple[ast.stmt, ast.Call]]:
    """The statements of a block that add a layer to a model, with the call."""
    found = ((node, node.value) for node in block if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    return [(node, call) for node, call in found if _adds(call)]


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[0]


def _added_to(source: Source, first: ast.stmt) -> list[ast.stmt] | None:
    """The statement that makes an empty sequential model, and those that add layers to it, `first` as the first."""
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call) or not _adds(first.value):
        return None
    name = _owner(first.value)
    block = getattr(source.parent(first), "body", [])
    made = [
        node
        for node in block
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == name
        and isinstance(node.value, ast.Call)
        and source.qualified(node.value.func) in ("keras.Sequential", "keras.models.Sequential")
        and not node.value.args
        and not node.value.keywords
    ]
    own = [node for node, call in _calls(block) if _owner(call) == name]
    every = [call for call in source.all_calls if _adds(call) and ast.unparse(call.func) == f"{name}.add"]
    if len(made) != 1 or not own or own[0] is not first or len(every) != len(own):
        return None
    return [made[0], *own]
