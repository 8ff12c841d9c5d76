"""An optimizer is given something else than the parameters that it shall change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Example,
    Family,
    FixPattern,
    Mend,
    Reject,
    Replace,
    Source,
    Subject,
    Wrap,
    argument_value,
    torch_modules,
    within,
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
"""What torch calls the generator that `parameters` gives."""
_Repair = tuple[str, tuple[Edit, ...]]


class OptimizerWithoutParameters(CrashTemplate):
    """An optimizer is given a network, a dictionary, or several sets of parameters that are not put together.

    An optimizer takes what can be gone through for tensors. A network is asked for its `parameters()`; so is one whose
    `state_dict()` was given, whose tensors hand no gradient on. Of a dictionary it would see the names alone. The
    parameters of several networks are unpacked into one list. What `parameters()` gives can be gone through once: where
    that was done before, to count them, nothing is left for the optimizer.

    Fix safety: unsafe. The optimizer could not be made before.

    References: torch.optim.Optimizer; torch.nn.Module.parameters.
    """

    code = "DNF719"
    name = "optimizer-without-parameters"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    kinds = frozenset({"TypeError", "ValueError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if isinstance(node, ast.BinOp) and _ADDED.search(crash.message):
            repair = _joined(subject, node)
            what = "the parameters of several networks are added, which only lists can be"
            place: ast.expr = node
        else:
            given = _given(subject, node)
            if given is None:
                return
            what, place = f"the optimizer is given `{ast.unparse(given)}`, which does not give it parameters", given
            repair = _repair(subject, crash, given)
        if repair is not None:
            yield Mend(subject.source.site(place), what, ((*repair, 0.9),))

    examples = (
        Example(
            "a network of the program's own",
            """\
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
""",
            runs=True,
        ),
        Example(
            "the saved state",
            """\
import torch

model = torch.nn.Linear(3, 2)
- opt = torch.optim.AdamW(model.state_dict(), 0.001)
+ opt = torch.optim.AdamW(model.parameters(), 0.001)
""",
            runs=True,
        ),
        Example(
            "two networks in a list",
            """\
import torch

encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
- parts = [encoder.parameters(), decoder.parameters()]
+ parts = [*encoder.parameters(), *decoder.parameters()]
opt = torch.optim.Adam(parts, lr=0.001)
""",
            runs=True,
        ),
        Example(
            "two networks added",
            """\
import torch

encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
- opt = torch.optim.Adam(encoder.parameters() + decoder.parameters(), lr=0.001)
+ opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.001)
""",
            runs=True,
        ),
        Example(
            "a dictionary of weights",
            """\
import torch

weights = {"w": torch.zeros(3, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
- opt = torch.optim.SGD(weights, lr=0.1)
+ opt = torch.optim.SGD(weights.values(), lr=0.1)
""",
            runs=True,
        ),
        Example(
            "one group of parameters",
            """\
import torch

net = torch.nn.Linear(3, 1)
- opt = torch.optim.SGD({"params": net.parameters(), "weight_decay": 0.01}, lr=0.1)
+ opt = torch.optim.SGD([{"params": net.parameters(), "weight_decay": 0.01}], lr=0.1)
""",
            runs=True,
        ),
        Example(
            "one tensor",
            """\
import torch

image = torch.zeros(1, 3, 8, 8, requires_grad=True)
- opt = torch.optim.Adam(image, lr=0.1)
+ opt = torch.optim.Adam([image], lr=0.1)
""",
            runs=True,
        ),
        Example(
            "parameters that were counted",
            """\
import torch

net = torch.nn.Linear(3, 1)
- params = net.parameters()
+ params = list(net.parameters())
print(sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a network without weights",
            """\
import torch

net = torch.nn.ReLU()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
""",
            runs=True,
        ),
        Reject(
            "groups of parameters",
            """\
import torch

a, b = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
opt = torch.optim.SGD([{"params": a.parameters()}, {"params": b.parameters(), "lr": 0.01}], lr=0.1)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
""",
            runs=True,
        ),
        Reject(
            "other lists are added",
            """\
import torch

rows = [row for row in torch.ones(2, 3)] + (row for row in torch.ones(2, 3))
""",
            runs=True,
        ),
    )


def _given(subject: Subject, node: ast.AST | None) -> ast.expr | None:
    """What the failing call gives an optimizer of torch for its parameters."""
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
        return ("Put the tensor into a list", (Wrap(place, "[", "]"),)) if tensor else None
    if _asks(given, "state_dict") and isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        network = subject.text(source.site(given.func.value))
        return "Ask the network for its parameters", (Replace(place, f"{network}.parameters()"),)
    if one == "str":
        return _of_dictionary(subject, crash, given)
    kind = _kind(subject, crash, given)
    if not_iterable is not None and kind.rpartition(".")[2] != not_iterable:
        return None
    if _is_module(subject, kind):
        return "Ask the network for its parameters", (Wrap(place, "", ".parameters()"),)
    return _unpacked(subject, given, one or "")


def _kind(subject: Subject, crash: Crash, given: ast.expr) -> str:
    """The type of what is given: as the run saw it, else that of the class that is constructed there."""
    told = crash.held_at(subject.source.site(given))
    if told is not None:
        return told.kind
    made = subject.source.constructor(given)
    return (subject.source.qualified(made.func) or ast.unparse(made.func)) if made is not None else ""


def _is_module(subject: Subject, kind: str) -> bool:
    own = {owner.name for owner in torch_modules(subject.source)}
    library = kind.startswith(("torch.nn.", "torchvision.models.")) and kind != "torch.nn.parameter.Parameter"
    return library or kind.removeprefix("__main__.") in own


def _asks(node: ast.expr, *methods: str) -> bool:
    """Whether an expression is a call of such a method without arguments."""
    plain = isinstance(node, ast.Call) and not node.args and not node.keywords
    return plain and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods


def _of_dictionary(subject: Subject, crash: Crash, given: ast.expr) -> _Repair | None:
    """The values of a dictionary, or a list around one that describes a group of parameters."""
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
        return "Put the group of parameters into a list", (Wrap(place, "[", "]"),)
    dictionary = _kind(subject, crash, given) in ("dict", "collections.OrderedDict", "OrderedDict", "builtins.dict")
    if dictionary and isinstance(given, (ast.Name, ast.Attribute, ast.Call)):
        return "Take the values of the dictionary", (Wrap(place, "", ".values()"),)
    return None


def _unpacked(subject: Subject, given: ast.expr, one: str) -> _Repair | None:
    """The parameters of all networks of a list, where it is written."""
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
    """One list of all parameters whose generators were added."""
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
    """What a call of `list` is given."""
    if isinstance(term, ast.Call) and source.qualified(term.func) == "builtins.list" and len(term.args) == 1:
        return term.args[0]
    return term


def _used_up(source: Source, given: ast.expr) -> _Repair | None:
    """A list of the parameters, where they were gone through between their making and the optimizer."""
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
