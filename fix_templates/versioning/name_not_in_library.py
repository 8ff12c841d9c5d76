"""A name that the installed library does not have, and has in another spelling or another module."""

from __future__ import annotations

import ast
import datetime
import re
import sys

from dnnfix.api import (
    AddImport,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Refusal,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    missing_name,
    refusal,
    uses_of,
)

OF_THEIR_NAME = {"datetime": datetime.datetime}
"""Modules with a class of their own name, which is meant where the module is asked for what only the class has."""


class NameNotInLibrary(FaultTemplate[Refusal]):
    """A function, class or method is asked for by a name that its library does not have: the program stops there.

    `tf.matmult` is `tf.matmul`, `layers.LayerNorm` is `layers.LayerNormalization`, `torch.cross_entropy` is
    `torch.nn.functional.cross_entropy`. What the installed library has is asked of the library itself at the crash. A name
    takes the place if it is by far the likest one: the same words in another spelling, shortened words, a slip of a letter,
    the same name in a module beside, or further words; and if it takes the call with the arguments as they are written.
    Where two come near, nothing is proposed. `datetime.now` is asked of the class, and a part of a package that the package
    does not import itself (`torch.utils.tensorboard`) gets its import. Names that the tables of API changes know are left to them.

    Fix safety: unsafe. Another function is called; that it is the one that was meant rests on its name and parameters.

    References: https://docs.python.org/3/library/difflib.html; https://www.tensorflow.org/api_docs/python/tf/all_symbols.
    """

    code = "DNF551"
    name = "name-not-in-library"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{owner} has no `{name}`"
    needs_run = True
    declined = "no name of the library is near enough to it, or several are"

    def faults(self, subject: Subject) -> Faults[Refusal]:
        """The crash, where a library refused a name that no table knows."""
        asked = refusal(subject)
        if asked is None or asked.asked == "call":
            return
        node, written = subject.node(asked.site), None
        if isinstance(node, ast.Attribute):
            written = subject.source.written(node)
        elif isinstance(node, ast.ImportFrom):
            written = f"{node.module}.{asked.name}"
        if written is not None and uses_of(subject.source).target(written) is not None:
            return
        if asked.kind == "module" or missing_name(asked, _called(subject, node)) is not None:
            yield asked.site, asked

    def report(self, site: Site, fault: Refusal) -> Finding:
        """The finding, at the name."""
        owner = fault.owner if fault.kind == "module" else f"an object of {fault.owner}"
        if fault.asked == "module":
            return self.finding(
                site, symptom=Symptom.CRASH, cause="crash", confidence=0.9, owner=f"the module {owner}", name="()"
            )
        return self.finding(site, symptom=Symptom.CRASH, cause="crash", confidence=0.9, owner=owner, name=fault.name)

    def repairs(self, subject: Subject, fault: Refusal) -> Repairs:
        """The one name that is meant."""
        node = subject.node(fault.site)
        meant = missing_name(fault, _called(subject, node))
        if meant is None:
            yield from _within_module(subject, fault, node)
            return
        source = subject.source
        if isinstance(node, ast.Attribute):
            text = meant if "." in meant else f"{subject.text(source.site(node.value))}.{meant}"
            yield f"Write `{text}`", (Replace(fault.site, text),), 0.8
        elif isinstance(node, ast.Call):  # a module was called
            written = subject.text(source.site(node.func))
            held = isinstance(node.func, ast.Attribute) and meant != fault.name and "." not in meant
            text = meant if "." in meant else f"{written}.{meant}"
            if held and isinstance(node.func, ast.Attribute):
                text = f"{subject.text(source.site(node.func.value))}.{meant}"
            yield f"Write `{text}`", (Replace(source.site(node.func), text),), 0.8
        elif isinstance(node, ast.ImportFrom) and "." not in meant:
            given = next((each.asname for each in node.names if each.name == fault.name), None)
            statement = re.sub(rf"\b{fault.name}\b", meant, subject.text(fault.site), count=1)
            uses = [] if given else [each for each in source.nodes(ast.Name) if each.id == fault.name]
            edits = [Replace(fault.site, statement), *(Replace(source.site(each), meant) for each in uses)]
            yield f"Import `{meant}`", tuple(edits), 0.8

    examples = (
        Example(
            "a slip in a function's name",
            """\
import torch

x = torch.ones(2, 3)
- y = torch.matmull(x, x.t())
+ y = torch.matmul(x, x.t())
print(y.sum())
""",
            runs=True,
        ),
        Example(
            "words that are shortened in a layer's name",
            """\
import numpy as np
import keras
from keras import layers

inputs = keras.Input((4,))
- outputs = layers.Dense(1)(layers.LayerNorm()(inputs))
+ outputs = layers.Dense(1)(layers.LayerNormalization()(inputs))
model = keras.Model(inputs, outputs)
model.compile(loss="mse")
model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
""",
            runs=True,
        ),
        Example(
            "a class that is imported under a name of its own making",
            """\
import torch
- from torch.nn import CrossEntropy, Linear
+ from torch.nn import CrossEntropyLoss, Linear

- criterion = CrossEntropy()
+ criterion = CrossEntropyLoss()
criterion(Linear(3, 2)(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long)).backward()
""",
            runs=True,
        ),
        Example(
            "the module of an optimizer, called",
            """\
import torch

net = torch.nn.Linear(3, 1)
- optimizer = torch.optim.adam(net.parameters(), lr=0.01)
+ optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net(torch.ones(2, 3)).sum().backward()
optimizer.step()
""",
            runs=True,
        ),
        Example(
            "a method whose name has further words",
            """\
import numpy as np
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile(loss="mse")
x, y = np.ones((8, 4)), np.ones((8, 1))
model.train_on_batch(x, y)
- print(model.test(x, y))
+ print(model.test_on_batch(x, y))
""",
            runs=True,
        ),
        Example(
            "a method of the class that has its module's name",
            """\
import datetime
import torch

- begun = datetime.now()
- print(torch.ones(1), (datetime.now() - begun).days)
+ begun = datetime.datetime.now()
+ print(torch.ones(1), (datetime.datetime.now() - begun).days)
""",
            runs=True,
        ),
        Example(
            "a part of a package that is imported by itself",
            """\
import torch
+ import torch.nn.utils.prune

net = torch.nn.Linear(2, 1)
torch.nn.utils.prune.l1_unstructured(net, "weight", amount=1)
print(net(torch.ones(1, 2)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an attribute of the program's own class",
            """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.hidden2(x)


Net()(torch.ones(2, 3))
""",
            runs=True,
        ),
        Reject(
            "a name that the tables know",
            """\
import numpy as np
import torch

labels = torch.from_numpy(np.zeros(3, dtype=np.float))
""",
            runs=True,
        ),
        Reject(
            "nothing is refused",
            """\
import torch

print(torch.matmul(torch.ones(2, 3), torch.ones(3, 2)))
""",
            runs=True,
        ),
    )


def _called(subject: Subject, node: ast.AST | None) -> ast.Call | None:
    """The call of what a refused name stands for; for an import, the first call of the name."""
    source = subject.source
    if isinstance(node, ast.Call):
        return node
    if isinstance(node, ast.Attribute):
        above = source.parent(node)
        return above if isinstance(above, ast.Call) and above.func is node else None
    return None


def _within_module(subject: Subject, fault: Refusal, node: ast.AST | None) -> Repairs:
    """A name that the class of a module's own name has, or a part of a package that is imported by itself only."""
    source = subject.source
    if fault.kind != "module" or fault.asked != "name" or not isinstance(node, ast.Attribute):
        return
    module = node.value
    if fault.owner in OF_THEIR_NAME and hasattr(OF_THEIR_NAME[fault.owner], fault.name):
        if source.qualified(module) != fault.owner:
            return
        whole = f"{subject.text(source.site(module))}.{fault.owner}"
        uses = (one for one in source.nodes(ast.Attribute) if source.qualified(one.value) == fault.owner)
        edits = (
            Replace(source.site(use.value), whole)
            for use in uses
            # `datetime.date` and `datetime.time` are classes of the module, and methods of the class
            if hasattr(OF_THEIR_NAME[fault.owner], use.attr) and not hasattr(sys.modules[fault.owner], use.attr)
        )
        yield f"Ask the class `{whole}`", tuple(edits), 0.85
    elif source.written(node) == f"{fault.owner}.{fault.name}" and isinstance(source.parent(node), ast.Attribute):
        yield f"Import `{fault.owner}.{fault.name}`", (AddImport(f"import {fault.owner}.{fault.name}"),), 0.85
