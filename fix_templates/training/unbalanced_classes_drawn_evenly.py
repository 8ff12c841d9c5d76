"""Classes are unbalanced by what the text itself says, and neither a sampler nor the loss makes up for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, Nature, ReadTemplate, SetArgument, Source, Subject, loader_uses, words

UNBALANCED = re.compile(
    r"(un|im)_?-?balanced?\b|class_?imbalance|imbalance|skewed (data|class)|(minority|majority|rare) class",
    re.IGNORECASE,
)
OF_WEIGHTS = re.compile(
    r"(class|cls|label|pos|balanc\w*|sample)s?_?weights?$|^weights?_(per_)?(class|label|sample)\w*$", re.IGNORECASE
)
MADE_UP_FOR = words(
    """weight pos_weight class_weight class_weights weights WeightedRandomSampler ImbalancedDatasetSampler FocalLoss focal_loss focal SMOTE alpha
    RandomOverSampler RandomUnderSampler oversample undersample resample compute_class_weight BalancedBatchSampler sampler batch_sampler balanced"""
)
LOSSES = {
    "torch.nn.CrossEntropyLoss": "weight",
    "torch.nn.NLLLoss": "weight",
    "torch.nn.BCEWithLogitsLoss": "pos_weight",
}


class UnbalancedClassesDrawnEvenly(ReadTemplate):
    """A network that sees one class far more often than the others does well by always naming it.

    Reported where weights of classes are computed and nothing reads them, beside a loss that takes weights; and where a text speaks of unbalanced classes, shuffles
    its training data, and has nothing that makes up for the balance: no sampler, no weights, no focal loss.

    Fix safety: unsafe. The loss weighs its classes from now on.

    References: torch.utils.data.WeightedRandomSampler; torch.nn.CrossEntropyLoss ("weight").
    """

    code = "DNF766"
    name = "unbalanced-classes-drawn-evenly"
    family = Family.TRAINING
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 6
    default = False
    triggers = ("DataLoader", "CrossEntropyLoss", "NLLLoss", "BCEWithLogitsLoss")
    declined = "the balance that is meant is not known"
    confidence = 0.7

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        yield from _unread(source)
        if UNBALANCED.search(source.text) and MADE_UP_FOR.isdisjoint(source.words):
            for use in loader_uses.uses(source):
                if use.trains and use.says("shuffle", True):
                    what = f"`{use.name}` draws unbalanced classes as they come, and nothing makes up for it"
                    yield Fault(source.site(use.call), what, ())

    programs = """
=== example: weights that nothing reads
import torch
from torch import nn

counts = torch.bincount(labels)
class_weights = 1.0 / counts.float()
- criterion = nn.CrossEntropyLoss()
+ criterion = nn.CrossEntropyLoss(weight=class_weights)

=== reject: weights that are read
import torch
from torch import nn

class_weights = 1.0 / torch.bincount(labels).float()
criterion = nn.CrossEntropyLoss(weight=class_weights)

=== reject: nothing said
import torch
from torch.utils.data import DataLoader

train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
criterion = torch.nn.CrossEntropyLoss()
"""


def _unread(source: Source) -> Iterator[Fault]:
    """Weights of classes that are computed and that nothing reads, beside losses that have none."""
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not OF_WEIGHTS.search(target.id):
            continue
        if any(name.id == target.id and isinstance(name.ctx, ast.Load) for name in source.nodes(ast.Name)):
            continue
        for call in source.calls(*LOSSES):
            option = LOSSES[source.qualified(call.func) or ""]
            if call.args or any(keyword.arg in ("weight", "pos_weight", None) for keyword in call.keywords):
                continue
            what = f"`{target.id}` goes to no loss and no sampler: it changes nothing"
            edit = SetArgument(source.site(call), option, target.id)
            yield Fault.with_repair(source.site(node), what, "Give it to the loss", edit, prior=0.7)
            break
