"""Compares two recordings of a migration: does the patched program compute in the new environment what the old one did
in the old?

A pure function over two recordings (`dnnfix/run/recording.py`): the old program's and, with the old one's weights and
data put in, the patched program's. A patch is refused where a difference is real: other weights, other outputs under the
same weights, another loss for the same data, an optimizer that moves differently. What could not be compared never counts
as equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dnnfix.records import Json, Status, Verdict
from dnnfix.run.recording import NoRecording, RecordedLayer, Recording, Shape, size

NAME = "same-as-before"
RUNG = "run"

OUTPUT_TOLERANCE = 1e-4
"""Largest difference of outputs, relative to the largest output, that rounding explains. A sum of n products in single
precision is off by up to n times 6e-8 and by the root of n times that as a rule: for the 10,000 products of a wide layer
6e-6, over some ten layers less than 1e-4. Migrated programs that mean the same stay below 2e-6."""

LOSS_TOLERANCE = 1e-3
"""Largest relative difference of a loss: the outputs' error once more, magnified by each step that is taken with it."""

NUMBER_TOLERANCE = 1e-5
"""Largest relative difference of an optimizer's setting: 0.001 in single precision is 0.0010000000475."""

DECAY_TOLERANCE = 0.02
"""Largest relative difference of the learning rates after 1000 steps: the decay of 1e-6 that old programs carry along, and
migrations leave out, makes 0.001; one of 1e-4, which is felt, 0.1."""

SPREAD_RATIO = 1.25
"""Largest ratio of the spreads of two draws of one initializer: five standard errors for weights of `DRAWN` numbers."""

DRAWN = 400
"""Numbers of a weight from which on its spread tells which initializer drew it."""

NEGLIGIBLE = 1e-6
"""Settings below this are there to keep a division from failing (epsilon): which of them it is changes nothing."""

LATER_ADDED = {"initial_accumulator_value": 0.0}
"""Settings that older optimizers do not have, and the value that they behave as if it had."""

WRAPPERS = ("tf", "tfv2", "lossscale")
"""Names of optimizers that hold another one, less "Optimizer": they do not tell which."""

OTHER_LAYOUTS = ("GRU", "LSTM", "SimpleRNN", "Bidirectional", "RNN")
"""Layers whose weights lie differently in versions that compute the same, or nearly: the bias of `reset_after`."""


def compare(old: Recording | NoRecording, new: Recording | NoRecording) -> Verdict:
    """The verdict on the patched program.

    Not applicable where the old program shows nothing in its own environment: then the rest of the ladder decides alone.
    """
    if isinstance(old, NoRecording):
        return _verdict(Status.NOT_APPLICABLE, f"no comparison with the old environment: the program {old.why}")
    if isinstance(new, NoRecording):
        return _verdict(Status.INCONCLUSIVE, f"the patched program {new.why}, but it trains in {old.environment}")
    measured = _measured(old, new)
    refusal = next(_differences(old, new, measured), None)
    if refusal is not None:
        return _verdict(refusal[0], refusal[1], measured)
    shown = [
        f"{len(new.layers)} layers",
        f"{new.parameters} parameters",
        *([] if "outputs" not in measured else [f"outputs within {measured['outputs']:.1g}"]),
        *([] if "losses" not in measured else [f"losses of {len(new.losses)} steps within {measured['losses']:.1g}"]),
    ]
    return _verdict(Status.PASS, f"as in {old.environment}: {', '.join(shown)}", measured)


def _verdict(status: Status, reason: str, measured: dict[str, Json] | None = None) -> Verdict:
    return Verdict(NAME, RUNG, status, reason, measured or {})


def _measured(old: Recording, new: Recording) -> dict[str, Json]:
    """What both show, before and after, with the tolerances that are applied; `same_data` is null where unknown."""
    return {
        "old": old.environment,
        "new": new.environment,
        "layers": {"before": len(old.layers), "after": len(new.layers)},
        "parameters": {"before": old.parameters, "after": new.parameters},
        "learning_rates": {"before": list(old.rates), "after": list(new.rates)},
        "same_data": new.same_data,
        "switched_off": list(old.switched_off),
        "output_tolerance": OUTPUT_TOLERANCE,
        "loss_tolerance": LOSS_TOLERANCE,
    }


def _differences(old: Recording, new: Recording, measured: dict[str, Json]) -> Iterator[tuple[Status, str]]:
    """What speaks against the patch, the plainest first; numbers that were compared are added to `measured`."""
    if old.weights != new.weights:
        yield _other_weights(old, new)
    yield from _other_starts(old, new)
    yield from _other_outputs(old, new, measured)
    yield from _other_losses(old, new, measured)
    yield from _other_optimizer(old, new)
    if "outputs" not in measured and "losses" not in measured:
        yield Status.INCONCLUSIVE, "outputs and losses are random in the old environment: there is nothing to compare"


def _other_weights(old: Recording, new: Recording) -> tuple[Status, str]:
    """Weights that differ: in their layout only, or in the network."""
    before, after = _unlike([layer for layer in old.layers if layer.weights], [la for la in new.layers if la.weights])
    what = f"{_layer(after)} where {_layer(before)} was"
    if sorted(map(size, old.weights)) == sorted(map(size, new.weights)):
        return Status.INCONCLUSIVE, f"the weights do not correspond, and cannot be copied: {what}"
    if before and after and before.weights[0] == after.weights[0] and _recurrent(before) and _recurrent(after):
        return Status.INCONCLUSIVE, f"the weights lie differently, and cannot be copied: {what}"
    if old.parameters != new.parameters:
        return Status.FAIL, f"the network has {new.parameters} parameters, had {old.parameters}: {what}"
    return Status.FAIL, f"the network has other weights: {what}"


def _recurrent(layer: RecordedLayer) -> bool:
    return any(word in layer.kind for word in OTHER_LAYOUTS)


def _unlike(
    before: Sequence[RecordedLayer], after: Sequence[RecordedLayer]
) -> tuple[RecordedLayer | None, RecordedLayer | None]:
    """The first layers, place by place, whose weights differ; `None` where one network has no more."""
    for number in range(max(len(before), len(after))):
        one = before[number] if number < len(before) else None
        other = after[number] if number < len(after) else None
        if one is None or other is None or one.weights != other.weights:
            return one, other
    return None, None


def _layer(layer: RecordedLayer | None) -> str:
    return "nothing" if layer is None else f"{layer.kind} {', '.join(_shape(shape) for shape in layer.weights)}"


def _shape(shape: Shape) -> str:
    return f"({', '.join('?' if length is None else str(length) for length in shape)})"


def _other_starts(old: Recording, new: Recording) -> Iterator[tuple[Status, str]]:
    """Weights that an initializer of another kind or scale has drawn."""
    places = [(layer, shape) for layer in new.layers for shape in layer.weights]
    for (layer, shape), before, after in zip(places, old.starts, new.starts, strict=False):
        constant = min(before[1], after[1]) <= NEGLIGIBLE
        ratio = max(before[1], after[1]) / max(min(before[1], after[1]), 1e-30)
        if constant and max(abs(one - other) for one, other in zip(before, after, strict=True)) > NEGLIGIBLE:
            words = [f"{mean:.3g} with a spread of {spread:.3g}" for mean, spread in (after, before)]
            yield Status.FAIL, f"the weight {_shape(shape)} of {layer.kind} starts at {words[0]}, started at {words[1]}"
        elif not constant and ratio > SPREAD_RATIO and size(shape) >= DRAWN:
            spreads = f"{after[1]:.3g}, had {before[1]:.3g}"
            yield Status.FAIL, f"the weight {_shape(shape)} of {layer.kind} starts with a spread of {spreads}"


def _other_outputs(old: Recording, new: Recording, measured: dict[str, Json]) -> Iterator[tuple[Status, str]]:
    if old.shapes != new.shapes:
        shapes = [", ".join(_shape(shape) for shape in recording.shapes) for recording in (old, new)]
        yield Status.FAIL, f"the outputs have the shape {shapes[1]}, had {shapes[0]}"
        return
    if old.random_outputs or new.random_outputs:
        if not old.random_outputs:
            yield Status.FAIL, "two runs of the patched network on the same data differ, those of the old one do not"
        return
    off = _furthest(old.outputs, new.outputs)
    if off is not None and not any((*old.outputs, *new.outputs)):
        yield Status.INCONCLUSIVE, "all outputs are 0, with which every network agrees: there is nothing to compare"
    if off is None:
        yield Status.INCONCLUSIVE, "the outputs are not finite: there is nothing to compare"
        return
    measured["outputs"] = off
    if off > OUTPUT_TOLERANCE:
        yield Status.FAIL, f"under the same weights and data the outputs differ by {off:.2g} of the largest of them"


def _furthest(before: Sequence[float], after: Sequence[float]) -> float | None:
    """The largest difference, relative to the largest number; `None` where numbers are missing or not finite."""
    if not before or len(before) != len(after) or not all(map(math.isfinite, (*before, *after))):
        return None
    scale = max(max(map(abs, before)), max(map(abs, after)), 1e-9)
    return max(abs(one - other) for one, other in zip(before, after, strict=True)) / scale


def _other_losses(old: Recording, new: Recording, measured: dict[str, Json]) -> Iterator[tuple[Status, str]]:
    if old.random_training or not old.losses:
        return
    if new.random_training:
        yield Status.FAIL, "the loss of the patched program is random, that of the old one is not"
        return
    off = 0.0
    logarithm = "crossentropy" in old.loss.lower().replace("_", "")
    for number, (before, after) in enumerate(zip(old.losses, new.losses, strict=False), 1):
        if logarithm and any((*old.saturated[:number], *new.saturated[:number])):
            break  # Keras 2 takes the logarithm of what goes into the softmax, Keras 3 of what comes out, clipped
        if not math.isfinite(before):
            break  # what comes after an overflow depends on how it was rounded
        step = abs(before - after) / max(abs(before), abs(after), 1e-6) if math.isfinite(after) else math.inf
        measured["losses"] = off = max(off, step)
        if step > LOSS_TOLERANCE:
            what = "the loss" if number == 1 else f"the loss of step {number}, after the same update,"
            yield Status.FAIL, f"under the same weights and data {what} is {after:.6g}, was {before:.6g}"
            return


def _other_optimizer(old: Recording, new: Recording) -> Iterator[tuple[Status, str]]:
    """Another optimizer, or settings that differ: a default may have changed unseen."""
    names = [recording.optimizer.lower().replace("optimizer", "") for recording in (old, new)]
    if not names[0] or names[0] in WRAPPERS:
        return
    if names[0] != names[1]:
        yield Status.FAIL, f"it is trained by {new.optimizer}, was by {old.optimizer}"
        return
    rates = zip(old.rates, new.rates, ("", ", after 1000 steps"), (NUMBER_TOLERANCE, DECAY_TOLERANCE), strict=False)
    for before, after, when, tolerance in rates:
        if _differ(before, after, tolerance):
            yield Status.FAIL, f"{new.optimizer} has the learning rate {after:.4g}{when}, had {before:.4g}"
    for name, after in new.numbers.items():
        known = old.numbers.get(name, LATER_ADDED.get(name))
        if known is not None and _differ(known, after) and max(abs(known), abs(after)) > NEGLIGIBLE:
            yield Status.FAIL, f"{new.optimizer} has {name} {after:.4g}, had {known:.4g}"


def _differ(before: float, after: float, tolerance: float = NUMBER_TOLERANCE) -> bool:
    return abs(before - after) > tolerance * max(abs(before), abs(after))
