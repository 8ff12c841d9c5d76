"""Targets of a loss: which expression passes them in, and which values of them a run showed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.tensors.axes import sibling_targets
from dnnfix.detect.tensors.identity import same_thing
from dnnfix.detect.tensors.values import LossUse, loss_uses, seen_of
from dnnfix.network.facts import Prediction, Target
from dnnfix.records import Site
from dnnfix.source.arguments import keyword_value
from dnnfix.subject import Subject


def target_expression(subject: Subject, use: LossUse) -> ast.expr | None:
    """The expression that passes the targets to the loss: in `fit`, or in the loss's own call."""
    node = subject.node(use.call.site)
    if isinstance(node, ast.Call) and use.call.site != use.call.made_at:
        return _argument(node, 1 if use.facts.prediction_first else 0, use.facts.target_argument)
    given = subject.node(use.target.site) if use.target is not None else None
    return given if use.in_keras and isinstance(given, ast.expr) else None


def target_site(subject: Subject, use: LossUse) -> Site | None:
    """Where the targets are passed to the loss, if that is in this program."""
    node = target_expression(subject, use)
    return subject.source.site(node) if node is not None else None


def prediction_expression(subject: Subject, use: LossUse) -> ast.expr | None:
    """The expression that passes the prediction to a loss that the program calls itself."""
    node = subject.node(use.call.site)
    if not isinstance(node, ast.Call) or use.call.site == use.call.made_at:
        return None
    return _argument(node, 0 if use.facts.prediction_first else 1, use.facts.prediction_argument)


def _argument(node: ast.Call, index: int, name: str) -> ast.expr | None:
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    if index < len(node.args):
        return node.args[index]
    return keyword_value(node, name)


def same_targets(subject: Subject, use: LossUse) -> tuple[ast.expr, ...]:
    """All expressions that pass targets to the same Keras model, or to the same loss; that of this use first."""
    node = target_expression(subject, use)
    if node is None:
        return ()
    if use.call.site == use.call.made_at or not isinstance(subject.node(use.call.site), ast.Call):
        return sibling_targets(subject, node)
    own = subject.call_node(use.call)
    found = [node]
    for other in subject.source.all_calls:
        if own is not None and other is not own and _same_loss(subject, own, other):
            given = _argument(other, 1 if use.facts.prediction_first else 0, use.facts.target_argument)
            if given is not None and not _seen_well(subject, other):
                found.append(given)
    return tuple(found)


def _same_loss(subject: Subject, own: ast.Call, other: ast.Call) -> bool:
    """Whether both calls are of one loss object, or of one loss function within the same function of the program."""
    source = subject.source
    if not same_thing(subject, own.func, other.func):
        return False
    if source.qualified(own.func) is None and not isinstance(own.func, ast.Call):
        return True
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return source.enclosing(own, *kinds) is source.enclosing(other, *kinds)


def _seen_well(subject: Subject, node: ast.Call) -> bool:
    """Whether the same loss was seen at this place with shapes that meet."""
    site = subject.source.site(node)
    return any(
        call.site == site and len(call.inputs) > 1 and call.inputs[0].shape == call.inputs[1].shape
        for call in subject.network.calls
    )


def class_losses(subject: Subject) -> Iterator[LossUse]:
    """Uses of losses over classes whose prediction and target were both seen."""
    for use in loss_uses(subject):
        target = use.target
        if target is None or target.shape is None or use.prediction.shape is None or subject.trace is None:
            continue
        if use.facts.target in (Target.INDICES, Target.ONE_HOT) and use.facts.prediction is not Prediction.EMBEDDINGS:
            yield use


def lowest(subject: Subject, use: LossUse) -> float | None:
    """The least label that was seen at all, in this loss and wherever else the same data was seen."""
    target = use.target
    if target is None or target.low is None:
        return None
    return min(value.low for value in seen_of(subject, target) if value.low is not None)
