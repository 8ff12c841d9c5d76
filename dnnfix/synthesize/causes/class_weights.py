"""The cause "class weights": equal total weight of each class in the loss, where the targets are unbalanced."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.detect.tensors.values import loss_uses
from dnnfix.records import Edit, FixPattern, SetArgument
from dnnfix.source.public_names import words
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.validate.reading import Reading

WEIGHT = {
    ("class", "torch.nn.CrossEntropyLoss"): "weight",
    ("class", "torch.nn.NLLLoss"): "weight",
    ("binary", "torch.nn.BCEWithLogitsLoss"): "pos_weight",
}
"""The argument that weighs the classes, by the kind of the targets and the loss."""

ELSEWHERE = words("cuda gpu device")
"""Words of programs whose tensors may be on another device than a new one."""

NOT_BESIDE = ("class_weight", "sample_weight", None)
"""Arguments of `fit` beside which Keras takes no weights of classes, or that may hold one of them."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Weights by which every class counts the same, where the counts of the targets are known to be unbalanced."""
    numbers = next((reading.numbers for reading in symptoms if reading.name == "unbalanced"), {})
    listed = numbers.get("counts")
    counts = [count for count in listed if isinstance(count, int)] if isinstance(listed, list) else []
    if len(counts) < 2 or not all(counts):
        return
    made = _in_torch(subject, str(numbers.get("kind")), counts) or _in_keras(subject, counts)
    if made:
        yield Cause("class-weights", "Weigh the classes by how rare they are", FixPattern.LOSS_FUNCTION, made, 0.45)


def _balanced(counts: Sequence[int]) -> list[str]:
    """What each class weighs: the mean count over its own."""
    return [_written(sum(counts) / len(counts) / count) for count in counts]


def _written(weight: float) -> str:
    text = f"{weight:.3g}"
    return text if set(text) & set(".e") else f"{text}.0"


def _in_torch(subject: Subject, kind: str, counts: Sequence[int]) -> tuple[Edit, ...]:
    source = subject.source
    uses = [use for use in loss_uses(subject) if use.call.phase != "eval"]
    made = {subject.constructor_node(use.call): WEIGHT.get((kind, use.facts.name)) for use in uses}
    if len(made) != 1 or source.words & ELSEWHERE:
        return ()
    ((node, name),) = made.items()
    if node is None or name is None or node.args or any(keyword.arg in (name, None) for keyword in node.keywords):
        return ()
    weights = [_written(counts[0] / counts[1])] if name == "pos_weight" else _balanced(counts)
    spelled = spell(subject, "torch.tensor")
    return (SetArgument(source.site(node), name, f"{spelled.code}([{', '.join(weights)}])"), *spelled.imports)


def _in_keras(subject: Subject, counts: Sequence[int]) -> tuple[Edit, ...]:
    fits = {subject.node(call.site) for call in subject.network.calls if call.name == "keras.Model.fit"}
    node = next(iter(fits)) if len(fits) == 1 else None
    if not isinstance(node, ast.Call) or any(keyword.arg in NOT_BESIDE for keyword in node.keywords):
        return ()
    weights = ", ".join(f"{label}: {weight}" for label, weight in enumerate(_balanced(counts)))
    return (SetArgument(subject.source.site(node), "class_weight", f"{{{weights}}}"),)
