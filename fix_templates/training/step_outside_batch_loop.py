"""Each batch clears the gradients and computes its own, and the optimizer steps after the last batch only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Delete,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertAfter,
    LoopOperation,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    block_of,
    goes_other_ways,
    loops_around,
    operations_named,
)


@dataclass(frozen=True, slots=True)
class Outside:
    """The step behind the loop over batches, and the last backward pass in it."""

    step: LoopOperation
    backward: LoopOperation


class StepOutsideBatchLoop(FaultTemplate[Outside]):
    """`optimizer.step()` stands behind the loop over the batches: the gradients of all but the last one are thrown away.

    Reported where the loop clears the gradients of the optimizer and computes them in every turn, and the step stands in
    the block around the loop. Where the gradients are cleared once for all batches, they are collected on purpose.

    Fix safety: unsafe. The model is trained by every batch from now on, which is the point.

    References: torch.optim ("Taking an optimization step").
    """

    code = "DNF704"
    name = "step-outside-batch-loop"
    family = Family.TRAINING
    fix_pattern = FixPattern.ITERATIONS
    message = "{optimizer}.step() stands behind the loop over the batches, which clears the gradients of each"
    triggers = ("zero_grad",)
    declined = "the backward pass of the loop does not stand in its body"

    def faults(self, subject: Subject) -> Faults[Outside]:
        if goes_other_ways(subject.source, subject.words):
            return
        for found in _outside(subject.source):
            yield subject.source.site(found.step.call), found

    def report(self, site: Site, fault: Outside) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, optimizer=fault.step.on)

    def repairs(self, subject: Subject, fault: Outside) -> Repairs:
        site = subject.source.site
        text = subject.source.segment(site(fault.step.statement))
        moved = (Delete(site(fault.step.statement)), InsertAfter(site(fault.backward.statement), text))
        yield "Step the optimizer for each batch", moved, 0.9

    examples = (
        Example(
            "behind the only loop",
            """\
import torch

def train(model, opt, data):
    model.train()
    for i, (x, y) in enumerate(data):
        opt.zero_grad()
        error = (model(x) - y).pow(2).mean()
        error.backward()
+         opt.step()
        if i % 10 == 0:
            print(error.item())
-     opt.step()
""",
        ),
    )
    rejects = (
        Reject(
            "the gradients of all batches are collected",
            """\
import torch

for epoch in range(epochs):
    optimizer.zero_grad()
    for x, y in loader:
        criterion(net(x), y).backward()
    optimizer.step()
""",
        ),
        Reject(
            "a step in the loop and one behind it",
            """\
import torch

for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    optimizer.step()
""",
        ),
        Reject(
            "the gradients of each sample are clipped and summed up by hand",
            """\
import torch

for batch in loader:
    for x, y in batch:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        sums = [s + clip(p.grad) for s, p in zip(sums, net.parameters())]
    write(net, sums)
    optimizer.step()
""",
        ),
        Reject(
            "another optimizer is cleared",
            """\
import torch

for epoch in range(epochs):
    for x, y in loader:
        inner.zero_grad()
        criterion(net(x), y).backward()
    outer.step()
""",
        ),
    )


def _outside(source: Source) -> Iterator[Outside]:
    for step in operations_named(source, "step"):
        if step.call.args or step.call.keywords:
            continue
        block = block_of(source, step.statement)
        for loop in block[: block.index(step.statement)]:
            inside = [each for each in operations_named(source, "zero_grad") if loop in loops_around(source, each.call)]
            own = [each for each in inside if each.on == step.on and source.parent(each.statement) is loop]
            passes = [each for each in operations_named(source, "backward") if source.parent(each.statement) is loop]
            stepped = [
                each
                for each in operations_named(source, "step")
                if loop in loops_around(source, each.call) and each.on == step.on
            ]
            if len(own) == 1 and len(inside) == 1 and passes and not stepped:
                yield Outside(step, passes[-1])
