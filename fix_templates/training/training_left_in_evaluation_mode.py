"""A loop trains a network, evaluates it in evaluation mode, and trains on in that mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    evaluations,
    structure,
    training_loop,
)


class TrainingLeftInEvaluationMode(ReadTemplate):
    """After an evaluation the training goes on in evaluation mode: dropout drops nothing, and batch normalization keeps its statistics.

    DNF705 tells it where the layers of the network are seen. This rule is for texts that do not show them, in which a loop trains, puts a
    network in evaluation mode, also by a function that it calls, and puts none back.

    Fix safety: unsafe. The network is trained in training mode from then on, which is the point.

    References: torch.nn.Module.train.
    """

    code = "DNF749"
    name = "training-left-in-evaluation-mode"
    message = (
        "`{network}` stays in evaluation mode once this was reached: the loop that trains it calls train() nowhere"
    )
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 2
    default = False
    triggers = ("eval",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or not evaluations.CARING.isdisjoint(source.words):
            return
        loops: list[ast.For | ast.While] = [*source.nodes(ast.For), *source.nodes(ast.While)]
        for loop in loops:
            happening = structure.happenings(source, loop)
            passes = [each for each in happening if each.kind is structure.Kind.BACKWARD]
            put = [each for each in happening if each.kind is structure.Kind.EVAL]
            back = any(each.kind is structure.Kind.TRAIN for each in happening)
            if training_loop.loops_around(source, loop) or not passes or not put or back:
                continue
            first = put[0]
            if first.at.lineno < passes[0].at.lineno or not _is_trained(source, loop, first.operation.on, passes[0].at):
                continue
            network = first.operation.on
            edit = InsertBefore(source.site(loop.body[0]), f"{network}.train()")
            said = {"network": network}
            yield Fault.with_repair(
                source.site(first.at), said, "Put it in training mode in each turn", edit, prior=0.8
            )

    programs = """
=== example: by a function
def test():
    model.eval()
    with torch.no_grad():
        return criterion(model(x_val), y_val).item()

for step in range(1000):
+     model.train()
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(test())

=== reject: put back in each epoch
for epoch in range(10):
    model.train()
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    print(measure(model))

=== reject: another network is evaluated
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    teacher.eval()
    print(teacher(x))
"""


def _is_trained(source: Source, loop: ast.AST, network: str, learns: ast.expr | ast.stmt) -> bool:
    """Whether a loop calls a network before it learns: what a function puts in a mode may have another name there."""
    calls = structure.forward_calls(source, loop)
    return any(ast.unparse(call.func) == network and call.lineno <= learns.lineno for call in calls)
