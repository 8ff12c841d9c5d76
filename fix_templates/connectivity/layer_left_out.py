"""A layer or a branch is created and not used in the forward pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Component,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Parameter,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    Wrap,
    argument_value,
    graph,
    layer_facts,
    network_facts,
    spell,
    spelling_edits,
    training_loop,
    trees,
    within,
)

KINDS = frozenset({"linear", "convolution"})
MODELS = ("keras.Model", "keras.models.Model")
JOINS = ("add", "average", "concatenate", "dot", "maximum", "minimum", "multiply", "subtract")
_NUMBERED = re.compile(r"(?P<stem>.*?[A-Za-z]_?)(?P<number>\d+)")
_PASSES = ("forward", "call")
_ROOTS = ("torch.", "tensorflow.", "keras.")


class LayerLeftOut(ReadTemplate):
    """A layer or a branch is created and not used in the forward pass, and names, sizes or lines show where it belongs.

    The layer takes memory and is saved, but it is never trained. Reported only in these cases:

    - `fc2` is called twice in a row and `fc3` never; or `bn1` and `bn3` follow `conv1` and `conv3`, and nothing follows
      `conv2`.
    - `h2 = relu(fc2(h1))` is followed by `out = fc3(h1)`: `h2` is never read, and the numbers in the names, or the next
      assignment to it, show the order.
    - A run never calls a layer whose input size is the output size of the layer created before it, and whose output
      size is the input size of the layer created after it.
    - A functional model has two inputs with branches of the same lines, and the end of one branch is never read.

    Fix safety: unsafe. The layer becomes part of the network.

    References: torch.nn.Module, keras.Model (subclassing and functional API), keras.layers.concatenate.
    """

    code = "DNF434"
    name = "layer-left-out"
    message = "part of the network is not used: {what}"
    confidence = 0.85
    formerly = (
        "layer-of-row-left-out",
        "DNF413",
        "layer-never-called",
        "DNF424",
        "branch-left-out",
        "DNF438",
        "step-passed-over",
    )
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("Module", "Model", "Layer")
    declined = "where the layer is to be called is not known"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for owner in (*graph.torch_modules(source), *graph.keras_modules(source)):
            entries = [found for name in _PASSES if isinstance(found := graph.method(owner, name), ast.FunctionDef)]
            for entry in entries[:1]:
                yield from _of_row(source, owner, entry)
            for entry in entries:
                yield from _passed_over(source, entry)
        for call in source.calls(*MODELS):
            yield from _branch(subject, call)
        if subject.trace is not None and subject.trace.steps:
            yield from _never_called(subject)

    programs = """
=== example: the second layer twice
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
-         x = torch.relu(self.fc2(x))
+         x = torch.relu(self.fc3(x))
        return self.out(x)

=== example: a normalization that was forgotten
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, width):
        super(Block, self).__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
-         out = self.conv2(out)
+         out = self.bn2(self.conv2(out))
        return F.relu(out + x)

=== example: a Keras model with statements for each layer
import keras
from keras import layers

class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense_1 = layers.Dense(16, activation="relu")
        self.drop_1 = layers.Dropout(0.3)
        self.dense_2 = layers.Dense(16, activation="relu")
        self.drop_2 = layers.Dropout(0.3)
        self.last = layers.Dense(3)

    def call(self, inputs):
        x = self.dense_1(inputs)
        x = self.drop_1(x)
-         x = self.dense_2(x)
+         x = self.drop_2(self.dense_2(x))
        return self.last(x)

=== example: an activation around the layer
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 2)

    def forward(self, x):
        h1 = torch.relu(self.fc1(x))
        h2 = torch.relu(self.fc2(h1))
-         return self.fc3(h1)
+         return self.fc3(h2)

=== example: the input read again
import torch.nn as nn
import torch.nn.functional as F

class Encoder(nn.Module):
    def __init__(self):
        super(Encoder, self).__init__()
        self.conv1 = nn.Conv2d(3, 3, 3, padding=1)
        self.conv2 = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, inputs):
        out = F.max_pool2d(F.relu(self.conv1(inputs)), 2)
-         out = F.max_pool2d(F.relu(self.conv2(inputs)), 2)
+         out = F.max_pool2d(F.relu(self.conv2(out)), 2)
        return out.flatten(1)

=== example: a Keras model with operations
import keras
from keras import layers, ops

class Scorer(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense1 = layers.Dense(6)
        self.dense2 = layers.Dense(6)
        self.dense3 = layers.Dense(1)

    def call(self, inputs, training=False):
        code = ops.tanh(self.dense1(inputs))
        deep = ops.tanh(self.dense2(code))
-         return ops.sigmoid(self.dense3(code))
+         return ops.sigmoid(self.dense3(deep))

=== example (runs): a linear layer
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
+         x = torch.relu(self.fc2(x))
        return self.fc3(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()

=== example: two encoders made by one function
from keras import Model, layers

def encoder(name):
    inputs = layers.Input((8,), name=name)
    return inputs, layers.Dense(4, activation="relu")(inputs)

first_in, first = encoder("first")
second_in, second = encoder("second")
- x = layers.Dense(8)(first)
+ x = layers.Dense(8)(layers.concatenate([first, second]))
model = Model([first_in, second_in], layers.Dense(1)(x))

=== example: two branches written out
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

=== example: a shared encoder whose outputs are multiplied
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

=== reject: a layer that is applied twice on purpose, and layers that are reached by name
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 8)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.relu(self.fc1(x)) + getattr(self, "fc%d" % 2)(x)

=== reject: a second head that another method calls, and one without a row
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 2)
        self.bn3 = nn.BatchNorm1d(8)

    def forward(self, x):
        return torch.relu(self.fc1(x))

    def logits(self, x):
        return self.fc2(self.forward(x))

=== reject: a skip connection, and branches
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.b(a))
        return b + a + x

=== reject: results that are read in a condition, in a loop and by name
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.deep = deep
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x, steps=3):
        h = torch.relu(self.a(x))
        if self.deep:
            h = torch.relu(self.b(x))
        for _ in range(steps):
            y = torch.tanh(self.b(h))
            h = torch.tanh(self.a(y))
        return h

class Logged(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        size = torch.tensor(len(x))
        return self.a(x)

=== reject (runs): a second head that this program does not use
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.mean = nn.Linear(8, 1)
        self.scale = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.mean(h)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()

=== reject (runs): a layer whose weight is used by itself
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.c = nn.Linear(4, 1)

    def forward(self, x):
        x = self.a(x)
        x = nn.functional.linear(x, self.b.weight)
        return self.c(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()

=== reject: branches that are joined, and a model of one of them
from keras.layers import Dense, Input, concatenate
from keras.models import Model

a_in, b_in = Input((4,)), Input((4,))
a = Dense(8)(a_in)
b = Dense(8)(b_in)
out = Dense(1)(concatenate([a, b]))
model = Model([a_in, b_in], out)
half = Model(a_in, a)

=== reject: an input that is passed on by name, and one of a different kind
from keras.layers import Dense, Input, LSTM
from keras.models import Model

steps = Input((4, 3))
state = Input((8,))
cell = Input((8,))
x = LSTM(8)(steps, initial_state=[state, cell])
out = Dense(1)(x)
model = Model([steps, state, cell], out)
"""


def _follows(one: str, other: str) -> bool:
    """Whether the number in a name is that of the other name plus one, after the same stem."""
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if first is None or second is None or first["stem"] != second["stem"]:
        return False
    return int(second["number"]) == int(first["number"]) + 1


def _is_layer(source: Source, made: ast.expr | None) -> bool:
    return isinstance(made, ast.Call) and network_facts.component_kind(source.qualified(made.func) or "") == "layer"


def _self_calls(node: ast.AST, name: str) -> list[ast.Call]:
    """The calls `self.<name>(…)` below a node."""
    return [
        call
        for call in within(node, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == name and trees.is_self(call.func.value)
    ]


def _of_row(source: Source, owner: ast.ClassDef, entry: ast.FunctionDef) -> Iterator[Fault]:
    """Layers with a number in their name that are never called."""
    layers = {
        name: made for name, made in graph.kept_in_self(owner) if isinstance(made, ast.Call) and _is_layer(source, made)
    }
    for name in layers:
        if _NUMBERED.fullmatch(name) and _never_named(source, name):
            passed = _called_twice(source, entry, layers, name) or _bare(source, entry, layers, name)
            if passed is not None:
                node, seen, title, edit = passed
                what = f"`self.{name}` is created and never called, and {seen}"
                yield Fault.with_repair(source.site(node), what, title, edit, prior=0.85)


def _never_named(source: Source, name: str) -> bool:
    """Whether the attribute is only assigned, and not accessible by a string or by listing the modules."""
    every = [node for node in source.nodes(ast.Attribute) if node.attr == name]
    by_name = {"getattr", "__getattr__", "children", "modules", "named_children", "_modules"} & source.words
    return not by_name and sum(isinstance(node.ctx, ast.Store) for node in every) == 1 == len(every)


_Passed = tuple[ast.expr, str, str, Edit]
"""Where the layer should be called, what shows it, and the title and the edit of the repair."""


def _called_twice(source: Source, entry: ast.FunctionDef, layers: dict[str, ast.Call], name: str) -> _Passed | None:
    """The layer before it is called twice in identical statements."""
    before = next((each for each in layers if _follows(each, name)), "")
    calls = _self_calls(entry, before)
    if not before or len(calls) != 2 or ast.dump(layers[before].func) != ast.dump(layers[name].func):
        return None
    first, second = (source.statement_of(call) for call in calls)
    block = training_loop.block_of(source, first)
    if second not in block or ast.dump(first) != ast.dump(second):
        return None
    between = block[block.index(first) + 1 : block.index(second)]
    weighed = {each for each in layers if _NUMBERED.fullmatch(each) and "Pool" not in ast.dump(layers[each])}
    if any(node.attr in weighed for each in between for node in within(each, ast.Attribute)):
        return None  # the second call is a step of its own
    function = calls[1].func
    edit = Replace(source.site(function), f"self.{name}")
    return function, f"`self.{before}` is called twice", f"Call `self.{name}` here", edit


def _bare(source: Source, entry: ast.FunctionDef, layers: dict[str, ast.Call], name: str) -> _Passed | None:
    """The other layers of its row follow the layer with their number in another row; nothing follows its own."""
    numbers = {each: found for each in layers if (found := _NUMBERED.fullmatch(each))}
    row = [each for each in numbers if each != name and numbers[each]["stem"] == numbers[name]["stem"]]
    stems: set[str] = set()
    for each in row:
        partner = numbers.get(_fed_by(source, entry, layers, each) or "")
        if partner is None or partner["number"] != numbers[each]["number"]:
            return None
        stems.add(partner["stem"])
    fed = f"{min(stems)}{numbers[name]['number']}" if len(stems) == 1 else ""
    calls = _self_calls(entry, fed)
    if fed not in layers or len(calls) != 1:
        return None
    edit = Wrap(source.site(calls[0]), f"self.{name}(", ")")
    seen = f"`self.{row[0]}` follows its layer, and nothing follows `self.{fed}`"
    return calls[0], seen, f"Call `self.{name}` on the output of `self.{fed}`", edit


def _fed_by(source: Source, entry: ast.FunctionDef, layers: dict[str, ast.Call], name: str) -> str | None:
    """The layer whose output is the argument of the one call of a layer, directly or by the statement before."""
    calls = _self_calls(entry, name)
    if len(calls) != 1 or len(calls[0].args) < 1:
        return None
    given: ast.expr | None = calls[0].args[0]
    if isinstance(given, ast.Name):
        statement = source.statement_of(calls[0])
        block = training_loop.block_of(source, statement)
        previous = block[block.index(statement) - 1] if block.index(statement) else None
        named = isinstance(previous, ast.Assign) and ast.unparse(previous.targets[0]) == given.id
        given = previous.value if isinstance(previous, ast.Assign) and named else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in layers:
        return given.func.attr
    return None


def _passed_over(source: Source, entry: ast.FunctionDef) -> Iterator[Fault]:
    """Steps of a straight forward pass whose result is never read, and whose input is read once more later."""
    if any(getattr(call.func, "id", "") == "locals" for call in within(entry, ast.Call)):
        return
    for index, statement in enumerate(entry.body):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        taken = _taken(source, statement.value)
        if not isinstance(target, ast.Name) or taken is None or target.id == taken or target.id.startswith("_"):
            continue
        stale: list[ast.Name] = []
        dead, again = True, False
        for later in entry.body[index + 1 :]:
            reads = [n for n in within(later, ast.Name) if isinstance(n.ctx, ast.Load)]
            if any(read.id == target.id for read in reads):
                dead = False
                break
            stale += [read for read in reads if read.id == taken]
            stored = trees.stored_names(later)
            if stored & {target.id, taken}:
                again = isinstance(later, ast.Assign) and target.id in stored
                dead = isinstance(later, ast.Assign)
                break
        if dead and len(stale) == 1 and (again or _in_row(source, statement, stale[0], target.id)):
            what = f"`{target.id}` is computed by a layer and never read; the next step uses `{taken}` instead"
            edit = Replace(source.site(stale[0]), target.id)
            yield Fault.with_repair(
                source.site(statement), what, f"Continue with `{target.id}`", edit, prior=0.85, confidence=0.9
            )


def _in_row(source: Source, step: ast.Assign, stale: ast.Name, result: str) -> bool:
    """Whether the numbers in the names of the tensors or of the layers show that one step follows the other."""
    if _follows(stale.id, result):
        return True
    first = [node.attr for node in within(step.value, ast.Attribute)]
    second = [node.attr for node in within(source.statement_of(stale), ast.Attribute)]
    return any(_follows(one, other) for one in first for other in second)


def _taken(source: Source, value: ast.expr) -> str | None:
    """The name of the tensor that goes into a layer and then through at least one function."""
    depth, layers = 0, 0
    expr = value
    while isinstance(expr, ast.Call) and expr.args:
        if isinstance(expr.func, ast.Attribute) and _is_layer(source, source.constructor(expr.func)):
            layers += 1
        elif not (source.qualified(expr.func) or "").startswith(_ROOTS):
            return None
        depth, expr = depth + 1, expr.args[0]
    return expr.id if isinstance(expr, ast.Name) and layers and depth > 1 else None


def _never_called(subject: Subject) -> Iterator[Fault]:
    """Layers that the run never called, between two layers whose sizes fit."""
    for layer in subject.network.components:
        name, place = _last(layer), _place(subject, layer)
        if place is None or layer.site is None or any(p.gradient is not None for p in _weights(subject, layer)):
            continue
        before, after, statement = place
        what = f"`self.{name}` is created between `self.{before}` and `self.{after}` and never called"
        given = ast.unparse(_self_calls(statement.value, before)[0].args[0])
        output = ast.unparse(statement.targets[0])
        code = ast.unparse(statement).replace(f"self.{before}({given})", f"self.{name}({output})")
        edit = InsertAfter(subject.source.site(statement), code)
        yield Fault.with_repair(layer.site, what, f"Call the layer: {code}", edit, prior=0.8, confidence=0.75)


def _weights(subject: Subject, layer: Component) -> list[Parameter]:
    return [parameter for parameter in subject.network.parameters if parameter.component == layer.id]


def _last(layer: Component) -> str:
    return (layer.attribute or "").rpartition(".")[2]


def _is_plain(layer: Component) -> bool:
    facts = layer_facts(layer)
    return facts is not None and facts.kind in KINDS and layer.name.startswith("torch.nn.")


def _place(subject: Subject, layer: Component) -> tuple[str, str, ast.Assign] | None:
    """The attributes of the layers before and after, and the statement that calls the layer before.

    `None` unless the sizes and the order in `__init__` determine them.
    """
    source, made = subject.source, subject.call_node(layer)
    owner = source.enclosing(made, ast.ClassDef) if made is not None else None
    if layer.called != 0 or not layer.attribute or not _is_plain(layer) or made is None:
        return None
    if owner is None or owner not in graph.torch_modules(source) or source.enclosing(made, ast.For) is not None:
        return None
    siblings = [c for c in subject.network.components if _is_plain(c) and c.name == layer.name and _beside(c, layer)]
    siblings.sort(key=lambda each: (each.site.line, each.site.column) if each.site is not None else (0, 0))
    index = siblings.index(layer)
    if not 0 < index < len(siblings) - 1 or any(len(call.args) == 1 for call in _self_calls(owner, _last(layer))):
        return None
    before, after = siblings[index - 1], siblings[index + 1]
    fits = network_facts.stated_output(before) == network_facts.stated_input(layer) and network_facts.stated_output(
        layer
    ) == network_facts.stated_input(after)
    if not fits or not before.called or not after.called or network_facts.stated_input(layer) is None:
        return None
    statement = _calling(owner, _last(before))
    return (_last(before), _last(after), statement) if statement is not None else None


def _beside(one: Component, other: Component) -> bool:
    """Whether two components are attributes of one module."""
    return (
        bool(one.attribute) and (one.attribute or "").rpartition(".")[0] == (other.attribute or "").rpartition(".")[0]
    )


def _calling(owner: ast.ClassDef, attribute: str) -> ast.Assign | None:
    """The one statement of `forward` that assigns the output of an attribute called with one argument."""
    forward = graph.method(owner, "forward")
    found = [
        node
        for node in (within(forward, ast.Assign) if forward is not None else ())
        if isinstance(node.targets[0], ast.Name)
        and any(len(call.args) == 1 for call in _self_calls(node.value, attribute))
    ]
    return found[0] if len(found) == 1 else None


def _branch(subject: Subject, call: ast.Call) -> Iterator[Fault]:
    """The one input of a functional model that reaches no output, its branch joined to the other one."""
    source = subject.source
    inputs, outputs = argument_value(call, "inputs", 0), argument_value(call, "outputs", 1)
    if not isinstance(inputs, (ast.List, ast.Tuple)) or outputs is None:
        return
    scope = source.enclosing(call, ast.FunctionDef) or source.tree
    made = [
        node
        for node in within(scope, ast.Assign)
        if (source.enclosing(node, ast.FunctionDef) or source.tree) is scope
        and node.lineno < source.statement_of(call).lineno
    ]
    if any(within(scope, kind) for kind in (ast.AugAssign, ast.For, ast.While, ast.ListComp)):
        return
    reached = _reached(made, trees.names_in(outputs))
    lost = [each.id for each in inputs.elts if isinstance(each, ast.Name) and each.id not in reached]
    if len(lost) != 1 or len(inputs.elts) < 2:
        return
    read = {node.id for node in within(scope, ast.Name) if isinstance(node.ctx, ast.Load)}
    ends = [name for name in _derived(made, lost[0]) if name not in read]
    if len(ends) != 1 or ends[0] == lost[0]:
        return
    own = next(node for node in made if ends[0] in _names(node))
    beside = _counterpart(made, own, ends[0])
    reads = [
        node
        for node in within(scope, ast.Name)
        if node.id == beside and isinstance(node.ctx, ast.Load) and node.lineno > own.lineno
    ]
    if beside in reached and len(reads) == 1 and isinstance(source.parent(reads[0]), ast.Call):
        join = _join(subject)
        code = f"{join.code}([{beside}, {ends[0]}])"
        what = f"the input `{lost[0]}` reaches no output: `{ends[0]}`, the end of its branch, is never read"
        edits: tuple[Edit, ...] = (Replace(source.site(reads[0]), code), *join.imports)
        yield Fault.with_repair(
            source.site(call), what, f"Join the branches: {code}", *edits, prior=0.8, confidence=0.85
        )


def _join(subject: Subject) -> spelling_edits.Spelling:
    """The function that joins branches: one that is imported and not used, else `concatenate`."""
    source = subject.source
    used = {source.qualified(call.func) for call in source.all_calls}
    idle = {
        name
        for _, full in source.imported_names
        for name in JOINS
        if full.endswith(f"keras.layers.{name}") and f"keras.layers.{name}" not in used
    }
    return spell(subject, f"keras.layers.{min(idle) if len(idle) == 1 else 'concatenate'}")


def _names(node: ast.Assign) -> list[str]:
    return [name.id for target in node.targets for name in within(target, ast.Name)]


def _reached(made: list[ast.Assign], names: set[str]) -> set[str]:
    """All names that these are computed from; names unpacked together count as one."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name in found:
            continue
        found.add(name)
        for node in made:
            if name in _names(node):
                names.update(_names(node), (each.id for each in within(node.value, ast.Name)))
    return found


def _derived(made: list[ast.Assign], name: str) -> list[str]:
    """The names computed from a name, in source order."""
    found = {name: None}
    for node in made:
        if name in _names(node) or any(each.id in found for each in within(node.value, ast.Name)):
            found.update(dict.fromkeys(_names(node)))
    return list(found)


def _counterpart(made: list[ast.Assign], own: ast.Assign, end: str) -> str | None:
    """The name at the same position of the one other assignment of the same form."""
    alike = [node for node in made if node is not own and _form(node) == _form(own)]
    return _names(alike[0])[_names(own).index(end)] if len(alike) == 1 else None


def _form(node: ast.Assign) -> str:
    """An assignment without its names and strings, except for the names of what is called."""
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
