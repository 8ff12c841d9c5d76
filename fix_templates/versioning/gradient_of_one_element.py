"""`loss.backward(torch.FloatTensor([1]))`: a gradient with an axis for a loss that has none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Example, Hit, Reject, Replace, Source, Subject, Wrap, uses_of

REFUSED = re.compile(
    r"grad_output\[0\] has a shape of torch\.Size\(\[1\]\) and output\[0\] has a shape of torch\.Size\(\[\]\)"
)
"""How torch says that a gradient of one element was given for a number."""

MAKERS = frozenset(("torch.FloatTensor", "torch.Tensor", "torch.tensor", "torch.cuda.FloatTensor"))
MOVES = frozenset(("cuda", "cpu", "to", "float", "type", "clone"))
"""Methods that keep a tensor's shape."""


class GradientOfOneElement(ApiChange):
    """`backward` is given a gradient of one element for a loss without axes.

    Until torch 0.3 a mean or a sum was a tensor of one element, and so was the gradient that `backward` took for it. Since 0.4 it is a number
    without axes, and torch refuses a gradient of another shape. The gradient is made without an axis, where all that is done
    with it is to be handed to `backward`; else its axis is taken away where it is given.

    Fix safety: unsafe: it is read from a crash.

    References: https://pytorch.org/blog/pytorch-0_4_0-migration-guide/, https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html.
    """

    code = "DNF594"
    name = "gradient-of-one-element"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The call of `backward` at which the run stopped, with the others that are given such a gradient."""
        crash, source = subject.crash, subject.source
        if crash is None or not REFUSED.search(crash.message):
            return
        call = subject.node(crash.site)
        if not isinstance(call, ast.Call) or not _is_backward(call) or not call.args:
            return
        made = tuple(dict.fromkeys(_made(source, call.args[0])))
        edits: tuple[Edit, ...] = tuple(Replace(source.site(each), f"torch.tensor({_number(each)})") for each in made)
        if not made and _is_plain(call.args[0]):
            edits = (Wrap(source.site(call.args[0]), "", ".squeeze()"),)
        if edits:
            yield Hit(
                source.site(call),
                "a loss has no axis since torch 0.4, and the gradient that it is given has one",
                title="give a gradient without an axis",
                edits=edits,
                exact=True,
                confidence=0.9,
                felt=source.site(call),
            )

    examples = (
        Example(
            "the two gradients of a critic",
            """\
import torch

critic = torch.nn.Linear(3, 1)
- one = torch.FloatTensor([1])
+ one = torch.tensor(1.0)
mone = one * -1
if torch.cuda.is_available():
    one, mone = one.cuda(), mone.cuda()
critic(torch.ones(4, 3)).mean().backward(mone)
critic(torch.zeros(4, 3)).mean().backward(one)
print(critic.weight.grad)
""",
            runs=True,
        ),
        Example(
            "a gradient that something else is done with as well",
            """\
import torch

net = torch.nn.Linear(3, 1)
one = torch.ones(1)
print(torch.cat([one, one]))
- net(torch.ones(4, 3)).sum().backward(one)
+ net(torch.ones(4, 3)).sum().backward(one.squeeze())
""",
            runs=True,
        ),
    )

    rejects = (
        Reject(
            "a loss that has an axis too",
            """\
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(1, 3))[0].backward(torch.FloatTensor([1]))
""",
            runs=True,
        ),
        Reject(
            "gradients of a batch",
            """\
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(2, 3)).backward(torch.ones(2))
""",
        ),
    )


def _is_backward(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"


def _is_plain(expr: ast.expr) -> bool:
    return isinstance(expr, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))


def _made(source: Source, expr: ast.expr, under: frozenset[str] = frozenset()) -> list[ast.Call]:
    """The calls that make a gradient of one element; none where anything else makes it, or more is done with it."""
    if isinstance(expr, ast.Call):
        if source.qualified(expr.func) in MAKERS and _number(expr):
            return [expr]
        held = expr.func.value if isinstance(expr.func, ast.Attribute) and expr.func.attr in MOVES else None
        return _made(source, held, under) if held is not None else []
    if isinstance(expr, (ast.BinOp, ast.UnaryOp)):
        sides = [expr.operand] if isinstance(expr, ast.UnaryOp) else [expr.left, expr.right]
        return [call for side in sides if not isinstance(side, ast.Constant) for call in _made(source, side, under)]
    if not isinstance(expr, ast.Name) or not all(_is_harmless(source, each) for each in uses_of(source).names(expr.id)):
        return []
    if expr.id in under:
        return []
    return [call for value in source.bindings(expr) for call in _made(source, value, under | {expr.id})]


def _is_harmless(source: Source, name: ast.Name) -> bool:
    """Whether a name is written, moved, multiplied with a number, or handed to `backward`."""
    above = source.parent(name)
    if isinstance(name.ctx, ast.Store) or isinstance(above, ast.UnaryOp) or _is_backward(above):
        return True
    if isinstance(above, ast.BinOp):
        return isinstance(above.left if above.right is name else above.right, (ast.Constant, ast.UnaryOp))
    return isinstance(above, ast.Attribute) and above.attr in MOVES


def _number(call: ast.Call) -> str:
    """The one number of a call such as `torch.FloatTensor([1])`, as a float; empty where it is given something else."""
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    only = given.elts[0] if isinstance(given, ast.List) and len(given.elts) == 1 else None
    try:
        value = ast.literal_eval(only) if only is not None else None
    except ValueError:
        return ""
    return repr(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
