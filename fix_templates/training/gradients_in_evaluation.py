"""A network is evaluated, and the graph for a backward pass is recorded that never comes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Enclose,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    evaluations,
    structure,
    training_loop,
    within,
)


class GradientsInEvaluation(ReadTemplate):
    """A network is evaluated without `torch.no_grad()`: every activation is kept for a backward pass that never comes.

    `model.eval()` does not switch gradients off. The numbers are right, but memory and time go to waste, and outputs that are kept
    keep their graphs. Functions that use the gradients, such as attacks and saliency maps, are left alone.

    Fix safety: unsafe. Nothing that is computed in the block can be differentiated from then on.

    References: torch.no_grad; https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation.
    """

    code = "DNF747"
    name = "gradients-in-evaluation"
    message = "`{network}` is evaluated without torch.no_grad(): its activations are kept for a backward pass that never comes"
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 2
    default = False

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        yield from _phases(source)
        for each in evaluations.evaluations(source):
            if not each.recorded or evaluations.asks_for_gradients(each.function, source):
                continue
            if "volatile" in source.words and _is_volatile(source, each):
                continue  # DNF512
            if each.function is not None and (_is_called_without(source, each.function) or _gives_back(source, each)):
                continue
            first, last = _whole(source, each)
            edit = Enclose(source.site(first), source.site(last), "with torch.no_grad():")
            yield Fault.with_repair(
                source.site(each.recorded[0]), {"network": each.network}, "Evaluate without gradients", edit, prior=0.8
            )

    programs = """
=== example: in evaluation mode
import torch

def accuracy(model, loader):
    model.eval()
    right = 0
-     for x, y in loader:
-         right += (model(x).argmax(1) == y).sum().item()
+     with torch.no_grad():
+         for x, y in loader:
+             right += (model(x).argmax(1) == y).sum().item()
    return right

=== example: the caller puts it in evaluation mode
import torch

def picture(painter, size):
-     drawn = painter(torch.randn(16, size))
+     with torch.no_grad():
+         drawn = painter(torch.randn(16, size))
    return drawn.cpu().data.numpy()

for turn, (x, _) in enumerate(loader):
    painter.zero_grad()
    criterion(judge(painter(x)), ones).backward()
    optimizer.step()
    if turn % 500 == 0:
        painter.eval()
        save(picture(painter, 32))
        painter.train()

=== example: in each phase of an epoch
import torch

for phase in ["train", "check"]:
    net.train(phase == "train")
    for x, y in loaders[phase]:
-         loss = criterion(net(x), y)
-         if phase == "train":
-             optimizer.zero_grad()
-             loss.backward()
-             optimizer.step()
+         with torch.set_grad_enabled(phase == "train"):
+             loss = criterion(net(x), y)
+             if phase == "train":
+                 optimizer.zero_grad()
+                 loss.backward()
+                 optimizer.step()

=== reject: phases that ask for gradients each in its way
import torch

for phase in ["train", "check"]:
    torch.set_grad_enabled(phase == "train")
    for x, y in loaders[phase]:
        loss = criterion(net(x), y)
        if phase == "train":
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

for phase in ["train", "check"]:
    for x, y in loaders[phase]:
        if phase == "train":
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()
        else:
            with torch.no_grad():
                print(criterion(net(x), y).item())

=== finds: of a network that is written out as a function
steer, shift = torch.randn(3, 2, requires_grad=True), torch.zeros(2, requires_grad=True)

def predict(x):
    return torch.tanh(x @ steer + shift)

for turn in range(20):
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(predict(x), y).backward()
        optimizer.step()
    for x, y in val_loader:
        print(criterion(predict(x), y).item())

=== reject: what such a function computes for the loss
slope = torch.tensor(1.0, requires_grad=True)

def predict(x):
    return slope * x

print(predict(4).item())
for x, y in pairs:
    ((predict(x) - y) ** 2).backward()
    slope.data -= 0.01 * slope.grad.item()
    slope.grad.zero_()
print(predict(4).item())

=== finds: of a whole graph at once, by a function that is no test of the program
def learn():
    net.train()
    optimizer.zero_grad()
    criterion(net(rows, edges)[seen], kinds[seen]).backward()
    optimizer.step()

def test():
    net.eval()
    guessed = net(rows, edges).argmax(1)
    return (guessed[unseen] == kinds[unseen]).float().mean().item()

=== finds: of a network of the whole text
speaker.eval()

def speak(words, longest):
    while len(words) < longest:
        words.append(speaker(torch.tensor([words]))[0, -1].argmax().item())
    return words

=== finds: drawn again and again
painter.eval()
for number in range(50):
    save_image(painter(torch.randn(9, 64)), f"{number}.png")

=== reject: the caller learns from it
judge.eval()
for x, y in loader:
    optimizer.zero_grad()
    loss_of(judge, x, y).backward()
    optimizer.step()

def loss_of(judge, x, y):
    return criterion(judge(x), y)

=== reject: a function that a library attributes outputs by
import torch
from captum.attr import LayerIntegratedGradients

speaker.eval()

def ask(words):
    return speaker(words).max(1).values

def test(speaker, rows):
    def ask(words):
        return speaker(words).logits

    speaker.eval()
    return LayerIntegratedGradients(ask, speaker.words).attribute(rows)

print(LayerIntegratedGradients(ask, speaker.words).attribute(rows))

=== reject: functions of what records no gradients
import torch

rows = torch.tensor(rows, requires_grad=False)
net.eval()

def score(model, rows):
    with torch.no_grad():
        return model(rows).argmax(1)

print(score(net, rows))

=== reject: a test of the program
import torch

def test_shape():
    net.eval()
    assert net(rows).shape == (3, 4)

def test_gradient():
    net(rows).sum().backward()

=== finds: of a plain function that is named as a framework's method would be
import torch

def test_epoch(net, records):
    net.eval()
    return sum(loss_fn(net(x), y).item() for x, y in records)

=== finds: in another function than the one that has volatile variables
from torch.autograd import Variable

def old(net, rows):
    return net(Variable(rows, volatile=True))

def validate(net, loader):
    net.eval()
    return sum(loss_fn(net(Variable(x)), y).item() for x, y in loader)

=== reject: a method that a framework may call
class Labels(Runner):
    def test_epoch(self, records):
        self.net.eval()
        return sum(self.loss(self.net(x), y).item() for x, y in records)

=== reject: the whole function is without gradients
import torch

@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)

=== reject: the caller does it
import torch

def evaluate(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean()

with torch.no_grad():
    print(evaluate(net, x, y))

=== reject: an attack
import torch

def test(model, x, y, size):
    model.eval()
    x.requires_grad = True
    loss = criterion(model(x), y)
    loss.backward()
    return model(x + size * x.grad.sign())
"""


def _phases(source: Source) -> Iterator[Fault]:
    """Networks that loops over the phases of an epoch ask in the same way in each, with the gradients of all."""
    for loop, trained in evaluations.phases(source):
        calls = structure.forward_calls(source, loop)
        unasked = any(
            structure.is_ungraded(source, each) for each in within(loop, ast.Call, ast.Name, ast.Attribute)
        ) or not {"volatile", "enable_grad"}.isdisjoint(source.words)
        block = training_loop.block_of(source, source.statement_of(calls[0])) if calls else []
        asked = [each for each in block if any(call in calls for call in within(each, ast.Call))]
        in_batches = calls and training_loop.loops_around(source, calls[0])[1:] and not unasked
        if in_batches and not structure.without_gradients(source, loop) and _is_in_all(source, calls[0], loop):
            rest = block[block.index(asked[0]) :]
            learns = next((s for s in rest if structure.has(source, s, structure.Kind.BACKWARD)), rest[-1])
            header = f'with torch.set_grad_enabled({ast.unparse(loop.target)} == "{trained}"):'
            edit = Enclose(source.site(asked[0]), source.site(learns), header)
            said = {"network": ast.unparse(calls[0].func)}
            yield Fault.with_repair(source.site(calls[0]), said, "Record gradients in training alone", edit, prior=0.8)


def _is_in_all(source: Source, call: ast.Call, loop: ast.For) -> bool:
    """Whether no condition stands between a call and a loop over phases: the call is made in each of them."""
    above = source.parent(call)
    while above is not None and above is not loop:
        if isinstance(above, (ast.If, ast.IfExp, ast.Try, *training_loop.FUNCTIONS)):
            return False
        above = source.parent(above)
    return True


def _is_volatile(source: Source, each: evaluations.Evaluation) -> bool:
    """Whether variables that were to record nothing are made or read in the function that evaluates."""
    region = each.function or source.tree
    given = (keyword.arg for call in within(region, ast.Call) for keyword in call.keywords)
    named = (node.attr for node in within(region, ast.Attribute))
    return "volatile" in {*given, *named}


def _is_called_without(source: Source, function: training_loop.Function) -> bool:
    """Whether the text calls a function, and always where no gradients are recorded."""
    calls = structure.callers(source, function)
    return bool(calls) and all(structure.without_gradients(source, call) for call in calls)


def _gives_back(source: Source, each: evaluations.Evaluation) -> bool:
    """Whether a function gives the outputs of the network back as they are, and a caller that is not seen may learn from them."""
    if each.function is None or structure.is_fragment(source):
        return False
    outputs = {ast.unparse(call) for call in each.recorded}
    for assign in within(each.function, ast.Assign):
        if any(assign.value is call for call in each.recorded):
            outputs |= {ast.unparse(target) for target in assign.targets}
    returned = [node.value for node in within(each.function, ast.Return) if node.value is not None]
    return any(ast.unparse(part) in outputs for value in returned for part in (value, *getattr(value, "elts", ())))


def _whole(source: Source, each: evaluations.Evaluation) -> tuple[ast.stmt, ast.stmt]:
    """The statements around all recorded calls that stand in one block, as far out as they need to."""
    chains = [_chain(source, call, each.function) for call in each.recorded]
    for statement in chains[0]:
        block = training_loop.block_of(source, statement)
        found = [next((s for s in chain if s in block), None) for chain in chains]
        inside = [s for s in found if s is not None]
        is_loop = isinstance(statement, training_loop.LOOPS) or not any(
            isinstance(s, training_loop.LOOPS) for s in chains[0]
        )
        if len(inside) == len(chains) and is_loop:
            return min(inside, key=lambda s: s.lineno), max(inside, key=lambda s: s.lineno)
    return chains[0][-1], chains[0][-1]


def _chain(source: Source, node: ast.AST, function: ast.AST | None) -> list[ast.stmt]:
    """The statements around a node, the innermost first, up to its function."""
    found: list[ast.stmt] = []
    above: ast.AST | None = node
    while above is not None and above is not function:
        if isinstance(above, ast.stmt):
            found.append(above)
        above = source.parent(above)
    return found
