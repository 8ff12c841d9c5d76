"""A function of dropout is not told whether the model is in training: it drops in evaluation too."""

from __future__ import annotations

import ast

from dnnfix.api import (
    SAMPLING,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    SetArgument,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    function_around,
    mentions,
    torch_modules,
)

DROPOUT = tuple(f"torch.nn.functional.dropout{axes}" for axes in ("", "1d", "2d", "3d"))
"""Functions whose `training` is true where nothing is said; it is the third argument."""


class DropoutInEvaluation(FaultTemplate[tuple[ast.Call, ...]]):
    """`F.dropout(x, 0.5)` in a model drops values after `model.eval()` as well: a function does not know of the mode.

    The layer `nn.Dropout` rests in evaluation; the function has to be told, by `training=self.training`, and takes
    `training` for true otherwise. What the model then says of a sample is another thing each time. Reported in the
    methods of modules, where the program puts a model in evaluation mode; programs that may want the chance, for samples
    or for uncertainty, are left alone.

    Fix safety: unsafe. What is measured changes; training is the same.

    References: torch.nn.functional.dropout ("training: apply dropout if is True. Default: True").
    """

    code = "DNF714"
    name = "dropout-in-evaluation"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{function} is not told of `eval()`: it drops values in evaluation too"
    triggers = ("dropout", "dropout1d", "dropout2d", "dropout3d")
    declined = "the call does not name what it takes"

    def faults(self, subject: Subject) -> Faults[tuple[ast.Call, ...]]:
        source = subject.source
        if not SAMPLING.isdisjoint(source.words) or not _evaluates(source.tree):
            return
        calls = tuple(call for call in source.calls(*DROPOUT) if not _told(call) and _in_module(source, call))
        if calls:
            yield source.site(calls[0]), calls

    def report(self, site: Site, fault: tuple[ast.Call, ...]) -> Finding:
        function = ast.unparse(fault[0].func)
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, function=function)

    def repairs(self, subject: Subject, fault: tuple[ast.Call, ...]) -> Repairs:
        edits = tuple(SetArgument(subject.source.site(call), "training", "self.training") for call in fault)
        yield "Drop values in training only", edits, 0.95

    examples = (
        Example(
            "behind a layer",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.5)
        return self.fc2(x)

net = Net()
net.eval()
""",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.5, training=self.training)
        return self.fc2(x)

net = Net()
net.eval()
""",
        ),
        Example(
            "twice, within other calls",
            """\
import torch
from torch import nn

class Convolutions(nn.Module):
    def forward(self, x):
        x = nn.functional.relu(nn.functional.dropout2d(self.conv1(x), p=0.2))
        return self.out(nn.functional.dropout(x.flatten(1)))

def accuracy(model, loader):
    model.eval()
    return [model(x).argmax(1) for x, _ in loader]
""",
            """\
import torch
from torch import nn

class Convolutions(nn.Module):
    def forward(self, x):
        x = nn.functional.relu(nn.functional.dropout2d(self.conv1(x), p=0.2, training=self.training))
        return self.out(nn.functional.dropout(x.flatten(1), training=self.training))

def accuracy(model, loader):
    model.eval()
    return [model(x).argmax(1) for x, _ in loader]
""",
        ),
        Example(
            "a module of a module, and train(False)",
            """\
from torch.nn import Module
from torch.nn.functional import dropout

class Base(Module):
    pass

class Attention(Base):
    def attend(self, scores):
        return dropout(scores.softmax(-1), self.rate)

model = Attention()
model.train(False)
""",
            """\
from torch.nn import Module
from torch.nn.functional import dropout

class Base(Module):
    pass

class Attention(Base):
    def attend(self, scores):
        return dropout(scores.softmax(-1), self.rate, training=self.training)

model = Attention()
model.train(False)
""",
        ),
    )
    rejects = (
        Reject(
            "told, in every way",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def forward(self, x, options):
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.dropout(x, **options)
        return F.alpha_dropout(x, 0.5)

Net().eval()
""",
        ),
        Reject(
            "no evaluation mode",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.5)

net = Net()
net.train()
""",
        ),
        Reject(
            "the method asks for the mode itself",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def forward(self, x):
        if self.training and self.rate > 0:
            x = F.dropout(x, p=self.rate)
        return x

Block().eval()
""",
        ),
        Reject(
            "outside of a module, and dropout for the spread of predictions",
            """\
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
""",
        ),
    )


def _in_module(source: Source, call: ast.Call) -> bool:
    """Whether the call stands in a method of a module that could ask for its mode, `self.training`, and does not."""
    method = function_around(source, call)
    if method is None or [argument.arg for argument in method.args.args[:1]] != ["self"]:
        return False
    return source.parent(method) in torch_modules(source) and not mentions(method, "self.training")


def _told(call: ast.Call) -> bool:
    """Whether the call says, or may say, whether it is training."""
    named = {keyword.arg for keyword in call.keywords}
    return len(call.args) > 2 or any(isinstance(a, ast.Starred) for a in call.args) or bool(named & {"training", None})


def _evaluates(tree: ast.Module) -> bool:
    """Whether a model is put in evaluation mode."""
    if any(not call.args for call in attribute_calls(tree, "eval")):
        return True
    off = (call.args[:1] for call in attribute_calls(tree, "train"))
    return any(isinstance(mode, ast.Constant) and mode.value is False for given in off for mode in given)
