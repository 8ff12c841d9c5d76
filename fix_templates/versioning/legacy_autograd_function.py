"""An `autograd.Function` whose `forward` is an ordinary method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import ApiChange, Delete, Edit, Example, Hit, Reject, Replace, Site, Subject, uses_of

METHODS = ("forward", "backward")


class LegacyAutogradFunction(ApiChange):
    """Since torch 1.5 the methods of a Function are static and get a context; calling an instance is an error.

    `forward` and `backward` become static methods whose first parameter is the context, and `relu = MyReLU()` with
    `relu(x)` becomes `MyReLU.apply(x)`. A Function that keeps something in its constructor is left: its values have to
    become arguments, which changes what `backward` returns.

    Fix safety: safe: the context has what the old methods used of `self`.

    References: https://docs.pytorch.org/docs/stable/notes/extending.html.
    """

    code = "DNF513"
    name = "legacy-autograd-function"
    triggers = ("Function",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The classes with a `forward` that is not static."""
        source = subject.source
        for node in uses_of(source).classes():
            bases = {source.qualified(base) for base in node.bases}
            if bases.isdisjoint({"torch.autograd.Function", "torch.autograd.function.Function"}):
                continue
            methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
            forward = methods.get("forward")
            if forward is None or forward.decorator_list or not forward.args.args:
                continue
            uses, decline = _uses(subject, node)
            if set(methods) - set(METHODS):
                decline = (
                    f"{node.name} has more methods than forward and backward: what they keep has to become arguments"
                )
            edits = (Replace(source.site(node), _static(subject, node, methods)), *uses)
            yield Hit(
                Site(node.lineno, node.col_offset + 1, node.lineno, node.col_offset + 1 + len(f"class {node.name}")),
                f"{node.name}.forward is not static: torch 1.5 and later refuse to call such a Function",
                title=f"make the methods of {node.name} static and call apply",
                edits=() if decline else edits,
                decline=decline,
                safe=True,
                removed={"torch": "1.5"},
                within=source.site(node),
            )

    examples = (
        Example(
            "an instance that is called",
            """\
import torch


class MyReLU(torch.autograd.Function):
    def forward(self, input):
        # keep what backward needs
        self.save_for_backward(input)
        return input.clamp(min=0)

    def backward(self, grad_output):
        input, = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


x = torch.randn(3, requires_grad=True)
for t in range(2):
    relu = MyReLU()
    relu(x).sum().backward()
""",
            """\
import torch


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        # keep what backward needs
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


x = torch.randn(3, requires_grad=True)
for t in range(2):
    MyReLU.apply(x).sum().backward()
""",
            runs=True,
        ),
        Example(
            "made and called at once",
            """\
import torch
from torch.autograd import Function


class Double(Function):
    def forward(self, x):
        return x * 2

    def backward(self, grad):
        return grad * 2


y = Double()(torch.ones(2, requires_grad=True))
""",
            """\
import torch
from torch.autograd import Function


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


y = Double.apply(torch.ones(2, requires_grad=True))
""",
        ),
        Example(
            "behind a function",
            """\
import torch


class Clip(torch.autograd.Function):
    def forward(ctx, x):
        return x.clamp(-1, 1)

    def backward(ctx, grad):
        return grad


def clip(x):
    return Clip()(x)
""",
            """\
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        return grad


def clip(x):
    return Clip.apply(x)
""",
        ),
    )
    rejects = (
        Reject(
            "static methods",
            """\
import torch


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        return grad


y = MyReLU.apply(torch.ones(2))
""",
        ),
        Reject(
            "a module of its own",
            """\
import torch


class Double(torch.nn.Module):
    def forward(self, x):
        return x * 2


y = Double()(torch.ones(2))
""",
        ),
    )


def _static(subject: Subject, node: ast.ClassDef, methods: dict[str, ast.FunctionDef]) -> str:
    """The class's text with static methods; everything else, comments included, as it was."""
    source = subject.source
    lines = source.segment(source.site(node)).split("\n")
    for method in sorted(methods.values(), key=lambda m: -m.lineno):
        first, last = method.lineno - node.lineno, (method.end_lineno or method.lineno) - node.lineno
        own = method.args.args[0].arg
        name = "ctx" if own == "self" else own
        for number in range(first, last + 1):
            lines[number] = re.sub(rf"(?<![\w.]){re.escape(own)}\b(?!\s*=[^=])", name, lines[number])
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines.insert(first, f"{indent}@staticmethod")
    return "\n".join(lines)


def _uses(subject: Subject, node: ast.ClassDef) -> tuple[list[Edit], str]:
    """The edits of the places where the class is used, or why they cannot be made."""
    source = subject.source
    edits: list[Edit] = []
    for name in uses_of(source).names(node.name):
        if not isinstance(name.ctx, ast.Load):
            continue
        made = source.parent(name)
        if isinstance(made, ast.Attribute):
            continue
        if not isinstance(made, ast.Call) or made.func is not name:
            return [], f"{node.name} is handed on at line {name.lineno}, where it cannot be followed"
        if made.args or made.keywords:
            return [], f"{node.name} is given arguments at line {name.lineno}, which have to become arguments of apply"
        above = source.parent(made)
        if isinstance(above, ast.Call) and above.func is made:
            edits.append(Replace(source.site(made), f"{node.name}.apply"))
        elif isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
            edits += _calls_of(subject, above.targets[0].id, node.name, above)
            if not edits:
                return [], f"how the {node.name} of line {name.lineno} is used cannot be told"
        else:
            return [], f"how the {node.name} of line {name.lineno} is used cannot be told"
    return list(dict.fromkeys(edits)), ""


def _calls_of(subject: Subject, local: str, name: str, statement: ast.Assign) -> list[Edit]:
    """The edits that take a variable holding an instance away; empty where it is used otherwise than by calling it."""
    source = subject.source
    edits: list[Edit] = [Delete(source.site(statement))]
    for use in uses_of(source).names(local):
        if not isinstance(use.ctx, ast.Load):
            continue
        call = source.parent(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return []
        edits.append(Replace(source.site(use), f"{name}.apply"))
    return edits
