"""Losses are summed or collected for reporting together with their autograd graphs."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Subject,
    Wrap,
    kept_graphs,
)


class LossKeptWithGraph(ReadTemplate):
    """`total += loss` keeps the autograd graph of every batch alive: memory use grows with each iteration.

    Reported where a loss whose `backward` is called in the same loop is added to a name that started as a number, or
    appended to a list that started empty, and nothing later needs a tensor.

    Fix safety: unsafe. The sum is a number instead of a tensor, and prints as one.

    References: https://docs.pytorch.org/docs/stable/notes/faq.html ("My model reports cuda runtime error(2)").
    """

    code = "DNF708"
    name = "loss-kept-with-graph"
    message = "`{keeper}` keeps the autograd graph of every `{loss}`, and only its value is used"
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    silent = 5
    triggers = ("backward",)
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for loss, keeper in kept_graphs.of_values(source) if "torch" in source.frameworks else ():
            site, title = source.site(loss), f"Keep only the value of `{loss.id}`"
            yield Fault.with_repair(site, {"keeper": keeper, "loss": loss.id}, title, Wrap(site, "", ".item()"))

    programs = """
=== example: a running sum
import torch

for epoch in range(10):
    total_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
-         total_loss += loss
+         total_loss += loss.item()
    print(epoch, total_loss / len(loader))

=== example: a list for a plot
import matplotlib.pyplot as plt
import torch

losses = []
for step in range(1000):
    cost = (net(x) - y).pow(2).mean()
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
-     losses.append(cost)
+     losses.append(cost.item())
plt.plot(losses)

=== reject: the sum is what is trained
import torch

for episode in range(10):
    total = 0
    for x, y in steps:
        loss = criterion(net(x), y)
        total += loss
    total.backward()

=== reject: values are kept
import torch

total, losses = 0.0, []
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    total += loss.item()
    losses.append(loss.detach())

=== reject: the value is read in the end
import torch

total = 0.0
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    total += loss
print(total.item())

=== reject: the value of the mean is read in the end
import torch

losses = []
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    losses.append(loss)
mean = sum(losses) / len(losses)
print(mean.item())

=== reject: the name holds a number by then
import torch

total = 0.0
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    loss = loss.item()
    total += loss
"""
