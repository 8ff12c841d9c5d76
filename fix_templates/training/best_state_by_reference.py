"""The best weights of a training are kept as references to the model's tensors, which later steps overwrite."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Subject, keeping_edits, kept_weights


class BestStateByReference(ReadTemplate):
    """`best = model.state_dict()` refers to the model's own tensors: every later step changes `best` as well.

    After the training, `load_state_dict(best)` restores the weights of the last epoch instead of the best ones.

    Reported where a training loop assigns `model.state_dict()` to a name without a copy, and the program loads that
    name into the same model after the loop.

    Fix safety: unsafe. The model gets the best weights instead of the last ones, which is the point.

    References: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html ("Saving & Loading Model for
    Inference", on `best_model_state`).
    """

    code = "DNF715"
    name = "best-state-by-reference"
    message = "`{kept}` refers to the model's own weights: every later training step changes it"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    silent = 4
    triggers = ("state_dict",)
    declined = "the name `copy` is taken"
    confidence = 0.95

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for kept in kept_weights.loaded_after_training(source) if "torch" in source.frameworks else ():
            edits = keeping_edits.copied(source, kept.value)
            yield Fault(source.site(kept.value), {"kept": kept.name}, (("Keep a copy of the weights", edits, 0.95),))

    programs = """
=== example: the best of all epochs
import torch
+ import copy

best_loss = float("inf")
for epoch in range(20):
    train(net)
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
    val_loss = validate(net)
    if val_loss < best_loss:
        best_loss = val_loss
-         best_weights = net.state_dict()
+         best_weights = copy.deepcopy(net.state_dict())
net.load_state_dict(best_weights)

=== example: copied before the first epoch only
import copy
import torch

def fit(model, epochs):
    best_acc, best_wts = 0.0, copy.deepcopy(model.state_dict())
    for epoch in range(epochs):
        loss = step_of(model)
        loss.backward()
        optimizer.step()
        acc = measure(model)
        if acc > best_acc:
            best_acc = acc
-             best_wts = model.state_dict()
+             best_wts = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_wts)
    return model

=== reject: written to a file at once
import torch

for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()
    state = net.state_dict()
    torch.save(state, "last.pt")

=== reject: a target network is brought up to date
import torch

for step in range(100):
    loss(net).backward()
    optimizer.step()
    if step % 10 == 0:
        state = net.state_dict()
        target.load_state_dict(state)

=== reject: cloned
import torch

for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()
    best = {k: v.clone() for k, v in net.state_dict().items()}
net.load_state_dict(best)
"""
