"""A network is evaluated, and nothing in sight puts it in evaluation mode."""

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
    within,
    words,
)

LAYERS = words(
    "Linear LazyLinear Conv1d Conv2d Conv3d RNN LSTM GRU RNNCell LSTMCell GRUCell Embedding Parameter Sequential matmul"
)
"""Words of texts that show what their networks are made of."""


class EvaluatedWithoutEval(ReadTemplate):
    """A network is evaluated without `model.eval()`: dropout goes on to drop, and batch normalization uses and updates batch statistics.

    `torch.no_grad()` does not change the mode. Where the layers of the network are not seen, this is a risk: those without dropout
    and batch normalization compute the same in both modes. Networks of which all layers are seen and none cares are left alone, as
    are those that a caller, a helper or a framework may have put in evaluation mode.

    Fix safety: unsafe. The network is evaluated in another mode; a loop that trains it further on has to call `train()`.

    References: torch.nn.Module.eval; https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval.
    """

    code = "DNF746"
    name = "evaluated-without-eval"
    message = "`{network}` is evaluated {mode}: dropout and batch normalization go on as in training"
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
            if each.mode is structure.Kind.EVAL or (each.mode is None and evaluations.mode_is_open(source, each)):
                continue
            if evaluations.wants_chance(each.function):
                continue
            cares = evaluations.cares_for_mode(source, each.calls[0].func)
            if cares is False or (cares is None and not _is_whole_story(source)):
                continue  # of a network from another file, nothing is known
            place = _outermost(source, each)
            mode = "in training mode" if each.mode is structure.Kind.TRAIN else "without eval()"
            said = {"network": each.network, "mode": mode}
            edits = [InsertBefore(source.site(place), f"{each.network}.eval()")]
            trains_on = training_loop.loops_around(source, place)[:1]
            if trains_on and not structure.has(source, trains_on[0], structure.Kind.TRAIN):
                edits.append(InsertBefore(source.site(trains_on[0].body[0]), f"{each.network}.train()"))
            yield Fault.with_repair(
                source.site(each.calls[0]), said, f"Put {each.network} in evaluation mode", *edits, prior=0.8
            )

    programs = """
=== example: a function that measures
def accuracy(model, loader):
    right = 0
+     model.eval()
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right

=== example: put in training mode for it
import torch
from torchvision.models import resnet18

model = resnet18()

def validate(net, batches, criterion):
    net.train()
    total = 0.0
+     net.eval()
    with torch.no_grad():
        for x, y in batches:
            total += criterion(net(x), y).item()
    return total

=== example: phases of one loop
import torch

for epoch in range(10):
    for phase in ["train", "val"]:
+         model.train(phase == "train")
        for x, y in loaders[phase]:
            loss = criterion(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

=== example: beside the training, on data that is held out
import torch
from networks import Denoiser

net = Denoiser()
for turn in range(500):
+     net.train()
    loss = loss_fn(net(x_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
+     net.eval()
    print(loss_fn(net(x_val), y_val).item())

=== example: in a turn of the training
for step, (wave, word) in enumerate(train_loader):
+     net.train()
    optimizer.zero_grad()
    criterion(net(wave), word).backward()
    optimizer.step()
    if step % 50 == 0:
        wave, word = next(iter(val_loader))
+         net.eval()
        print(criterion(net(wave), word).item())

=== example: weights from a file
from torchvision.models import densenet121

net = densenet121(num_classes=7)
net.load_state_dict(torch.load("skin.pt"))
+ net.eval()
for name in names:
    print(name, net(read(name)).argmax(1).item())

=== reject: a pretrained network, which comes in evaluation mode
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
bert = AutoModel.from_pretrained("bert-base-uncased")
with torch.no_grad():
    print(bert(**tokenizer("hello", return_tensors="pt")).pooler_output)

=== reject: made so by a function, and asked by another's function
import torch
from torch import nn

def load(path):
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 2))
    net.load_state_dict(torch.load(path))
    return net.eval()

def ask(model, x):
    with torch.no_grad():
        return model(x).argmax(1)

def ask_all(model, rows):
    return [ask(model, row) for row in rows]

def main():
    print(ask_all(load("net.pt"), rows))

main()

=== reject: of two networks, the one that is asked has no layer that cares
import torch
from torch import nn

class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.ear = nn.Linear(4, 4)

listener = Listener()

def evaluate(x):
    with torch.no_grad():
        return listener(x).mean()

print(evaluate(rows))

=== reject: the class that is derived from may do it
import torch
from base import Runner

class Reader(Runner):
    def validate(self):
        with torch.no_grad():
            return sum(self.loss(self.net(x), y).item() for x, y in self.val_loader)

=== reject: the chance of dropout is asked for
def spread(model, x, n_samples=30):
    model.train()
    with torch.no_grad():
        return torch.stack([model(x) for _ in range(n_samples)]).std(0)

=== reject: the loader has a title, and the mode is set around the loop
for epoch in range(epochs):
    model.train()
    for x, y in tqdm(loader, desc="Training", leave=False):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

=== reject: phases, each in its mode
import torch

for epoch in range(10):
    for phase in ["train", "val"]:
        if phase == "train":
            model.train()
        else:
            model.eval()
        for x, y in loaders[phase]:
            loss = criterion(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

=== reject: the caller does it
import torch

def accuracy(model, loader):
    with torch.no_grad():
        return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)

net.eval()
print(accuracy(net, test_loader))

=== reject: no layer that cares
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

def accuracy(loader):
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)

=== reject: a teacher is asked while the network is trained
import torch

for x, y in loader:
    with torch.no_grad():
        wanted = teacher(x)
    loss = (net(x) - wanted).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def _phases(source: Source) -> Iterator[Fault]:
    """Loops over the phases of an epoch that never change the mode."""
    for loop, trained in evaluations.phases(source):
        changed = any(
            isinstance(node.func, ast.Attribute) and node.func.attr in ("train", "eval")
            for node in within(loop, ast.Call)
        )
        calls = structure.forward_calls(source, loop)
        if calls and not changed and evaluations.cares_for_mode(source, calls[0].func) is not False:
            network = ast.unparse(calls[0].func)
            edit = InsertBefore(
                source.site(loop.body[0]), f'{network}.train({ast.unparse(loop.target)} == "{trained}")'
            )
            said = {"network": network, "mode": "in training mode in each phase"}
            yield Fault.with_repair(source.site(calls[0]), said, "Put it in the mode of each phase", edit, prior=0.8)


def _is_whole_story(source: Source) -> bool:
    """Whether a text is a part of a program, or trains in view, with layers of another file, and has evaluation mode nowhere."""
    if structure.is_fragment(source):
        return True
    trains = structure.of_kind(source, structure.Kind.BACKWARD)
    return bool(trains) and LAYERS.isdisjoint(source.words) and not structure.of_kind(source, structure.Kind.EVAL)


def _outermost(source: Source, each: evaluations.Evaluation) -> ast.stmt:
    """The statement of the function, or of the loop over epochs, that the evaluation is in."""
    statement = source.statement_of(each.calls[0])
    above = source.parent(statement)
    while above is not None and above is not each.function and not isinstance(above, ast.Module):
        trains = isinstance(above, training_loop.LOOPS) and structure.has(source, above, structure.Kind.BACKWARD)
        turn = isinstance(above, ast.If) and training_loop.loops_around(source, above)
        if (
            trains
            or (turn and structure.has(source, turn[0], structure.Kind.BACKWARD))
            or not isinstance(above, ast.stmt)
        ):
            break
        statement, above = above, source.parent(above)
    return statement
