"""Lines of the wire become records; whatever else comes over the wire becomes a note."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnnfix.records import Crash, RunOutcome, Site, Step, Trace
from dnnfix.run.trace import TraceReader, read_trace

LINES: list[dict[str, Any]] = [
    {"event": "begin", "seed": 4, "framework": "torch", "versions": {"python": "3.11.7", "torch": "2.1"}},
    {"event": "component", "id": 1, "kind": "layer", "name": "torch.nn.Linear", "site": [2, 3, 2, 9], "args": {"bias": True}},
    {"event": "component", "id": 1, "attribute": "fc", "called": 2},
    {"event": "call", "id": 7, "name": "torch.nn.Linear", "site": [4, 1, 4, 5, "net.py"], "component": 1, "made_at": [2, 3, 2, 9, ""],
     "inputs": [{"id": 1, "shape": [4, None], "dtype": "float32", "low": 0, "finite": True}], "outputs": [], "scope": ["Net"]},
    {"event": "parameters", "parameters": [{"name": "fc.weight", "shape": [3, 4], "gradient": 0.5, "unknown": 3}]},
    {"event": "step", "index": 0, "loss": math.nan, "skill": None},
    {"event": "loop", "name": "backward", "site": None, "step": 0},
    {"event": "warning", "category": "UserWarning", "message": "m", "site": [1, 1, 1, 2, ""]},
    {"event": "cut", "site": [3, 1, 3, 9, ""]},
    {"event": "probe", "name": "batch-sizes", "value": {"3": "ok"}},
    {"event": "crash", "kind": "ValueError", "message": "no", "frames": [{"site": [5, 1, 5, 2, ""], "function": "f"}],
     "call": {"id": 8, "name": "torch.softmax", "site": None}},
    {"event": "end", "outcome": "crashed", "detail": "ValueError: no", "seconds": 1.5, "peak_memory": 7, "step_seconds": 0.1},
]  # fmt: skip


def test_a_whole_trace() -> None:
    trace = read_trace(json.dumps(line).encode() for line in LINES)
    assert (trace.outcome, trace.seed, trace.detail, trace.seconds) == (RunOutcome.CRASHED, 4, "ValueError: no", 1.5)
    assert trace.network is not None and trace.network.framework == "torch" and trace.network.known_from == "trace"
    (component,), (call,), (parameter,) = trace.network.components, trace.network.calls, trace.network.parameters
    assert (component.name, component.attribute, component.called, component.site) == (
        "torch.nn.Linear",
        "fc",
        2,
        Site(2, 3, 2, 9),
    )
    assert component.args == {"bias": True}
    assert call.site == Site(4, 1, 4, 5, "net.py") and call.inputs[0].shape == (4, None) and call.scope == ("Net",)
    assert isinstance(call.inputs[0].low, float)
    assert parameter.shape == (3, 4) and parameter.gradient == 0.5
    assert trace.steps[0].loss is not None and math.isnan(trace.steps[0].loss)
    assert trace.crash is not None and trace.crash.site == Site(5, 1, 5, 2) and trace.crash.call is not None
    assert (
        trace.cut == (Site(3, 1, 3, 9),) and trace.probes == {"batch-sizes": {"3": "ok"}} and trace.step_seconds == 0.1
    )
    assert trace.notes == ()


def test_a_trace_without_an_end_was_killed() -> None:
    assert read_trace([json.dumps(LINES[0]).encode()]).outcome is RunOutcome.KILLED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
EVENTS = st.sampled_from([str(line["event"]) for line in LINES] + ["unknown"])
FIELDS = st.sampled_from(sorted({key for line in LINES for key in line} | {"text", "value", "id", "shape"}))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.tuples(EVENTS, st.dictionaries(FIELDS, JSON, max_size=6)) | st.binary(max_size=30), max_size=8))
def test_nothing_that_comes_over_the_wire_raises(lines: list[tuple[str, dict[str, object]] | bytes]) -> None:
    reader = TraceReader()
    for line in lines:
        reader.feed(line if isinstance(line, bytes) else json.dumps({**line[1], "event": line[0]}).encode())
    assert isinstance(reader.finish(RunOutcome.FINISHED, "", 0.0, 0, ""), Trace)


def test_a_very_deep_line_is_left_out() -> None:
    assert read_trace([b'{"event": "note", "text": ' + b"[" * 200000]).notes == (
        "1 lines of the trace could not be read",
    )


@pytest.mark.parametrize(
    ("kind", "message", "may_be_its_doing"),
    [
        ("TypeError", "translate() missing 1 required positional argument: 'length'", False),
        ("TypeError", "Net.forward() takes 2 positional arguments but 3 were given", False),
        ("AttributeError", "module 'numpy' has no attribute 'Inf'", False),
        ("ModuleNotFoundError", "No module named 'nowhere'", False),
        ("AttributeError", "'NoneType' object has no attribute 'item'", True),
        ("NameError", "name 'best' is not defined", True),
        ("IndexError", "list index out of range", True),
    ],
)
def test_what_a_shorter_training_may_have_done(kind: str, message: str, may_be_its_doing: bool) -> None:
    trace = Trace(RunOutcome.CRASHED, crash=Crash(kind, message), cut=(Site(3, 1, 3, 9),), steps=(Step(0),))
    assert trace.crashed_after_cut is may_be_its_doing
