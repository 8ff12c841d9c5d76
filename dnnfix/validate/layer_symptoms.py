"""Symptoms in the layers of a training that learns nothing: dead or saturated units, constant outputs, vanishing
gradients.

They come from what `Experiment.UNITS` recorded in a few steps. They describe a training that learns nothing, and are
no findings by themselves: sparse activations and small gradients are found in networks that learn, too.

Sources: Zhang, Zhai, Ma, Shen, "AutoTrainer" (ICSE 2021), for what to look at: dying rectifiers, gradients that
vanish or explode; Wardat, Le, Rajan, "DeepLocalize" (ICSE 2021), for saying at which layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.records import Json, Symptom, Trace
from dnnfix.validate.reading import Reading

DEAD = 0.95
"""Share of a rectifier's outputs that are zero from which on it lets hardly anything through."""

SATURATED = 0.9
"""Share of an activation's outputs at an end of its range from which on hardly any gradient passes."""

ALIKE = 1e-3
"""Spread of a layer's outputs over the samples, beside their size, below which they are all alike."""

FADED = 1e-3
"""Share of the largest gradient below which the smallest has faded."""

RECTIFIED = "relu"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer or activation: its name, the line where it was made or called, and a number for each step looked at.

    `shares` are those of outputs that are zero, of a rectifier, or at an end of their range; none for other layers.
    """

    name: str
    line: int | None
    shares: tuple[float | None, ...]
    spreads: tuple[float | None, ...]
    path: str = ""
    """The path of the module in the model, where it is known."""

    @property
    def in_words(self) -> str:
        """The layer as a sentence names it."""
        known = f" at `{self.path}`" if self.path else ""
        return f"`{self.name}`{known}" + (f" of line {self.line}" if self.line else "")

    @property
    def place(self) -> dict[str, Json]:
        """Where the layer is, as far as it is known."""
        return {"line": self.line, **({"path": self.path} if self.path else {})}


@dataclass(frozen=True, slots=True)
class Units:
    """The layers in the order in which they were first called, and the root mean square of the gradients of each weight."""

    steps: tuple[int, ...]
    layers: tuple[Layer, ...]
    gradients: Mapping[str, tuple[float | None, ...]]


def units(trace: Trace) -> Units | None:
    """What a run recorded of its layers; `None` where it was not asked, or took too few steps."""
    found = trace.probes.get("units")
    if not isinstance(found, Mapping):
        return None
    steps, layers, weights = (_items(found.get(name)) for name in ("steps", "layers", "weights"))
    return Units(
        tuple(step for step in steps if isinstance(step, int)),
        tuple(_layer(one) for one in layers if isinstance(one, Mapping)),
        {str(one.get("name")): _numbers(one.get("gradients")) for one in weights if isinstance(one, Mapping)},
    )


def readings(trace: Trace) -> Iterator[Reading]:
    """What the layers show, the first of each kind on the way through the network."""
    known = units(trace)
    if known is None or not known.steps:
        return
    yield from _stuck(known, "dead-units", DEAD, "gives zero for", rectified=True)
    yield from _stuck(known, "saturated-units", SATURATED, "is at an end of its range for", rectified=False)
    alike = next((one for one in known.layers if (_last(one.spreads) or 1.0) < ALIKE), None)
    if alike is not None:
        said = f"what {alike.in_words} gives is the same for all samples"
        yield Reading("collapsed", said, Symptom.CONSTANT_OUTPUT, {"spread": _last(alike.spreads), **alike.place})
    last = {name: _last(values) for name, values in known.gradients.items()}
    sizes = {name: size for name, size in last.items() if size}
    smallest, largest = min(sizes, key=sizes.__getitem__, default=""), max(sizes.values(), default=0.0)
    if smallest and sizes[smallest] < FADED * largest:
        share = sizes[smallest] / largest
        said = f"the gradient of `{smallest}` is {share:.0e} of the largest"
        yield Reading("vanishing-gradients", said, Symptom.NOT_LEARNING, {"gradient_share": share, "weight": smallest})


def _stuck(known: Units, name: str, least: float, verb: str, *, rectified: bool) -> Iterator[Reading]:
    """The first layer of which most outputs are at a place where no gradient passes, and since when."""
    for layer in known.layers:
        share = _last(layer.shares)
        if share is None or share < least or layer.name.lower().startswith(RECTIFIED) != rectified:
            continue
        since = known.steps[0]
        for earlier, following in zip(layer.shares, known.steps[1:], strict=False):
            if earlier is not None and earlier < least:
                since = following
        when = "from the start" if since == known.steps[0] else f"since step {since}"
        said = f"{layer.in_words} {verb} {share:.0%} of what comes in, {when}"
        yield Reading(name, said, Symptom.NOT_LEARNING, {"share": share, "since": since, **layer.place})
        return


def _layer(found: Mapping[str, Json]) -> Layer:
    site = _items(found.get("site"))
    line = site[0] if site and isinstance(site[0], int) else None
    shares, spreads = _numbers(found.get("shares")), _numbers(found.get("spreads"))
    return Layer(str(found.get("name")), line, shares, spreads, str(found.get("path") or ""))


def _items(found: Json) -> Sequence[Json]:
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _numbers(found: Json) -> tuple[float | None, ...]:
    return tuple(float(one) if isinstance(one, (int, float)) else None for one in _items(found))


def _last(values: Sequence[float | None]) -> float | None:
    return next((one for one in reversed(values) if one is not None), None)
