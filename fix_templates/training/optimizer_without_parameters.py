"""An optimizer of torch is created with something other than the parameters that it should update."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Component,
    Crash,
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Network,
    Parameter,
    ReadTemplate,
    Repair,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    argument_value,
    graph,
    within,
    words,
)

_REFUSED = re.compile(
    r"optimizer can only optimize Tensors, but one of the params is ([\w.]+)"
    r"|params argument given to the optimizer should be an iterable of Tensors or dicts, but got ([\w.]+)"
    r"|'([\w.]+)' object is not iterable"
)
_ADDED = re.compile(
    r"unsupported operand type\(s\) for \+: '(?:generator|list)' and '(?:generator|list)'|can only concatenate list \(not \"generator\"\)"
)
_EMPTY = "optimizer got an empty parameter list"
_GENERATORS = frozenset({"generator", "Module.parameters"})
"""Names that error messages have for the generator that `parameters()` returns."""
_Repair = tuple[str, tuple[Edit, ...]]

LOADED = words(
    "load_state_dict deepcopy pretrained from_pretrained hub requires_grad requires_grad_ eval IMAGENET1K_V1 load"
)
"""Words of programs that may leave a model untrained on purpose."""


class OptimizerWithoutParameters(ReadTemplate):
    """An optimizer is created without parameters it can update, or without those of a model that the loss trains.

    Crashes: a module is passed instead of its `parameters()`; a `state_dict()`, whose tensors carry no gradients; a
    dictionary, which iterates over its keys; several generators added or listed instead of unpacked into one list; or a
    generator that was exhausted before, as by counting the parameters.

    Nothing crashes where the optimizer lacks a model: one that is created later, created twice, or left out keeps its
    initial weights, and so does a layer that is put into the model after the optimizer was created from it. Reported where the loss trains a whole model that no optimizer holds: all models, or, in a program
    that neither loads nor freezes nor copies weights, one of several. A backbone of which only the head is trained is
    left alone.

    Fix safety: unsafe. The optimizer could not be created before, or the model is trained from now on, which is the
    point.

    References: torch.optim ("Constructing it"); torch.optim.Optimizer; torch.nn.Module.parameters.
    """

    code = "DNF719"
    name = "optimizer-without-parameters"
    formerly = ("DNF404", "parameters-not-in-optimizer")
    message = "the optimizer does not get its parameters: {what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    needs_run = True
    confidence = 0.9
    declined = "the model has no name where the optimizer is created"

    def read(self, subject: Subject) -> Iterator[Fault]:
        crash = subject.crash
        if crash is not None and crash.kind in ("TypeError", "ValueError") and crash.site and not crash.site.path:
            yield from _refused(subject, crash)
        if subject.trace is not None and subject.trace.steps and "optim" in subject.source.words:
            yield from _orphans(subject)

    programs = """
=== example: a network of the program's own
from torch import nn, optim


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x)


class Trainer:
    def __init__(self, model):
        self.model = model
-         self.optimizer = optim.Adam(params=self.model, lr=1e-3)
+         self.optimizer = optim.Adam(params=self.model.parameters(), lr=1e-3)


Trainer(Scorer())

=== example: the saved state
import torch

model = torch.nn.Linear(3, 2)
- opt = torch.optim.AdamW(model.state_dict(), 0.001)
+ opt = torch.optim.AdamW(model.parameters(), 0.001)

=== example: two networks in a list
import torch

encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
- parts = [encoder.parameters(), decoder.parameters()]
+ parts = [*encoder.parameters(), *decoder.parameters()]
opt = torch.optim.Adam(parts, lr=0.001)

=== example: two networks added
import torch

encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
- opt = torch.optim.Adam(encoder.parameters() + decoder.parameters(), lr=0.001)
+ opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.001)

=== example: a dictionary of weights
import torch

weights = {"w": torch.zeros(3, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
- opt = torch.optim.SGD(weights, lr=0.1)
+ opt = torch.optim.SGD(weights.values(), lr=0.1)

=== example: one group of parameters
import torch

net = torch.nn.Linear(3, 1)
- opt = torch.optim.SGD({"params": net.parameters(), "weight_decay": 0.01}, lr=0.1)
+ opt = torch.optim.SGD([{"params": net.parameters(), "weight_decay": 0.01}], lr=0.1)

=== example: one tensor
import torch

image = torch.zeros(1, 3, 8, 8, requires_grad=True)
- opt = torch.optim.Adam(image, lr=0.1)
+ opt = torch.optim.Adam([image], lr=0.1)

=== example: parameters that were counted
import torch

net = torch.nn.Linear(3, 1)
- params = net.parameters()
+ params = list(net.parameters())
print(sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)

=== example: the optimizer of another model
import torch
from torch import nn

first = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
second = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
- optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
+ optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.mse_loss(second(torch.randn(16, 4)), torch.randn(16, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== example: an encoder that is forgotten
import torch
import torch.nn as nn
import torch.optim as optim

encoder = nn.GRU(4, 8, batch_first=True)
decoder = nn.Linear(8, 1)
criterion = nn.MSELoss()
- opt = optim.Adam(decoder.parameters(), lr=0.01)
+ opt = optim.Adam(list(decoder.parameters()) + list(encoder.parameters()), lr=0.01)
for _ in range(3):
    code, _state = encoder(torch.randn(16, 5, 4))
    loss = criterion(decoder(code[:, -1]), torch.randn(16, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()

=== example: a model recreated after the optimizer
import torch
from torch import nn

def build():
    return nn.Linear(4, 2)

model = build()
+ model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
- model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
loss_fn = nn.CrossEntropyLoss()
for _ in range(3):
    optimizer.zero_grad()
    loss_fn(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    optimizer.step()

=== example: a new head, in a model that is trained otherwise
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))
- optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net[2] = nn.Linear(16, 3)
+ optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()

=== reject: a head with an optimizer of its own, and one that is not trained
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
net[2] = nn.Linear(16, 3)
other = torch.optim.SGD(net[2].parameters(), lr=0.1)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(3):
    optimizer.zero_grad()
    other.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
    other.step()

=== example: a layer put into the model after the optimizer
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))
- opt = torch.optim.SGD(net.parameters(), lr=0.1)
for weight in net.parameters():
    weight.requires_grad = False
net[2] = nn.Linear(8, 2)
+ opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
for _ in range(3):
    opt.zero_grad()
    loss_fn(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    opt.step()

=== reject: a network without weights
import torch

net = torch.nn.ReLU()
opt = torch.optim.SGD(net.parameters(), lr=0.1)

=== reject: groups of parameters
import torch

a, b = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
opt = torch.optim.SGD([{"params": a.parameters()}, {"params": b.parameters(), "lr": 0.01}], lr=0.1)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)

=== reject: other lists are added
import torch

rows = [row for row in torch.ones(2, 3)] + (row for row in torch.ones(2, 3))

=== reject: only the head is trained
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

net = Net()
optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: an input is optimized, not the network
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
image = torch.zeros(1, 4, requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.1)
for _ in range(3):
    loss = (net(image) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

=== reject: two models with an optimizer each
import torch
from torch import nn

G, D = nn.Linear(2, 4), nn.Linear(4, 1)
first, second = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for _ in range(3):
    first.zero_grad()
    (D(G(torch.randn(8, 2))) ** 2).mean().backward()
    first.step()
    second.zero_grad()
    (D(torch.randn(8, 4)) ** 2).mean().backward()
    second.step()
"""


def _refused(subject: Subject, crash: Crash) -> Iterator[Fault]:
    """The fault behind an error that an optimizer raised about its parameters."""
    node = subject.node(crash.site)
    if isinstance(node, ast.BinOp) and _ADDED.search(crash.message):
        place: ast.expr = node
        what, repair = "the parameters of several networks are added, and generators cannot be", _joined(subject, node)
    elif (given := _params(subject, node)) is not None:
        what, place = f"it expects an iterable of tensors, got `{ast.unparse(given)}`", given
        repair = _repair(subject, crash, given)
    else:
        return
    if repair is not None:
        yield Fault(subject.source.site(place), what, ((*repair, 0.9),), symptom=Symptom.CRASH)


def _orphans(subject: Subject) -> Iterator[Fault]:
    """Models that the loss trains and no optimizer holds."""
    network = subject.network
    optimizers = [c for c in network.components if c.kind == "optimizer" and c.name.startswith("torch.") and c.site]
    trained = [(root, own) for root, own in _roots(network) if any(p.gradient for p in own)]
    if not optimizers or not trained or _moves_data(network):
        return
    orphans = [(root, own) for root, own in trained if all(p.optimized is False for p in own)]
    every = len(orphans) == len(trained)
    if not every and (not LOADED.isdisjoint(subject.source.words) or len(orphans) > 1):
        return
    found: list[tuple[Site, str, Repair]] = []
    for root, own in orphans:
        optimizer = _meant(network, optimizers, every)
        if optimizer is None or optimizer.site is None or root.site is None:
            continue
        call, name = subject.node(optimizer.site), graph.held_by(subject.source, root.site)
        edits = None
        if isinstance(call, ast.Call) and name is not None and _visible(subject, call, name):
            edits = _given(subject, call, name, every) or _after_replacing(subject, call, own)
        title = f"Give the optimizer the parameters of `{ast.unparse(name) if name is not None else root.name}`"
        what = f"{root.name.rpartition('.')[2]} receives gradients, and no optimizer holds its {len(own)} parameters"
        found.append((optimizer.site, what, (title, edits, 0.9)))
    for site, what, _ in found:
        repairs = tuple(repair for other, _, repair in found if other == site)
        yield Fault(site, what, repairs, symptom=Symptom.NOT_LEARNING if every else Symptom.VIOLATION)
    if not orphans:
        yield from _put_in_later(subject, optimizers, trained)


def _put_in_later(
    subject: Subject, optimizers: list[Component], trained: list[tuple[Component, list[Parameter]]]
) -> Iterator[Fault]:
    """Layers that were put into a model after the one optimizer was given all of its parameters, as a new head is."""
    call = subject.node(optimizers[0].site) if len(optimizers) == 1 else None
    given = argument_value(call, "params", 0) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or given is None or "add_param_group" in subject.source.words:
        return
    for root, own in trained:
        name = graph.held_by(subject.source, root.site) if root.site is not None else None
        left = [p for p in own if p.optimized is False and p.gradient]
        if name is None or not left or ast.unparse(given) != f"{ast.unparse(name)}.parameters()":
            continue
        edits = _after_replacing(subject, call, left)
        if edits is not None:
            what = f"{len(left)} of {len(own)} parameters of `{ast.unparse(name)}` were put into it after the optimizer was made"
            repair = "Make the optimizer when the layers are in their place", edits, 0.9
            yield Fault(optimizers[0].site, what, (repair,), symptom=Symptom.VIOLATION)


def _params(subject: Subject, node: ast.AST | None) -> ast.expr | None:
    """The `params` argument of the call that failed, if it creates an optimizer of torch."""
    if not isinstance(node, ast.Call):
        return None
    name = subject.source.qualified(node.func) or ""
    if not name.startswith("torch.optim.") or name.startswith("torch.optim.lr_scheduler"):
        return None
    given = argument_value(node, "params", 0)
    return None if isinstance(given, ast.Starred) else given


def _repair(subject: Subject, crash: Crash, given: ast.expr) -> _Repair | None:
    source = subject.source
    if _EMPTY in crash.message:
        return _used_up(source, given)
    refused = _REFUSED.search(crash.message)
    if refused is None:
        return None
    one, whole, not_iterable = refused.groups()
    place = source.site(given)
    if whole is not None:
        tensor = whole in ("torch.Tensor", "torch.FloatTensor", "torch.nn.parameter.Parameter")
        return ("Wrap the tensor in a list", (Wrap(place, "[", "]"),)) if tensor else None
    if _asks(given, "state_dict") and isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        network = subject.text(source.site(given.func.value))
        return "Pass the parameters of the network", (Replace(place, f"{network}.parameters()"),)
    if one == "str":
        return _of_dictionary(subject, crash, given)
    kind = _kind(subject, crash, given)
    if not_iterable is not None and kind.rpartition(".")[2] != not_iterable:
        return None
    if _is_module(subject, kind):
        return "Pass the parameters of the network", (Wrap(place, "", ".parameters()"),)
    return _unpacked(subject, given, one or "")


def _kind(subject: Subject, crash: Crash, given: ast.expr) -> str:
    """The type of the argument: as the run recorded it, else the class that is called to create it."""
    told = crash.held_at(subject.source.site(given))
    if told is not None:
        return told.kind
    made = subject.source.constructor(given)
    return (subject.source.qualified(made.func) or ast.unparse(made.func)) if made is not None else ""


def _is_module(subject: Subject, kind: str) -> bool:
    own = {owner.name for owner in graph.torch_modules(subject.source)}
    library = kind.startswith(("torch.nn.", "torchvision.models.")) and kind != "torch.nn.parameter.Parameter"
    return library or kind.removeprefix("__main__.") in own


def _asks(node: ast.expr, *methods: str) -> bool:
    """Whether an expression calls one of these methods without arguments."""
    plain = isinstance(node, ast.Call) and not node.args and not node.keywords
    return plain and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods


def _of_dictionary(subject: Subject, crash: Crash, given: ast.expr) -> _Repair | None:
    """The values of a dictionary, or a list around a dictionary that is a parameter group."""
    source = subject.source
    place = source.site(given)
    values = source.bindings(given) if isinstance(given, (ast.Name, ast.Attribute)) else (given,)
    keys = {
        key.value
        for value in values
        if isinstance(value, ast.Dict)
        for key in value.keys
        if isinstance(key, ast.Constant)
    }
    if "params" in keys:
        return "Wrap the parameter group in a list", (Wrap(place, "[", "]"),)
    dictionary = _kind(subject, crash, given) in ("dict", "collections.OrderedDict", "OrderedDict", "builtins.dict")
    if dictionary and isinstance(given, (ast.Name, ast.Attribute, ast.Call)):
        return "Pass the values of the dictionary", (Wrap(place, "", ".values()"),)
    return None


def _unpacked(subject: Subject, given: ast.expr, one: str) -> _Repair | None:
    """One list of the parameters of all networks in a list that is written out."""
    source = subject.source
    values = source.bindings(given) if isinstance(given, (ast.Name, ast.Attribute)) else (given,)
    written = values[0] if len(values) == 1 else None
    if not isinstance(written, (ast.List, ast.Tuple)) or not written.elts:
        return None
    parts: list[str] = []
    for element in written.elts:
        code = subject.text(source.site(element))
        if _asks(element, "parameters") and one in _GENERATORS:
            parts.append(f"*{code}")
        elif _is_module(subject, one) and written is given and isinstance(element, (ast.Name, ast.Attribute)):
            parts.append(f"*{code}.parameters()")
        elif isinstance(element, ast.Starred) and one in _GENERATORS:
            parts.append(code)
        else:
            return None
    if "#" in subject.text(source.site(written)):
        return None  # its comments would be lost
    edit = Replace(source.site(written), f"[{', '.join(parts)}]")
    return "Put the parameters of all networks into one list", (edit,)


def _joined(subject: Subject, node: ast.BinOp) -> _Repair | None:
    """One list of all parameters, where their generators are added."""
    source = subject.source
    outer: ast.expr = node
    while isinstance(above := source.parent(outer), ast.BinOp) and isinstance(above.op, ast.Add):
        outer = above
    terms: list[ast.expr] = []
    waiting = [outer]
    while waiting:
        term = waiting.pop()
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
            waiting += [term.right, term.left]
        else:
            terms.append(term)
    inner = [_in_list(source, term) for term in terms]
    if not all(_asks(term, "parameters") for term in inner):
        return None
    listed = ", ".join(f"*{subject.text(source.site(term))}" for term in inner)
    return "Put the parameters of all networks into one list", (Replace(source.site(outer), f"[{listed}]"),)


def _in_list(source: Source, term: ast.expr) -> ast.expr:
    """The argument of `list(…)`; any other expression itself."""
    if isinstance(term, ast.Call) and source.qualified(term.func) == "builtins.list" and len(term.args) == 1:
        return term.args[0]
    return term


def _used_up(source: Source, given: ast.expr) -> _Repair | None:
    """A list of the parameters, where their generator is iterated over before the optimizer gets it."""
    values = source.bindings(given) if isinstance(given, ast.Name) else ()
    if len(values) != 1 or not isinstance(given, ast.Name):
        return None
    made = values[0]
    once = _asks(made, "parameters") or isinstance(made, ast.GeneratorExp)
    lazy = isinstance(made, ast.Call) and source.qualified(made.func) in ("builtins.filter", "builtins.map")
    between = [
        name
        for name in within(source.tree, ast.Name)
        if name.id == given.id and isinstance(name.ctx, ast.Load) and made.lineno < name.lineno <= given.lineno
        if name is not given
    ]
    if not (once or lazy) or not between:
        return None
    return "Keep the parameters in a list", (Wrap(source.site(made), "list(", ")"),)


def _roots(network: Network) -> Iterator[tuple[Component, list[Parameter]]]:
    """The models that the program calls as a whole, with their trainable parameters."""
    inner = {child for component in network.components for child in component.children}
    for component in network.components:
        if component.id in inner or component.kind not in ("layer", "model") or not component.called:
            continue
        under = _under(network, component)
        own = [p for p in network.parameters if p.component in under and p.trainable]
        if own:
            yield component, own


def _under(network: Network, component: Component) -> set[int]:
    found: set[int] = set()
    waiting = [component.id]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            part = network.component(number)
            waiting.extend(part.children if part is not None else ())
    return found


def _moves_data(network: Network) -> bool:
    """Whether an optimizer updates tensors outside any model, such as an image."""
    return any(p.component is None and p.optimized is not False and p.gradient is not None for p in network.parameters)


def _meant(network: Network, optimizers: list[Component], every: bool) -> Component | None:
    """The optimizer that should hold the model: the only one, or the only one whose parameters receive no gradient."""
    named = {parameter.name: parameter for parameter in network.parameters}
    idle = [
        optimizer
        for optimizer in optimizers
        if all(not (p.gradient if (p := named.get(name)) is not None else None) for name in optimizer.parameters)
    ]
    chosen = idle if every else optimizers
    return chosen[0] if len({optimizer.site for optimizer in chosen}) == 1 else None


def _visible(subject: Subject, call: ast.Call, name: ast.expr) -> bool:
    """Whether the name refers to the same model where the optimizer is created."""
    source = subject.source
    own = source.enclosing(name, ast.FunctionDef)
    other = source.enclosing(call, ast.FunctionDef)
    if isinstance(name, ast.Attribute):
        return source.enclosing(name, ast.ClassDef) is source.enclosing(call, ast.ClassDef)
    return own is None or own is other


def _given(subject: Subject, call: ast.Call, name: ast.expr, replaces: bool) -> tuple[Edit, ...] | None:
    source = subject.source
    given = argument_value(call, "params", 0)
    if given is None or isinstance(given, ast.Starred):
        return None
    wanted = f"{ast.unparse(name)}.parameters()"
    made, holder = source.statement_of(name), source.statement_of(call)
    if made.lineno > holder.lineno and source.enclosing(name, ast.FunctionDef) is source.enclosing(
        call, ast.FunctionDef
    ):
        moved = source.segment(source.site(holder))
        text = source.segment(source.site(given))
        if not replaces or not isinstance(holder, ast.Assign) or source.parent(made) is not source.parent(holder):
            return None
        return (Delete(source.site(holder)), InsertAfter(source.site(made), moved.replace(text, wanted, 1)))
    if replaces:
        return (Replace(source.site(given), wanted),) if ast.unparse(given) != wanted else None
    text = source.segment(source.site(given))
    if isinstance(given, ast.BinOp):
        return (Replace(source.site(given), f"{text} + list({wanted})"),)
    if isinstance(given, ast.List):
        return None
    return (Replace(source.site(given), f"list({text}) + list({wanted})"),)


def _after_replacing(subject: Subject, call: ast.Call, own: list[Parameter]) -> tuple[Edit, ...] | None:
    """The optimizer is created once the layers are in their place that were put into the model after it."""
    source = subject.source
    holder = source.statement_of(call)
    parts = (subject.network.component(parameter.component) for parameter in own if parameter.component is not None)
    sites = {part.site for part in parts if part is not None}
    nodes = [node for site in sites if site is not None and (node := subject.node(site)) is not None]
    made = [source.statement_of(node) for node in nodes]
    if not made or len(nodes) < len(sites) or not isinstance(holder, ast.Assign):
        return None
    last = max(made, key=lambda statement: statement.lineno)
    block = source.parent(holder)
    if any(source.parent(one) is not block or one.lineno < holder.lineno for one in made):
        return None
    names = {node.id for target in holder.targets for node in within(target, ast.Name)}
    between = (n for n in source.nodes(ast.Name) if n.id in names and holder.lineno < n.lineno <= last.lineno)
    if any(source.enclosing(n, ast.FunctionDef) is source.enclosing(holder, ast.FunctionDef) for n in between):
        return None
    return (Delete(source.site(holder)), InsertAfter(source.site(last), source.segment(source.site(holder))))
