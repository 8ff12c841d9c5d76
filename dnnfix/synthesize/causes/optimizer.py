"""The cause "optimizer": Adam in place of plain gradient descent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.network.optimizers import RATE_NAMES, USUAL_RATES
from dnnfix.records import Edit, FixPattern, RemoveArgument, Replace
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.causes.optimizing import Optimizing, optimizers
from dnnfix.synthesize.edits.losses import rename
from dnnfix.synthesize.edits.recipes import reword
from dnnfix.validate.reading import Reading

PLAIN = frozenset({"SGD", "ASGD", "Adagrad", "Adadelta", "Rprop"})
ONLY_THEIRS = ("momentum", "nesterov", "dampening", "lr_decay", "lambd", "alpha", "t0", "etas", "step_sizes", "rho")
"""Arguments that Adam does not have."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Adam, at its own rate, for an optimizer of one rate for all weights."""
    for one in optimizers(subject):
        if one.short not in PLAIN:
            continue
        made = _as_adam(subject, one)
        if made is not None:
            yield Cause("optimizer", f"Train with Adam rather than {one.short}", FixPattern.OPTIMIZER, made, 0.25)


def _as_adam(subject: Subject, one: Optimizing) -> tuple[Edit, ...] | None:
    if isinstance(one.node, ast.Constant):
        return (reword(subject, one.node, "adam"),)
    if not isinstance(one.node, ast.Call) or any(keyword.arg is None for keyword in one.node.keywords):
        return None
    places = 2 if one.name.startswith("torch.") else 1
    renamed = rename(subject, one.node.func, one.name.rpartition(".")[0] + ".Adam")
    if renamed is None or len(one.node.args) > places:
        return None
    site = subject.source.site(one.node)
    gone = [k.arg for k in one.node.keywords if k.arg in ONLY_THEIRS and k.arg is not None]
    edits: list[Edit] = [*renamed, *(RemoveArgument(site, name) for name in gone)]
    if one.rate is not None:
        edits.append(Replace(subject.source.site(one.rate), f"{USUAL_RATES['Adam']:g}"))
    elif one.value is None and (len(one.node.args) == places or any(k.arg in RATE_NAMES for k in one.node.keywords)):
        return None
    return tuple(edits)
