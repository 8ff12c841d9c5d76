"""A training loop adds up or collects losses or outputs as tensors, and so keeps the graph of every batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Subject, Wrap, kept_graphs

OF_ROUNDS = re.compile(r"backward|eval|(\b|_)(test|val)|loader|dl\b|iterator|batches", re.IGNORECASE)
"""Without one of these, no loop of a text is seen to train or to evaluate."""


class SumKeptWithGraph(ReadTemplate):
    """`epoch_loss += loss` where `loss` is a tensor: the sum holds on to the graph of every batch that went into it.

    Memory grows from batch to batch until the sum is let go. `loss-kept-with-graph` (DNF708) reports the sums and lists of which the text shows beginning and end, and
    that only their values are used; this one reports those of fragments, attributes and dictionaries too, and those that are read by `item()` in
    the end. What a backward pass goes back from is left alone.

    Fix safety: unsafe. The sum is a number instead of a tensor.

    References: https://docs.pytorch.org/docs/stable/notes/faq.html ("My model reports cuda runtime error(2)").
    """

    code = "DNF485"
    name = "sum-kept-with-graph"
    message = "`{keeper}` keeps the graph of every `{value}` that goes into it"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.MONITOR
    nature = Nature.RISK
    silent = 5
    default = False
    confidence = 0.85

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks or (not source.nodes(ast.For) and not source.nodes(ast.While)):
            return
        if not OF_ROUNDS.search(source.text):
            return
        sure = {id(each) for each, _ in kept_graphs.of_values(source)}
        for each in kept_graphs.kept(source):
            if id(each.node) in sure or any(id(part) in sure for part in ast.walk(each.node)):
                continue
            said = {"keeper": each.keeper, "value": ast.unparse(each.node)}
            site, is_name = source.site(each.node), isinstance(each.node, (ast.Name, ast.Attribute, ast.Call))
            edit = Wrap(site, "", ".detach()") if is_name else Wrap(site, "(", ").detach()")
            yield Fault.with_repair(site, said, "Keep its value only", edit, confidence=self.confidence)

    programs = """
=== example: a fragment without the beginning
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
-     running_loss += loss
+     running_loss += loss.detach()

=== example: an attribute
import torch

class Trainer:
    def epoch(self):
        self.total = 0
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
-             self.total += loss * len(x)
+             self.total += (loss * len(x)).detach()

=== example: an evaluation that records gradients
import torch

def evaluate(model, loader, criterion):
    model.eval()
    val_loss = 0
    for x, y in loader:
-         val_loss += criterion(model(x), y)
+         val_loss += criterion(model(x), y).detach()
    return val_loss / len(loader)

=== example: a step that gives its loss back
import torch

def step(x, y):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    return loss

total = 0
for x, y in loader:
-     total += step(x, y)
+     total += step(x, y).detach()

=== example: a place of its own in a dictionary
import torch

record = {}
for turn in range(100):
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
-     record[turn] = loss
+     record[turn] = loss.detach()

=== example: outputs that are joined
import torch

seen = torch.zeros(0, 10)
for x, y in loader:
    logits = net(x)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
-     seen = torch.cat((seen, logits))
+     seen = torch.cat((seen, logits.detach()))

=== example: a running mean
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
-     smooth = 0.9 * smooth + 0.1 * loss
+     smooth = 0.9 * smooth + (0.1 * loss).detach()

=== example: a sum that is written as a call
import torch

for x, y in loader:
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
-     whole = torch.add(whole, loss)
+     whole = torch.add(whole, loss.detach())

=== reject: the parts of a loss that are reported
import torch

for step, (x, y) in enumerate(loader):
    loss, loss_items = compute_loss(net(x), y)
    loss.backward()
    optimizer.step()
    mean = (mean * step + loss_items) / (step + 1)

=== reject: a mean that the loss is compared with
import torch

for x, y in loader:
    error = criterion(net(x), y)
    smooth = 0.9 * smooth + 0.1 * error
    loss = error + (error - smooth).abs()
    loss.backward()

=== example: a meter
import torch

meter = AverageMeter()
for x, y in loader:
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
-     meter.update(loss, len(x))
+     meter.update(loss.detach(), len(x))

=== reject: places of an array, and the last value of each kind
import numpy as np
import torch

curve, last = np.zeros(100), {}
for turn in range(100):
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve[turn] = loss
    last["loss"] = loss

=== reject: a metric of a library, and a meter that takes numbers
import torch
from torchmetrics import MeanMetric

class Meter:
    def update(self, value, count):
        self.total += value.item() * count

metric, meter = MeanMetric(), Meter()
for x, y in loader:
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metric.update(loss)
    meter.update(loss, len(x))

=== reject: steps whose losses are trained together
import torch

for x, y in loader:
    seen = torch.zeros(0, 10)
    for part in x:
        logits = net(part)
        seen = torch.cat((seen, logits))
    loss = criterion(seen, y)
    loss.backward()

=== finds: the mean of a loader, whatever its function is called
def mean_gap(net, pairs_dl):
    total = 0
    for left, right in pairs_dl:
        total = total + nn.functional.l1_loss(net(left), right)
    return total / len(pairs_dl)

=== reject: the mean of a loader that its caller trains
def mean_gap(net, pairs_dl):
    total = 0
    for left, right in pairs_dl:
        total = total + nn.functional.l1_loss(net(left), right)
    return total / len(pairs_dl)

gap = mean_gap(net, pairs_dl)
gap.backward()

=== reject: an evaluation without gradients
import torch

def evaluate(model, loader, criterion):
    val_loss = 0
    with torch.no_grad():
        for x, y in loader:
            val_loss += criterion(model(x), y)
    return val_loss / len(loader)

=== reject: a method that another one calls without gradients
import torch

class Forecast:
    def predict(self, loader):
        with torch.no_grad():
            return self.predict_all(loader)

    def predict_all(self, loader):
        outputs = []
        for x, _ in loader:
            outputs.append(self.model(x))
        return torch.cat(outputs)

=== reject: a loss of several parts
import torch

def loss_of(model, parts, criterion):
    loss = 0
    for x, y in parts:
        loss += criterion(model(x), y)
    return loss

=== reject: the sum is what is trained
import torch

for episode in range(10):
    total = 0
    for x, y in steps:
        loss = criterion(net(x), y)
        total += loss
    total.backward()

=== reject: sums of numbers
import torch

right, total = 0, 0.0
for x, y in loader:
    out = net(x)
    loss = criterion(out, y)
    loss.backward()
    total += loss.item()
    right += (out.argmax(1) == y).sum()

=== reject: two losses of one batch
import torch

for x, y in loader:
    loss = first(net(x), y)
    loss += second(net(x), y)
    loss.backward()

=== reject: the values before the last batch are summed in one tensor that is trained
import torch

for x, y in loader:
    losses = []
    for part in x:
        losses.append(criterion(net(part), y))
    sum(losses).backward()
"""
