"""The last sample of a batch is used where the last time step is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Source, Subject, trees, within

_RECURRENT = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})


class LastSampleForLastStep(ReadTemplate):
    """`out[-1]` of a recurrent layer with `batch_first=True` is the last sample, where the last time step is meant.

    The outputs have the shape `(batch, steps, features)`: `out[-1]` has all steps of the last sample, and the rest of
    the batch is lost. `out[:, -1]` is the last step of every sample.

    Fix safety: unsafe. The network reads the last step of every sample.

    References: torch.nn.LSTM ("batch_first", "Outputs").
    """

    code = "DNF442"
    name = "last-sample-for-last-step"
    message = "`{code}` is the last sample of the batch, not the last step: `{layer}` has the batch on axis 0"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("batch_first",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for statement in source.nodes(ast.Assign):
            name = _outputs(statement)
            layer = _batch_first(source, statement.value)
            if name is None or layer is None or _is_one_sequence(subject):
                continue
            scope = source.enclosing(statement, ast.FunctionDef) or source.tree
            named = [node for node in within(scope, ast.Name) if node.id == name and node.lineno > statement.lineno]
            for node in named:
                if not isinstance(node.ctx, ast.Load):
                    break
                above = source.parent(node)
                if isinstance(above, ast.Subscript) and above.value is node and _is_last(above.slice):
                    text, site = f"{ast.unparse(above.value)}[:, -1]", source.site(above)
                    words = {"code": ast.unparse(above), "layer": layer}
                    title = f"Take the last step of every sample: {text}"
                    yield Fault.with_repair(site, words, title, Replace(site, text), prior=0.85, confidence=0.9)

    programs = """
=== example: all axes written
import torch

gru = torch.nn.GRU(input_size=2, hidden_size=4, num_layers=2, batch_first=True)

def encode(batch):
    states, (last) = gru(batch)
-     code = states[-1, :, :]
+     code = states[:, -1]
    return torch.tanh(code)

=== example: the first of the pair
import torch.nn as nn

class Reader(nn.Module):
    def __init__(self, size):
        super(Reader, self).__init__()
        self.rnn = nn.RNN(size, size, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(size, 1)

    def forward(self, steps, hidden=None):
        seq = self.rnn(steps, hidden)[0]
-         return self.head(seq[-1])
+         return self.head(seq[:, -1])

=== reject: the last state, and outputs with the steps first
import torch
from torch import nn

lstm = nn.LSTM(3, 8, batch_first=True)
out, (h, c) = lstm(torch.zeros(4, 5, 3))
last = h[-1]
steps, _ = nn.GRU(3, 8)(torch.zeros(5, 4, 3))
end = steps[-1]

=== reject: outputs that are turned before
import torch
from torch import nn

lstm = nn.LSTM(3, 8, batch_first=True)
out, _ = lstm(torch.zeros(4, 5, 3))
out = out.transpose(0, 1)
end = out[-1]
"""


def _is_one_sequence(subject: Subject) -> bool:
    """Whether a run showed a recurrent layer called with one sequence without a batch axis."""
    calls = [call for call in subject.network.calls if call.name in _RECURRENT] if subject.ran else []
    return any(len(value.shape) == 2 for call in calls for value in call.inputs[:1] if value.shape is not None)


def _outputs(statement: ast.Assign) -> str | None:
    """The name of the outputs of all steps: the first in a tuple unpacking, or the target of `[0]`."""
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id if isinstance(statement.value, ast.Call) else None
    return target.id if isinstance(target, ast.Name) and isinstance(statement.value, ast.Subscript) else None


def _batch_first(source: Source, value: ast.expr) -> str | None:
    """The recurrent layer that a value comes from, if it was created with `batch_first=True`."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and value.slice.value == 0:
        value = value.value
    if not isinstance(value, ast.Call):
        return None
    made = source.constructor(value.func)
    if made is None or source.qualified(made.func) not in _RECURRENT:
        return None
    told = [k.value for k in made.keywords if k.arg == "batch_first"]
    if not told or not trees.is_true(told[0]):
        return None
    return ast.unparse(value.func)


def _is_last(index: ast.expr) -> bool:
    """Whether an index is -1 on the first axis and a full slice on the others."""
    if isinstance(index, ast.Tuple) and len(index.elts) == 3:
        rest = [isinstance(each, ast.Slice) and each.lower is each.upper is None for each in index.elts[1:]]
        return all(rest) and _is_last(index.elts[0])
    return isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and ast.unparse(index) == "-1"
