"""Which uses of losses belong to a `model.compile(…)` call, for rules that compare its metrics with its losses."""

from __future__ import annotations

import ast

from dnnfix.detect.tensors.values import LossUse, loss_uses
from dnnfix.source.arguments import keyword_value
from dnnfix.subject import Subject


def is_compile(call: ast.Call) -> bool:
    """Whether the call is `model.compile(…)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "compile"


def compiled_losses(subject: Subject, compiled: ast.Call) -> list[LossUse]:
    """The uses of the losses that are chosen in a `compile` call, or in the one place that its `loss` argument names."""
    found: list[LossUse] = []
    place = subject.source.site(compiled)
    given = keyword_value(compiled, "loss")
    for use in loss_uses(subject):
        chosen = subject.node(use.call.made_at) if use.call.name.startswith("keras.losses.") else None
        if chosen is None:
            continue
        named = given is not None and subject.source.bindings(given) == (chosen,)
        if place.encloses(subject.source.site(chosen)) or named:
            found.append(use)
    return found
