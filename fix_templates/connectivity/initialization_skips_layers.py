"""An initialization is written in such a way that it reaches none of the layers that it is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    initialization,
    structure,
    trees,
    within,
    words,
)

OF_CLASS = re.compile(r"(?:type\((\w+)\)|(\w+)\.__class__)(?:\.__name__)?")
"""The class of a module, or its name."""
OF_SMALL = re.compile(r"linear|conv([123]d)?|batch_?norm([123]d)?|embedding|lstm|gru")
"""Names of layers, as no class has them."""
REACHES = words("modules parameters named_modules named_parameters children named_children apply")


class InitializationSkipsLayers(ReadTemplate):
    """A loop over `self.modules()` in front of the layers finds none of them, nor does `m == nn.Linear` or a kind that is not there.

    `__init__` runs from top to bottom: what is made after the loop keeps the default initialization. `self.children()` gives a `Sequential`,
    and not the layers in it. A module is an instance of its class, and never equal to it.

    Fix safety: unsafe. Training starts from other weights, which is the point.

    References: torch.nn.Module.modules; torch.nn.Module.children; isinstance.
    """

    code = "DNF477"
    name = "initialization-skips-layers"
    message = "the initialization does not reach the layers: {what}"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    silent = 1
    default = False
    triggers = ("modules", "children", "apply", "parameters", "init_weights", "isinstance", "type", "weight")
    declined = "which layers are meant is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        yield from _too_early(source)
        yield from _not_nested(source)
        yield from _of_no_kind(source)
        yield from _of_whole_network(source)

    programs = """
=== example: before the layers
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
-         for m in self.modules():
-             if isinstance(m, nn.Linear):
-                 nn.init.xavier_uniform_(m.weight)
        self.fc = nn.Linear(8, 2)
+         for m in self.modules():
+             if isinstance(m, nn.Linear):
+                 nn.init.xavier_uniform_(m.weight)

=== example: the children of a class whose layers are in a Sequential
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
-         for m in self.children():
+         for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)

=== example: a module compared with a class
from torch import nn

def init_weights(m):
-     if m == nn.Linear:
+     if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)

net.apply(init_weights)

=== finds: the name of a class in small letters
def start(m):
    kind = m.__class__.__name__
    if kind.find("linear") != -1:
        nn.init.xavier_uniform_(m.weight)

=== example: the class of a module is no instance
from torch import nn

def start(layer):
-     if isinstance(type(layer), (nn.Linear, nn.Conv2d)):
+     if isinstance(layer, (nn.Linear, nn.Conv2d)):
        nn.init.xavier_uniform_(layer.weight)

=== example: one of several classes
from torch import nn

def start(layer):
-     if layer in (nn.Linear, nn.Conv2d):
+     if isinstance(layer, (nn.Linear, nn.Conv2d)):
        nn.init.xavier_uniform_(layer.weight)

=== finds: a number that is to be a size
def start(m):
    if isinstance(m, nn.Linear):
        if m.weight.size(0) == torch.Size([1]):
            nn.init.zeros_(m.weight)

=== example: a function for a layer is given the network
from torch import nn

def start(m):
    if isinstance(m, nn.Linear):
        nn.init.orthogonal_(m.weight)

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
- start(net)
+ net.apply(start)

=== reject: given the layers
from torch import nn

def start(m):
    if isinstance(m, nn.Linear):
        nn.init.orthogonal_(m.weight)

def start_all(net):
    for m in net.modules():
        start(m)

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
start_all(net)
head = nn.Linear(4, 8)
start(head)
start(net[0])

=== example: a name that is compared with a class
from torch import nn

def start(m):
-     if m.__class__.__name__ == nn.Linear:
+     if isinstance(m, nn.Linear):
        nn.init.orthogonal_(m.weight)

=== finds: a class that is compared with its name
def start(m):
    if type(m) == "Linear":
        nn.init.normal_(m.weight, 0, 0.1)

=== finds: the place of a name, as if it were an answer
def start(m):
    if type(m).__name__.find("Linear"):
        nn.init.normal_(m.weight, 0, 0.1)

=== finds: no layer of the kind, by a function of any name
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(20, 10)
        for part in self.children():
            gaussian(part, 0.02)

def gaussian(part, std):
    if isinstance(part, nn.Conv2d):
        part.weight.data.normal_(0, std)

=== reject: kinds that are given as such, names in small letters, and sizes as a whole
def start(m, kind):
    if kind == nn.Linear:
        nn.init.xavier_uniform_(m.weight)
    name = m.__class__.__name__.lower()
    if name.find("linear") != -1 or "conv" in name:
        nn.init.zeros_(m.bias)
    if m.bias.shape == torch.Size([1]) or type(m) in (nn.Linear, nn.Conv2d):
        nn.init.zeros_(m.bias)
    if type(m).__name__.find("Linear") != -1 or "Norm" in type(m).__name__:
        nn.init.ones_(m.weight)

=== reject: after the layers, and by the type
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        for m in self.modules():
            if type(m) == nn.Linear:
                nn.init.xavier_uniform_(m.weight)
        self.relu = nn.ReLU()
        for m in self.children():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight)

=== finds: a function that is given the network before it has layers
def start(net):
    for m in net.modules():
        if isinstance(m, nn.Linear):
            nn.init.orthogonal_(m.weight)

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        start(self)
        self.fc = nn.Linear(20, 10)

=== reject: another kind of layer after it
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight)
        self.fc = nn.Linear(8, 2)
"""


def _too_early(source: Source) -> Iterator[Fault]:
    """Initializations in `__init__` above layers of the kinds that they are for."""
    for init in source.nodes(ast.FunctionDef):
        if init.name != "__init__" or not isinstance(source.parent(init), ast.ClassDef):
            continue
        for place, statement in enumerate(init.body):
            body = _initializes(source, init, statement)
            if body is None:
                continue
            later = [one for one in init.body[place + 1 :] if isinstance(one, ast.Assign)]
            missed = [
                one
                for one in later
                if _is_layer(one)
                and initialization.fitting_kinds(
                    initialization.kinds_asked(source, body), initialization.kinds_made(source, one.value)
                )
            ]
            again = any(_initializes(source, init, one) is not None for one in init.body[place + 1 :])
            if missed and not again:
                last = missed[-1]
                edits: tuple[Edit, ...] = (
                    Delete(source.site(statement)),
                    InsertAfter(source.site(last), _text_of(source, statement)),
                )
                what = f"`{ast.unparse(missed[0].targets[0])}` is made after it"
                yield Fault(
                    source.site(statement), {"what": what}, (("Initialize after the layers are made", edits, 0.8),)
                )


def _text_of(source: Source, statement: ast.stmt) -> str:
    """The code of a statement without the indentation of its block."""
    indent = " " * (source.site(statement).column - 1)
    return source.segment(source.site(statement)).replace(f"\n{indent}", "\n")


def _is_layer(statement: ast.Assign) -> bool:
    target = statement.targets[0]
    return isinstance(target, ast.Attribute) and trees.is_self(target.value)


def _initializes(source: Source, init: ast.FunctionDef, statement: ast.stmt) -> ast.AST | None:
    """What initializes the layers of a class in a statement of its `__init__`: a loop, or a function that does it; `None` otherwise."""
    if isinstance(statement, ast.For) and re.search(
        r"self\.(named_)?(modules|children|parameters)\(", ast.unparse(statement.iter)
    ):
        return statement if initialization.sets_values(source, statement) else None
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    called = ast.unparse(call.func)
    if isinstance(call.func, ast.Name) and [ast.unparse(each) for each in call.args[:1]] == ["self"]:
        called = f"self.{called}"  # a function of the text that is given the network
    name = (
        ast.unparse(call.args[0]).rpartition(".")[2]
        if called == "self.apply" and call.args
        else called.removeprefix("self.")
    )
    defined = [one for one in source.nodes(ast.FunctionDef) if one.name == name]
    if len(defined) != 1 or not called.startswith("self.") or not initialization.sets_values(source, defined[0]):
        return None
    reaches = any(node.attr in REACHES for node in within(defined[0], ast.Attribute))
    return defined[0] if called == "self.apply" or reaches else None


def _not_nested(source: Source) -> Iterator[Fault]:
    """Loops over the children of a class that has the layers which are asked for only within others."""
    for loop in source.nodes(ast.For):
        call = loop.iter
        if not isinstance(call, ast.Call) or ast.unparse(call.func) not in ("self.children", "self.named_children"):
            continue
        owner, asked = source.enclosing(loop, ast.ClassDef), initialization.kinds_asked(source, loop)
        if owner is None or not asked or not initialization.sets_values(source, loop):
            continue
        own: set[str] = set()
        nested: set[str] = set()
        for node in within(owner, ast.Assign):
            if _is_layer(node) and isinstance(node.value, ast.Call):
                kind = (source.qualified(node.value.func) or "").removeprefix("torch.nn.")
                own |= {kind} if initialization.WEIGHTED.search(f"torch.nn.{kind}") else set()
                nested |= (
                    initialization.kinds_made(source, node.value) if kind in ("Sequential", "ModuleList") else set()
                )
        if initialization.fitting_kinds(asked, nested) and not initialization.fitting_kinds(asked, own):
            code = ast.unparse(call.func).replace("children", "modules")
            what = "children() gives the containers, and not the layers in them"
            yield Fault.with_repair(
                source.site(call),
                {"what": what},
                "Go over all modules",
                Replace(source.site(call.func), code),
                prior=0.8,
            )


def _of_no_kind(source: Source) -> Iterator[Fault]:
    """Modules that are compared with a class, and initializations for kinds of layers that the text has none of."""
    for branch in source.nodes(ast.If):
        tests = branch.test.values if isinstance(branch.test, ast.BoolOp) else (branch.test,)
        for test in tests:
            what, code = _never_true(source, test, "\n".join(ast.unparse(one) for one in branch.body))
            if what and any(initialization.sets_values(source, one) for one in branch.body):
                edits = (Replace(source.site(test), code),) if code else None
                yield Fault(source.site(test), {"what": what}, (("Ask with isinstance", edits, 0.8),))
    made = initialization.kinds_made(source, source.tree) - {"Embedding"}
    for function in initialization.initializers(source):
        asked = initialization.kinds_asked(source, function)
        applied = any(
            node.id == function.name and isinstance(node.ctx, ast.Load) for node in source.nodes(ast.Name)
        ) or any(node.attr == function.name for node in source.nodes(ast.Attribute))
        if (
            made
            and asked
            and applied
            and not initialization.fitting_kinds(asked, made | initialization.kinds_made(source, source.tree))
            and not _has_others(source, function)
        ):
            what = f"it asks for {', '.join(sorted(asked))}, and the text has {', '.join(sorted(made))}"
            yield Fault(source.site(function), {"what": what}, ())


def _of_whole_network(source: Source) -> Iterator[Fault]:
    """Functions for a single layer, by the kind that they ask for, that are given the whole network."""
    for function in initialization.initializers(source):
        inside = {node.attr for node in within(function, ast.Attribute)}
        if not inside.isdisjoint(initialization.COMPREHENSIVE | {"apply"}) or not initialization.kinds_asked(
            source, function
        ):
            continue
        for call in structure.callers(source, function):
            given = call.args[0] if call.args else None
            if not isinstance(given, ast.Name):
                continue
            made = source.constructor(given)
            if (
                made is not None
                and structure.is_network(source, given)
                and not initialization.kinds_made(source, made.func)
            ):
                kind = source.qualified(made.func) or ""
                if not kind.startswith("torch.nn.") or kind == "torch.nn.Sequential":
                    what = f"`{ast.unparse(given)}` is the network, and no layer of the kinds that `{function.name}` asks for"
                    edit = Replace(source.site(call), f"{ast.unparse(given)}.apply({function.name})")
                    edits = (edit,) if len(call.args) == 1 and not call.keywords else None
                    yield Fault(source.site(call), {"what": what}, (("Apply it to each module", edits, 0.8),))


def _never_true(source: Source, test: ast.expr, body: str) -> tuple[str, str]:
    """Why no module, or no size, is what a condition of an initialization asks for, and what is meant where that is told."""
    if isinstance(test, ast.Call):
        given = [source.segment(source.site(each)) for each in test.args]
        asked = OF_CLASS.fullmatch(given[0]) if len(given) == 2 else None
        if asked is not None and source.qualified(test.func) == "builtins.isinstance":
            return f"`{given[0]}` is never an instance of a layer", f"isinstance({asked[1] or asked[2]}, {given[1]})"
        if trees.last_name(test.func) == "find" and _is_class_name(
            source, test.func.value if isinstance(test.func, ast.Attribute) else None
        ):
            return (
                "`find` gives 0, which is false, for a name that begins so, and -1, which is true, for one without it",
                "",
            )
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return "", ""
    sign, left, right = test.ops[0], test.left, test.comparators[0]
    part, name = (left, right) if isinstance(sign, ast.In) else (right, left)
    if isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute) and left.func.attr == "find" and left.args:
        part, name = left.args[0], left.func.value
    is_small = isinstance(part, ast.Constant) and isinstance(part.value, str) and OF_SMALL.fullmatch(part.value)
    if isinstance(part, ast.Constant) and is_small and _is_class_name(source, name):
        return f"the names of classes begin with capitals: there is no `{part.value!s}` in them", ""
    whole = OF_CLASS.fullmatch(ast.unparse(left))
    if whole is not None and isinstance(sign, (ast.Eq, ast.Is)):
        is_name = whole[0].endswith("__name__")
        if is_name and initialization.WEIGHTED.search(source.qualified(right) or ""):
            return (
                f"`{whole[0]}` is a text, and never equal to a class",
                f"isinstance({whole[1] or whole[2]}, {ast.unparse(right)})",
            )
        if not is_name and isinstance(right, ast.Constant) and isinstance(right.value, str):
            return f"`{whole[0]}` is a class, and never equal to a text", ""
    kinds = right.elts if isinstance(right, (ast.List, ast.Tuple)) else [right]
    one_of = isinstance(sign, ast.In) and kinds != [right] or isinstance(sign, (ast.Eq, ast.Is))
    are_layers = all(initialization.WEIGHTED.search(source.qualified(each) or "") for each in kinds)
    own = isinstance(left, ast.Name) and re.search(rf"\b{left.id}\.(weight|bias)\b", body)
    if one_of and are_layers and own:
        code = ", ".join(ast.unparse(each) for each in kinds)
        what = f"a module is never equal to `{code}`, but an instance of it"
        return what, f"isinstance({ast.unparse(left)}, {code if kinds == [right] else f'({code})'})"
    size = isinstance(right, ast.Call) and source.qualified(right.func) == "torch.Size"
    if size and isinstance(sign, ast.Eq) and re.search(r"(shape\[-?\d\]|size\(-?\d\))$", ast.unparse(left)):
        return f"`{ast.unparse(left)}` is a number, and never equal to `{ast.unparse(right)}`", ""
    return "", ""


def _is_class_name(source: Source, expr: ast.expr | None) -> bool:
    """Whether an expression is the name of the class of something, as it is written."""
    bound = source.bindings(expr) if isinstance(expr, ast.Name) else ()
    text = ast.unparse(bound[0] if len(bound) == 1 else expr) if expr is not None else ""
    return text.endswith("__name__") and OF_CLASS.fullmatch(text) is not None


def _has_others(source: Source, function: ast.AST) -> bool:
    """Whether a network of this text has parts that are not seen, or the function sets more than what it asks for."""
    if any("models" in (source.qualified(call.func) or ast.unparse(call.func)).split(".") for call in source.all_calls):
        return True
    return bool(re.search(r"hasattr|else:", ast.unparse(function)))
