"""What the examples of the loss and activation templates cannot express: readings of losses, rivals, runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix import registry
from dnnfix.detect.run_rules import detect
from dnnfix.detect.tensors.values import edge_calls, loss_uses
from dnnfix.records import Candidate, Family, Finding, Symptom
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.template import FixTemplate


@pytest.fixture(scope="module")
def torch_runner() -> Iterator[Runner]:
    with Runner(interpreter=Path(sys.executable), tier=None, framework="torch") as runner:
        yield runner


def templates() -> dict[str, type[FixTemplate]]:
    return {t.code: t for t in registry.templates() if t.family is Family.LOSS_ACTIVATION}


def still(text: str) -> Subject:
    return Subject(Source.from_bytes(text.encode(), "program.py"))


def ran(text: str, runner: Runner) -> Subject:
    trace = runner.run(Job("program.py", text.encode(), budget=Budget(steps=6, seconds=60.0)))
    return Subject(Source.from_bytes(text.encode(), "program.py"), trace)


def findings(subject: Subject) -> tuple[Finding, ...]:
    found = detect(subject, templates().values())
    assert not found.failures
    return found.findings


def candidates(subject: Subject) -> list[Candidate]:
    return [c for f in findings(subject) for c in propose(f, subject, templates()[f.code]).candidates]


def texts(subject: Subject) -> list[str]:
    return [apply_edits(subject.source, c.edits).decode() for c in candidates(subject)]


KERAS = """\
import keras
from keras.layers import Dense

model = keras.Sequential([keras.Input((8,)), Dense(16, activation="relu"), {output}])
model.compile(optimizer="adam", loss={loss}, metrics=["accuracy"])
"""


@pytest.mark.parametrize(
    ("output", "loss", "code"),
    [
        ('Dense(1, activation="softmax")', '"binary_crossentropy"', "DNF302"),
        ('Dense(1, activation="sigmoid")', '"categorical_crossentropy"', "DNF306"),
        ("Dense(3)", '"sparse_categorical_crossentropy"', "DNF301"),
        ('Dense(3, activation="sigmoid")', '"sparse_categorical_crossentropy"', "DNF301"),
        ('Dense(3, activation="softmax")', '"binary_crossentropy"', "DNF306"),
        ('Dense(3, activation="softmax")', "keras.losses.CategoricalCrossentropy(from_logits=True)", "DNF301"),
        ("Dense(1)", '"mae"', "DNF319"),
    ],
)
def test_each_mismatch_of_output_and_loss_is_one_finding(output: str, loss: str, code: str) -> None:
    found = findings(still(KERAS.format(output=output, loss=loss)))
    assert [f.code for f in found] == [code]


@pytest.mark.parametrize(
    ("output", "loss"),
    [
        ('Dense(1, activation="sigmoid")', '"binary_crossentropy"'),
        ('Dense(3, activation="softmax")', '"sparse_categorical_crossentropy"'),
        ('Dense(3, activation="softmax")', '"categorical_crossentropy"'),
        ("Dense(3)", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
        ("Dense(1)", "keras.losses.BinaryCrossentropy(from_logits=True)"),
        ('Dense(5, activation="sigmoid")', '"binary_crossentropy"'),
        ('Dense(3, activation="softmax")', '"mse"'),
        ('Dense(3, activation="softmax")', "my_loss"),
        ("Dense(3)", '{"a": "binary_crossentropy"}'),
    ],
)
def test_matching_and_unknown_pairs_are_silent(output: str, loss: str) -> None:
    assert findings(still(KERAS.format(output=output, loss=loss))) == ()


def test_every_repair_of_a_mismatch_is_found_healthy() -> None:
    for output, loss in [
        ('Dense(1, activation="softmax")', '"binary_crossentropy"'),
        ("Dense(3)", '"sparse_categorical_crossentropy"'),
        ('Dense(3, activation="softmax")', '"binary_crossentropy"'),
        ('Dense(3, activation="softmax")', "keras.losses.CategoricalCrossentropy(from_logits=True)"),
    ]:
        repaired = texts(still(KERAS.format(output=output, loss=loss)))
        assert repaired
        for text in repaired:
            assert findings(still(text)) == (), text


def test_both_ends_of_a_mismatch_are_proposed() -> None:
    repaired = texts(still(KERAS.format(output="Dense(3)", loss='"categorical_crossentropy"')))
    assert any('Dense(3, activation="softmax")' in text for text in repaired)
    assert any("CategoricalCrossentropy(from_logits=True)" in text for text in repaired)


def test_a_loss_given_through_a_variable_is_changed_where_it_is_written() -> None:
    text = KERAS.format(output='Dense(4, activation="softmax")', loss="chosen").replace(
        "\nmodel =", "\nchosen = 'binary_crossentropy'\nmodel =", 1
    )
    assert any("chosen = 'categorical_crossentropy'" in after for after in texts(still(text)))


def test_an_imported_class_is_renamed_with_its_import() -> None:
    text = """\
import torch
from torch.nn import BCELoss, Linear
model = Linear(4, 1)
loss = BCELoss()(model(torch.rand(3, 4)), torch.ones(3, 1))
"""
    assert any("BCEWithLogitsLoss()" in t and "import" in t.split("BCEWithLogitsLoss")[0] for t in texts(still(text)))


def test_a_call_of_a_container_is_not_taken_for_one_of_its_layers() -> None:
    text = """\
import torch
from torch import nn
layers = {"a": nn.Linear(4, 3), "b": nn.Softmax(dim=1)}
model = nn.Sequential(*layers.values())
out = model(torch.rand(5, 4))
loss = nn.CrossEntropyLoss()(out, torch.tensor([0, 1, 2, 0, 1]))
"""
    for after in texts(still(text)):
        assert "model(torch.rand(5, 4))" in after


def test_a_crash_at_the_loss_is_explained_with_rivals_of_one_cause(torch_runner: Runner) -> None:
    subject = ran(
        """\
import torch
from torch import nn
model = nn.Linear(4, 3)
loss = nn.BCELoss()(model(torch.randn(50, 4)), torch.tensor([0, 1] * 25))
""",
        torch_runner,
    )
    assert subject.crash is not None
    found = findings(subject)
    assert found and {f.symptom for f in found} == {Symptom.CRASH} and {f.cause for f in found} == {"crash"}


def test_a_layer_that_is_made_where_others_are_is_not_taken_out(torch_runner: Runner) -> None:
    program = """\
import torch
from torch import nn

def block(width, height):
    return nn.Sequential(nn.Linear(width, height), nn.BatchNorm1d(height), nn.ReLU())

model = nn.Sequential({blocks}nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(4, 8)), torch.rand(4, 8).round())
loss.backward()
"""
    alone = ran(program.format(blocks="block(8, 8), "), torch_runner)
    assert [finding.code for finding in findings(alone)] == ["DNF326"]
    assert len(candidates(alone)) == 1
    assert not candidates(ran(program.format(blocks="block(8, 8), block(8, 8), "), torch_runner))


def test_ranges_are_those_of_all_calls_of_one_place(torch_runner: Runner) -> None:
    subject = ran(
        """\
import torch
from torch import nn
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for step in range(2):
    target = torch.full((4, 1), float(10 * step))
    loss = nn.functional.mse_loss(model(torch.ones(4, 1)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        torch_runner,
    )
    (use,) = loss_uses(subject)
    assert use.target is not None and (use.target.low, use.target.high) == (0.0, 10.0)


def test_where_values_leave_the_finite_numbers_is_recorded(torch_runner: Runner) -> None:
    subject = ran(
        """\
import torch
x = torch.zeros(3, requires_grad=True)
healthy = torch.log(x + 1)
first = torch.log(x)
second = first / 2
root = torch.sqrt(x * 2)
""",
        torch_runner,
    )
    seen = [
        (call.site.line, spoilt) for call, spoilt in edge_calls(subject, frozenset({"log", "sqrt", "div"})) if call.site
    ]
    assert (4, True) in seen and (6, False) in seen
    assert not any(line == 5 for line, _ in seen)


def test_a_regression_with_two_valued_targets_may_be_measured_by_accuracy() -> None:
    text = """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
model = Sequential([Dense(4, activation="relu"), Dense(1)])
model.compile(loss="mse", optimizer="adam", metrics=["accuracy"])
model.fit(np.array([[0.0], [1.0]]), np.array([[0], [1]]), epochs=1)
"""
    assert [f.code for f in findings(still(text)) if f.code == "DNF319"] in ([], ["DNF319"])
    monitored = text + "stop = keras.callbacks.EarlyStopping(monitor='val_accuracy')\n"
    assert not [c for c in candidates(still(monitored)) if c.template == "DNF319"]
