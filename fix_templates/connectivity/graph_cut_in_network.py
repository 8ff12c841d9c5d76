"""The `forward` of a network, or a function that computes a loss, cuts the graph of what it gives back or gives to its next layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    graph_flow,
    structure,
    within,
    words,
)

NUMBERS = words("item() tolist() float() int()")
CUTS = words("detach data item numpy tensor Tensor FloatTensor Variable from_numpy round sign argmax no_grad")
"""Without one of these words, nothing but a comparison cuts a graph."""
ON_PURPOSE = words("detach() detach_()")


class GraphCutInNetwork(ReadTemplate):
    """What a network or a loss function gives back has no graph, whatever its caller does with it.

    New tensors (`torch.tensor(x)`, `Variable(x.data)`), `.data`, arrays of NumPy, comparisons and roundings give plain numbers: the layers before
    them are not trained. Reported where all that a loss function or `forward` gives back is cut, or where a layer is given
    a copy without a graph of what other layers computed. `detach()` between layers is left alone, for it says what is meant; so are whole numbers, which choose
    rows of an embedding.

    Fix safety: unsafe. The layers before the cut are trained from now on, which is the point.

    References: torch.Tensor.detach; "Autograd mechanics" of the torch manual.
    """

    code = "DNF483"
    name = "graph-cut-in-network"
    message = "{what} has no graph: {how} cuts it, and nothing before is trained"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 5
    default = False
    triggers = (
        "torch",
        "nn",
        "F",
        "forward",
        "loss",
        "training_step",
        "detach",
        "data",
        "item",
        "numpy",
        "tensor",
        "Tensor",
        "FloatTensor",
        "Variable",
        "from_numpy",
        "round",
        "sign",
    )
    declined = "what has no gradient cannot be taken out by one edit"
    confidence = 0.8

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        of_loss = any(graph_flow.is_loss_function(source, each) for each in structure.functions(source))
        if CUTS.isdisjoint(source.words) and not of_loss:
            return
        account = graph_flow.account(source)
        ends = {each.value.cut for each in account.passes if each.value.flow is graph_flow.Flow.CUT}
        for each in (*_results(source, account), *_given(source, account)):
            cut = each[1].value.cut
            if cut is None or cut in ends or not each[1].value.is_sure:
                continue
            said = {"what": each[0], "how": each[1].value.how}
            if isinstance(cut, ast.Attribute):
                edit = Replace(source.site(cut), source.segment(source.site(cut.value)))
                yield Fault.with_repair(source.site(cut), said, "Keep the graph", edit, confidence=self.confidence)
            elif isinstance(cut, ast.Call) and isinstance(cut.func, ast.Attribute) and cut.func.attr == "detach":
                edit = Replace(source.site(cut), source.segment(source.site(cut.func.value)))
                yield Fault.with_repair(source.site(cut), said, "Keep the graph", edit, confidence=self.confidence)
            else:
                yield Fault(source.site(cut), said, ())
        for lost in account.scaled:
            if lost.value.cut is not None:
                said = {"what": f"`{ast.unparse(lost.part)}`, a factor of the loss,", "how": lost.value.how}
                yield Fault(source.site(lost.value.cut), said, ())

    programs = """
=== example: data between two layers
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
-         return self.fc2(x.data)
+         return self.fc2(x)

=== example: a loss of detached outputs
import torch

def my_loss(output, target):
-     output = output.detach()
+     output = output
    return torch.mean((output - target) ** 2)

=== finds: a step that gives back a number
class Regressor(LightningModule):
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        return {"loss": loss.item()}

=== finds: a loss of numbers
def smooth_loss(outputs, targets):
    total = 0
    for output, target in zip(outputs, targets):
        total += abs(output.item() - target)
    return torch.tensor(total, requires_grad=True)

=== finds: a loss of decisions
def overlap_loss(output, target):
    decided = (torch.sigmoid(output) > 0.5).float()
    return 1 - (decided * target).sum() / target.sum()

=== finds: a forward whose class is not seen
def forward(self, x):
    x = self.conv1(x)
    x = torch.tensor(x.detach().cpu().numpy())
    return self.fc(x)

=== finds: the factor of a focal loss
import torch
from torch import nn
from torch.autograd import Variable

class FocusedLoss(nn.Module):
    def forward(self, scores, target):
        log_p = nn.functional.log_softmax(scores, 1).gather(1, target)
        p = Variable(log_p.data.exp())
        return -((1 - p) ** 2 * log_p).mean()

=== reject: a factor that is meant to be a number, and a mask
import torch
from torch import nn

class FocusedLoss(nn.Module):
    def forward(self, scores, target):
        entropy = nn.functional.cross_entropy(scores, target, reduction="none")
        p = torch.exp(-entropy).detach()
        hard = (entropy.data > 0.1).float()
        return ((1 - p) ** 2 * entropy * hard).mean()

=== reject: a step that does the backward pass itself
class Regressor(LightningModule):
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.manual_backward(loss)
        return loss.item()

=== reject: an operation with a gradient of its own
class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient

=== reject: classes choose rows of an embedding
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.out = nn.Linear(8, 10)

    def forward(self, x):
        first = self.out(self.embedding(x))
        chosen = first.argmax(-1).detach()
        return self.out(self.embedding(chosen))

=== reject: a distance as an array, for a search without gradients
import torch

def distance_loss(output, target):
    return ((output - target) ** 2).sum(1).detach().cpu().numpy()

=== reject: a number beside the graph
import torch

def total_loss(output, target):
    loss = ((output - target) ** 2).mean()
    return loss, loss.item()
"""


def _results(source: Source, account: graph_flow.Account) -> Iterator[tuple[str, graph_flow.Pass]]:
    """What loss functions and networks give back that is cut, in every one of their ends."""
    by_function: dict[ast.AST, list[graph_flow.Pass]] = {}
    for each in account.results:
        if each.function is not None:
            by_function.setdefault(each.function, []).append(each)
    for function, ends in by_function.items():
        last = ends[-1]
        if any(each.value.flow is not graph_flow.Flow.CUT for each in ends) or not isinstance(
            function, ast.FunctionDef
        ):
            continue
        if graph_flow.is_loss_function(source, function):
            is_number = last.value.how in NUMBERS | {"numpy()"} and not _makes_tensor(source, last.end)
            if not is_number and last.value.how != "no_grad":
                yield f"what `{function.name}` gives back", last
        elif function.name == "training_step":
            if last.value.how not in NUMBERS or _is_step_of_trainer(source, function):
                yield "what `training_step` gives back", last
        elif function.name == "forward" and _is_network(source, function):
            is_frozen = last.value.how in ON_PURPOSE and "requires_grad" in ast.unparse(
                source.parent(function) or function
            )
            is_class = last.value.how in ("argmax()", "the index of a maximum", "a comparison", "no_grad", "long()")
            if not is_class and not is_frozen:
                yield "what `forward` gives back", last


def _given(source: Source, account: graph_flow.Account) -> Iterator[tuple[str, graph_flow.Pass]]:
    """What layers are given that is cut."""
    for each in account.given:
        function, value = each.function, each.value
        cut = value.cut
        if value.flow is not graph_flow.Flow.CUT or cut is None:
            continue
        own_layer = "self" in {name.id for name in within(source.statement_of(each.end), ast.Name)}
        if function is None and (not own_layer or structure.batch_loops(source)):
            continue
        if (
            function is not None
            and value.how == "torch.tensor()"
            and structure.has(source, function, structure.Kind.BACKWARD)
        ):
            yield f"`{ast.unparse(each.end)}`, which a network is given,", each
            continue
        whole = value.how in (
            "argmax()",
            "the index of a maximum",
            "long()",
            "int()",
            "a comparison",
            "no_grad",
            "argsort()",
            "tolist()",
        )
        is_forward = function is None or (
            isinstance(function, ast.FunctionDef) and function.name == "forward" and _is_network(source, function)
        )
        if not is_forward or whole or value.how in ON_PURPOSE:
            continue
        yield f"`{ast.unparse(each.end)}`, which a layer is given,", each


def _makes_tensor(source: Source, expr: ast.expr) -> bool:
    """Whether an expression makes a tensor of numbers, to be trained as a loss."""
    return any((source.qualified(call.func) or "") in graph_flow.MAKERS for call in within(expr, ast.Call))


def _is_step_of_trainer(source: Source, function: ast.FunctionDef) -> bool:
    """Whether a trainer of Lightning runs the backward pass from what a `training_step` gives back: for it does none itself."""
    owner = source.parent(function)
    bases = " ".join(ast.unparse(base) for base in owner.bases) if isinstance(owner, ast.ClassDef) else ""
    is_lightning = "Lightning" in bases or function.args.args[-1].arg == "batch_idx"
    by_hand = "automatic_optimization" in source.words or structure.has(source, function, structure.Kind.BACKWARD)
    return is_lightning and not by_hand


def _is_network(source: Source, function: ast.FunctionDef) -> bool:
    """Whether a `forward` is that of a network with layers; in a fragment the class need not be seen."""
    owner = source.parent(function)
    if isinstance(owner, ast.ClassDef):
        bases = " ".join(ast.unparse(base) for base in owner.bases)
        return bool(bases) and "Function" not in bases and structure.is_module(source, owner)
    return isinstance(owner, ast.Module) and [each.arg for each in function.args.args][:1] == ["self"]
