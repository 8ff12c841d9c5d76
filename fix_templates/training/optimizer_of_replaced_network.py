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
    training_loop,
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
    triggers = ("parameters", "load")
    declined = "which network is meant is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        held = list(_optimizers(source))
        made = [(node, network) for node, networks in held for network in networks]
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
        yield from _of_before(source)

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

=== example: the last layer of what is not frozen
from torch import nn, optim

- optimizer = optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-3)
net.classifier[6] = nn.Linear(4096, 2)
+ optimizer = optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-3)
fit(net, optimizer)

=== finds: a network that is loaded after it
import os
import torch

net = Net()
optimizer = torch.optim.Adam(net.parameters())
if os.path.exists("net.pt"):
    net = torch.load("net.pt")
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== finds: a new network for each fold, and one optimizer
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for fold in folds:
    net = Net()
    for x, y in fold:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

=== finds: one of the two networks that an optimizer holds
encoder, decoder = Encoder(), Decoder()
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()))
decoder = Decoder(depth=4)
for x in loader:
    optimizer.zero_grad()
    criterion(decoder(encoder(x)), x).backward()
    optimizer.step()

=== reject: a network and an optimizer for each fold, by a function
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for fold in folds:
    net = Net()
    optimizer = make_optimizer(net)
    fit(net, optimizer, fold)

=== finds: a fragment that loads what an older optimizer is to train
net = torch.load("net.pt")
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== reject: made anew to be evaluated
import torch

net = Net()
optimizer = torch.optim.Adam(net.parameters())
criterion(net(x), y).backward()
optimizer.step()
torch.save(net.state_dict(), "net.pt")
net = Net()
net.load_state_dict(torch.load("net.pt"))
print(net(x))

=== reject: a fragment whose optimizer is made of what was loaded, and one that trains another network
net = torch.load("net.pt")
optimizer = make_optimizer(net)
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()
teacher = torch.load("teacher.pt")
for x in loader:
    other.zero_grad()
    criterion(student(x), teacher(x)).backward()
    other.step()

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

=== reject: loaded in a branch that goes no further
def main(options):
    net = Net()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    if options.predict_only:
        net = torch.load(options.file)
        print(score(net))
        return
    if options.draw:
        net = Painter()
        draw(net)
        sys.exit(0)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

=== finds: loaded and trained in a branch
def main(options):
    net = Net()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    if options.go_on:
        net = torch.load(options.file)
        fit(net, optimizer)
        return

=== reject: another network is asked beside
optimizer = optim.Adam(student.parameters())
for x, y in loader:
    loss = criterion(student(x), teacher(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _optimizers(source: Source) -> Iterator[tuple[ast.Assign, list[str]]]:
    """The statements that make an optimizer, each with the texts of the networks whose weights it gets."""
    for node in source.nodes(ast.Assign):
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        name = source.qualified(call.func) or ast.unparse(call.func)
        if not name.startswith(structure.OPTIMIZERS) or name.startswith(structure.SCHEDULES):
            continue
        held = {
            ast.unparse(each.func.value)
            for each in within(call, ast.Call)
            if isinstance(each.func, ast.Attribute) and each.func.attr == "parameters"
        }
        yield node, sorted(held)


def _replaced(
    source: Source, node: ast.Assign, network: str, optimizers: list[ast.Assign]
) -> Iterator[tuple[ast.stmt, str]]:
    """The statements below an optimizer, in its block or a branch there, that make its network or a layer of it anew; none where an optimizer is made again."""
    around = function_around(source, node)
    block = training_loop.block_of(source, node)
    for other in source.nodes(ast.Assign):
        if (
            other.lineno <= node.lineno
            or not _is_below(source, other, block)
            or function_around(source, other) is not around
        ):
            continue
        if any(other.lineno < again.lineno for again in optimizers if function_around(source, again) is around):
            continue
        if _is_bound(source, ast.unparse(node.targets[0]), other.lineno):
            continue  # by a function that is not seen
        target, value = ast.unparse(other.targets[0]), other.value
        if not isinstance(value, ast.Call) or not _goes_on(source, other, ast.unparse(node.targets[0]), block):
            continue
        value = made if isinstance(made := checkpoints.bare(source, value), ast.Call) else value
        called = source.qualified(value.func) or ast.unparse(value.func)
        if target == network and not _holds(value, network) and not WRAPPERS.fullmatch(called.rpartition(".")[2]):
            if called.rpartition(".")[2][:1].isupper() or "deepcopy" in called or called == "torch.load":
                yield other, f"`{network}` is made anew after it"
        elif target.startswith(f"{network}.") and LAYER.search(source.qualified(value.func) or ""):
            yield other, f"`{target}` is put in after it"


def _holds(value: ast.Call, network: str) -> bool:
    """Whether a new object is made of the old one."""
    return checkpoints.uses_name(value, network) and "deepcopy" not in ast.unparse(value.func)


def _is_bound(source: Source, name: str, line: int) -> bool:
    """Whether something below a line binds a name."""
    stored: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    return any(isinstance(node.ctx, ast.Store) and node.lineno > line and ast.unparse(node) == name for node in stored)


def _is_below(source: Source, statement: ast.AST, block: list[ast.stmt]) -> bool:
    """Whether a statement stands in a block, or in a condition, an attempt or a loop there."""
    while statement not in block:
        above = source.parent(statement)
        if not isinstance(above, (ast.If, ast.Try, ast.ExceptHandler, ast.With, ast.For, ast.While)):
            return False
        statement = above
    return True


def _goes_on(source: Source, after: ast.stmt, optimizer: str, block: list[ast.stmt]) -> bool:
    """Whether an optimizer updates something below a statement, or is given to a function that may do so.

    In a branch that ends the program or the function, that is no more than the rest of the branch.
    """
    around: ast.AST = function_around(source, after) or source.tree
    end = _end_of_branch(source, after, block)
    is_attribute = "." in optimizer and end is None
    for call in within(source.tree if is_attribute else around, ast.Call):
        if is_attribute or after.lineno < call.lineno <= (end or call.lineno):
            if ast.unparse(call.func) == f"{optimizer}.step":
                return True
            given = {ast.unparse(each) for each in (*call.args, *(k.value for k in call.keywords))}
            name = source.qualified(call.func) or ""
            if optimizer in given and not name.startswith((structure.SCHEDULES, "builtins.", "torch.save")):
                return True
    return False


def _end_of_branch(source: Source, statement: ast.stmt, block: list[ast.stmt]) -> int | None:
    """The last line of the branch around a statement, within a block, from which nothing goes on; `None` where it goes on."""
    while statement not in block:
        branch = training_loop.block_of(source, statement)
        last = branch[-1]
        if isinstance(last, (ast.Return, ast.Raise)) or re.match(r"(\w+\.)?_?(exit|quit)\(", ast.unparse(last)):
            return last.end_lineno
        above = source.parent(statement)
        if not isinstance(above, ast.stmt):
            above = source.parent(above) if above is not None else None  # of an attempt
        if not isinstance(above, ast.stmt):
            return None
        statement = above
    return None


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


def _of_before(source: Source) -> Iterator[Fault]:
    """Networks that a fragment loads as objects and trains with an optimizer that it does not make, and that is older therefore."""
    loaded = {
        name: load.call
        for load in checkpoints.loads(source)
        if isinstance(node := source.parent(load.call), ast.Assign) and function_around(source, node) is None
        for name in trees.stored_names(node.targets[0])
    }
    if not loaded or not structure.is_fragment(source):
        return
    for loop, backward in structure.batch_loops(source):
        stepped = {
            each.operation.on for each in structure.happenings(source, loop) if each.kind is structure.Kind.UPDATE
        }
        asked = {
            ast.unparse(call.func): call
            for call in structure.forward_calls(source, loop)
            if call.lineno <= backward.at.lineno
        }
        calls = [loaded.get(name) for name in asked]
        if not calls or len(stepped) != 1 or any(call is None or call.lineno > loop.lineno for call in calls):
            continue
        optimizer = stepped.pop()
        if "." not in optimizer and not any(
            node.id == optimizer and isinstance(node.ctx, ast.Store) for node in source.nodes(ast.Name)
        ):
            said = {"optimizer": optimizer, "what": f"`{next(iter(asked))}` is another object since it was loaded"}
            yield Fault(source.site(next(iter(loaded.values()))), said, ())


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
