"""A layer or model keeps parts before the class that it derives from is set up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Delete, Edit, Example, FixPattern, InsertBefore, Mend, Reject, Subject

_SAID = re.compile(r"before Module\.__init__\(\) call|forgot to call `?super|super\(\)\.__init__|super\(\w+, self\)")
_UNREADY = re.compile(
    r"object has no attribute '_(?:parameters|modules|buffers|forward_hooks|backward_hooks|lock|tracker|auto_lock)"
)


class BaseClassNotSetUp(CrashTemplate):
    """A layer or model keeps parts before the class that it derives from is set up.

    `nn.Module`, and the layers and models of Keras, make in their own `__init__` what holds the parts. It is called first,
    in the way that the other classes of the program call theirs; a call that comes too late is moved to the front.

    Fix safety: unsafe. The class could not be used before.

    References: torch.nn.Module, keras.layers.Layer.
    """

    code = "DNF620"
    name = "base-class-not-set-up"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"AttributeError", "RuntimeError", "TypeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if not _SAID.search(crash.message) and not _UNREADY.search(crash.message):
            return
        source = subject.source
        functions = [
            function
            for function in source.nodes(ast.FunctionDef)
            if function.name == "__init__"
            and any(not frame.site.path and source.site(function).encloses(frame.site) for frame in crash.frames)
            and isinstance(owner := source.parent(function), ast.ClassDef)
            and owner.bases
        ]
        functions = functions or [one for one in _unset(subject) if _is_named(subject, one, crash.message)]
        if len(functions) != 1:
            return
        (function,) = functions
        owner = source.parent(function)
        calls = [call for call in ast.walk(function) if isinstance(call, ast.Call) and _sets_up(call)]
        first = _first(function)
        if first is None or not isinstance(owner, ast.ClassDef):
            return
        edits: tuple[Edit, ...]
        if not calls:
            edits = (InsertBefore(source.site(first), _spelled(subject, function, owner)),)
            title = "Set the base class up first"
        else:
            late = source.statement_of(calls[0])
            if len(calls) != 1 or late is first or late not in function.body:
                return
            code = subject.text(source.site(late))
            edits = (InsertBefore(source.site(first), code), Delete(source.site(late)))
            title = "Set the base class up before its parts"
        what = f"{owner.name} keeps parts before {ast.unparse(owner.bases[0])} is set up"
        yield Mend(source.site(first), what, ((title, edits, 0.9),))

    examples = (
        Example(
            "a base that is set up too late",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
+         super(Net, self).__init__()
        self.size = 2
        self.fc = nn.Linear(self.size, 1)
-         super(Net, self).__init__()

    def forward(self, x):
        return self.fc(x)


print(Net()(torch.ones(1, 2)).shape)
""",
            runs=True,
        ),
        Example(
            "one class of several",
            """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, size):
        super(Block, self).__init__()
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self, size):
        # two blocks in a row
+         super(Net, self).__init__()
        self.first = Block(size)
        self.second = Block(size)

    def forward(self, x):
        return self.second(self.first(x))


print(Net(2)(torch.ones(1, 2)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an attribute that is not there",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, self.size)


print(Net()(torch.ones(1, 2)))
""",
            runs=True,
        ),
        Reject(
            "a class without a base",
            """\
import torch


class Data:
    def __init__(self):
        self.rows = torch.ones(2)
        print(self.columns)


Data()
""",
            runs=True,
        ),
    )


def _sets_up(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _first(function: ast.FunctionDef) -> ast.stmt | None:
    """The first statement behind a docstring."""
    body = function.body
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    return body[0] if body else None


def _unset(subject: Subject) -> Iterator[ast.FunctionDef]:
    """The constructors of classes with a base that never set it up."""
    for function in subject.source.nodes(ast.FunctionDef):
        owner = subject.source.parent(function)
        if function.name != "__init__" or not isinstance(owner, ast.ClassDef) or not owner.bases:
            continue
        if not any(isinstance(call, ast.Call) and _sets_up(call) for call in ast.walk(function)):
            yield function


def _is_named(subject: Subject, function: ast.FunctionDef, message: str) -> bool:
    owner = subject.source.parent(function)
    return isinstance(owner, ast.ClassDef) and re.search(rf"\b{re.escape(owner.name)}\b", message) is not None


def _spelled(subject: Subject, function: ast.FunctionDef, owner: ast.ClassDef) -> str:
    """The call that sets the base up, as the program's other classes write it."""
    old = any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "__init__"
        and isinstance(call.func.value, ast.Call)
        and ast.unparse(call.func.value.func) == "super"
        and call.func.value.args
        for call in subject.source.all_calls
    )
    others = function.args.kwarg
    given = f"**{others.arg}" if others is not None else ""
    return f"super({owner.name}, self).__init__({given})" if old else f"super().__init__({given})"
