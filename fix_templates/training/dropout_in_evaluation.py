"""`F.dropout` is called without `training`: it drops values in evaluation mode too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    SetArgument,
    Source,
    Subject,
    function_around,
    graph,
    training_loop,
    within,
    words,
)

SPREAD = words("var std stack simcse augment views")
"""Words of programs that may call a model repeatedly on purpose: for a spread, or two views of a sample."""
ROWS = words("sample samples n_samples num_samples")
"""Words that also name the rows of any data."""
_IN_NAMES = re.compile(r"bayes|(?:^|_)mc(?:_|$)|mcdrop|epistemic|stochastic|ensemble", re.IGNORECASE)
_ASKS = frozenset({"training", "train", "eval"})

DROPOUT = tuple(f"torch.nn.functional.dropout{axes}" for axes in ("", "1d", "2d", "3d"))
"""Functions whose third parameter, `training`, defaults to true."""


class DropoutInEvaluation(ReadTemplate):
    """`F.dropout(x, 0.5)` drops values after `model.eval()`, too: the function does not know the model's mode.

    The layer `nn.Dropout` does nothing in evaluation mode. The function has to be called with `training=self.training`,
    since `training` defaults to true; without it, each evaluation of the same sample returns something else.

    Reported in the `forward` of modules that the program puts in evaluation mode and whose class never reads the mode.
    Programs that may want the randomness, to draw samples or to estimate uncertainty, are left alone.

    Fix safety: unsafe. Results of evaluation change; training is the same.

    References: torch.nn.functional.dropout ("training: apply dropout if is True. Default: True").
    """

    code = "DNF714"
    name = "dropout-in-evaluation"
    silent = 2
    message = "{call} is called without training=self.training: it drops values in evaluation mode, too"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    triggers = ("dropout", "dropout1d", "dropout2d", "dropout3d")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if not (training_loop.SAMPLING - ROWS | SPREAD).isdisjoint(source.words) or any(
            map(_IN_NAMES.search, source.words)
        ):
            return
        for owner in graph.torch_modules(source):
            forward = graph.method(owner, "forward")
            if forward is None or not _ASKS.isdisjoint(_names(owner)) or not _evaluated(source, owner):
                continue
            calls = [call for call in source.calls(*DROPOUT) if _is_within(source, call, forward) and not _told(call)]
            if calls:
                words = {"call": ast.unparse(calls[0].func)}
                edits = [SetArgument(source.site(call), "training", "self.training") for call in calls]
                yield Fault.with_repair(
                    source.site(calls[0]),
                    words,
                    "Drop values in training mode only",
                    *edits,
                    prior=0.95,
                    confidence=0.9,
                )

    programs = '''
=== example: twice, within other calls
import torch
from torch import nn

class Convolutions(nn.Module):
    def forward(self, x):
-         x = nn.functional.relu(nn.functional.dropout2d(self.conv1(x), p=0.2))
-         return self.out(nn.functional.dropout(x.flatten(1)))
+         x = nn.functional.relu(nn.functional.dropout2d(self.conv1(x), p=0.2, training=self.training))
+         return self.out(nn.functional.dropout(x.flatten(1), training=self.training))

def accuracy(model, loader):
    model.eval()
    return [model(x).argmax(1) for x, _ in loader]

=== example: a module of a module, and train(False)
from torch.nn import Module
from torch.nn.functional import dropout

class Base(Module):
    pass

class Attention(Base):
    def forward(self, scores):
-         return dropout(scores.softmax(-1), self.rate)
+         return dropout(scores.softmax(-1), self.rate, training=self.training)

class Reader(Base):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

model = Reader()
model.train(False)

=== reject: training is passed, in every way
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def forward(self, x, options):
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.dropout(x, **options)
        return F.alpha_dropout(x, 0.5)

Net().eval()

=== reject: no evaluation mode
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)

net = Net()
net.train()

=== reject: the method asks for the mode itself
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def forward(self, x):
        if self.training and self.rate > 0:
            x = F.dropout(x, p=self.rate)
        return x

Block().eval()

=== reject: another model is put in evaluation mode, and two views of each sample
import torch
import torch.nn as nn
import torch.nn.functional as F

class Encoder(nn.Module):
    def forward(self, x):
        return self.out(F.dropout(x, 0.1))

class Backbone(nn.Module):
    def forward(self, x):
        return self.body(x)

backbone, encoder = Backbone(), Encoder()
backbone.eval()
loss = contrast(encoder(backbone(x)), encoder(backbone(x)))

=== reject: dropout at every time, on purpose
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    """Bayesian by dropout."""

    def forward(self, x):
        return self.out(F.dropout(x, 0.5))

net = Net()
net.eval()
predictions = torch.stack([net(x) for _ in range(30)])
print(predictions.mean(0), predictions.var(0))

=== reject: outside of a module, and dropout for the spread of predictions
import torch
import torch.nn as nn
import torch.nn.functional as F

def corrupted(x):
    return F.dropout(x, 0.3)

class Bayesian(nn.Module):
    def forward(self, x):
        return self.out(F.dropout(x, 0.2))

model.eval()
uncertainty = torch.stack([model(x) for _ in range(20)]).std(0)
'''


def _is_within(source: Source, call: ast.Call, forward: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return function_around(source, call) is forward and [each.arg for each in forward.args.args[:1]] == ["self"]


def _names(owner: ast.ClassDef) -> set[str]:
    """The attributes that a class reads, and its methods."""
    methods = {each.name for each in within(owner, ast.FunctionDef)}
    return methods | {each.attr for each in within(owner, ast.Attribute)}


def _told(call: ast.Call) -> bool:
    """Whether the call passes, or may pass, `training`."""
    named = {keyword.arg for keyword in call.keywords}
    return len(call.args) > 2 or any(isinstance(a, ast.Starred) for a in call.args) or bool(named & {"training", None})


def _evaluated(source: Source, owner: ast.ClassDef) -> bool:
    """Whether the program puts an instance of the class, or a model that is a parameter, in evaluation mode."""
    off = [call for call in training_loop.method_calls(source, "eval") if not call.args]
    for call in training_loop.method_calls(source, "train"):
        off += [call for mode in call.args[:1] if isinstance(mode, ast.Constant) and mode.value is False]
    return any(_may_be(source, call.func.value, owner) for call in off if isinstance(call.func, ast.Attribute))


def _may_be(source: Source, model: ast.expr, owner: ast.ClassDef) -> bool:
    made = source.constructor(model)
    if made is not None:
        definition = source.definition(made.func)
        return definition is owner or (isinstance(definition, ast.ClassDef) and _holds(source, definition, owner))
    function = function_around(source, model)
    given = {each.arg for each in function.args.args} - {"self"} if function is not None else set()
    return isinstance(model, ast.Name) and model.id in given


def _holds(source: Source, outer: ast.ClassDef, owner: ast.ClassDef) -> bool:
    return any(source.definition(call.func) is owner for call in within(outer, ast.Call))
