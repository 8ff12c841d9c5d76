"""A method does not take the object that it is called on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, FixPattern, Mend, Reject, ReplaceLines, Site, Subject

_SAID = re.compile(r"(\w+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given")


class MethodWithoutSelf(CrashTemplate):
    """A method does not take the object that it is called on: its first parameter is not `self`.

    Python hands the object over first, so that there is one argument more than the method takes.

    Fix safety: unsafe. The call could not run before.

    References: https://docs.python.org/3/tutorial/classes.html#method-objects.
    """

    code = "DNF619"
    name = "method-without-self"
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"TypeError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        said = _SAID.search(crash.message)
        node = subject.node(crash.site)
        if said is None or not isinstance(node, ast.Call) or int(said[3]) != int(said[2]) + 1:
            return
        source = subject.source
        found = [
            function
            for function in source.nodes(ast.FunctionDef)
            if function.name == said[1]
            and isinstance(source.parent(function), ast.ClassDef)
            and not function.decorator_list
            and not _takes_self(function)
        ]
        line = source.places.lines[found[0].lineno - 1] if len(found) == 1 else ""
        head = re.match(rf"(\s*def\s+{re.escape(said[1])}\s*\()\s*(.*)", line, re.DOTALL)
        if head is None or len(found[0].args.args) != int(said[2]):
            return
        rest = head[2].rstrip("\n")
        new = f"{head[1]}self{'' if rest.startswith(')') else ', '}{rest}"
        at = found[0].lineno
        edit: Edit = ReplaceLines(Site(at, 1, at, len(line.rstrip(chr(10))) + 1), new)
        owner = source.parent(found[0])
        name = f"{owner.name}.{said[1]}" if isinstance(owner, ast.ClassDef) else said[1]
        yield Mend(
            source.site(node), f"{name} does not take the object it is called on", (("Take self", (edit,), 0.9),)
        )

    examples = (
        Example(
            "a method without any parameter",
            """\
import torch


class Data:
-     def rows():
+     def rows(self):
        return torch.ones(2)


print(Data().rows())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an argument too many",
            """\
import torch


class Data:
    def rows(self, count):
        return torch.ones(count)


print(Data().rows(2, 3))
""",
            runs=True,
        ),
        Reject(
            "a function with an argument too many",
            """\
import torch


def rows(count):
    return torch.ones(count)


print(rows(2, 3))
""",
            runs=True,
        ),
    )


def _takes_self(function: ast.FunctionDef) -> bool:
    first = (*function.args.posonlyargs, *function.args.args)[:1]
    return bool(first) and first[0].arg in ("self", "cls", "this") or function.args.vararg is not None
