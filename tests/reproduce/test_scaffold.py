"""A scaffold runs around a program, whose own statements keep their places; a script of both does the same."""

from __future__ import annotations

import ast
import json

import pytest

from dnnfix.records import EditAction, EditStep, Reproduction, RunOutcome, Scaffold
from dnnfix.reproduce.plan import joined
from dnnfix.reproduce.script import script
from dnnfix.run.probe.program.scaffold import placements
from dnnfix.source.program import Source
from tests.reproduce.conftest import Run

PROGRAM = '''"""Trains."""
from __future__ import annotations
import torch
from torch import nn
model = nn.Linear(4, 2)
for epoch in range(3):
    x, y = torch.randn(8, 4), torch.zeros(8).long()
    loss = criterion(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print(open("/data/of/mine.txt").read(), batch_size)
'''

SCAFFOLD = Scaffold(
    start='open("mine.txt", "w").write("read")\nbatch_size = 7',
    definitions=(
        ("optimizer", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"),
        ("criterion", "criterion = nn.CrossEntropyLoss()"),
    ),
    end='print("the end")',
    literals=(("/data/of/mine.txt", "mine.txt"),),
)


def test_the_program_runs_inside(run_in: Run) -> None:
    assert run_in(PROGRAM).detail == "NameError: name 'criterion' is not defined"
    trace = run_in(PROGRAM, SCAFFOLD)
    assert trace.outcome is RunOutcome.FINISHED
    assert "read 7" in trace.printed and "the end" in trace.printed
    assert len(trace.steps) == 3


def test_sites_stay_those_of_the_program(run_in: Run) -> None:
    trace = run_in(PROGRAM, SCAFFOLD)
    assert trace.network is not None
    places = {part.kind: part.site.line if part.site else None for part in trace.network.components}
    assert places["layer"] == 5
    assert places["loss"] != 8, "code of the scaffold is not the user's"


def test_the_script_does_the_same_by_itself(run_in: Run) -> None:
    source = Source.from_bytes(PROGRAM.encode(), "program.py")
    step = EditStep(EditAction.INPUT_DATA, "a file", "a guess", 10, scaffold=SCAFFOLD)
    text = script(source, Reproduction((step,), SCAFFOLD))
    assert "input-data-generation: line 10: a file (a guess)" in text
    trace = run_in(text)
    assert trace.outcome is RunOutcome.FINISHED and "read 7" in trace.printed and len(trace.steps) == 3


SIZES = """import argparse
n_layer, width = 12, 12
accumulation = 5 * 8
class Settings:
    n_layer: int = 24
parser = argparse.ArgumentParser()
parser.add_argument("-l", "--n-layer", type=int, default=6)
def built(n_layer=8, *, accumulation=1):
    return n_layer, accumulation
print(n_layer, width, accumulation, Settings.n_layer, parser.parse_args([]).n_layer, built(), dict(n_layer=7), {"n_layer": 9}["n_layer"])
"""


def test_sizes_are_smaller_wherever_the_program_says_them(run_in: Run) -> None:
    scaffold = Scaffold(sizes=(("n_layer", 2), ("accumulation", 3)))
    assert run_in(SIZES, scaffold).printed == "2 12 3 2 2 (2, 1) {'n_layer': 2} 2\n"
    text = script(Source.from_bytes(SIZES.encode(), "program.py"), Reproduction((), scaffold))
    assert run_in(text).printed == "2 12 3 2 2 (2, 1) {'n_layer': 2} 2\n"


@pytest.mark.parametrize(
    ("program", "name", "code", "before"),
    [
        ("model = make()\nfit(model, data)\n", "data", "data = 1", "model = make()"),
        ("model = make()\nfit(model, steps)\n", "steps", "steps = model.size", "fit(model, steps)"),
        ("model = a()\nmodel = b(model)\nuse(opt)\n", "opt", "opt = of(model)", "model = b(model)"),
        ("def f():\n    return size\nprint(1)\n", "size", "size = 3", "def f():\n    return size"),
        ("import os\nif run:\n    net = a()\n    opt.step()\n", "opt", "opt = of(net)", "opt.step()"),
        ("@wrap(name)\ndef f(x=other): pass\n", "other", "other = 1", "@wrap(name)\ndef f(x=other): pass"),
    ],
)
def test_definitions_wait_for_what_they_need(program: str, name: str, code: str, before: str) -> None:
    tree = ast.parse(program)
    (place,) = placements(tree, [(name, code)])
    following = place.block[place.position]
    assert ast.unparse(following) == ast.unparse(ast.parse(before).body[0])


def test_a_failing_scaffold_is_not_the_programs_fault(run_in: Run) -> None:
    trace = run_in("print(1)\n", Scaffold(start="1 / 0"))
    assert trace.outcome is RunOutcome.ENVIRONMENT and trace.crash is None
    assert trace.detail == "the scaffold failed: ZeroDivisionError: division by zero"
    made = Scaffold(start="def made_data(size):\n    raise ValueError(size)")
    assert run_in("made_data(3)\n", made).outcome is RunOutcome.ENVIRONMENT


def test_code_behind_the_program_shows_the_programs_crash(run_in: Run) -> None:
    program = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x @ torch.zeros(3, 3)\n"
    )
    trace = run_in(program, Scaffold(end="Net()(torch.zeros(2, 4))"))
    assert trace.outcome is RunOutcome.CRASHED
    assert trace.crash is not None and trace.crash.site is not None and trace.crash.site.line == 4


def test_a_network_without_code_of_its_own_crashes_as_the_programs(run_in: Run) -> None:
    program = (
        "import torch\ndef build():\n    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(5, 2))\n"
    )
    trace = run_in(program, Scaffold(end="build()(torch.zeros(2, 4))"))
    assert trace.outcome is RunOutcome.CRASHED and trace.crash is not None
    assert trace.crash.call is not None, "the layer is known by the call in flight"


def test_steps_are_joined_and_the_first_definition_of_a_name_stays() -> None:
    def step(**parts: object) -> EditStep:
        return EditStep(EditAction.INPUT_DATA, "x", "y", scaffold=Scaffold(**parts))  # type: ignore[arg-type]

    made = joined(
        [
            step(definitions=(("a", "a = 1"),), start="s"),
            step(definitions=(("a", "a = 2"), ("b", "b = 1"))),
            step(start="s"),
        ]
    )
    assert made.definitions == (("a", "a = 1"), ("b", "b = 1"))
    assert made.start == "s"


def test_the_script_of_a_notebook_has_its_imports_from_the_future_first() -> None:
    cells = ["import os", "from __future__ import (print_function,\n    annotations)\nx = os.sep"]
    raw = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}).encode()
    text = script(Source.from_bytes(raw, "n.ipynb"), Reproduction((), Scaffold()))
    compile(text, "script.py", "exec")
    assert text.index("annotations") < text.index("import os") and "x = os.sep" in text
