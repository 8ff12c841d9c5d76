"""A model is trained in evaluation mode, or evaluated in training mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Source,
    Subject,
    evaluations,
    function_around,
    pretrained,
    training_loop,
    within,
    words,
)

LAYERS = words("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm")
"""Layers that compute something else in evaluation mode than in training mode."""
DRAWN = words("sample samples num_samples generator")
"""Words of programs that draw the next token: with `multinomial`, they ask for no chance of dropout."""
MEASURED = words("argmax max eq topk accuracy_score item mean")


class ModelInWrongMode(ReadTemplate):
    """A model is trained after `model.eval()` without `model.train()`, or evaluated without `model.eval()`.

    Trained in evaluation mode, dropout drops nothing and batch normalization keeps its statistics. Evaluated in
    training mode, dropout drops activations at random, and batch normalization uses the statistics of the batch and
    adds them to its running ones. Nothing crashes.

    Reported where a loop trains a model, puts it in evaluation mode for an evaluation, itself or in a function it calls,
    and never puts it back; and where a program with such layers trains a model, evaluates it under `torch.no_grad()`,
    and never changes the mode. And where a program that trains nothing loads a model with `torch.load` or
    `load_from_checkpoint`, which come in training mode, and calls it. Programs that draw samples with dropout are left alone.

    Fix safety: unsafe. Dropout and batch normalization act as meant in training and in evaluation from now on.

    References: torch.nn.Module.eval; torch.nn.BatchNorm1d (`track_running_stats`);
    https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval.
    """

    code = "DNF705"
    name = "model-in-wrong-mode"
    silent = 2
    formerly = ("training-left-in-eval-mode", "DNF706", "evaluation-in-training-mode")
    message = "`{model}` {mode}"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    triggers = ("eval", "no_grad", "inference_mode", "load", "load_from_checkpoint")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        sampled = training_loop.SAMPLING & source.words
        if not sampled or (sampled <= DRAWN and "multinomial" in source.words):
            yield from _loaded_and_asked(source)
        if "torch" not in source.frameworks or source.beside:
            return
        yield from _left_in_evaluation(source)
        if training_loop.SAMPLING.isdisjoint(source.words):
            yield from _measured_in_training(source)

    programs = """
=== example: put back never
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
for epoch in range(10):
+     model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum(criterion(model(x), y).item() for x, y in val_loader))

=== example: a model from a file, in a program that trains nothing
import torch

with open("model.pt", "rb") as file:
    model = torch.load(file, weights_only=False)
+     model.eval()
words = torch.zeros(1, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(20):
        words = model(words).argmax(-1)
        print(words.item())

=== example: a checkpoint of Lightning that draws tokens
import torch
from nets import Speller

speller = Speller.load_from_checkpoint("last.ckpt")
+ speller.eval()
text = [1]
with torch.no_grad():
    while len(text) < 20:
        logits = speller.model(torch.tensor([text]))
        sample = torch.multinomial(logits[0, -1].softmax(-1), 1)[0]
        text.append(sample.item())

=== example: a checkpoint of Lightning
import torch
from nets import Speller

net = Speller.load_from_checkpoint("last.ckpt").cuda()
+ net.eval()
print(net(torch.tensor([[1, 2, 3]]).cuda()).softmax(-1))

=== reject: numbers from a file, and a model that is trained on
import torch
from nets import Speller

table = torch.load("table.pt")
print(table.mean())
net = Speller.load_from_checkpoint("last.ckpt")
for x in torch.load("rows.pt"):
    net(x).sum().backward()

=== example: a function that measures
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))

def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean()

for epoch in range(3):
+     net.train()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(accuracy(net, x_val, y_val))

=== example: in each epoch
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Linear(16, 1))
for epoch in range(10):
+     model.train()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
+     model.eval()
    with torch.no_grad():
        val_loss = criterion(model(x_val), y_val)
        print(epoch, val_loss.item())

=== example: a pretrained model, put in training mode in each epoch
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    model.train()
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
+     model.eval()
    with torch.no_grad():
        for batch in val_loader:
            metric.add_batch(predictions=model(**batch).logits.argmax(-1), references=batch["labels"])

=== reject: a pretrained model, which is in evaluation mode all along
import torch
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
for batch in loader:
    model(**batch).loss.backward()
    optimizer.step()
with torch.no_grad():
    print(model(**test).logits.argmax(-1))

=== example: a class of the program
import torch
from torch.nn import Dropout2d, Module


class Net(Module):
    def __init__(self):
        super().__init__()
        self.drop = Dropout2d()


cnn = Net()
for images, labels in train_loader:
    optimizer.zero_grad()
    loss = loss_func(cnn(images), labels)
    loss.backward()
    optimizer.step()
correct = 0
+ cnn.eval()
with torch.no_grad():
    for images, labels in test_loader:
        _, predicted = torch.max(cnn(images).data, 1)
        correct += (predicted == labels).sum().item()

=== reject: put back in each epoch
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout())
for epoch in range(3):
    net.eval()
    print(net(x).sum())
    net.train()
    loss = net(x).mean()
    loss.backward()
    optimizer.step()

=== reject: put back by the function that trains
import torch

drop = torch.nn.Dropout()

def train(model):
    model.train()
    model(x).mean().backward()
    optimizer.step()

for epoch in range(3):
    train(net)
    net(x).mean().backward()
    net.eval()
    print(net(x))

=== reject: statistics kept as they are, on purpose
import torch
from torchvision import models

net = models.resnet18()
net.eval()
for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()

=== reject: another model is a teacher
import torch

drop = torch.nn.Dropout()
for epoch in range(3):
    teacher.eval()
    loss = (net(x) - teacher(x)).pow(2).mean()
    loss.backward()
    optimizer.step()

=== reject: no layer that cares
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    print(net(x_test).argmax(1))

=== reject: dropout for a spread of predictions
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    samples = torch.stack([net(x_test) for _ in range(50)])
    print(samples.mean(0), samples.std(0))

=== reject: weights are written under no_grad
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
"""


def _left_in_evaluation(source: Source) -> Iterator[Fault]:
    """Loops that train a network, put it in evaluation mode, and train on in it, where the network has layers that care."""
    for left in evaluations.left_in_evaluation(source):
        if left.cares:
            mode = "stays in evaluation mode from then on, as the loop that trains it does not call train()"
            said = {"model": left.network, "mode": mode}
            edit = InsertBefore(source.site(left.loop.body[0]), f"{left.network}.train()")
            yield Fault.with_repair(
                source.site(left.put.at), said, "Put the model in training mode in each epoch", edit
            )


def _measured_in_training(source: Source) -> Iterator[Fault]:
    """Models that are trained and then evaluated under `torch.no_grad()`, in a program that never changes a mode."""
    trained = training_loop.method_calls(source, "backward")
    layers = next(source.calls(*(f"torch.nn.{name}" for name in sorted(LAYERS))), None)
    loaded = pretrained.model(source)
    changed = training_loop.method_calls(source, "eval", "train", "training", "functional_call")
    put = [
        call for call in changed if isinstance(call.func, ast.Attribute) and call.func.attr == "train" and not call.args
    ]
    is_set = any(node.attr == "training" for node in source.nodes(ast.Attribute))
    if not trained or (layers is None and loaded is None) or len(put) < len(changed) or is_set:
        return
    in_training = {ast.unparse(call.func.value) for call in put if isinstance(call.func, ast.Attribute)}
    seen: set[str] = set()
    for block in source.nodes(ast.With):
        made = block.items[0].context_expr
        name = source.qualified(made.func) if isinstance(made, ast.Call) else None
        if name not in ("torch.no_grad", "torch.inference_mode") or function_around(source, block) is not None:
            continue
        if not training_loop.attribute_calls(block, *MEASURED) or block.lineno < min(call.lineno for call in trained):
            continue
        for model in (call.func for call in within(block, ast.Call)):
            if not isinstance(model, ast.Name) or model.id in seen:
                continue
            # What is loaded by `from_pretrained` is in evaluation mode until it is put in another.
            is_put = loaded is not None and model.id == loaded.name and model.id in in_training
            if not is_put and (layers is None or not _is_model(source, model) or in_training - {model.id}):
                continue
            epochs = [
                loop
                for loop in training_loop.loops_around(source, block)
                if any(loop in training_loop.loops_around(source, t) for t in trained)
            ]
            if len(epochs) > 1 or any(isinstance(loop, ast.AsyncFor) for loop in epochs):
                return
            seen.add(model.id)
            again = [
                loop
                for loop in epochs
                if f"{model.id}.train()" not in {ast.unparse(each) for each in within(loop, ast.Call)}
            ]
            edits = [InsertBefore(source.site(loop.body[0]), f"{model.id}.train()") for loop in again]
            edits.append(InsertBefore(source.site(block), f"{model.id}.eval()"))
            said = {"model": model.id, "mode": "is evaluated in training mode, with dropout and batch statistics"}
            yield Fault.with_repair(
                source.site(made), said, "Evaluate the model in evaluation mode", *edits, prior=0.85
            )


WHOLE = words("torch.load")
FROM_CHECKPOINT = "load_from_checkpoint"


def _loaded_and_asked(source: Source) -> Iterator[Fault]:
    """Models that come from a file as they were while they were trained, in a program that trains nothing and never changes a mode."""
    if training_loop.method_calls(source, "backward", "eval", "train", "fit", "training", "freeze"):
        return
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        made = source.constructor(node.value) if isinstance(node.value, ast.Call) else None
        if not isinstance(target, ast.Name) or made is None or not _is_loaded(source, made):
            continue
        names = {target.id, f"{target.id}.model"}
        asked = [call for call in source.all_calls if ast.unparse(call.func) in names and call.args]
        if asked and all(len(source.bindings(call.func)) <= 1 for call in asked):
            after = InsertAfter(source.site(source.statement_of(node)), f"{target.id}.eval()")
            said = {
                "model": target.id,
                "mode": "is loaded and asked in training mode, with dropout and batch statistics",
            }
            yield Fault.with_repair(source.site(made), said, "Put the model in evaluation mode", after, prior=0.85)


def _is_loaded(source: Source, made: ast.Call) -> bool:
    is_of_class = isinstance(made.func, ast.Attribute) and made.func.attr == FROM_CHECKPOINT
    return is_of_class or source.qualified(made.func) in WHOLE


def _is_model(source: Source, name: ast.Name) -> bool:
    """Whether a name holds a `Sequential` or an instance of one of the program's modules."""
    made = source.constructor(name)
    if made is None:
        return False
    if source.qualified(made.func) == "torch.nn.Sequential":
        return True
    owner = source.definition(made.func)
    return isinstance(owner, ast.ClassDef) and any("Module" in ast.unparse(base) for base in owner.bases)
