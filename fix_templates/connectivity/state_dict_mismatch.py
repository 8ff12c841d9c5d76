"""`load_state_dict` is called with something other than the state_dict of the network."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    Replace,
    Source,
    Subject,
    Wrap,
    function_around,
    graph,
    spell,
    training_loop,
)

_KEYS = re.compile(r"(Missing|Unexpected) key\(s\) in state_dict: ((?:\"[^\"]*\"(?:, )?)+)")
_NOT_A_DICTIONARY = re.compile(r"Expected state_dict to be dict-like, got <class '([\w.]+)'>")
_COUNTS = "num_batches_tracked"
_WEIGHTS = frozenset({"model", "state_dict", "model_state_dict", "model_state", "net", "network", "weights"})
"""Usual keys of the weights in torch checkpoints."""
_WRAPPERS = {
    "module": ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel"),
    "_orig_mod": ("torch.compile",),
}
"""The attribute of a wrapper that holds the network, and the wrappers that have it."""

_Repair = tuple[str, tuple[Edit, ...], float]


@dataclass(frozen=True, slots=True)
class _Loading:
    """A call of `load_state_dict`, its network and argument, and the names listed in the message."""

    call: ast.Call
    network: ast.expr
    given: ast.expr
    missing: frozenset[str] = frozenset()
    unexpected: frozenset[str] = frozenset()


class StateDictMismatch(CrashTemplate):
    """`load_state_dict` is called with weights under other names, a whole checkpoint, a network or a path.

    A network saved within `DataParallel` has the prefix `module.` in each name: the wrapped network is saved instead,
    or, if there is only the file, the prefix is removed. A checkpoint that also has the state of the optimizer contains
    the weights under a key. A network has a `state_dict()`, and a path has to be loaded first.

    The names in the message have to match one by one: weights that are really missing are left alone.

    Fix safety: unsafe. The weights were not loaded before.

    References: torch.nn.Module.load_state_dict; "Saving and Loading Models" of the torch tutorials.
    """

    code = "DNF450"
    name = "state-dict-mismatch"
    formerly = ("saved-state-of-other-form",)
    message = "the state_dict does not fit: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"RuntimeError", "TypeError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        found = _loading(subject, crash)
        if found is None:
            return
        other = _NOT_A_DICTIONARY.search(crash.message)
        if other is not None:
            what, repair = _no_dictionary(subject, found, other.group(1))
        elif "Error(s) in loading state_dict" in crash.message and found.missing and found.unexpected:
            what, repair = _other_names(subject, found)
        else:
            return
        if repair is not None:
            yield Fault(subject.source.site(found.call), what, (repair,))

    programs = """
=== example: a network saved within DataParallel
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(3, 2))
- torch.save(net.state_dict(), "net.pt")
+ torch.save(net.module.state_dict(), "net.pt")
again = nn.Linear(3, 2)
again.load_state_dict(torch.load("net.pt"))

=== example: a file of weights with a prefix
import torch
from torch import nn

weights = {"module.weight": torch.ones(2, 3), "module.bias": torch.zeros(2)}
torch.save(weights, "given.pt")
model = nn.Linear(3, 2)
- model.load_state_dict(torch.load("given.pt", map_location="cpu"))
+ state = torch.load("given.pt", map_location="cpu")
+ model.load_state_dict({key.removeprefix("module."): value for key, value in state.items()})

=== example: a whole checkpoint
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(net.parameters())
torch.save({"epoch": 1, "weights": net.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")

checkpoint = torch.load("last.pt")
- net.load_state_dict(checkpoint)
+ net.load_state_dict(checkpoint["weights"])

=== example: a whole network
import torch
from torch import nn

teacher = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
student = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
- student.load_state_dict(teacher)
+ student.load_state_dict(teacher.state_dict())

=== example: the path of a file
import torch

path = "weights.pt"
net = torch.nn.Linear(3, 1)
torch.save(net.state_dict(), path)
- net.load_state_dict(path)
+ net.load_state_dict(torch.load(path))

=== example: plain weights for a wrapped network
import torch
from torch import nn

state = nn.Linear(3, 2).state_dict()
net = nn.DataParallel(nn.Linear(3, 2))
- net.load_state_dict(state)
+ net.module.load_state_dict(state)

=== reject: weights of another network
import torch
from torch import nn

state = nn.Sequential(nn.Linear(3, 2)).state_dict()
nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2)).load_state_dict(state)

=== reject: a checkpoint with the weights of two networks
import torch
from torch import nn

left, right = nn.Linear(3, 2), nn.Linear(3, 2)
torch.save({"left": left.state_dict(), "right": right.state_dict()}, "both.pt")
middle = nn.Linear(3, 2)
middle.load_state_dict(torch.load("both.pt"))

=== reject: the network within the wrapper is saved
import torch
from torch import nn

net = nn.DataParallel(nn.Linear(3, 2))
nn.Linear(3, 2).load_state_dict(net.module.state_dict())
"""


def _loading(subject: Subject, crash: Crash) -> _Loading | None:
    """The call of `load_state_dict` that failed, and the names in the message."""
    node = subject.node(crash.site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "load_state_dict" or not node.args or isinstance(node.args[0], ast.Starred):
        return None
    named = {kind: frozenset(re.findall(r'"([^"]*)"', keys)) for kind, keys in _KEYS.findall(crash.message)}
    none: frozenset[str] = frozenset()
    return _Loading(node, node.func.value, node.args[0], named.get("Missing", none), named.get("Unexpected", none))


def _no_dictionary(subject: Subject, found: _Loading, kind: str) -> tuple[str, _Repair | None]:
    """Load the file at the given path, or pass the `state_dict` of the given network."""
    source = subject.source
    place, code = source.site(found.given), ast.unparse(found.given)
    if kind in ("str", "pathlib.PosixPath", "pathlib.WindowsPath"):
        load = spell(subject, "torch.load")
        read = Wrap(place, f"{load.code}(", ")")
        return f"`{code}` is the path of the weights, and a state_dict is expected", (
            "Read the file",
            (read, *load.imports),
            0.9,
        )
    own = {f"__main__.{owner.name}" for owner in graph.torch_modules(source)}
    if kind.startswith(("torch.nn.", "torchvision.models.")) or kind in own:
        edit = Wrap(place, "", ".state_dict()")
        return f"`{code}` is a network, and its state_dict is expected", (
            "Pass the state_dict of the network",
            (edit,),
            0.9,
        )
    return "", None


def _other_names(subject: Subject, found: _Loading) -> tuple[str, _Repair | None]:
    """Use the weights of the checkpoint or the wrapper, or rename them."""
    prefix = _prefix(found.unexpected, found.missing)
    if prefix is not None:
        what = f"the names of all weights for `{ast.unparse(found.network)}` have the prefix `{prefix}`"
        return what, _unwrapped(subject, prefix.rstrip(".")) or _cut(subject, found, prefix)
    prefix = _prefix(found.missing, found.unexpected)
    if prefix is not None and prefix.rstrip(".") in _WRAPPERS:
        inner = prefix.rstrip(".")
        edit = Wrap(subject.source.site(found.network), "", f".{inner}")
        what = f"`{ast.unparse(found.network)}` wraps the network whose weights these are"
        return what, ("Load them into the wrapped network", (edit,), 0.9)
    key = _weights_key(subject.source, found)
    if key is None or not isinstance(found.given, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return "", None
    edit = Wrap(subject.source.site(found.given), "", f'["{key}"]')
    what = f"`{ast.unparse(found.given)}` is a checkpoint, which has the state_dict under `{key}`"
    return what, ("Pass the weights of the checkpoint", (edit,), 0.9)


def _prefix(longer: frozenset[str], shorter: frozenset[str]) -> str | None:
    """The prefix that turns every shorter name into one of the longer names."""
    # torch lists the batch counters of normalizations only among the unexpected names.
    longer, shorter = (frozenset(name for name in names if not name.endswith(_COUNTS)) for names in (longer, shorter))
    whole = min(longer, default="")
    for name in sorted(shorter):
        prefix = whole[: -len(name)]
        if whole.endswith(f".{name}") and longer == {f"{prefix}{one}" for one in shorter}:
            return prefix
    return None


def _unwrapped(subject: Subject, inner: str) -> _Repair | None:
    """Save the network within the wrapper, where the program asks a network that surely is wrapped for its state."""
    source = subject.source
    asked = []
    for call in source.all_calls:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "state_dict" or call.args:
            continue
        if _wrapped(source, function.value, inner):
            asked.append(function.value)
    if not asked:
        return None
    edits = tuple(Wrap(source.site(network), "", f".{inner}") for network in asked)
    return "Save the weights of the wrapped network", edits, 0.9


def _wrapped(source: Source, network: ast.expr, inner: str) -> bool:
    """Whether the last value bound to a name, unconditionally, is a wrapper."""
    if not isinstance(network, (ast.Name, ast.Attribute)):
        return False
    values = source.bindings(network)
    calls = [value for value in values if isinstance(value, ast.Call)]
    wrapping = [call for call in calls if source.qualified(call.func) in _WRAPPERS.get(inner, ())]
    if not values or len(wrapping) != 1 or wrapping[0] is not values[-1]:
        return False
    statement = source.statement_of(wrapping[0])
    function = function_around(source, statement)
    home = function.body if function is not None else source.tree.body
    return training_loop.block_of(source, statement) is home  # not under a condition, such as the number of devices


def _cut(subject: Subject, found: _Loading, prefix: str) -> _Repair | None:
    """Remove the prefix from the names before the weights are loaded."""
    source = subject.source
    statement = source.statement_of(found.call)
    given, place = subject.text(source.site(found.given)), source.site(found.given)
    if not isinstance(found.given, (ast.Name, ast.Attribute)):
        name = next((one for one in ("state", "saved", "saved_state") if one not in source.words), None)
        if name is None or not isinstance(statement, ast.Expr) or statement.value is not found.call:
            return None
        start = subject.text(source.site(found.call.func))
        if len(found.call.args) + len(found.call.keywords) != 1:
            return None
        code = f"{start}({_without(prefix, name)})"
        return "Remove the prefix from the names", (Replace(source.site(statement), f"{name} = {given}\n{code}"),), 0.9
    return "Remove the prefix from the names", (Replace(place, _without(prefix, given)),), 0.9


def _without(prefix: str, given: str) -> str:
    return f'{{key.removeprefix("{prefix}"): value for key, value in {given}.items()}}'


def _weights_key(source: Source, found: _Loading) -> str | None:
    """The key of the network's weights in a checkpoint: the one it was saved under, else a usual one."""
    network = ast.unparse(found.network)
    for saved in source.nodes(ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in saved.keys]
        if set(keys) != found.unexpected:
            continue
        states = {
            str(key): ast.unparse(value.func.value)
            for key, value in zip(keys, saved.values, strict=True)
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
            if value.func.attr == "state_dict" and not _steps(source, value.func.value)
        }
        same = [key for key, of in states.items() if of == network]
        if len(same) == 1 or len(states) == 1:
            return same[0] if same else next(iter(states))
        return None
    usual = [key for key in found.unexpected if key in _WEIGHTS]
    return usual[0] if len(usual) == 1 else None


def _steps(source: Source, of: ast.expr) -> bool:
    """Whether the state belongs to an optimizer, a learning rate scheduler or a gradient scaler."""
    made = source.constructor(of)
    name = source.qualified(made.func) if made is not None else None
    if name is not None:
        return name.startswith(("torch.optim.", "torch.cuda.amp.", "torch.amp."))
    last = ast.unparse(of).rpartition(".")[2].lower()
    return last.startswith(("opt", "sched", "scaler", "lr_"))
