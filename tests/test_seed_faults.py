"""The script that puts faults into healthy training programs: what it writes, and what it leaves out."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from dnnfix.records import Crash, RunOutcome, Site, Trace, Value
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.validate.laboratory import TrialLaboratory
from tools import seed_faults
from tools.seed_faults import KINDS, LeftOut, crash_of, crash_seen, main, recorded, seed_folder, seeded

TORCH = """\
import torch
from torch import nn, optim  # both


class Net(nn.Module):
    def __init__(self, wide=16):
        super().__init__()
        self.first = nn.Linear(4, wide)
        self.norm = nn.BatchNorm1d(wide)
        self.last = nn.Linear(wide, 3)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))))


x_train = torch.randn(60, 4)
y_train = (x_train[:, 0] > 0).long()
dataset = torch.utils.data.TensorDataset(x_train, y_train)
loader = torch.utils.data.DataLoader(dataset, batch_size=20, shuffle=True)
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 20 + 1):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""

KERAS = """\
import numpy as np
from sklearn.preprocessing import StandardScaler
from tensorflow import keras

x = np.random.rand(100, 4)
y = (x[:, :1] > 0.5).astype(int)
scaler = StandardScaler()
x = scaler.fit_transform(x)
model = keras.Sequential([
    keras.layers.Dense(30, activation="relu", input_shape=(4,)),  # hidden
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(x, y, epochs=10, batch_size=8)
print(scaler.transform(x[:2]))
"""

IN_TORCH = {
    "rate-x100": ["optimizer = optim.Adam(model.parameters(), lr=1.0)"],
    "rate-over-1000": ["optimizer = optim.Adam(model.parameters(), lr=1e-05)"],
    "wrong-loss": ["criterion = nn.NLLLoss()"],
    "wrong-activation": ["return torch.softmax(self.last(torch.relu(self.norm(self.first(x)))), dim=1)"],
    "zero-initialization": [
        "for layer in model.modules():",
        "if isinstance(layer, nn.Linear):",
        "nn.init.zeros_(layer.weight)",
    ],
    "unscaled-input": ["x_train = x_train * 1000"],
    "shuffled-labels": ["y_train = y_train[torch.randperm(len(y_train))]"],
    "sorted-unshuffled": [
        "order = torch.argsort(y_train)",
        "x_train = x_train[order]",
        "y_train = y_train[order]",
        "loader = torch.utils.data.DataLoader(dataset, batch_size=20, shuffle=False)",
    ],
    "batch-extreme": ["loader = torch.utils.data.DataLoader(dataset, batch_size=len(dataset), shuffle=True)"],
    "one-epoch": ["for epoch in range(1, 1 + 1):"],
    "other-parameters": ["optimizer = optim.Adam(Net().parameters(), lr=0.01)"],
    "few-units": ["def __init__(self, wide=1):"],
    "two-faults": ["x_train = x_train * 1000", "optimizer = optim.Adam(model.parameters(), lr=1.0)"],
}

HIDDEN = 'keras.layers.Dense(30, activation="relu", input_shape=(4,)),  # hidden'

IN_KERAS = {
    "rate-x100": [
        'model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(learning_rate=0.1))',
    ],
    "wrong-loss": ['model.compile(loss="categorical_crossentropy", optimizer="adam")'],
    "wrong-activation": ['keras.layers.Dense(1, activation="relu"),'],
    "zero-initialization": [HIDDEN.replace("),  #", ', kernel_initializer="zeros"),  #')],
    "unscaled-input": ["print(x[:2])"],
    "shuffled-labels": ["y = np.random.permutation(y)"],
    "sorted-unshuffled": [
        "order = np.argsort(y.flatten())",
        "x = x[order]",
        "y = y[order]",
        "model.fit(x, y, epochs=10, batch_size=8, shuffle=False)",
    ],
    "batch-extreme": ["model.fit(x, y, epochs=10, batch_size=len(x))"],
    "one-epoch": ["model.fit(x, y, epochs=1, batch_size=8)"],
    "other-parameters": ["for layer in model.layers[:-1]:", "layer.trainable = False"],
    "few-units": [HIDDEN.replace("30", "1")],
}


def subject(text: str, prediction: Value | None = None, target: Value | None = None) -> Subject:
    """A program with a run that showed these values in its loss; without them it is only read."""
    source = Source.from_bytes(text.encode(), "program.py")
    if prediction is None or target is None:
        return Subject(source)
    network = Subject(source).source_network
    calls = []
    for call in network.calls:
        if call.name.lower().endswith(("loss", "crossentropy", "error")):
            known = (replace(call.inputs[0], shape=prediction.shape), replace(target, origin="data"))
            call = replace(call, inputs=known)
        calls.append(call)
    return Subject(source, Trace(RunOutcome.FINISHED, network=replace(network, calls=tuple(calls))))


def torch_subject(text: str = TORCH) -> Subject:
    return subject(text, Value(shape=(20, 3)), Value(shape=(20,), dtype="int64", low=0, high=1, integral=True))


def keras_subject(text: str = KERAS) -> Subject:
    return subject(text, Value(shape=(8, 1)), Value(shape=(8, 1), dtype="int64", low=0, high=1, integral=True))


def changed(undo: str) -> list[str]:
    """The lines of the faulty program that the healthy one has otherwise."""
    return [line[1:].strip() for line in undo.split("\n") if line.startswith("-") and not line.startswith("---")]


@pytest.mark.parametrize(("kind", "lines"), IN_TORCH.items())
def test_each_kind_stands_in_a_program_of_torch_as_a_person_would_write_it(kind: str, lines: list[str]) -> None:
    found = seeded(torch_subject(), KINDS[kind])
    assert changed(found.undo) == lines
    assert found.program.text.splitlines()[found.line - 1].strip() == lines[0]


@pytest.mark.parametrize(("kind", "lines"), IN_KERAS.items())
def test_each_kind_stands_in_a_program_of_keras_as_a_person_would_write_it(kind: str, lines: list[str]) -> None:
    assert changed(seeded(keras_subject(), KINDS[kind]).undo) == lines


def test_a_line_that_is_gone_is_the_line_behind_it() -> None:
    found = seeded(keras_subject(), KINDS["unscaled-input"])
    assert found.program.text.splitlines()[found.line - 1] == "model = keras.Sequential(["


def test_an_import_that_the_fault_needs_is_not_where_it_begins() -> None:
    text = KERAS.replace("from tensorflow import keras\n", "from keras import Sequential, layers\n")
    text = text.replace("keras.Sequential", "Sequential").replace("keras.layers", "layers")
    found = seeded(keras_subject(text), KINDS["rate-x100"])
    assert "import keras" in found.program.text
    assert found.program.text.splitlines()[found.line - 1].startswith("model.compile(")


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("rate-x100", TORCH + "\nother = optim.SGD(model.parameters(), lr=0.1)\n", "2 optimizers"),
        ("rate-x100", TORCH.replace("lr=0.01", "lr=float(input())"), "not written as a number"),
        ("one-epoch", TORCH.replace("range(1, 20 + 1)", "range(2)"), "2 epochs only"),
        ("shuffled-labels", TORCH.replace("TensorDataset(", "Own("), "TensorDataset"),
        ("shuffled-labels", KERAS.replace("fit(x, y,", "fit(x, x,"), "one array"),
        ("batch-extreme", KERAS.replace(", batch_size=8", ""), "no batch size"),
        ("few-units", TORCH.replace("nn.Linear(wide, 3)", "nn.Linear(size(), 3)"), "not written"),
        ("zero-initialization", KERAS.replace("    " + HIDDEN + "\n", ""), "no hidden layer"),
        ("unscaled-input", KERAS + "print(scaler.inverse_transform(x))\n", "more than scaling"),
    ],
)
def test_what_is_in_doubt_is_left_out_with_the_reason(kind: str, text: str, why: str) -> None:
    program = torch_subject(text) if "torch" in text else keras_subject(text)
    with pytest.raises(LeftOut, match=why):
        seeded(program, KINDS[kind])


def test_a_loss_whose_values_are_not_known_is_not_exchanged() -> None:
    with pytest.raises(LeftOut, match="not known"):
        seeded(subject(TORCH), KINDS["wrong-loss"])


def test_a_whole_rate_is_written_as_keras_takes_it() -> None:
    text = KERAS.replace('"adam"', "keras.optimizers.SGD(0.5)")
    assert "SGD(50.0)" in seeded(keras_subject(text), KINDS["rate-x100"]).program.text
    text = KERAS.replace('"adam"', '"sgd"')
    assert "SGD(learning_rate=1.0)" in seeded(keras_subject(text), KINDS["rate-x100"]).program.text


def test_only_the_first_pair_that_is_possible_stands_in_a_program_twice() -> None:
    text = TORCH.replace("TensorDataset(", "Own(")
    found = seeded(torch_subject(text), KINDS["two-faults"])
    assert found.setting == "units, learning-rate"
    assert changed(found.undo) == [
        "def __init__(self, wide=1):",
        "optimizer = optim.Adam(model.parameters(), lr=1e-05)",
    ]


def test_what_is_written_is_undone_by_its_own_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TORCH.replace("# both", r'# "both" \n, """all"""')
    folder = tmp_path / "healthy" / "one"
    folder.mkdir(parents=True)
    (folder / "program.py").write_bytes(text.encode())
    (folder / "data.csv").write_text("1,2\n")
    (folder / "meta.toml").write_text("url = 'https://example.org'\n")
    monkeypatch.setattr(seed_faults, "recorded", lambda source, laboratory: torch_subject(text))
    monkeypatch.setattr(seed_faults, "crash_seen", lambda subject, faulty, laboratory: "")
    assert seed_folder(folder, tmp_path / "out", list(KINDS), sys.executable, check=False) == len(KINDS)
    for kind in KINDS:
        made = tmp_path / "out" / f"one--{kind}"
        meta = tomllib.loads((made / "meta.toml").read_text())
        assert {"id": made.name, "framework": "torch", "kind": kind}.items() <= meta.items()
        assert (made / "data.csv").exists()
        subprocess.run(["git", "apply", "-"], cwd=made, input=meta["undo"].encode(), check=True)
        assert (made / "program.py").read_bytes() == text.encode()


def test_a_program_that_ends_in_an_error_is_told_from_one_that_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("print(1)\n")
    assert crash_of(path, b"print(2)\n", sys.executable) == ""
    assert crash_of(path, b"print(2)\nraise ValueError('no')\n", sys.executable) == "ValueError: no"


class Laboratory:
    """Stands in for the laboratory: what a run comes to."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def observe(self, source: Source, seed: int) -> Trace:
        return self.trace


CRASHED = Trace(RunOutcome.CRASHED, crash=Crash("ValueError", "no"))


def test_a_healthy_program_that_crashes_is_none() -> None:
    with pytest.raises(LeftOut, match="ValueError: no"):
        recorded(subject(TORCH).source, cast(TrialLaboratory, Laboratory(CRASHED)))


def test_a_crash_that_comes_of_cutting_the_run_short_is_no_crash_of_the_program() -> None:
    cut = replace(CRASHED, cut=(Site(1, 1, 1, 2),))
    program = recorded(subject(TORCH).source, cast(TrialLaboratory, Laboratory(cut)))
    assert crash_seen(program, program.source, cast(TrialLaboratory, Laboratory(cut))) == ""
    other = replace(cut, crash=Crash("TypeError", "yes"))
    assert crash_seen(program, program.source, cast(TrialLaboratory, Laboratory(other))) == "TypeError: yes"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere", "out"], "There is no folder nowhere"),
        ([".", "out", "--kinds", "rate-x7"], "There is no kind of fault 'rate-x7'"),
        ([".", "out"], "has no folder with a program.py"),
        (["healthy", "healthy/one/program.py"], "Nothing can be written"),
        (["healthy", "out", "--python", "nowhere/python"], "There is no interpreter nowhere/python"),
    ],
)
def test_what_cannot_be_done_takes_one_line(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "healthy" / "one").mkdir(parents=True)
    (tmp_path / "healthy" / "one" / "program.py").write_text("import torch\nx = (\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["seed_faults.py", *arguments])
    assert main() == 2
    assert says in (said := capsys.readouterr().err)
    assert said.count("\n") == 1


def test_a_bad_program_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "healthy" / "one").mkdir(parents=True)
    (tmp_path / "healthy" / "one" / "program.py").write_text("import torch\nx = (\n")
    monkeypatch.setattr(sys, "argv", ["seed_faults.py", str(tmp_path / "healthy"), str(tmp_path / "out")])
    assert main() == 0
    assert "cannot be parsed" in capsys.readouterr().err
