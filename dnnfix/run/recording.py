"""Reads what the recorder (`dnnfix/run/baseline`) wrote about a training call into the record `Recording`.

The recorder runs beside code that nobody has vetted: anything that does not have the recorder's own format is rejected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dnnfix.records import Json, Trace
from dnnfix.run.trace import record

Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class RecordedLayer:
    """A layer: its class, the shape of its output where that is known, and the shapes of its weights in order."""

    kind: str
    name: str
    output: Shape | None
    weights: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A model at its first training call, in one interpreter.

    `outputs` are numbers of the first batch's outputs, of which `shapes` are the whole; `losses` those of the first steps
    of plain gradient descent. Both are empty where weights of another run could not be put in. `given` is what the other interpreter needs to do the
    same, as JSON text; empty in a recording that was given its weights.
    """

    layers: tuple[RecordedLayer, ...]
    starts: tuple[tuple[float, ...], ...] = ()
    """Mean and standard deviation of each weight as the program drew it."""
    outputs: tuple[float, ...] = ()
    shapes: tuple[Shape, ...] = ()
    losses: tuple[float, ...] = ()
    saturated: tuple[bool, ...] = ()
    """Whether, before each of the steps, outputs were as near to 0 or 1 as makes a logarithm meaningless."""
    random_outputs: bool = False
    random_training: bool = False
    same_data: bool | None = None
    method: str = ""
    loss: str = ""
    optimizer: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers of the optimizer's configuration, but for its learning rate."""
    rates: tuple[float, ...] = ()
    """The optimizer's learning rate at the start and later on."""
    switched_off: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    given: str = field(default="", repr=False)

    @property
    def weights(self) -> tuple[Shape, ...]:
        """The shapes of all weights in order."""
        return tuple(shape for layer in self.layers for shape in layer.weights)

    @property
    def parameters(self) -> int:
        """How many numbers the weights hold."""
        return sum(size(shape) for shape in self.weights)

    @property
    def environment(self) -> str:
        """The interpreter and the framework in it: `Python 3.7.16 with keras 2.3.1, tensorflow 1.15.5`."""
        others = [f"{name} {self.versions[name]}" for name in ("keras", "tensorflow") if name in self.versions]
        python = f"Python {self.versions.get('python', '(unknown)')}"
        return f"{python} with {', '.join(others)}" if others else python


@dataclass(frozen=True, slots=True)
class NoRecording:
    """Why there is no recording, worded to follow "the program"; `environment` names the interpreter."""

    why: str


def size(shape: Shape) -> int:
    """The number of elements of a shape."""
    total = 1
    for length in shape:
        total *= length or 1
    return total


_ALWAYS = frozenset({"layers", "starts", "method", "loss", "optimizer", "numbers", "rates"})
"""What every recording has."""


def read(trace: Trace) -> Recording | NoRecording:
    """The recording in a trace of the recorder."""
    value = trace.probes.get("recording")
    if value is None:
        return NoRecording(_why(trace))
    try:
        return _recording(value, trace)
    except (KeyError, TypeError, ValueError, AttributeError):
        return NoRecording("left a recording that cannot be read")


def _why(trace: Trace) -> str:
    outcome = trace.outcome.value
    if outcome == "crashed":
        return f"crashes there ({trace.detail})"
    if outcome == "finished":
        return f"could not be recorded there: {trace.detail}" if trace.detail else "trains no Keras model there"
    return f"did not get as far as training there ({outcome}: {trace.detail})"


def _recording(value: Any, trace: Trace) -> Recording:
    """Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for what is none."""
    pieces: list[Json] = []
    while (piece := trace.probes.get(f"arrays-{len(pieces)}")) is not None:
        pieces.append(piece)
    given = ""
    if pieces:
        given = json.dumps({name: value[name] for name in ("count", "data", "classes")} | {"pieces": pieces})
    if missing := _ALWAYS - value.keys():
        raise KeyError(*missing)
    numbers = {str(name): float(number) for name, number in value["numbers"].items()}
    found: Recording = record(Recording, value)
    return replace(found, numbers=numbers, versions=trace.versions, given=given)
