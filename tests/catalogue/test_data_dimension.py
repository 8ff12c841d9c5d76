"""What the examples of the data templates cannot express: where data is handed over, how often it is changed, silence."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix import registry
from dnnfix.detect.run_rules import detect
from dnnfix.detect.tensors.axes import arrival, meets, sibling_inputs
from dnnfix.records import Finding, Symptom
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.synthesize.edits.data import change_data
from dnnfix.template import FixTemplate

OWN = ("DNF1", "DNF605", "DNF606", "DNF607")


@pytest.fixture(scope="module")
def torch_runner() -> Iterator[Runner]:
    with Runner(interpreter=Path(sys.executable), tier=None, framework="torch") as runner:
        yield runner


def templates() -> dict[str, type[FixTemplate]]:
    return {t.code: t for t in registry.templates() if t.code.startswith(OWN)}


def still(text: str) -> Subject:
    return Subject(Source.from_bytes(text.encode(), "program.py"))


def ran(text: str, runner: Runner) -> Subject:
    trace = runner.run(Job("program.py", text.encode(), budget=Budget(steps=6, seconds=60.0)))
    return Subject(Source.from_bytes(text.encode(), "program.py"), trace)


def found(subject: Subject) -> list[Finding]:
    return [finding for finding in detect(subject, templates().values()).findings if finding.code.startswith(OWN)]


def repairs(finding: Finding, subject: Subject) -> list[str]:
    proposals = propose(finding, subject, templates()[finding.code])
    assert not proposals.failed
    return [apply_edits(subject.source, candidate.edits).decode() for candidate in proposals.candidates]


def expression(subject: Subject, text: str) -> ast.expr:
    nodes = [n for n in ast.walk(subject.source.tree) if isinstance(n, ast.expr) and hasattr(n, "lineno")]
    return next(n for n in nodes if subject.text(subject.source.site(n)) == text)


def test_shapes_meet_where_sizes_are_unknown() -> None:
    assert meets((5, 8, 8, 3), (None, 8, 8, 3))
    assert not meets((5, 8, 8), (None, 8, 8, 3))
    assert not meets((5, 3, 8, 8), (None, 8, 8, 3))


def test_the_expression_of_the_outermost_caller_is_the_one_that_is_changed(torch_runner: Runner) -> None:
    text = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
    def forward(self, inputs):
        return self.conv(inputs)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def forward(self, x):
        return self.block(x)

def predict(model, pictures):
    return model(pictures)

data = torch.rand(4, 9, 9)
predict(Net(), data[:2])
"""
    subject = ran(text, torch_runner)
    came = arrival(subject)
    assert came is not None
    assert subject.text(subject.source.site(came.node)) == "data[:2]"
    (finding,) = found(subject)
    assert finding.code == "DNF104"
    assert "predict(Net(), data[:2].unsqueeze(1))" in repairs(finding, subject)[0]


def test_a_name_that_is_bound_anew_is_changed_where_it_is_used(torch_runner: Runner) -> None:
    text = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
    def forward(self, x):
        x = x * 2
        return self.conv(x)

Net()(torch.rand(4, 9, 9))
"""
    subject = ran(text, torch_runner)
    (finding,) = found(subject)
    assert "self.conv(x.unsqueeze(1))" in repairs(finding, subject)[0]


def test_a_variable_that_is_used_twice_is_changed_once() -> None:
    subject = still("model.fit(x, y)\nmodel.evaluate(x, y)\nmodel.predict(z[0])\n")
    nodes = sibling_inputs(subject, expression(subject, "x"))
    changed = apply_edits(subject.source, change_data(subject, nodes, "", ".T")).decode()
    assert changed == "x = x.T\nmodel.fit(x, y)\nmodel.evaluate(x, y)\nmodel.predict(z[0])\n"


def test_a_variable_in_a_loop_is_changed_where_it_is_used() -> None:
    subject = still("for epoch in range(3):\n    model.fit(x, y)\n    model.evaluate(x, y)\n")
    nodes = sibling_inputs(subject, expression(subject, "x"))
    changed = apply_edits(subject.source, change_data(subject, nodes, "", ".T")).decode()
    assert changed == "for epoch in range(3):\n    model.fit(x.T, y)\n    model.evaluate(x.T, y)\n"


def test_an_operator_is_put_in_parentheses() -> None:
    subject = still("net(a + b)\n")
    edits = change_data(subject, [expression(subject, "a + b")], "", ".unsqueeze(0)")
    assert apply_edits(subject.source, edits).decode() == "net((a + b).unsqueeze(0))\n"


def test_validation_data_is_changed_too() -> None:
    subject = still("model.fit(a, b, validation_data=(c, d))\n")
    texts = [subject.text(subject.source.site(n)) for n in sibling_inputs(subject, expression(subject, "a"))]
    assert texts == ["a", "c"]


def test_a_size_conflict_is_no_missing_batch_axis(torch_runner: Runner) -> None:
    text = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 6), nn.Linear(5, 2))
net(torch.rand(4))
"""
    assert found(ran(text, torch_runner)) == []


def test_a_stretched_target_is_found_without_a_crash(torch_runner: Runner) -> None:
    text = """\
import torch
from torch import nn

net = nn.Linear(3, 1)
loss = nn.L1Loss()(net(torch.rand(5, 3)), torch.rand(5))
"""
    subject = ran(text, torch_runner)
    (finding,) = found(subject)
    assert (finding.code, finding.symptom) == ("DNF110", Symptom.VIOLATION)
    assert "nn.L1Loss()(net(torch.rand(5, 3)), torch.rand(5).unsqueeze(1))" in repairs(finding, subject)[0]


def test_all_calls_of_a_loss_are_changed_together(torch_runner: Runner) -> None:
    text = """\
import torch
from torch import nn

net, loss = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid()), nn.BCELoss()
real, fake = torch.rand(5, 3), torch.rand(5, 3)
for step in range(2):
    (loss(net(real), torch.ones(5)) + loss(net(fake), torch.zeros(5))).backward()
"""
    subject = ran(text, torch_runner)
    (finding,) = found(subject)
    assert (
        "loss(net(real), torch.ones(5).unsqueeze(1)) + loss(net(fake), torch.zeros(5).unsqueeze(1))"
        in repairs(finding, subject)[0]
    )


def test_whole_number_rows_are_seen_as_rows_of_classes(torch_runner: Runner) -> None:
    text = """\
import torch
from torch import nn

rows = torch.tensor([[0, 1], [1, 0], [0, 1]])
nn.CrossEntropyLoss()(nn.Linear(3, 2)(torch.rand(3, 3)), rows)
"""
    assert "DNF106" in {finding.code for finding in found(ran(text, torch_runner))}


@pytest.mark.parametrize(
    "network",
    [
        "x.view(4, -1)",
        "x.reshape(4, 3, 2, 4).transpose(1, 2).reshape(4, 2, 12)",
        "x.permute(0, 2, 1).reshape(4, 24)",
        "x.view(12, 8)",
        "x.unsqueeze(1).view(4, 3, 8, 1)",
    ],
)
def test_healthy_views_are_left_alone(torch_runner: Runner, network: str) -> None:
    text = f"import torch\nx = torch.rand(4, 3, 8)\ny = torch.relu({network})\n"
    assert found(ran(text, torch_runner)) == []


def test_evidence_is_plain(torch_runner: Runner) -> None:
    text = "import torch\nfrom torch import nn\nnn.Sequential(nn.Conv2d(1, 2, 3))(torch.rand(4, 9, 9))\n"
    (finding,) = found(ran(text, torch_runner))
    assert dict(finding.evidence) == {"shape": [4, 9, 9], "layer": "torch.nn.Conv2d"}
