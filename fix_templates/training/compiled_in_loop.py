"""A model is compiled anew in each turn of the loop that trains it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    ReadTemplate,
    Subject,
    training_loop,
    trees,
    within,
)


class CompiledInLoop(ReadTemplate):
    """`torch.compile(model)` stands in the loop that trains the model, and wraps it once more in each turn.

    Each call gives a new wrapper, which is compiled when it is first called: every epoch pays for it, wrapper is put around
    wrapper, and after a few times torch gives up (`recompile_limit`) and runs the model as it is. Once before the loop is enough.

    Fix safety: unsafe. The weights and the results are the same; what is saved within the loop has the names of the compiled model from the
    first turn on.

    References: https://docs.pytorch.org/docs/stable/generated/torch.compile.html,
    https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html ("recompilation").
    """

    code = "DNF738"
    name = "compiled-in-loop"
    message = "`{model}` is compiled in each turn of the loop that trains it"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    triggers = ("compile",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for call in source.calls("torch.compile"):
            statement, name = source.statement_of(call), call.args[0] if call.args else None
            loops = training_loop.loops_around(source, call)
            if not loops or not isinstance(name, ast.Name) or not isinstance(statement, ast.Assign):
                continue
            is_plain = statement.value is call and ast.unparse(statement.targets[0]) == name.id
            if not is_plain or statement not in loops[0].body or _depends(statement, name.id, loops[-1]):
                continue
            if training_loop.attribute_calls(loops[-1], "backward"):
                before = InsertBefore(source.site(loops[-1]), source.segment(source.site(statement)))
                edits = (before, Delete(source.site(statement)))
                said = {"model": name.id}
                yield Fault.with_repair(source.site(call), said, "Compile the model once", *edits, prior=0.85)

    programs = """
=== example: in each epoch
import torch

+ net = torch.compile(net)
for epoch in range(10):
-     net = torch.compile(net)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

=== reject: a new model in each turn, and ways to compile that are compared
import torch

for fold in range(5):
    net = Net()
    net = torch.compile(net)
    for x, y in folds[fold]:
        criterion(net(x), y).backward()
for mode in ("default", "max-autotune"):
    model = torch.compile(model, mode=mode)
    criterion(model(x), y).backward()

=== reject: before the loop, and once within it
import torch

net = torch.compile(net)
for epoch in range(10):
    if epoch == 1:
        other = torch.compile(other)
    criterion(net(x), y).backward()
"""


def _depends(statement: ast.Assign, name: str, loop: training_loop.Loop) -> bool:
    """Whether what is compiled is another in each turn."""
    targets = trees.stored_names(loop.target) if isinstance(loop, ast.For) else set()
    is_made = any(name in trees.stored_names(each) for each in within(loop, ast.Assign) if each is not statement)
    return is_made or bool(training_loop.read_names(statement.value) & targets)
