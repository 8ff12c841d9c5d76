"""Methods that were pasted without their class are put into one for the run, and their faults show."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from dnnfix.records import EditStep, RunOutcome, Trace
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.harness.methods import steps
from dnnfix.reproduce.plan import plan
from dnnfix.source.program import Source

Run = Callable[..., Trace]

LOOSE = textwrap.dedent(
    """
    import torch
    import torch.nn as nn

    def forward(self, batch):
        hidden = torch.relu(self.first(batch))
        return self.second(hidden.view(-1, self.hidden_size))

    self.first = nn.Linear(6, 32)
    self.second = nn.Linear(32, 2)
    print(net(batch).shape)
    """
)

WITH_INIT = textwrap.dedent(
    """
    import torch
    import torch.nn as nn

    def __init__(self, hidden_size):
        super(Tagger, self).__init__()
        self.out = nn.Linear(8, hidden_size)

    def forward(self, x):
        return self.out(x)

    print(Tagger(4)(torch.ones(2, 8)).shape)
    """
)


def case(text: str) -> Case:
    return Case(Source.from_bytes(text.encode(), "program.py"), (), lambda name: True, Path("/nowhere"))


def test_methods_and_layers_of_self_run(run_in: Run) -> None:
    trace = run_in(LOOSE, plan(case(LOOSE)).scaffold)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert "torch.Size([8, 2])" in trace.printed


def test_the_fault_of_the_methods_shows(run_in: Run) -> None:
    text = LOOSE.replace("nn.Linear(32, 2)", "nn.Linear(30, 2)")
    trace = run_in(text, plan(case(text)).scaffold)
    assert trace.crash is not None
    assert "mat1 and mat2" in trace.crash.message


def test_the_class_that_super_names_is_made(run_in: Run) -> None:
    trace = run_in(WITH_INIT, plan(case(WITH_INIT)).scaffold)
    assert trace.outcome is RunOutcome.FINISHED, trace.detail
    assert "torch.Size([2, 4])" in trace.printed


def test_a_layer_that_nothing_describes_is_told() -> None:
    found = list(steps(case(LOOSE.replace("self.second = nn.Linear(32, 2)\n", ""))))
    assert [one.what for one in found if isinstance(one, Gap)] == [
        "the methods are without their class, and nothing says what self.second is"
    ]


def test_whole_classes_are_left_alone() -> None:
    text = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return self.size + x\n"
    assert not [one for one in steps(case(text)) if isinstance(one, EditStep)]
    assert not list(steps(case("def forward(self, x):\n    return x\n")))
