"""A layer with weights is made anew in every forward pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    InsertAfter,
    InsertBefore,
    Reject,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    attributes_of,
    bound_in,
    component_kind,
    keras_modules,
    last_of_setup,
    layer_facts,
    method,
    once,
    run_by,
    signature,
    spell,
    torch_modules,
    within,
)

PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
WITHOUT_WEIGHTS = frozenset({"pooling", "padding", "dropout", "shape", "merge"})


class LayerMadeInForward(FixTemplate):
    """`forward` (in Keras: `call`) constructs a layer with weights, or a parameter.

    Every pass gets fresh random weights. They are no part of the model, so no optimizer ever trains them: what comes out
    of the layer is noise, and two passes over the same input differ.

    Fix safety: unsafe. The weights are kept and trained from now on, which is the point.

    References: torch.nn.Module ("submodules assigned in this way will be registered"); keras.layers.Layer.
    """

    code = "DNF407"
    name = "layer-made-in-forward"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{made}` is made anew in every call of `{method}`: its weights are random each time and never trained"
    triggers = ("Module", "Model", "Layer")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for owner, entry in _owners(subject):
            for made in _made_in(subject, owner, entry):
                yield self.finding(
                    subject.source.site(made),
                    symptom=Symptom.VIOLATION,
                    confidence=0.95,
                    evidence={"class": owner.name},
                    made=subject.text(subject.source.site(made.func)),
                    method=entry,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for owner, entry in _owners(subject):
            every = list(_made_in(subject, owner, entry))
            for made in every:
                if subject.source.site(made) == finding.site:
                    moved = _Move(subject, owner, made, _attribute(subject, owner, every, made)).edits()
                    if isinstance(moved, str):
                        yield Decline(moved)
                    else:
                        title = f"Make `{subject.text(subject.source.site(made.func))}` once, in `__init__`"
                        yield self.candidate(finding, title, *moved, prior=0.9)
                    return

    examples = (
        Example(
            "layers made where they are called",
            before="""\
import torch.nn as nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(width, width, 1)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2)).transpose(1, 2)
        return nn.LayerNorm(self.width)(x + y)
""",
            after="""\
import torch.nn as nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(width, width, 1)
        self.layer_norm = nn.LayerNorm(self.width)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2)).transpose(1, 2)
        return self.layer_norm(x + y)
""",
        ),
        Example(
            "one convolution for each size",
            before="""\
import torch
from torch import nn

SIZES = [2, 3, 4]

class TextCNN(nn.Module):
    def __init__(self):
        super(TextCNN, self).__init__()
        self.embedding = nn.Embedding(50, 16)
        self.out = nn.Linear(24, 2)

    def forward(self, words):
        x = self.embedding(words).unsqueeze(1)
        pooled = []
        for size in SIZES:
            conv = nn.Conv2d(1, 8, (size, 16))(x)
            pooled.append(conv.relu().amax(dim=(2, 3)))
        return self.out(torch.cat(pooled, dim=1))
""",
            after="""\
import torch
from torch import nn

SIZES = [2, 3, 4]

class TextCNN(nn.Module):
    def __init__(self):
        super(TextCNN, self).__init__()
        self.embedding = nn.Embedding(50, 16)
        self.out = nn.Linear(24, 2)
        self.conv2ds = nn.ModuleList([nn.Conv2d(1, 8, (size, 16)) for size in SIZES])

    def forward(self, words):
        x = self.embedding(words).unsqueeze(1)
        pooled = []
        for i, size in enumerate(SIZES):
            conv = self.conv2ds[i](x)
            pooled.append(conv.relu().amax(dim=(2, 3)))
        return self.out(torch.cat(pooled, dim=1))
""",
        ),
        Example(
            "a class without a constructor of its own, a local variable and a helper method",
            before="""\
import torch

class Net(torch.nn.Module):
    def head(self, h):
        fc = torch.nn.Linear(8, 3)
        return fc(h)

    def forward(self, x):
        return self.head(x.flatten(1))
""",
            after="""\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 3)
    def head(self, h):
        fc = self.fc
        return fc(h)

    def forward(self, x):
        return self.head(x.flatten(1))
""",
        ),
        Example(
            "a layer made in the call of a Keras layer",
            before="""\
import keras
from keras import layers

class Gate(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.scale = layers.Dense(units)

    def call(self, inputs):
        gate = layers.Dense(self.units, activation="sigmoid")(inputs)
        return gate * self.scale(inputs)
""",
            after="""\
import keras
from keras import layers

class Gate(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.scale = layers.Dense(units)
        self.dense = layers.Dense(self.units, activation="sigmoid")

    def call(self, inputs):
        gate = self.dense(inputs)
        return gate * self.scale(inputs)
""",
        ),
    )
    rejects = (
        Reject(
            "layers without weights",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = nn.ReLU()(self.fc(x))
        return nn.Softmax(dim=1)(nn.MaxPool1d(2)(x))
""",
        ),
        Reject(
            "a layer that is made in the first pass and kept",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = None

    def forward(self, x):
        if self.fc is None:
            self.fc = nn.Linear(x.shape[1], 2)
        return self.fc(x)
""",
        ),
        Reject(
            "a builder method that __init__ calls",
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = self.make(3)

    def make(self, n):
        return nn.Sequential(*[nn.Linear(4, 4) for _ in range(n)])

    def forward(self, x):
        return self.net(x)
""",
        ),
    )


def _owners(subject: Subject) -> Iterator[tuple[ast.ClassDef, str]]:
    for owner in torch_modules(subject.source):
        yield owner, "forward"
    for owner in keras_modules(subject.source):
        yield owner, "call"


def _made_in(subject: Subject, owner: ast.ClassDef, entry: str) -> Iterator[ast.Call]:
    """The calls under `entry` that construct what has weights, in source order."""
    methods = run_by(subject.source, owner, entry)
    set_up = {each.name for each in run_by(subject.source, owner, "build")} | _called_in_init(subject, owner)
    for function in sorted(methods, key=lambda each: each.lineno):
        if function.name in set_up or (function.name != entry and function.decorator_list):
            # A decorator may keep what a method made, as a cache does.
            continue
        calls = within(function, ast.Call)
        for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset, -(each.end_col_offset or 0))):
            if _has_weights(subject, call) and not _kept(subject, call) and not _within_another(subject, call):
                yield call


def _called_in_init(subject: Subject, owner: ast.ClassDef) -> set[str]:
    constructor = method(owner, "__init__")
    if constructor is None:
        return set()
    own = {node.attr for node in within(constructor, ast.Attribute)}
    return {each.name for name in own for each in run_by(subject.source, owner, name)}


def _has_weights(subject: Subject, call: ast.Call) -> bool:
    name = subject.source.qualified(call.func)
    if name is None:
        return subject.source.definition(call.func) in _weighted_classes(subject.source)
    return _makes_weights(name)


def _makes_weights(name: str) -> bool:
    if name in PARAMETERS:
        return True
    facts = layer_facts(name)
    if facts is None or component_kind(name) != "layer" or facts.kind in WITHOUT_WEIGHTS:
        return False
    return "InstanceNorm" not in name


@once
def _weighted_classes(source: Source) -> tuple[ast.ClassDef, ...]:
    found = []
    for owner in (*torch_modules(source), *keras_modules(source)):
        constructor = method(owner, "__init__")
        inside = within(constructor, ast.Call) if constructor is not None else []
        names = (source.qualified(node.func) for node in inside)
        if any(name is not None and _makes_weights(name) for name in names):
            found.append(owner)
    return tuple(found)


def _kept(subject: Subject, call: ast.Call) -> bool:
    """Whether the layer is made on a condition and kept in `self`, or handed to code that may keep it."""
    statement = subject.source.statement_of(call)
    if isinstance(statement, ast.Assign) and any(
        isinstance(t, (ast.Attribute, ast.Subscript)) for t in statement.targets
    ):
        return True
    parent = subject.source.parent(call)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and call in parent.args:
        return parent.func.attr in ("append", "add_module", "register_module", "register_parameter", "setattr", "add")
    return False


def _within_another(subject: Subject, call: ast.Call) -> bool:
    """Whether the call is an argument of another constructor or a comprehension, which is moved as a whole or not."""
    above = subject.source.parent(call)
    while above is not None and not isinstance(above, ast.stmt):
        if isinstance(above, (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)):
            return True
        if (
            isinstance(above, ast.Call)
            and call is not above.func
            and component_kind(subject.source.qualified(above.func) or "") in ("layer", "model")
        ):
            return True
        above = subject.source.parent(above)
    return False


def _attribute(subject: Subject, owner: ast.ClassDef, every: list[ast.Call], made: ast.Call) -> str:
    """The attribute for a layer: as its variable is called, else after its class; each layer gets one of its own."""
    taken = set(attributes_of(owner))
    for call in every:
        statement = subject.source.statement_of(call)
        name = subject.text(subject.source.site(call.func)).rpartition(".")[2]
        wanted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        if isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name):
            wanted = statement.targets[0].id
        if subject.source.enclosing(call, ast.For) is not None:
            wanted += "s"
        chosen, count = wanted, 1
        while chosen in taken:
            count += 1
            chosen = f"{wanted}{count}"
        taken.add(chosen)
        if call is made:
            return chosen
    return "layer"


@dataclass(frozen=True)
class _Move:
    """A constructor call on its way from a method into `__init__`."""

    subject: Subject
    owner: ast.ClassDef
    made: ast.Call
    attribute: str

    def edits(self) -> tuple[Edit, ...] | str:
        """The edits, or why there are none."""
        source = self.subject.source
        function = source.enclosing(self.made, ast.FunctionDef)
        loop = source.enclosing(self.made, ast.For)
        if function is None or source.enclosing(self.made, ast.While) is not None:
            return "the layer is made in a loop without a known number of rounds"
        allowed: set[str] = set()
        if loop is not None:
            if loop.lineno < function.lineno:
                loop = None
            elif source.enclosing(loop, ast.For) is not None and source.enclosing(loop, ast.FunctionDef) is function:
                return "the layer is made in nested loops"
        if loop is not None:
            allowed = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
            missing = self._missing(loop.iter, function, set())
            if missing:
                return f"`__init__` does not know `{missing}`"
        code = self._code(function, allowed)
        if code is None:
            return "the layer's arguments are known in the forward pass only"
        if loop is None:
            return (*self._insert(f"self.{self.attribute} = {code}"), Replace(self._site, f"self.{self.attribute}"))
        return self._as_list(loop, code)

    @property
    def _site(self) -> Site:
        return self.subject.source.site(self.made)

    def _code(self, function: ast.FunctionDef, allowed: set[str]) -> str | None:
        """The constructor call as it can stand in `__init__`; sizes of tensors are written as the run showed them."""
        source = self.subject.source
        text = source.segment(self._site)
        given = [(index, value) for index, value in enumerate(self.made.args)]
        parts: list[tuple[ast.expr, str]] = []
        for index, value in given:
            if self._missing(value, function, allowed):
                seen = self._seen(index, None)
                if seen is None:
                    return None
                parts.append((value, seen))
        for keyword in self.made.keywords:
            if self._missing(keyword.value, function, allowed):
                seen = self._seen(None, keyword.arg)
                if seen is None:
                    return None
                parts.append((keyword.value, seen))
        if not parts:
            return text
        if self._site.line != self._site.end_line:
            return None
        for value, seen in sorted(parts, key=lambda part: -part[0].col_offset):
            place = source.site(value)
            start, end = place.column - self._site.column, place.end_column - self._site.column
            text = text[:start] + seen + text[end:]
        return text

    def _missing(self, value: ast.expr, function: ast.FunctionDef, allowed: set[str]) -> str | None:
        """A name in the expression that `__init__` does not know; `None` where it knows all."""
        constructor = method(self.owner, "__init__")
        local = bound_in(function)
        for node in ast.walk(value):
            if isinstance(node, ast.Name) and node.id in local and node.id not in allowed and node.id != "self":
                return node.id
            own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
            if isinstance(node, ast.Attribute) and own and not _sets(constructor, node.attr):
                return f"self.{node.attr}"
        return None

    def _seen(self, index: int | None, name: str | None) -> str | None:
        """The number that the argument had whenever the layer was made in the run."""
        qualified = self.subject.source.qualified(self.made.func)
        known = signature(qualified) if qualified is not None else None
        if known is None or self.subject.trace is None or self.subject.trace.network is None:
            return None
        if name is None and index is not None and index < len(known.positional):
            name = known.positional[index]
        at = [c for c in self.subject.trace.network.components if c.site == self._site]
        values = {repr(c.args.get(name or "")) for c in at if isinstance(c.args.get(name or ""), int)}
        return values.pop() if len(values) == 1 and len(at) > 1 else None

    def _insert(self, code: str) -> tuple[Edit, ...]:
        source = self.subject.source
        constructor = method(self.owner, "__init__")
        if constructor is None:
            first = next(node for node in self.owner.body if isinstance(node, ast.FunctionDef))
            body = f"def __init__(self):\n    super().__init__()\n    {code}"
            return (InsertBefore(source.site(first), body),)
        last = last_of_setup(constructor) or constructor.body[-1]
        return (InsertAfter(source.site(last), code),)

    def _as_list(self, loop: ast.For, code: str) -> tuple[Edit, ...] | str:
        """Edits that keep one layer for each round of the loop."""
        source = self.subject.source
        if not (self.subject.source.qualified(self.made.func) or "torch").startswith("torch"):
            return "the layer is made in a loop"
        rounds, target = source.segment(source.site(loop.iter)), source.segment(source.site(loop.target))
        index, changes = self._index(loop)
        spelled = spell(self.subject, "torch.nn.ModuleList")
        kept = f"self.{self.attribute} = {spelled.code}([{code} for {target} in {rounds}])"
        use = Replace(self._site, f"self.{self.attribute}[{index}]")
        return (*self._insert(kept), *changes, use, *spelled.imports)

    def _index(self, loop: ast.For) -> tuple[str, tuple[Edit, ...]]:
        """What numbers the rounds of the loop, and the edits that make it so."""
        source = self.subject.source
        iterated = loop.iter
        called = source.qualified(iterated.func) if isinstance(iterated, ast.Call) else None
        counted = isinstance(iterated, ast.Call) and len(iterated.args) == 1
        if called == "builtins.range" and counted and isinstance(loop.target, ast.Name):
            if loop.target.id != "_":
                return loop.target.id, ()
            return "i", (Replace(source.site(loop.target), "i"),)
        if called == "builtins.enumerate" and counted and isinstance(loop.target, ast.Tuple):
            number = loop.target.elts[0]
            if isinstance(number, ast.Name):
                return number.id, ()
        taken = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
        index = next(name for name in ("i", "j", "k", "index", "number") if name not in taken)
        target = source.site(loop.target)
        return index, (
            Replace(target, f"{index}, {source.segment(target)}"),
            Wrap(source.site(iterated), "enumerate(", ")"),
        )


def _sets(constructor: ast.FunctionDef | ast.AsyncFunctionDef | None, attribute: str) -> bool:
    return constructor is not None and any(
        isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store)
        for node in ast.walk(constructor)
    )
