"""Something that stays the same is moved to the GPU in every round of a loop, or is made on the CPU to be moved."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    devices,
    endings,
    structure,
    training_loop,
    trees,
    within,
    words,
)

Region = ast.For | ast.While | training_loop.Function
"""The rounds: a loop, or a function that is called for each batch."""
MAKERS = words("zeros ones rand randn full arange eye empty linspace randint")
BACK = words("cpu numpy")


class MovedInEveryRound(ReadTemplate):
    """A network, a loss or a tensor that no round changes is moved to the GPU for each batch, or a network in each epoch; or a result goes to the CPU and back.

    Each transfer takes time, and one to the CPU waits for all work that was asked for. What stays the same is moved once, before the
    loop; new tensors are made where they are needed, with `device=`.

    Fix safety: unsafe. The text is changed in no way that a run could not bear out; the numbers stay the same.

    References: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html ("Create tensors directly on the target device",
    "Avoid unnecessary CPU-GPU synchronization").
    """

    code = "DNF772"
    name = "moved-in-every-round"
    message = "{what}"
    confidence = 0.75
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.ADVICE
    silent = 13
    default = False
    declined = "the statement has to go before the loop"
    triggers = ("cuda", "to")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        for call in source.all_calls:
            if not devices.moves(source, call) or not isinstance(call.func, ast.Attribute):
                continue
            loop = devices.loop_around(source, call) or training_loop.function_around(source, call)
            if loop is None:
                continue
            moved = call.func.value
            if not structure.is_done_for_each_batch(source, call):
                if _is_over_epochs(source, loop, moved) and _stays(source, loop, call, moved):
                    what = f"`{ast.unparse(moved)}` stays where it is and is moved in every epoch"
                    yield Fault(source.site(call), {"what": what}, (Decline(self.declined),))
                continue
            if _is_now_and_then(source, loop, call):
                continue
            made = _made_here(source, moved)
            if made is not None and structure.has(source, loop, structure.Kind.BACKWARD):
                what = f"`{ast.unparse(made.func)}` makes a tensor on the CPU in every round, which is then moved"
                yield Fault(
                    source.site(call),
                    {"what": what},
                    (*_on_device(source, call, made), Decline("its device is not given by name")),
                )
            elif _goes_back(moved):
                what = "values go from the GPU to the CPU and back in every round"
                yield Fault(source.site(call), {"what": what}, (Decline("they have to be computed on the GPU"),))
            elif _stays(source, loop, call, moved):
                what = f"`{ast.unparse(moved)}` stays the same and is moved in every round"
                yield Fault(source.site(call), {"what": what}, (Decline(self.declined),))

    programs = """
=== example: noise
import torch

for x, y in loader:
-     noise = torch.randn(64, 100).to(device)
+     noise = torch.randn(64, 100, device=device)
    loss = criterion(net(noise), y)
    loss.backward()

=== finds: a network in each epoch
import torch

def fit(self, epochs):
    for epoch in range(epochs):
        self.net.to(self.device)
        for x, y in self.loader:
            self.optimizer.zero_grad()
            self.criterion(self.net(x.to(self.device)), y.to(self.device)).backward()
            self.optimizer.step()

=== reject: pictures that are shown now and then
import torch

for step, x in enumerate(loader):
    loss = criterion(net(x.to(device)), x)
    loss.backward()
    if step % 50 == 0:
        show(net(torch.randn(8, 20).to(device)))

=== reject: something that each of several trainings needs
import torch

for seed in range(5):
    weights = torch.ones(10).to(device)
    net = Net().to(device)
    for x, y in loader:
        loss = criterion(net(x.to(device)), y.to(device))
        loss.backward()
    print(net(test_x))

=== reject: a network that waits on the CPU
import torch

for epoch in range(20):
    net.to(device)
    for x, y in loader:
        loss = criterion(net(x.to(device)), y.to(device))
        loss.backward()
    net.to("cpu")
    torch.save(net.state_dict(), "net.pt")

=== example: weights of classes
import torch

for scan, truth in loader:
-     weights = torch.tensor([0.1, 0.9]).to(device)
+     weights = torch.tensor([0.1, 0.9], device=device)
    loss = nn.functional.cross_entropy(net(scan.to(device)), truth.to(device), weight=weights)
    loss.backward()

=== finds: a network for each text, in a fragment
for text in texts:
    inputs = tokenizer(text, return_tensors="pt")
    self.model.to(self.device)
    answers.append(self.model(inputs.input_ids.to(self.device)).logits)

=== finds: where there is a GPU, and within another block
import torch

for name in names:
    picture = read(name)
    with torch.no_grad():
        if args.cuda:
            net = net.to(device)
            picture = picture.to(device)
        write(name, net(picture))

=== finds: in a function that is called for each picture
import torch

def outline(net, picture):
    net = net.to(device)
    return net(picture.to(device)).cpu()

for picture in pictures:
    show(outline(net, picture))

=== reject: in a function that is called once
import torch

def outline(net, pictures):
    net = net.to(device)
    return net(pictures.to(device)).cpu()

show(outline(net, pictures))

=== reject: a network that is moved when it is needed first
import torch

for name in names:
    if name.startswith("large"):
        net = net.to(device)
    write(name, net(read(name).to(device)))

=== reject: a network that makes room for another one
import torch

for volume in volumes:
    model.cuda()
    out = model(volume.cuda()).cpu()
    model.cpu()
    show(other(out.cuda()))

=== reject: a sum begins with nothing
import torch

for x, y in loader:
    penalty = torch.tensor(0.0).to(device)
    for weight in net.parameters():
        penalty = penalty + weight.abs().sum()
    (criterion(net(x.to(device)), y.to(device)) + penalty).backward()

=== reject: batches are moved
import torch

net.to(device)
for x, y in loader:
    x, y = x.to(device), y.to(device)
    loss = criterion(net(x), y)
    loss.backward()

=== reject: a network for each setting
import torch

for rate in rates:
    net = Net().to(device)
    train(net, rate)
"""


def _is_over_epochs(source: Source, loop: Region, moved: ast.expr) -> bool:
    """Whether a loop trains a network in each of its rounds, also by a function that says so."""
    if not structure.is_network(source, moved) or not isinstance(loop, ast.For):
        return False
    if "epoch" not in f"{ast.unparse(loop.target)} {ast.unparse(loop.iter)}".lower():
        return False
    calls = [call for call in within(loop, ast.Call) if re.match("train|fit", trees.last_name(call.func))]
    trains = any(ast.unparse(moved) == ast.unparse(each) for call in calls for each in call.args)
    return trains or structure.has(source, loop, structure.Kind.BACKWARD)


def _is_taken(source: Source, moved: ast.expr) -> bool:
    """Whether something is taken from the GPU anywhere, so that it has to be moved again."""
    asked = [call for call in source.all_calls if trees.receiver(call) == ast.unparse(moved)]
    return any(trees.last_name(call.func) in ("to", *BACK) and not devices.moves(source, call) for call in asked)


def _is_now_and_then(source: Source, loop: Region, call: ast.Call) -> bool:
    """Whether a move happens in some rounds of a loop only, of which the count decides."""
    above = source.parent(call)
    while above is not None and above is not loop:
        if isinstance(above, ast.If) and any(isinstance(node.op, ast.Mod) for node in within(above.test, ast.BinOp)):
            return True
        above = source.parent(above)
    return False


def _is_in_every_round(source: Source, loop: Region, statement: ast.stmt) -> bool:
    """Whether a statement of a loop is reached in every round, or in every one on a machine with a GPU."""
    above = source.parent(statement)
    while above is not None and above is not loop:
        asks = isinstance(above, ast.If) and not devices.is_asked_for(above.test)
        if asks or not isinstance(above, (ast.If, ast.With, ast.Try)):
            return False
        above = source.parent(above)
    return True


def _made_here(source: Source, moved: ast.expr) -> ast.Call | None:
    """The call that makes the tensor that is moved, on the CPU."""
    made = moved
    while (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in endings.SAME
        and not source.qualified(made.func)
    ):
        made = made.func.value
    if not isinstance(made, ast.Call):
        return None
    name = source.qualified(made.func) or ""
    given = any(k.arg == "device" for k in made.keywords)
    values = made.args[0] if made.args else None
    written = name == "torch.tensor" and isinstance(values, ast.List) and not trees.names_in(values)
    is_made = written or name.startswith("torch.") and name.rpartition(".")[2] in MAKERS
    return made if is_made and not given else None


def _on_device(source: Source, call: ast.Call, made: ast.Call) -> Iterator[tuple[str, tuple[Replace, ...], float]]:
    """Make the tensor on its device."""
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "to"
        and call.func.value is made
        and len(call.args) == 1
    ):
        text = source.segment(source.site(made)).rstrip()
        device = source.segment(source.site(call.args[0]))
        comma = ", " if made.args or made.keywords else ""
        yield "Make it on its device", (Replace(source.site(call), f"{text[:-1]}{comma}device={device})"),), 0.8


def _goes_back(moved: ast.expr) -> bool:
    """Whether what is moved to the GPU is a tensor made of what had just been copied from it."""
    if not isinstance(moved, ast.Call) or trees.last_name(moved.func) not in (
        "from_numpy",
        "tensor",
        "Tensor",
        "as_tensor",
        *BACK,
    ):
        return False
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr in BACK and not call.args
        for call in within(moved, ast.Call)
    )


def _stays(source: Source, loop: Region, call: ast.Call, moved: ast.expr) -> bool:
    """Whether no round of a loop changes what is moved, and it is moved in each one anew."""
    if not isinstance(moved, (ast.Name, ast.Attribute)):
        return False
    text = ast.unparse(moved)
    statement = source.statement_of(call)
    is_module = structure.is_network(source, moved) or endings.OF_LOSS.fullmatch(text) is not None
    if is_module and _is_taken(source, moved):
        return False
    if not isinstance(loop, training_loop.LOOPS) and not is_module:
        return False  # what it is given, perhaps
    if is_module and _is_in_every_round(source, loop, statement):
        others = [node for node in within(loop, ast.Assign) if node is not statement]
        made = any(ast.unparse(one) == text for node in others for target in node.targets for one in ast.walk(target))
        return not made and trees.names_in(moved).isdisjoint(trees.stored_names(loop) - {text})
    root: ast.expr = moved
    while isinstance(root, ast.Attribute):
        root = root.value
    stored = {ast.unparse(t) for node in within(loop, ast.Assign) for t in node.targets}
    own = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == text
    is_read = isinstance(root, ast.Name) and root.id not in trees.stored_names(loop) and text not in stored
    return (
        is_read and not own and isinstance(root, ast.Name) and root.id != "self" and not isinstance(statement, ast.Expr)
    )
