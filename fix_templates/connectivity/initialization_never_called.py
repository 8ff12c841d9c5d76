"""A function that initializes the weights is written, and nothing calls or applies it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    initialization,
    structure,
    within,
)

OF_MODULES = (["m"], ["module"], ["layer"], ["mod"])
"""The parameters of methods that are applied to each module."""


class InitializationNeverCalled(ReadTemplate):
    """`init_weights` is defined, and neither called nor applied in the text: the network keeps the default initialization.

    Reported for a method of a plain `nn.Module` whose `__init__` is there and does not call it, and for a function in a text that also
    makes a network, or in a fragment that has its class. Methods that take arguments, and those that a framework calls, are left alone; where the text has
    no more than the class, somebody else may call the method, so this is a risk.

    Fix safety: unsafe. Training starts from other weights, which is the point.

    References: torch.nn.Module.apply; torch.nn.init.
    """

    code = "DNF474"
    name = "initialization-never-called"
    message = "`{function}` is never called: the weights keep their default initialization"
    confidence = 0.8
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 1
    default = False
    triggers = ("init", "data", "weight", "fill_", "normal_", "uniform_", "xavier_uniform_", "kaiming_normal_", "copy_")
    declined = "where the network is made is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if (source.frameworks and "torch" not in source.frameworks) or "load_state_dict" in source.words:
            return
        for function in initialization.initializers(source):
            if _is_mentioned(source, function.name) or function.name in initialization.LOADED_LATER:
                continue
            owner = source.parent(function)
            if isinstance(owner, ast.ClassDef):
                init = next((s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
                takes = [each.arg for each in function.args.args[1:]]
                if init is None or not _is_plain(source, owner) or (takes and takes not in OF_MODULES):
                    continue
                is_own = function.name == "reset_parameters" or _is_made(source, owner.name)
                if not is_own and not structure.is_fragment(source):
                    continue  # another module may call it
                code = f"self.apply(self.{function.name})" if takes else f"self.{function.name}()"
                edits: tuple[Edit, ...] | None = (InsertAfter(source.site(init.body[-1]), code),)
                repair = f"Call it at the end of __init__: {code}", edits, 0.8
            elif isinstance(owner, ast.Module) and len(function.args.args) == 1:
                made = _network(source)
                asked, layers = (
                    initialization.kinds_asked(source, function),
                    initialization.kinds_made(source, source.tree),
                )
                if made is None or (layers and not initialization.fitting_kinds(asked, layers)):
                    continue
                if any(_is_mentioned(source, each.name) for each in initialization.initializers(source)):
                    continue  # the text has chosen another one
                statement, network = made
                inside = {node.attr for node in within(function, ast.Attribute)}
                takes_all = not inside.isdisjoint(initialization.COMPREHENSIVE)
                code = f"{function.name}({network})" if takes_all else f"{network}.apply({function.name})"
                edits = (InsertAfter(source.site(statement), code),) if network else None
                repair = f"Apply it to the network: {code}", edits, 0.8
            elif isinstance(owner, ast.FunctionDef):
                repair = "Apply it to the network", None, 0.8
            else:
                continue
            yield Fault(source.site(function), {"function": function.name}, (repair,))

    programs = """
=== example: a method
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
+         self.init_weights()

    def init_weights(self):
        nn.init.xavier_uniform_(self.fc.weight)

    def forward(self, x):
        return self.fc(x)

net = Net()

=== example: a method for each module, in a fragment
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
+         self.apply(self.weights_init)

    def weights_init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)

    def forward(self, x):
        return self.fc(x)

=== example: a function
from torch import nn

def weights_init(m):
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight)

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
+ net.apply(weights_init)
optimizer.zero_grad()
net(x).sum().backward()

=== example: a fragment that trains a network whose class is not seen
def initialize_weights(model):
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)

net = Seq2SeqModel(vocabulary)
+ initialize_weights(net)
optimizer = optim.Adam(net.parameters())
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()

=== finds: a function within __init__
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

        def start(m):
            if isinstance(m, nn.Linear):
                nn.init.orthogonal_(m.weight)

    def forward(self, x):
        return self.fc(x)

=== reject: a fragment whose training is not seen
def initialize_weights(model):
    for p in model.parameters():
        nn.init.normal_(p)

net = Seq2SeqModel(vocabulary)

=== reject: called, applied, and called by a framework
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.fc.weight)

class Other(PreTrained):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def init_weights(self):
        nn.init.xavier_uniform_(self.fc.weight)

def weights_init(m):
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight)

Net().apply(weights_init)

=== reject: a module, of which another one makes the network
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def init_weights(self):
        nn.init.xavier_uniform_(self.fc.weight)

def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight)

=== reject: a fragment in which no layer is of the kind that is asked for
def init_layer(m):
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight)

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

=== reject: another one was chosen
def start_normal(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0, 0.02)

def start_uniform(m):
    if isinstance(m, nn.Linear):
        nn.init.uniform_(m.weight, -0.1, 0.1)

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.apply(start_uniform)

    def forward(self, x):
        return self.fc(x)

=== reject: a file of functions
from torch import nn

def weights_init(m):
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight)
"""


def _is_mentioned(source: Source, name: str) -> bool:
    """Whether a function is named anywhere but where it is defined."""
    plain = any(node.id == name for node in source.nodes(ast.Name))
    method = any(
        node.attr == name and not isinstance(source.parent(node), ast.Expr) for node in source.nodes(ast.Attribute)
    )
    return plain or method or any(node.value == name for node in source.nodes(ast.Constant))


def _is_plain(source: Source, owner: ast.ClassDef) -> bool:
    """Whether a class derives from `nn.Module` alone."""
    names = [source.qualified(base) or ast.unparse(base) for base in owner.bases]
    return names in (["torch.nn.Module"], ["Module"])


def _network(source: Source) -> tuple[ast.stmt, str] | None:
    """The statement that makes a network of the text, and the name of it; no name where only its class is there."""
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        call = node.value
        while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda"):
            call = call.func.value
        if isinstance(target, ast.Name) and isinstance(call, ast.Call):
            name = source.qualified(call.func) or ""
            if structure.is_network_class(source, call.func) or name == "torch.nn.Sequential":
                return node, target.id
            if structure.is_fragment(source) and structure.is_network(source, target) and _is_trained(source, target):
                return node, target.id
    if not structure.is_fragment(source):
        return None  # another module may call what is in it
    return (source.tree.body[-1], "") if any(_has_forward(node) for node in source.nodes(ast.ClassDef)) else None


def _is_trained(source: Source, network: ast.Name) -> bool:
    """Whether the text asks a network and updates something below the place where it is made."""
    asked = any(ast.unparse(call.func) == network.id for call in source.all_calls if call.lineno > network.lineno)
    return asked and any(each.node.lineno > network.lineno for each in structure.of_kind(source, structure.Kind.UPDATE))


def _is_made(source: Source, name: str) -> bool:
    """Whether the text makes an object of a class."""
    return any(ast.unparse(call.func).rpartition(".")[2] == name for call in source.all_calls)


def _has_forward(owner: ast.ClassDef) -> bool:
    """Whether a class is a network, by its method."""
    return any(isinstance(one, ast.FunctionDef) and one.name == "forward" for one in owner.body)
