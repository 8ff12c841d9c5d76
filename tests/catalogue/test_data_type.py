"""What the examples of the data-type templates cannot express: programs that could not be run."""

from __future__ import annotations

import pytest

from dnnfix.detect.run_rules import detect
from dnnfix.records import Crash, Frame, RunOutcome, Site, Trace
from dnnfix.registry import templates
from dnnfix.source.program import Source
from dnnfix.subject import Subject

BINARY = """\
import torch
import torch.nn.functional as F
from src import Net

def step(x, target):
    y = torch.from_numpy(target).type(torch.LongTensor)
    return F.binary_cross_entropy(Net()(x), y)
"""


@pytest.mark.parametrize(
    ("trace", "found"),
    [
        pytest.param(None, True, id="not run"),
        pytest.param(
            Trace(RunOutcome.ENVIRONMENT, crash=Crash("ModuleNotFoundError", "src", (Frame(Site(3, 1, 3, 20), "f"),))),
            True,
            id="a module is missing",
        ),
        pytest.param(Trace(RunOutcome.FINISHED), True, id="ran without coming here"),
        pytest.param(
            Trace(RunOutcome.CRASHED, crash=Crash("ValueError", "", (Frame(Site(1, 1, 1, 2), "f"),))),
            False,
            id="stopped by something else",
        ),
    ],
)
def test_integer_targets_are_read_where_the_run_tells_nothing(trace: Trace | None, found: bool) -> None:
    subject = Subject(Source.from_bytes(BINARY.encode(), "a.py"), trace)
    codes = {finding.code for finding in detect(subject, templates()).findings}
    assert ("DNF601" in codes) is found
