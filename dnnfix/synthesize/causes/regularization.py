"""The cause "regularization": less dropout, weight decay or weight penalty, where there is far more than usual."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument
from dnnfix.records import FixPattern, RemoveArgument, Replace
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.validate.reading import Reading

MOST_DROPPED = 0.6
"""Share of the units from which on dropout leaves too little; 0.5 is the most that its authors use."""

MOST_DECAY = 0.02
"""Weight decay from which on it outweighs most losses; usual is 1e-2 (AdamW) and less."""

MOST_PENALTY = 0.05
"""Factor of a penalty on a layer's weights from which on it outweighs most losses; Keras's own default is 0.01."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Less of each, where there is far more than is usual."""
    source = subject.source
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        short = name.rpartition(".")[2]
        site = source.site(call)
        if short.startswith(("Dropout", "SpatialDropout", "AlphaDropout")):
            share = _number(argument(subject, call, name, "p" if name.startswith("torch.") else "rate"))
            if share is not None and share[1] >= MOST_DROPPED:
                title = f"Drop a fifth of the units rather than {share[1]:g} of them"
                edit = Replace(source.site(share[0]), "0.2")
                yield Cause("regularization", title, FixPattern.CHANGE_NEURAL_ARCHITECTURE, (edit,), 0.5)
        decay = next((k.value for k in call.keywords if k.arg == "weight_decay"), None)
        strength = _number(decay) if decay is not None else None
        if strength is not None and strength[1] >= MOST_DECAY:
            title = f"Train without a weight decay of {strength[1]:g}"
            removed = RemoveArgument(site, "weight_decay")
            yield Cause("regularization", title, FixPattern.OPTIMIZER, (removed,), 0.5)
        for keyword in call.keywords:
            if (keyword.arg or "").endswith("_regularizer") and _penalty(keyword.value) >= MOST_PENALTY:
                title = f"Take the penalty of {_penalty(keyword.value):g} off the weights"
                gone = RemoveArgument(site, keyword.arg or "")
                yield Cause("regularization", title, FixPattern.CHANGE_NEURAL_ARCHITECTURE, (gone,), 0.5)


def _number(node: ast.expr | None) -> tuple[ast.expr, float] | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node, float(node.value)
    return None


def _penalty(node: ast.expr) -> float:
    values = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, (int, float))]
    return max((float(value) for value in values), default=0.0)
