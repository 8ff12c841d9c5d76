"""Weights that are kept for later are the model's own tensors, which training goes on changing."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, Subject, keeping_edits, kept_weights


class WeightsKeptByReference(ReadTemplate):
    """`best_model = model` and `best = model.state_dict()` copy nothing: at the end of the training, `best` is the last epoch.

    `dict(…)`, `copy.copy(…)` and `.copy()` copy the dictionary, and not the tensors that it holds. Reported where a training loop,
    or a condition that compares with the best so far, keeps weights under a name that says so; what is saved to a file or loaded at
    once is left alone. Where the text loads them after the loop, best-state-by-reference reports it.

    Fix safety: unsafe. The weights of the best epoch are kept, which is the point.

    References: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html ("Saving & Loading Model for
    Inference", on `best_model_state`).
    """

    code = "DNF750"
    name = "weights-kept-by-reference"
    message = "`{kept}` refers to the own weights of `{network}`: every later training step changes it"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 4
    default = False
    triggers = (
        "state_dict",
        "append",
        "parameters",
        "best",
        "best_model",
        "best_net",
        "final_model",
        "optimal_model",
        "saved_model",
    )
    declined = "the name `copy` is taken"
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        for kept in kept_weights.kept_by_reference(source):
            edits = keeping_edits.copied(source, kept.value)
            said = {"kept": kept.name, "network": kept.network}
            yield Fault(source.site(kept.value), said, (("Keep a copy of the weights", edits, 0.9),))

    programs = """
=== example: a fragment that gives the best network back
+ import copy
for epoch in range(epochs):
    train(model, loader, optimizer)
    acc = evaluate(model, val_loader)
    if acc > best_acc:
        best_acc = acc
-         best_model = model
+         best_model = copy.deepcopy(model)
    scheduler.step()

=== example: a shallow copy
import copy
import torch

def fit(net, loader, optimizer, epochs):
    lowest = float("inf")
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
        if loss < lowest:
            lowest = loss
-             best_weights = net.state_dict().copy()
+             best_weights = copy.deepcopy(net.state_dict().copy())
    return best_weights

=== example: the states of all epochs
import copy
import torch

for epoch in range(10):
    net(x).sum().backward()
    optimizer.step()
-     states.append(net.state_dict())
+     states.append(copy.deepcopy(net.state_dict()))

=== finds: written to a file every few epochs
best_score, best_weights = 0, None
for epoch in range(epochs):
    train(net, loader)
    score = validate(net)
    if score > best_score:
        best_score = score
        best_weights = net.state_dict()
    if epoch % 10 == 9:
        torch.save(best_weights, f"best_{epoch}.pt")

=== reject: written in the turn in which they are kept
best_score, improved = 0, False
for epoch in range(epochs):
    train(net, loader)
    score, improved = validate(net), False
    if epoch > warmup and score > best_score:
        best_score, improved = score, True
        best_weights = net.state_dict()
    if improved and epoch > 0:
        torch.save(best_weights, "best.pt")
for epoch in range(epochs):
    train(net, loader)
    if epoch % 5 == 0:
        best_weights = net.state_dict()
    if epoch % 5 == 0:
        torch.save(best_weights, "fifth.pt")

=== example: compared after a training
+ import copy
- before = model.state_dict()
+ before = copy.deepcopy(model.state_dict())
train(model, loader)
for key, value in model.state_dict().items():
    print((value - before[key]).abs().max())

=== example: an entry of what is best so far
import copy

for epoch in range(epochs):
    train(net, loader)
    score = validate(net)
    if score > best["score"]:
        best["score"] = score
-         best["net"] = net.state_dict()
+         best["net"] = copy.deepcopy(net.state_dict())

=== example: beside its score
import copy

for epoch in range(epochs):
    train(net, loader)
    score = validate(net)
    if score > best[0]:
-         best = (score, net.state_dict())
+         best = copy.deepcopy((score, net.state_dict()))

=== example: each trial is to begin with the same weights
import copy

- begin = net.state_dict()
+ begin = copy.deepcopy(net.state_dict())
for rate in rates:
    net.load_state_dict(begin)
    train(net, rate)

=== example: a helper that watches the loss
import copy

class Watch:
    def update(self, loss, net):
        if loss < self.best:
            self.best = loss
-             self.weights = net.state_dict()
+             self.weights = copy.deepcopy(net.state_dict())

=== reject: a helper that writes at once, an entry that is saved, and a pair that is handed on
class Watch:
    def update(self, loss, net):
        if loss < self.best:
            self.best = loss
            self.weights = net.state_dict()
            self.save_weights()

for epoch in range(epochs):
    train(net, loader)
    if score > best["score"]:
        best["net"] = net.state_dict()
        torch.save(best, "best.pt")
    pair = (score, net.state_dict())
    send(pair)

=== reject: read before the training, and of another network
state = model.state_dict()
print(len(state))
train(model, loader)
weights = slow.state_dict()
train(model, loader)
slow.load_state_dict(weights)

=== reject: copies
import copy
import torch

for epoch in range(10):
    net(x).sum().backward()
    optimizer.step()
    if acc > best:
        best_net = copy.deepcopy(net)
        best_state = {k: v.clone() for k, v in net.state_dict().items()}

=== reject: saved at once
for epoch in range(10):
    net(x).sum().backward()
    optimizer.step()
    if acc > best:
        best_state = {"epoch": epoch, "net": net.state_dict()}
        torch.save(best_state, "best.pt")

=== reject: several networks in a list
for net in nets:
    train(net, loader)
    trained.append(net)
for fold in folds:
    net = Net()
    net(x).sum().backward()
    optimizer.step()
    trained.append(net)

=== reject: the best of several trained networks
import torch

for rate in rates:
    net = Net()
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
    if acc > best_acc:
        best_acc, best_net = acc, net
"""
