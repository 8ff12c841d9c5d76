"""A loss that compares element by element pairs each prediction with its own target, and broadcasts neither.

A crash over shapes goes away as well when an axis of one element is given to the side that is short of numbers: the loss
then compares every prediction with the same targets, and trains towards their mean. Axes at the end that hold one element
and that Keras takes away by itself are not held against a patch, nor is what the original did as well.

References: the broadcasting rules of numpy; torch.nn.MSELoss (its warning of a target of another size).
"""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import Evidence, Subject, Verdict, tensor_values

NAME = "targets-meet-predictions"
RUNG = "shapes"

Shape = tuple[int | None, ...]


def judge(evidence: Evidence) -> Verdict:
    """Fail on a loss that stretches predictions or targets, where the original had none."""
    after = list(_stretching(Subject(evidence.source_after, evidence.after)))
    if not after:
        return Verdict.passes("no loss stretches what it compares")
    if any(_stretching(Subject(evidence.source_before, evidence.before))):
        return Verdict.not_applicable("the original stretches what its losses compare too")
    name, prediction, target = after[0]
    reason = f"{name} compares {prediction} with {target}, element by element"
    return Verdict.fails(reason, {"prediction": list(prediction), "target": list(target)})


def _stretching(subject: Subject) -> Iterator[tuple[str, Shape, Shape]]:
    for use in tensor_values.loss_uses(subject):
        if use.crashed or not use.facts.same_shape or use.target is None:
            continue
        prediction, target = _shape(use, use.prediction.shape), _shape(use, use.target.shape)
        if prediction and target and any(_differ(one, other) for one, other in _aligned(prediction, target)):
            yield use.name, prediction, target


def _shape(use: tensor_values.LossUse, shape: Shape | None) -> Shape:
    return shape[:-1] if use.in_keras and shape is not None and shape[-1:] == (1,) else shape or ()


def _aligned(one: Shape, other: Shape) -> Iterator[tuple[int | None, int | None]]:
    """The sizes that meet, from the last axis on; an axis that one side lacks is stretched as one of one element is."""
    for place in range(1, max(len(one), len(other)) + 1):
        yield (one[-place] if place <= len(one) else 1), (other[-place] if place <= len(other) else 1)


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other
