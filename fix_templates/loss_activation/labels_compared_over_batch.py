"""The accuracy of a graph compares the places of the largest values along the batch."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Subject,
    Symptom,
    argument_value,
    name_of,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The calls of `argmax` that run along the batch, and what each calls its axis."""

    calls: tuple[ast.Call, ...]
    labels: str


class LabelsComparedOverBatch(FaultTemplate[Comparison]):
    """`tf.equal(tf.argmax(y, 0), tf.argmax(y_, 0))`: for each class, which sample of the batch has the largest value.

    The comparison gives one answer per class instead of one per sample, and its mean is a number that says nothing of the
    network. Axis 0 is also what `tf.argmax` takes where it is given none. Reported where the labels are a placeholder
    whose first axis is the batch (`[None, classes]`).

    Fix safety: unsafe. What is reported changes; training is the same unless it depends on the report.

    References: tf.math.argmax (axis: "Default to 0").
    """

    code = "DNF332"
    name = "labels-compared-over-batch"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "argmax runs along the batch, the first axis of `{labels}`"
    triggers = ("argmax", "arg_max")

    declined = "the axis is not given at one place"

    def faults(self, subject: Subject) -> Faults[Comparison]:
        source = subject.source
        if "tensorflow" not in source.frameworks:
            return
        for call in source.all_calls:
            if name_of(call.func) != "equal" or len(call.args) != 2:
                continue
            sides = [side for side in call.args if isinstance(side, ast.Call) and name_of(side.func) in _CHOOSING]
            along = tuple(side for side in sides if isinstance(side, ast.Call) and side.args and _along_batch(side))
            labels = [ast.unparse(side.args[0]) for side in along if _is_batch(subject, side.args[0])]
            if len(sides) == 2 and labels:
                yield source.site(call), Comparison(along, labels[0])

    def report(self, site: Site, comparison: Comparison) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.9,
            evidence={"calls": len(comparison.calls)},
            labels=comparison.labels,
        )

    def repairs(self, subject: Subject, comparison: Comparison) -> Repairs:
        edits = tuple(SetArgument(subject.source.site(call), _axis_name(call), "1", 1) for call in comparison.calls)
        yield "Choose along the classes (axis 1)", edits, 0.9

    examples = (
        Example(
            "no axis at all",
            """\
import tensorflow as tf

labels = tf.compat.v1.placeholder(tf.float32, shape=(None, 3), name="labels")
- hits = tf.equal(tf.argmax(logits), tf.argmax(labels))
+ hits = tf.equal(tf.argmax(logits, axis=1), tf.argmax(labels, axis=1))
""",
        ),
    )
    rejects = (
        Reject(
            "along the classes",
            """\
import tensorflow.compat.v1 as tf

y_ = tf.placeholder(tf.float32, [None, 10])
correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, axis=-1))
""",
        ),
        Reject(
            "labels of one sample",
            """\
import tensorflow.compat.v1 as tf

label = tf.placeholder(tf.float32, [10])
correct = tf.equal(tf.argmax(score, 0), tf.argmax(label, 0))
""",
        ),
    )


_CHOOSING = frozenset({"argmax", "arg_max"})
_AXES = ("axis", "dimension")


def _axis_name(call: ast.Call) -> str:
    return next((keyword.arg for keyword in call.keywords if keyword.arg in _AXES), "axis") or "axis"


def _along_batch(call: ast.Call) -> bool:
    axis = next((k.value for k in call.keywords if k.arg in _AXES), call.args[1] if len(call.args) > 1 else None)
    return axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)


def _is_batch(subject: Subject, labels: ast.expr) -> bool:
    """Whether the labels are a placeholder of rows, of any number, with several values each."""
    made = subject.source.constructor(labels)
    if made is None or name_of(made.func) != "placeholder":
        return False
    shape = argument_value(made, "shape", 1)
    if not isinstance(shape, (ast.List, ast.Tuple)) or len(shape.elts) != 2:
        return False
    rows, width = shape.elts
    several = not (isinstance(width, ast.Constant) and width.value in (None, 1))
    return isinstance(rows, ast.Constant) and rows.value is None and several
