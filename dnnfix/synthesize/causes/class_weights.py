"""What each class weighs in the loss: as much as the others, where the targets are mostly of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.detect.values import loss_uses
from dnnfix.records import Edit, FixPattern, SetArgument
from dnnfix.source.known import words
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.spelling import spell
from dnnfix.validate.reading import Reading

WEIGHT = {
    "torch.nn.CrossEntropyLoss": "weight",
    "torch.nn.NLLLoss": "weight",
    "torch.nn.BCEWithLogitsLoss": "pos_weight",
}
"""The argument that weighs the classes, by loss."""

ELSEWHERE = words("cuda gpu device")
"""Words of programs whose tensors may be on another device than a new one."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Weights by which every class counts the same, where the counts of the targets are known to be unbalanced."""
    listed = next((reading.numbers["counts"] for reading in symptoms if reading.name == "unbalanced"), None)
    counts = [count for count in listed if isinstance(count, int)] if isinstance(listed, list) else []
    made = (_in_torch(subject, counts) or _in_keras(subject, counts)) if len(counts) > 1 else ()
    if made:
        yield Cause("class-weights", "Weigh the classes by how rare they are", FixPattern.LOSS_FUNCTION, made, 0.45)


def _balanced(counts: Sequence[int]) -> list[str]:
    """What each class weighs: the mean count over its own, and 1 for one that does not occur."""
    mean = sum(counts) / sum(count > 0 for count in counts)
    return [f"{mean / count:.3g}" if count else "1.0" for count in counts]


def _in_torch(subject: Subject, counts: Sequence[int]) -> tuple[Edit, ...]:
    source = subject.source
    uses = [use for use in loss_uses(subject) if use.call.phase != "eval" and use.facts.name in WEIGHT]
    if len({use.facts.name for use in uses}) != 1 or source.words & ELSEWHERE:
        return ()
    node, name = subject.constructor_node(uses[0].call), WEIGHT[uses[0].facts.name]
    if node is None or node.args or any(keyword.arg in (name, None) for keyword in node.keywords):
        return ()
    if name == "pos_weight":
        if len(counts) != 2 or not counts[1]:
            return ()
        weights = [f"{counts[0] / counts[1]:.3g}"]
    else:
        weights = _balanced(counts)
    spelled = spell(subject, "torch.tensor")
    written = [weight if "." in weight or "e" in weight else f"{weight}.0" for weight in weights]
    return (SetArgument(source.site(node), name, f"{spelled.code}([{', '.join(written)}])"), *spelled.imports)


def _in_keras(subject: Subject, counts: Sequence[int]) -> tuple[Edit, ...]:
    source = subject.source
    found = [call for call in source.all_calls if isinstance(call.func, ast.Attribute) and call.func.attr == "fit"]
    trains = any(call.name == "keras.Model.fit" for call in subject.network.calls)
    if len(found) != 1 or not trains or any(keyword.arg in ("class_weight", None) for keyword in found[0].keywords):
        return ()
    weights = ", ".join(f"{label}: {weight}" for label, weight in enumerate(_balanced(counts)))
    return (SetArgument(source.site(found[0]), "class_weight", f"{{{weights}}}"),)
