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
    trees,
    within,
    words,
)

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
    triggers = ("modules", "children", "apply", "parameters", "init_weights", "isinstance", "type")
    declined = "which layers are meant is not told"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        yield from _too_early(source)
        yield from _not_nested(source)
        yield from _of_no_kind(source)

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
    for compare in source.nodes(ast.Compare):
        right = compare.comparators[0]
        one_sign = len(compare.ops) == 1 and isinstance(compare.ops[0], (ast.Eq, ast.Is))
        branch = source.parent(compare)
        if not one_sign or not isinstance(compare.left, ast.Name) or not isinstance(branch, ast.If):
            continue
        left, kind = compare.left.id, source.segment(source.site(right))
        sets = any(f"{left}.weight" in ast.unparse(one) for one in branch.body)
        if sets and initialization.WEIGHTED.search(source.qualified(right) or ""):
            what = f"a module is never equal to `{kind}`, but an instance of it"
            edit = Replace(source.site(compare), f"isinstance({left}, {kind})")
            yield Fault.with_repair(source.site(compare), {"what": what}, "Ask with isinstance", edit)
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


def _has_others(source: Source, function: ast.AST) -> bool:
    """Whether a network of this text has parts that are not seen, or the function sets more than what it asks for."""
    if any("models" in (source.qualified(call.func) or ast.unparse(call.func)).split(".") for call in source.all_calls):
        return True
    return bool(re.search(r"hasattr|else:", ast.unparse(function)))
