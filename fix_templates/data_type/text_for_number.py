"""A number that came as text, from the command line or a file, is given where a number is taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, SetArgument, Subject, Wrap, origins

_SAID = re.compile(r"\bstr\b|\bstrings?\b")
_WHOLE = re.compile(r"\s*[-+]?\d+\s*")
_REAL = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")


class TextForNumber(CrashTemplate):
    """A number that came as text, from the command line or a file, is given where a number is taken.

    What is read from `argparse`, `sys.argv`, the environment, `input` or a file of settings is text until it is
    converted. The run shows which of the values in the failing statement is a text that reads as a number; it is
    converted where it is declared (`type=int`), else where it is read.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/library/argparse.html#type.
    """

    code = "DNF612"
    name = "text-for-number"
    kinds = frozenset({"TypeError", "ValueError"})
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        if not _SAID.search(crash.message) or "concatenate" in crash.message:
            return
        texts: dict[str, ast.expr] = {}
        for held in crash.held:
            node = subject.node(held.site)
            if held.text is not None and isinstance(node, ast.expr) and _REAL.fullmatch(held.text):
                if not (crash.site is None or crash.site.encloses(held.site)):
                    continue
                texts.setdefault(ast.unparse(node), node)
        if len(texts) != 1:
            return
        ((code, node),) = texts.items()
        text = next(h.text for h in crash.held if h.site == subject.source.site(node)) or ""
        kind = "int" if _WHOLE.fullmatch(text) else "float"
        repairs = tuple(_repairs(subject, node, kind))
        if repairs:
            what = f"{code} is the text {text!r} where a number is taken"
            yield Mend(subject.source.site(node), what, repairs)

    examples = (
        Example(
            "an option without its type",
            """\
import argparse
import torch

parser = argparse.ArgumentParser()
- parser.add_argument("--hidden", default="8", help="units of the hidden layer")
+ parser.add_argument("--hidden", default="8", help="units of the hidden layer", type=int)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
weight = torch.ones(4, args.hidden)
for epoch in range(args.epochs):
    print(weight.sum())
""",
            runs=True,
        ),
        Example(
            "a setting of a file",
            """\
import json
import torch


def train(steps):
    for step in range(steps):
        print(step, torch.ones(1))


settings = json.loads('{"steps": "3"}')
- steps = settings["steps"]
+ steps = int(settings["steps"])
train(steps)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a text that is no number",
            """\
import torch

size = "large"
print(torch.ones(size))
""",
            runs=True,
        ),
        Reject(
            "a number to be told with a text",
            """\
import torch

run = "7"
print("run " + run + ": " + torch.ones(1).sum().item())
""",
            runs=True,
        ),
    )


def _repairs(subject: Subject, node: ast.expr, kind: str) -> Iterator[tuple[str, tuple[Edit, ...], float]]:
    source = subject.source
    for origin in origins(subject, node):
        if isinstance(origin, (ast.Name, ast.BinOp)):
            continue
        declared = _declared(subject, origin)
        if declared is not None:
            edit: Edit = SetArgument(source.site(declared), "type", kind)
            yield f"Read the option as {kind}", (edit,), 0.85
        elif isinstance(origin, (ast.Subscript, ast.Attribute, ast.Call)):
            yield f"Convert what is read to {kind}", (Wrap(source.site(origin), f"{kind}(", ")"),), 0.8
        elif not isinstance(origin, ast.Constant):
            continue
        return


def _declared(subject: Subject, origin: ast.expr) -> ast.Call | None:
    """The declaration of the option of the command line that an expression reads, where it says no type."""
    name = origin.attr if isinstance(origin, ast.Attribute) else None
    if isinstance(origin, ast.Subscript) and isinstance(origin.slice, ast.Constant):
        name = origin.slice.value if isinstance(origin.slice.value, str) else None
    found = [call for call in subject.source.all_calls if name is not None and _option(call) == name]
    if len(found) != 1 or any(keyword.arg in ("type", "action") for keyword in found[0].keywords):
        return None
    return found[0]


def _option(call: ast.Call) -> str | None:
    """The name under which `add_argument` keeps an option."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return None
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    flags = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else None
