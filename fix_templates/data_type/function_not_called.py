"""A method is used where its result is meant: the brackets are missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, FixPattern, Mend, Reject, Subject, Wrap

METHODS = frozenset({"method", "builtin_function_or_method", "function", "method_descriptor"})

_SAID = re.compile(r"'?(?:builtin_function_or_method|method|function)'?(?: object)?\b")


class FunctionNotCalled(CrashTemplate):
    """A method is used where its result is meant: it is subscripted, computed with, iterated over or formatted.

    The message names a method as what does not go there, and the failing expression holds exactly one that is not called.
    One of the program's own functions is taken only where it needs no arguments.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/reference/expressions.html#calls.
    """

    code = "DNF616"
    name = "function-not-called"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError", "AttributeError"})
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if not _SAID.search(crash.message) or crash.site is None:
            return
        source = subject.source
        found = []
        for held in crash.held:
            node = subject.node(held.site)
            if held.kind not in METHODS or not crash.site.encloses(held.site):
                continue
            if isinstance(node, ast.Name):  # it was not called where the variable was assigned
                bound = source.bindings(node)
                node = bound[0] if len(bound) == 1 else None
            if not isinstance(node, ast.Attribute):
                continue
            above = source.parent(node)
            called = isinstance(above, ast.Call) and above.func is node
            if not called and not _takes_arguments(subject, node) and source.qualified(node) is None:
                found.append(node)
        if len(found) == 1:
            code = subject.text(source.site(found[0]))
            edits: tuple[Edit, ...] = (Wrap(source.site(found[0]), "", "()"),)
            yield Mend(
                source.site(found[0]), f"{code} is a method that is not called", ((f"Call {code}", edits, 0.85),)
            )

    examples = (
        Example(
            "a size without its brackets",
            """\
import torch

x = torch.ones(4, 2)
- print(x.size[0])
+ print(x.size()[0])
""",
            runs=True,
        ),
        Example(
            "a tensor that was to be cast before it is filled",
            """\
import torch

- gain = torch.ones(7).long
+ gain = torch.ones(7).long()
gain[2:6] = torch.tensor([3, 2, 3, 2])
print(gain)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a function of the program that needs arguments",
            """\
import torch


class Steps:
    def size(self, x):
        return len(x)


print(Steps().size + 1, torch.ones(1))
steps = Steps()
print(steps.size + 1)
""",
            runs=True,
        ),
        Reject(
            "functions that are handed on",
            """\
import torch

x = torch.ones(2)
print([f() for f in (x.sum, x.mean)], list(map(torch.abs, [x])))
""",
            runs=True,
        ),
    )


def _takes_arguments(subject: Subject, node: ast.Attribute) -> bool:
    """Whether a method of that name that the program defines needs arguments besides `self`."""
    return any(
        function.name == node.attr and len(function.args.args) - len(function.args.defaults) > 1
        for function in subject.source.nodes(ast.FunctionDef)
    )
