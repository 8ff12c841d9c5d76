"""What the layers of a network that stands still show, read from traces."""

from __future__ import annotations

from collections.abc import Sequence

from dnnfix.records import Json, RunOutcome, Trace
from dnnfix.validate.layer_symptoms import readings

STEPS: list[Json] = [4, 8, 16]


def layer(name: str, line: int, shares: Sequence[float] | None = None, spreads: Sequence[float] = (1.0,) * 3) -> Json:
    return {
        "name": name,
        "site": [line, 1, line, 9, ""],
        "shares": None if shares is None else list(shares),
        "spreads": list(spreads),
    }


def looked(*layers: Json, **gradients: float) -> Trace:
    weights: list[Json] = [{"name": name, "gradients": [size] * 3} for name, size in gradients.items()]
    units: dict[str, Json] = {"steps": STEPS, "layers": list(layers), "weights": weights}
    return Trace(RunOutcome.FINISHED, probes={"units": units})


def said(trace: Trace) -> dict[str, str]:
    return {reading.name: reading.said for reading in readings(trace)}


def test_the_first_rectifier_that_died_is_named_and_since_when() -> None:
    trace = looked(layer("relu", 5, (0.5, 0.6, 0.6)), layer("ReLU", 8, (0.6, 0.97, 0.99)), layer("relu", 9, (1, 1, 1)))
    assert said(trace) == {"dead-units": "`ReLU` of line 8 gives zero for 99% of what comes in, since step 8"}


def test_units_at_an_end_of_their_range_from_the_start() -> None:
    trace = looked(layer("sigmoid", 3, (0.95, 0.97, 1.0)))
    assert said(trace) == {
        "saturated-units": "`sigmoid` of line 3 is at an end of its range for 100% of what comes in, from the start"
    }


def test_the_layer_from_which_on_all_samples_are_alike() -> None:
    trace = looked(
        layer("Linear", 3), layer("Linear", 4, spreads=(0.1, 0.01, 0.0001)), layer("Linear", 5, spreads=(0.0,) * 3)
    )
    assert said(trace) == {"collapsed": "what `Linear` of line 4 gives is the same for all samples"}


def test_gradients_that_fade_on_their_way_back() -> None:
    faded = said(looked(layer("Linear", 3), first=1e-8, second=1e-5, last=1e-2))
    assert faded == {"vanishing-gradients": "the gradient of `first` is 1e-06 of the largest"}
    assert said(looked(layer("Linear", 3), first=1e-4, last=1e-2)) == {}


def test_a_run_that_was_not_asked_shows_nothing() -> None:
    assert said(Trace(RunOutcome.FINISHED)) == {} == said(Trace(RunOutcome.FINISHED, probes={"units": None}))
