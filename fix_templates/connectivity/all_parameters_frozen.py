"""Every parameter of a model that is trained is frozen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Delete,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    RemoveArgument,
    Subject,
    Symptom,
)


class AllParametersFrozen(FixTemplate):
    """The program trains a model none of whose parameters may change (`requires_grad` or `trainable` is False for all).

    Freezing is meant for a part, most often a body with loaded weights. Where it reaches every layer, `backward` raises in
    torch, and Keras trains without any effect.

    Fix safety: unsafe. What was frozen is trained from now on; where only a part was meant to be frozen, freeze that part.

    References: torch.Tensor.requires_grad_; "Transfer learning and fine-tuning" of the Keras guides.
    """

    code = "DNF406"
    name = "all-parameters-frozen"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "all {count} parameters of the model are frozen, so that nothing can be trained"
    triggers = ("requires_grad", "requires_grad_", "trainable")
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        parameters = subject.network.parameters
        if subject.trace is None or not parameters or any(parameter.trainable for parameter in parameters):
            return
        call = subject.crash.call if subject.crash is not None else None
        in_backward = call is not None and call.name == "torch.Tensor.backward"
        fitted = subject.crash is None and any(c.name == "keras.Model.fit" for c in subject.network.calls)
        frozen = list(_freezing(subject))
        if not frozen or not (in_backward or fitted):
            return
        yield self.finding(
            subject.source.site(frozen[0]),
            symptom=Symptom.CRASH if in_backward else Symptom.NO_GRADIENT,
            cause="crash" if in_backward else "",
            confidence=0.9,
            count=len(parameters),
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        edits = tuple(dict.fromkeys(_freed(subject, node) for node in _freezing(subject)))
        yield self.candidate(finding, "Let the parameters train", *edits, prior=0.8)

    examples = (
        Example(
            "the method of the module",
            """\
import torch

net = torch.nn.Linear(4, 2)
- net.requires_grad_(False)  # for now
loss = torch.nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
loss.backward()
""",
            runs=True,
        ),
        Example(
            "all layers of a Keras model",
            """\
import keras
import numpy as np
from keras.layers import Dense

model = keras.Sequential([keras.Input((4,)), Dense(8, activation="relu"), Dense(1)])
- for layer in model.layers:
-     layer.trainable = False
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(8, 4), np.random.rand(8), epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a frozen body under a head that trains",
            """\
import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 1)
for p in body.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
loss = head(body(torch.randn(8, 4))).pow(2).mean()
loss.backward()
optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "a frozen model that only predicts",
            """\
import torch

net = torch.nn.Linear(4, 2)
net.requires_grad_(False)
print(net(torch.randn(2, 4)).shape)
""",
            runs=True,
        ),
    )


def _freezing(subject: Subject) -> Iterator[ast.expr | ast.stmt]:
    """The statements and constructor calls that freeze, in source order."""
    found: list[ast.stmt | ast.expr] = []
    for node in ast.walk(subject.source.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            if node.targets[0].attr in ("requires_grad", "trainable") and _is_false(node.value):
                found.append(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
            given = [*node.args, *(k.value for k in node.keywords)]
            if given and _is_false(given[0]) and isinstance(subject.source.parent(node), ast.Expr):
                found.append(subject.source.statement_of(node))
        elif isinstance(node, ast.Call) and any(k.arg == "trainable" and _is_false(k.value) for k in node.keywords):
            found.append(node)
    yield from sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _freed(subject: Subject, node: ast.expr | ast.stmt) -> Edit:
    """The edit that takes a freezing statement away, with a loop that does nothing else, or the argument that freezes."""
    source = subject.source
    if isinstance(node, ast.Call):
        return RemoveArgument(source.site(node), "trainable")
    above = source.parent(node)
    while isinstance(above, (ast.For, ast.If)) and len(above.body) == 1 and not above.orelse:
        if isinstance(above, ast.If):
            break
        node, above = above, source.parent(above)
    return Delete(source.site(node))
