"""An optimizer holds weights that are no part of the network that is trained."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    checkpoints,
    function_around,
    structure,
    trees,
    within,
)

WRAPPERS = re.compile(
    r"DataParallel|DistributedDataParallel|DDP|compile|to|cuda|prepare|convert|wrap|initialize|FSDP|train|eval"
)
LAYER = re.compile(r"^torch\.nn\.(Linear|Conv\w+|Sequential|LSTM|GRU|Embedding|ModuleList|Parameter|Bilinear)$")


class OptimizerOfReplacedNetwork(ReadTemplate):
    """An optimizer keeps the weights that it was made with: a network or layer that is made afterwards is never trained.

    Reported where the text makes the optimizer of `net.parameters()` and then binds `net`, or a layer of it, anew; and where a
    training loop asks one network only, whose weights the only optimizer of the text does not hold. What a run shows,
    optimizer-without-parameters reports.

    Fix safety: unsafe. The other weights are trained from now on, which is the point.

    References: torch.optim ("Constructing it").
    """

    code = "DNF753"
    name = "optimizer-of-replaced-network"
    message = "`{optimizer}` does not hold the weights that are trained: {what}"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    nature = Nature.RISK
    silent = 1
    default = False
    triggers = ("parameters",)
    declined = "which network is meant is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        made = list(_optimizers(source))
        for node, network in made:
            optimizer = ast.unparse(node.targets[0])
            for statement, what in _replaced(source, node, network, [one for one, _ in made]):
                edits: tuple[Edit, ...] = (
                    Delete(source.site(node)),
                    InsertAfter(source.site(statement), source.segment(source.site(node))),
                )
                same = source.parent(node) is source.parent(statement)
                repair = "Make the optimizer after that", edits if same else None, 0.8
                yield Fault(source.site(statement), {"optimizer": optimizer, "what": what}, (repair,))
                break
        if len(made) == 1:
            yield from _of_another(source, *made[0])

    programs = """
=== example: a head that is put in afterwards
import torch
from torch import nn
from torchvision import models

model = models.resnet18(weights=None)
- optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model.fc = nn.Linear(512, 10)
+ optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion(model(x), y).backward()
optimizer.step()

=== example: a network that is made anew, in a fragment
model = Net()
- optimizer = optim.Adam(model.parameters())
model = Net(hidden=64)
+ optimizer = optim.Adam(model.parameters())
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

=== example: two networks, and the loop trains the other one
from torch import nn, optim

first = nn.Linear(4, 2)
second = nn.Linear(4, 2)
- optimizer = optim.SGD(first.parameters(), lr=0.1)
+ optimizer = optim.SGD(second.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(second(x), y)
    loss.backward()
    optimizer.step()

=== reject: wrapped, moved, and made for each fold
import torch
from torch import nn

for fold in range(5):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    model = nn.DataParallel(model)
    model = model.cuda()
    criterion(model(x), y).backward()
    optimizer.step()
model = Net()
optimizer = torch.optim.Adam(model.parameters())
model.load_state_dict(best)

=== reject: the network is asked in another function
from torch import nn, optim

model = Net().to(device)
criterion = nn.BCELoss()
optimizer = optim.Adam(model.parameters())
for x, y in loader:
    loss = criterion(predict(model, x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: another network is asked beside
optimizer = optim.Adam(student.parameters())
for x, y in loader:
    loss = criterion(student(x), teacher(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _optimizers(source: Source) -> Iterator[tuple[ast.Assign, str]]:
    """The statements that make an optimizer of the weights of one network, each with its text."""
    for node in source.nodes(ast.Assign):
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not call.args or not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        name = source.qualified(call.func) or ast.unparse(call.func)
        first = call.args[0]
        if not name.startswith(structure.OPTIMIZERS) or name.startswith(structure.SCHEDULES):
            continue
        is_whole = (
            isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and first.func.attr == "parameters"
        )
        if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and is_whole:
            yield node, ast.unparse(first.func.value)


def _replaced(
    source: Source, node: ast.Assign, network: str, optimizers: list[ast.Assign]
) -> Iterator[tuple[ast.stmt, str]]:
    """The statements below an optimizer, in its block, that make its network or a layer of it anew; none where an optimizer is made again."""
    around = function_around(source, node)
    block = source.parent(node)
    for other in source.nodes(ast.Assign):
        if (
            other.lineno <= node.lineno
            or source.parent(other) is not block
            or function_around(source, other) is not around
        ):
            continue
        if any(other.lineno < again.lineno for again in optimizers if function_around(source, again) is around):
            continue
        target, value = ast.unparse(other.targets[0]), other.value
        if not isinstance(value, ast.Call) or not _is_trained(source, other, network):
            continue
        called = ast.unparse(value.func)
        if target == network and not _holds(value, network) and not WRAPPERS.fullmatch(called.rpartition(".")[2]):
            if called.rpartition(".")[2][:1].isupper() or "deepcopy" in called:
                yield other, f"`{network}` is made anew after it"
        elif target.startswith(f"{network}.") and LAYER.search(source.qualified(value.func) or ""):
            yield other, f"`{target}` is put in after it"


def _holds(value: ast.Call, network: str) -> bool:
    """Whether a new object is made of the old one."""
    return checkpoints.uses_name(value, network.partition(".")[0]) and "deepcopy" not in ast.unparse(value.func)


def _is_trained(source: Source, after: ast.stmt, network: str) -> bool:
    """Whether the network is asked, or an update is done, below a statement."""
    around: ast.AST = function_around(source, after) or source.tree
    for call in within(around, ast.Call):
        if call.lineno > after.lineno:
            text = ast.unparse(call.func)
            given = [ast.unparse(each) for each in call.args]
            if text in (network, f"{network}.train") or text.endswith(".step") or network in given:
                return True
    return False


def _of_another(source: Source, node: ast.Assign, network: str) -> Iterator[Fault]:
    """A training loop that asks one network, which is not that of the only optimizer."""
    optimizer = ast.unparse(node.targets[0])
    for loop, backward in structure.batch_loops(source):
        if function_around(source, loop) is not function_around(source, node):
            continue
        steps = [each for each in structure.happenings(source, loop) if each.kind is structure.Kind.UPDATE]
        if not steps or any(each.operation.on != optimizer for each in steps):
            continue
        asked = {
            ast.unparse(call.func)
            for call in within(loop, ast.Call)
            if call.lineno <= backward.at.lineno and call.args and structure.is_network(source, call.func)
        }
        made = {
            ast.unparse(call.func.value)
            for call in source.all_calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == "parameters"
        }
        if len(asked) != 1 or asked & made:
            continue
        other = next(iter(asked))
        related = other.startswith(f"{network}.") or network.startswith(f"{other}.") or _made_of(source, other, network)
        if not related and other not in trees.names_in(loop.target if isinstance(loop, ast.For) else node):
            said = {"optimizer": optimizer, "what": f"the loop trains `{other}`, and it holds those of `{network}`"}
            held = source.site(next(n for n in within(node, ast.Attribute) if n.attr == "parameters").value)
            yield Fault.with_repair(
                source.site(node), said, f"Give it those of `{other}`", Replace(held, other), prior=0.8
            )


def _made_of(source: Source, other: str, network: str) -> bool:
    """Whether one network is made of the other, or they are not both made in this text."""

    def values(name: str) -> list[ast.expr]:
        return [n.value for n in source.nodes(ast.Assign) if any(ast.unparse(t) == name for t in n.targets)]

    first, second = values(other), values(network)
    if not first or not second:
        return True
    root, own = network.partition(".")[0], other.partition(".")[0]
    return any(checkpoints.uses_name(value, root) for value in first) or any(
        checkpoints.uses_name(value, own) for value in second
    )
