"""A branch of a functional model is built, and nothing joins it to the rest."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
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
    within,
)

_MODELS = ("keras.Model", "keras.models.Model")
_JOINS = ("add", "average", "concatenate", "dot", "maximum", "minimum", "multiply", "subtract")


@dataclass(frozen=True, slots=True)
class _Branch:
    """The model, the input that reaches no output, the end of its branch, and where the branch beside it is read."""

    call: ast.Call
    input: str
    end: str
    beside: ast.Name


class BranchLeftOut(FaultTemplate[_Branch]):
    """A model names two inputs, a branch is built on each of them, and the output comes from one of the branches alone.

    What the other input says is lost, and its layers are never trained. Reported where the two branches are built by the
    same lines, so that it is plain what belongs together, and the end of one of them is read by nobody.

    Fix safety: unsafe. The layer that follows gets both branches and more weights, which is the point.

    References: keras.layers.concatenate, keras.Model (functional API).
    """

    code = "DNF424"
    name = "branch-left-out"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "the input `{input}` reaches no output: `{end}`, the end of its branch, is never read"
    triggers = ("Model",)
    declined = "where the branch should be joined cannot be told"

    def faults(self, subject: Subject) -> Faults[_Branch]:
        for call in subject.source.calls(*_MODELS):
            found = _left_out(subject.source, call)
            if found is not None:
                yield subject.source.site(call), found

    def report(self, site: Site, found: _Branch) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.85, input=found.input, end=found.end)

    def repairs(self, subject: Subject, found: _Branch) -> Repairs:
        source = subject.source
        used = {source.qualified(call.func) for call in source.all_calls}
        brought = {
            name for _, full in source.imported_names for name in _JOINS if full.endswith(f"keras.layers.{name}")
        }
        idle = [name for name in sorted(brought) if f"keras.layers.{name}" not in used]
        join = spell(subject, f"keras.layers.{idle[0] if len(idle) == 1 else 'concatenate'}")
        text = f"{join.code}([{found.beside.id}, {found.end}])"
        edits: tuple[Edit, ...] = (Replace(source.site(found.beside), text), *join.imports)
        yield f"Join the branches: {text}", edits, 0.8

    examples = (
        Example(
            "two encoders made by one function",
            """\
from keras import Model, layers

def encoder(name):
    inputs = layers.Input((8,), name=name)
    return inputs, layers.Dense(4, activation="relu")(inputs)

first_in, first = encoder("first")
second_in, second = encoder("second")
- x = layers.Dense(8)(first)
+ x = layers.Dense(8)(layers.concatenate([first, second]))
model = Model([first_in, second_in], layers.Dense(1)(x))
""",
        ),
        Example(
            "two branches written out",
            """\
from keras.layers import Dense, Dropout, Input, concatenate
from keras.models import Model

def build():
    numbers = Input(shape=(4,))
    words = Input(shape=(6,))
    a = Dense(8, activation="relu")(numbers)
    b = Dense(8, activation="relu")(words)
-     x = Dropout(0.2)(a)
+     x = Dropout(0.2)(concatenate([a, b]))
    out = Dense(1)(x)
    return Model(inputs=[numbers, words], outputs=out)
""",
        ),
        Example(
            "a shared encoder whose answers are to be multiplied",
            """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input, multiply

encoder = tf.keras.Sequential([Dense(16, activation="tanh")])
query = Input((5,))
page = Input((5,))
query_code = encoder(query)
page_code = encoder(page)
- score = Dense(1, activation="sigmoid")(query_code)
+ score = Dense(1, activation="sigmoid")(multiply([query_code, page_code]))
model = tf.keras.Model([query, page], score)
""",
        ),
    )
    rejects = (
        Reject(
            "branches that are joined, and a model of one of them",
            """\
from keras.layers import Dense, Input, concatenate
from keras.models import Model

a_in, b_in = Input((4,)), Input((4,))
a = Dense(8)(a_in)
b = Dense(8)(b_in)
out = Dense(1)(concatenate([a, b]))
model = Model([a_in, b_in], out)
half = Model(a_in, a)
""",
        ),
        Reject(
            "an input that is passed on by name, and one of a different kind",
            """\
from keras.layers import Dense, Input, LSTM
from keras.models import Model

steps = Input((4, 3))
state = Input((8,))
cell = Input((8,))
x = LSTM(8)(steps, initial_state=[state, cell])
out = Dense(1)(x)
model = Model([steps, state, cell], out)
""",
        ),
    )


def _left_out(source: Source, call: ast.Call) -> _Branch | None:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    inputs = named.get("inputs", call.args[0] if call.args else None)
    outputs = named.get("outputs", call.args[1] if len(call.args) > 1 else None)
    if not isinstance(inputs, (ast.List, ast.Tuple)) or outputs is None:
        return None
    scope = source.enclosing(call, ast.FunctionDef) or source.tree
    made = [
        node
        for node in within(scope, ast.Assign)
        if (source.enclosing(node, ast.FunctionDef) or source.tree) is scope
        and node.lineno < source.statement_of(call).lineno
    ]
    if any(within(scope, kind) for kind in (ast.AugAssign, ast.For, ast.While, ast.ListComp)):
        return None
    reached = _reached(made, {node.id for node in within(outputs, ast.Name)})
    lost = [each.id for each in inputs.elts if isinstance(each, ast.Name) and each.id not in reached]
    if len(lost) != 1 or len(inputs.elts) < 2:
        return None
    branch = _derived(made, lost[0])
    read = {node.id for node in within(scope, ast.Name) if isinstance(node.ctx, ast.Load)}
    ends = [name for name in branch if name not in read]
    if len(ends) != 1 or ends[0] == lost[0]:
        return None
    own = next(node for node in made if ends[0] in _stored(node))
    beside = _beside(made, own, ends[0])
    reads = [
        node
        for node in within(scope, ast.Name)
        if node.id == beside and isinstance(node.ctx, ast.Load) and node.lineno > own.lineno
    ]
    if beside not in reached or len(reads) != 1 or not isinstance(source.parent(reads[0]), ast.Call):
        return None
    return _Branch(call, lost[0], ends[0], reads[0])


def _stored(node: ast.Assign) -> list[str]:
    return [name.id for target in node.targets for name in within(target, ast.Name)]


def _reached(made: list[ast.Assign], names: set[str]) -> set[str]:
    """All names that those are computed from; what is unpacked together belongs together."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name in found:
            continue
        found.add(name)
        for node in made:
            if name in _stored(node):
                names.update(_stored(node), (each.id for each in within(node.value, ast.Name)))
    return found


def _derived(made: list[ast.Assign], name: str) -> list[str]:
    """The names that hold something computed from the name, in source order."""
    found = {name: None}
    for node in made:
        if name in _stored(node) or any(each.id in found for each in within(node.value, ast.Name)):
            found.update(dict.fromkeys(_stored(node)))
    return list(found)


def _beside(made: list[ast.Assign], own: ast.Assign, end: str) -> str | None:
    """The name at the same place of the one other assignment that is written alike."""
    names = _stored(own)
    alike = [node for node in made if node is not own and _form(node) == _form(own)]
    return _stored(alike[0])[names.index(end)] if len(alike) == 1 else None


def _form(node: ast.Assign) -> str:
    """The form of an assignment: all of it but names and texts; what is called stays."""
    parts: list[str] = []
    called = {id(call.func) for call in within(node.value, ast.Call)}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and id(each) in called:
            parts.append(each.id)
        elif isinstance(each, ast.Attribute):
            parts.append(each.attr)
        elif isinstance(each, ast.Constant) and not isinstance(each.value, str):
            parts.append(repr(each.value))
        else:
            parts.append(type(each).__name__)
    return " ".join(parts)
