"""A function returns in the first iteration of the loop that trains or accumulates."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, ReplaceLines, Source, Subject, training_loop, within


class ReturnInBatchLoop(ReadTemplate):
    """`return` is indented one level too deep, which ends the loop over the batches in its first iteration.

    Only one batch is trained on or evaluated, where all of them were meant.

    Reported where a `for` loop ends with a `return`, has no `continue`, and trains, or adds to a sum that it returns.

    Fix safety: unsafe. The loop goes through all batches, which takes longer.

    References: https://docs.python.org/3/reference/simple_stmts.html#the-return-statement.
    """

    code = "DNF709"
    name = "return-in-batch-loop"
    silent = 3
    message = "this return ends the loop over `{batches}` in its first iteration"
    family = Family.TRAINING
    fix_pattern = FixPattern.ITERATIONS
    triggers = ("torch", "keras", "tensorflow")
    declined = "after the loop the returned value may be undefined"
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        lines = subject.source.places.lines
        for back, loop, outermost in _early(subject.source):
            place = subject.source.site(back)
            head = lines[outermost.lineno - 1]
            indent = head[: len(head) - len(head.lstrip())]
            moved = textwrap.dedent("\n".join(lines[place.line - 1 : place.end_line]))
            edits = (ReplaceLines(place, textwrap.indent(moved, indent)),)
            alone = place.line != loop.lineno and not head.lstrip().startswith("else")
            repair = "Return after the loop", edits if alone else None, 0.9
            yield Fault(place, {"batches": ast.unparse(loop.iter)}, (repair,))

    programs = """
=== example: a measurement of one batch
import torch

def accuracy(model, batches):
    correct = count = 0
    with torch.no_grad():
        for images, labels in batches:
            correct += (model(images).argmax(1) == labels).sum().item()
            count += len(labels)
-             return correct / count
+         return correct / count

=== example: within epochs
import torch

def fit(net, data, opt, epochs):
    for epoch in range(epochs):
        for x, y in data:
            opt.zero_grad()
            (net(x) - y).pow(2).mean().backward()
            opt.step()
-             return net
+     return net

=== reject: the first that fits
import torch

def first(loader):
    for x, y in loader:
        return x.shape

def found(names, wanted):
    for name in names:
        if name != wanted:
            continue
        count += 1
        return name

=== reject: after the loop
import torch

def train(net, loader, optimizer):
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
    return net

=== reject: a batch that is counted, and the only one
import torch

class Stream:
    def __next__(self):
        for batch in self.source:
            self.count += 1
            return batch
"""


def _early(source: Source) -> Iterator[tuple[ast.Return, ast.For, ast.stmt]]:
    """The returns that end a loop in its first iteration, with the loop and the outermost loop that they also end."""
    for loop in source.nodes(ast.For):
        back = loop.body[-1]
        if not isinstance(back, ast.Return) or loop.orelse or back.value is None:
            continue
        if any(isinstance(node, ast.Continue) for node in ast.walk(loop)):
            continue
        trains = bool(training_loop.attribute_calls(loop, "backward", "train_on_batch"))
        if not trains and not _adds_to_local(loop, back):
            continue
        bound = {node.id for node in within(loop.target, ast.Name)}
        if not trains and any(node.id in bound for node in within(back, ast.Name)):
            continue
        outermost: ast.stmt = loop
        for around in training_loop.loops_around(source, loop):
            if around.body[-1] is outermost:
                outermost = around
        yield back, loop, outermost


def _adds_to_local(loop: ast.For, back: ast.Return) -> bool:
    """Whether the loop adds to a local name that is returned."""
    added = {
        statement.target.id
        for statement in loop.body
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)
    }
    return any(node.id in added for node in within(back, ast.Name))
