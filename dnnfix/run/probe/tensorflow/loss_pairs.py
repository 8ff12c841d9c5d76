"""Finds the prediction (the side computed from variables) and the target of a loss in a TensorFlow 1 graph.

It recognizes the operations that losses are written with: cross-entropies, squared and absolute differences, and the
product of labels with a logarithm.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Set, Tuple

Pair = Tuple[Any, Any, str]
"""Prediction, target, and the name of the loss in Keras."""

_DEEP = 12
_MOST_OPERATIONS = 400
_VARIABLES = frozenset({"VariableV2", "Variable", "VarHandleOp", "ReadVariableOp"})
_BY_CLASS, _BY_INDEX = "keras.losses.CategoricalCrossentropy", "keras.losses.SparseCategoricalCrossentropy"
_BY_LABEL, _BY_VALUE = "keras.losses.BinaryCrossentropy", "keras.losses.MeanSquaredError"
_ENTROPIES = {"SoftmaxCrossEntropyWithLogits": _BY_CLASS, "SparseSoftmaxCrossEntropyWithLogits": _BY_INDEX}
_OF_DIFFERENCES = frozenset({"Square", "Pow", "Abs", "Mul", "L2Loss"})


def pair_of(loss: Any) -> Optional[Pair]:
    """The prediction and the target that a loss compares; `None` where it is written in another way."""
    for operation in _before(loss.op):
        found = _compared(operation)
        if found is not None:
            return found
    return None


def comes_from(tensor: Any, key: Any) -> bool:
    """Whether a tensor is computed from what is fed under a key."""
    fed = getattr(key, "op", None)
    return fed is not None and any(one is fed for one in _before(tensor.op))


def _compared(operation: Any) -> Optional[Pair]:
    inputs = list(operation.inputs)
    if operation.type in _ENTROPIES:
        return inputs[0], inputs[1], _ENTROPIES[operation.type]
    if operation.type == "SquaredDifference":
        return _by_variables(inputs, _BY_VALUE)
    if operation.type in _OF_DIFFERENCES:
        for one in inputs:
            if one.op.type == "Sub":
                return _by_variables(list(one.op.inputs), _BY_VALUE)
    if operation.type == "Mul" and len(inputs) == 2:
        if "logistic_loss" in operation.name:
            return _by_variables(inputs, _BY_LABEL)
        for one, other in (inputs, inputs[::-1]):
            made = one.op.inputs[0] if one.op.type == "Log" else None
            if made is not None and _depends_on_variables(made.op) and not _depends_on_variables(other.op):
                return made, other, _BY_CLASS
    return None


def _by_variables(inputs: List[Any], name: str) -> Optional[Pair]:
    """Which of the two is the prediction; `None` where both come from variables, or neither does."""
    made = [_depends_on_variables(one.op) for one in inputs]
    if sorted(made) != [False, True]:
        return None
    return inputs[made.index(True)], inputs[made.index(False)], name


def _depends_on_variables(operation: Any) -> bool:
    return any(one.type in _VARIABLES for one in _before(operation, deep=10**6))


def _before(operation: Any, deep: int = _DEEP) -> Iterator[Any]:
    """An operation and those that it is computed from, the nearest first."""
    waiting: List[Tuple[Any, int]] = [(operation, 0)]
    seen: Set[Any] = set()
    while waiting and len(seen) < _MOST_OPERATIONS:
        one, depth = waiting.pop(0)
        if one in seen:
            continue
        seen.add(one)
        yield one
        if depth < deep:
            waiting.extend((given.op, depth + 1) for given in one.inputs)
