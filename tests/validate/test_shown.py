"""What a report shows of a run beside its findings: the slice of a crash, and how layers went."""

from __future__ import annotations

from dnnfix.pipeline.shown import layer_curves, slice_of
from dnnfix.records import Call, Component, Crash, Frame, Json, Network, RunOutcome, Site, Trace, Value
from dnnfix.source.program import Source

PROGRAM = """import torch
from torch import nn

layer = nn.Linear(3, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
unrelated = 3
x = torch.zeros(8, 5)
y = layer(x)
"""


def test_slice_of_a_crash() -> None:
    called, made = Site(8, 5, 8, 13), Site(4, 9, 4, 24)
    network = Network(
        "torch",
        "trace",
        (Component(1, "layer", "torch.nn.Linear", made), Component(2, "optimizer", "torch.optim.SGD", Site(5, 13, 5, 55))),
        (Call(1, "torch.zeros", Site(7, 5, 7, 22), outputs=(Value(1, (8, 5), "torch.float32"),)),),
    )  # fmt: skip
    names: dict[str, Json] = {"x": {"shape": [8, 5], "dtype": "torch.float32", "kind": "torch.Tensor"}, "unrelated": 3}
    stopped = Call(2, "torch.nn.Linear", called, 1, made_at=made)
    crash = Crash("RuntimeError", "mat1 and mat2", (Frame(called, "<module>", names),), stopped)
    origins = slice_of(
        Source.from_bytes(PROGRAM.encode(), "a.py"), Trace(RunOutcome.CRASHED, network=network, crash=crash)
    )
    assert [(origin.site.line, origin.role, origin.held) for origin in origins] == [
        (8, "failing", ("x is (8, 5) float32",)),
        (7, "definition", ("gives (8, 5) float32",)),
        (4, "constructor", ()),
    ]  # fmt: skip


def test_no_slice_without_a_crash() -> None:
    assert slice_of(Source.from_bytes(PROGRAM.encode(), "a.py"), Trace(RunOutcome.FINISHED)) == ()


def test_layers_while_it_trained() -> None:
    units: dict[str, Json] = {
        "steps": [4, 8],
        "layers": [{"name": "ReLU", "site": [3, 1, 3, 9], "shares": [0.5, None], "spreads": [1.0, 0.25]}],
        "weights": [],
    }
    (curve,) = layer_curves(Trace(RunOutcome.FINISHED, probes={"units": units}))
    assert (curve.layer, curve.line, curve.steps) == ("ReLU", 3, (4, 8))
    assert (curve.dead, curve.spread) == ((0.5, None), (1.0, 0.25))
    assert layer_curves(Trace(RunOutcome.FINISHED)) == layer_curves(None) == ()
