"""The readings of training loops that the templates of the family training share."""

from __future__ import annotations

import ast

import pytest

from dnnfix import registry
from dnnfix.detect.loops.training_loop import (
    block_of,
    is_optimizer,
    loops_around,
    operated_on,
    operations,
    operations_named,
)
from dnnfix.source.program import Source
from dnnfix.subject import Subject

PROGRAM = """\
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
for epoch in range(3):
    for x, y in loader():
        def closure():
            optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
    schedule.step()
"""


def source_of(text: str) -> Source:
    return Source.from_bytes(text.encode(), "program.py")


def test_operations_are_statements_that_call_a_method() -> None:
    found = [(each.on, each.name) for each in operations(source_of(PROGRAM))]
    assert found == [
        ("optimizer", "zero_grad"),
        ("net(x).sum()", "backward"),
        ("optimizer", "step"),
        ("schedule", "step"),
    ]


def test_loops_end_at_the_function_around() -> None:
    source = source_of(PROGRAM)
    assert [len(loops_around(source, each.statement)) for each in operations(source)] == [0, 2, 2, 1]


def test_the_header_of_a_loop_is_outside_of_it() -> None:
    source = source_of(PROGRAM)
    call = next(each for each in source.all_calls if ast.unparse(each) == "loader()")
    assert len(loops_around(source, call)) == 1


def test_a_schedule_is_no_optimizer() -> None:
    source = source_of(PROGRAM)
    assert [is_optimizer(source, operated_on(each)) for each in operations_named(source, "step")] == [True, False]


def test_the_block_is_the_list_that_a_statement_stands_in() -> None:
    source = source_of(PROGRAM)
    step = operations_named(source, "step")[0]
    assert [type(each) for each in block_of(source, step.statement)] == [ast.FunctionDef, ast.Expr, ast.Expr]


CALLED = """\
import torch
from torch import nn
import util

net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for epoch in range(9):
    for x, y in batches:
        nn.functional.cross_entropy(net(x), y).backward()
        print(net.weight.grad.norm())
        optimizer.step()
        util.after(net)
"""


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        pytest.param("def after(net):\n    pass\n", ["optimizer.step()", "`schedule`"], id="neither"),
        pytest.param(
            "def after(net):\n    for p in net.parameters():\n        p.grad = None\n",
            ["`schedule`"],
            id="clears gradients",
        ),
        pytest.param(
            "import program\ndef after(net):\n    program.schedule.step()\n", ["optimizer.step()"], id="steps it"
        ),
    ],
)
def test_what_a_module_beside_the_program_does_counts(beside: str, found: list[str]) -> None:
    module = Source.from_bytes(beside.encode(), "util.py")
    source = Source.from_bytes(CALLED.encode(), "program.py").along_with([module])
    rules = [rule for code in ("DNF701", "DNF717") if (rule := registry.template(code)) is not None]
    said = [finding.message.split()[0] for rule in rules for finding in rule().detect(Subject(source))]
    assert said == found
