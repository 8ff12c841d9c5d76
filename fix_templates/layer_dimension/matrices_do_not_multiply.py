"""A product is taken of tensors whose inner sizes differ, or whose ranks it does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Operand,
    Operation,
    Reject,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    enclosed,
    failed_operation,
    number,
    wrapped,
)

RANKS = {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1), "vdot": (1, 1)}
"""The ranks that a product takes where it does not take any."""

PRODUCTS = frozenset(f"torch.{home}{name}" for home in ("", "Tensor.") for name in (*RANKS, "matmul", "addmm"))

LINEAR = "torch.nn.functional.linear"
"""The product with a weight of (outputs, inputs), as layers keep it."""

TURNED = frozenset(
    f"torch.{home}{name}"
    for home in ("", "Tensor.")
    for name in ("t", "transpose", "permute", "swapaxes", "swapdims", "T", "mT")
)
"""Calls that give a matrix with its axes exchanged."""

Way = tuple[str, tuple[Edit, ...], float]


@dataclass(frozen=True, slots=True)
class _Product:
    """A product that failed, and its two factors; `added` is what `addmm` adds to it."""

    operation: Operation
    left: Operand
    right: Operand
    added: Operand | None = None


class MatricesDoNotMultiply(FaultTemplate[_Product]):
    """A product is taken of tensors whose inner sizes differ, or whose ranks it does not take.

    `torch.dot` takes two vectors, `torch.mm` two matrices, `torch.bmm` two batches of them; NumPy's and Lua's functions of
    these names take more. And the last axis of the first factor has to be as long as the last but one of the second: a
    factor may have to be turned, or the two to change places.

    Fix safety: unsafe. The program did not run before; which product was meant is told by what is done with it.

    References: torch.matmul, torch.mm, torch.bmm, torch.dot.
    """

    code = "DNF225"
    name = "matrices-do-not-multiply"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{what} does not multiply {left} by {right}"
    needs_run = True
    declined = "neither another product nor turning a factor makes the sizes meet"

    def faults(self, subject: Subject) -> Faults[_Product]:
        found = _product(subject)
        if found is not None:
            yield subject.source.site(found.operation.node), found

    def report(self, site: Site, found: _Product) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"left": list(found.left.shape), "right": list(found.right.shape)},
            what=found.operation.short,
            left=" x ".join(map(str, found.left.shape)),
            right=" x ".join(map(str, found.right.shape)),
        )

    def repairs(self, subject: Subject, found: _Product) -> Repairs:
        ranks = RANKS.get("mm" if found.added is not None else found.operation.short)
        wrong = ranks is not None and ranks != (len(found.left.shape), len(found.right.shape))
        ways = list(_other_product(subject, found)) if wrong else list(_turned(subject, found))
        yield from sorted(ways, key=lambda way: -way[2])[:4]

    examples = (
        Example(
            "two matrices given to dot",
            """\
import torch

users = torch.rand(6, 3)
films = torch.rand(3, 5)
- ratings = torch.dot(users, films) + 1
+ ratings = torch.mm(users, films) + 1
""",
            runs=True,
        ),
        Example(
            "rows of one sample given to dot",
            """\
import torch
from torch import nn


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.Linear(6, 6)

    def forward(self, hidden, states):
-         return torch.stack([hidden.dot(self.attn(state)) for state in states])
+         return torch.stack([hidden.flatten().dot(self.attn(state).flatten()) for state in states])


Scores()(torch.rand(1, 6), torch.rand(5, 1, 6))
""",
            runs=True,
        ),
        Example(
            "addmm of a batch of sequences",
            """\
import torch

weight, bias = torch.rand(8, 3), torch.zeros(3)


def affine(x):
-     return torch.addmm(bias, x, weight)
+     return torch.matmul(x, weight) + bias


affine(torch.rand(4, 7, 8))
""",
            runs=True,
        ),
        Example(
            "weights over time steps without an axis of their own",
            """\
import torch

scores = torch.softmax(torch.rand(4, 7), dim=1)
states = torch.rand(4, 7, 8)
- context = torch.bmm(scores, states)
+ context = torch.bmm(scores.unsqueeze(1), states)
""",
            runs=True,
        ),
        Example(
            "keys that are not turned",
            """\
import torch

query, key, value = torch.rand(2, 7, 8), torch.rand(2, 7, 8), torch.rand(2, 7, 5)
- attention = torch.softmax(query @ key, dim=-1) @ value
+ attention = torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value
""",
            runs=True,
        ),
        Example(
            "keys of several heads turned along other axes",
            """\
import torch

query, key = torch.rand(2, 4, 7, 8), torch.rand(2, 4, 7, 8)
- attention = torch.matmul(query, key.transpose(1, 2))
+ attention = torch.matmul(query, key.transpose(-2, -1))
""",
            runs=True,
        ),
        Example(
            "factors in the other order",
            """\
import torch
import torch.nn.functional as F

w = torch.rand(9, 4, requires_grad=True)
x, y = torch.rand(6, 9), torch.randint(0, 4, (6,))
- F.cross_entropy(torch.matmul(w, x), y).backward()
+ F.cross_entropy(torch.matmul(x, w), y).backward()
""",
            runs=True,
        ),
        Example(
            "a weight of inputs by outputs where layers keep outputs by inputs",
            """\
import torch
import torch.nn.functional as F

weight = torch.randn(9, 4, requires_grad=True)
- scores = F.linear(torch.rand(6, 9), weight)
+ scores = F.linear(torch.rand(6, 9), weight.t())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "products that fit",
            """\
import torch

a, b, c = torch.rand(4, 3), torch.rand(3, 5), torch.rand(2, 5, 6)
torch.mm(a, b) @ c
torch.dot(a[0], b[:, 0])
""",
            runs=True,
        ),
        Reject(
            "a failed product that is expected",
            """\
import torch

try:
    torch.rand(4, 3) @ torch.rand(4, 3)
except RuntimeError:
    pass
""",
            runs=True,
        ),
    )


def _product(subject: Subject) -> _Product | None:
    operation = failed_operation(subject)
    if operation is not None and operation.call.name == LINEAR and len(operation.operands) > 1:
        x, weight = operation.operands[:2]
        fits = len(weight.shape) != 2 or not x.shape or x.shape[-1] == weight.shape[1]
        return None if fits else _Product(operation, x, weight)
    if operation is None or operation.call.name not in PRODUCTS:
        return None
    if operation.short == "addmm":
        added, *factors = operation.operands
        return _Product(operation, factors[0], factors[1], added) if _plain_addmm(operation) else None
    if len(operation.operands) != 2:
        return None
    found = _Product(operation, *operation.operands)
    ranks = RANKS.get(operation.short)
    return None if ranks in (None, _ranks(found)) and _fits(found.left.shape, found.right.shape) else found


def _plain_addmm(operation: Operation) -> bool:
    return len(operation.operands) == 3 and isinstance(operation.node, ast.Call) and not operation.node.keywords


def _ranks(found: _Product) -> tuple[int, int]:
    return len(found.left.shape), len(found.right.shape)


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether `matmul` takes tensors of these shapes."""
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    batches = zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1)
    return all(one == other or 1 in (one, other) for one, other in batches)


# --- another product ------------------------------------------------------------------------------------------------


def _other_product(subject: Subject, found: _Product) -> Iterator[Way]:
    """The product that takes the factors as they are, or as they are but for an axis of one element."""
    a, b = found.left.shape, found.right.shape
    if found.operation.short == "bmm" and a[:1] == b[:1] and sorted(_ranks(found)) == [2, 3]:
        few, code = (found.left, ".unsqueeze(1)") if len(a) == 2 else (found.right, ".unsqueeze(2)")
        if a[-1] == b[1]:
            yield "Give the vectors an axis of their own", (wrapped(subject, few.node, "", code),), 0.95
        return
    if _fits(a, b) and found.added is not None:
        yield _spelled_out(subject, found)
    elif _fits(a, b):
        fitting = [name for name in ("mm", "mv", "bmm") if RANKS[name] == _ranks(found)]
        name = fitting[0] if fitting and (fitting[0] != "bmm" or a[0] == b[0]) else "matmul"
        edit = _renamed(subject, found.operation, name)
        if edit is not None:
            yield f"Multiply with {name}", (edit,), 0.9
    if found.operation.short not in ("dot", "vdot"):
        return
    if prod(a) == prod(b) == a[-1] == b[-1]:
        long = [one for one in (found.left, found.right) if len(one.shape) > 1]
        yield "Take the factors as vectors", tuple(wrapped(subject, one.node, "", ".flatten()") for one in long), 0.95
    elif a == b and len(a) == 2:
        both = f"({enclosed(subject, found.left.node)} * {enclosed(subject, found.right.node)})"
        site = subject.source.site(found.operation.node)
        yield "Take the products of the rows", (Replace(site, f"{both}.sum(1)"),), 0.7
        yield "Take one product of all numbers", (Replace(site, f"{both}.sum()"),), 0.6


def _spelled_out(subject: Subject, found: _Product) -> Way:
    """`addmm` as a product and a sum; the first factor's other axes are kept."""
    operation = found.operation
    function = operation.node.func if isinstance(operation.node, ast.Call) else operation.node
    home = function.value if isinstance(function, ast.Attribute) and not operation.is_method else None
    left, right = (subject.text(subject.source.site(one.node)) for one in (found.left, found.right))
    added = subject.text(subject.source.site(found.added.node)) if found.added is not None else ""
    product = f"{subject.text(subject.source.site(home))}.matmul({left}, {right})" if home is not None else ""
    text = f"{product or f'{enclosed(subject, found.left.node)}.matmul({right})'} + {added}"
    around = subject.source.parent(operation.node)
    if not isinstance(around, (ast.Return, ast.Assign, ast.Call, ast.keyword, ast.Expr)):
        text = f"({text})"
    return "Multiply with matmul", (Replace(subject.source.site(operation.node), text),), 0.9


def _renamed(subject: Subject, operation: Operation, name: str) -> Edit | None:
    function = operation.node.func if isinstance(operation.node, ast.Call) else None
    if not isinstance(function, ast.Attribute):
        return None
    owner = subject.text(subject.source.site(function.value))
    return Replace(subject.source.site(function), f"{owner}.{name}")


# --- the factors turned or exchanged ---------------------------------------------------------------------------------


def _turned(subject: Subject, found: _Product) -> Iterator[Way]:
    """The ways of turning one factor, or of exchanging the two, that make the inner sizes meet."""
    left, right = found.left, found.right
    if found.operation.call.name == LINEAR:
        for shape, title, edit, prior in _flips(subject, right):
            if shape[-1] == left.shape[-1]:
                yield title, (edit,), prior
        return
    for operand, other in ((right, left), (left, right)):
        first = operand is left
        for shape, title, edit, prior in _flips(subject, operand):
            pair = (shape, other.shape) if first else (other.shape, shape)
            if _fits(*pair):
                yield title, (edit,), prior * (0.75 if first and other.value.origin != "data" else 0.95)
    if found.added is None and _fits(right.shape, left.shape) and min(_ranks(found)) > 1:
        yield "Exchange the factors", _exchanged(subject, found.operation), 0.75


def _flips(subject: Subject, operand: Operand) -> Iterator[tuple[tuple[int, ...], str, Edit, float]]:
    """The shapes that a factor has with its axes exchanged, each with the edit that gives it."""
    shape = operand.shape
    if len(shape) < 2:
        return
    flipped = (*shape[:-2], shape[-1], shape[-2])
    before = _before_turning(subject, operand)
    if before is None:
        code = ".t()" if len(shape) == 2 else ".transpose(-2, -1)"
        yield flipped, "Exchange the last two axes of a factor", wrapped(subject, operand.node, "", code), 0.85
        return
    base, sizes = before
    site, text = subject.source.site(operand.node), subject.text(subject.source.site(base))
    yield sizes, "Take the factor as it is", Replace(site, text), 0.9
    if len(sizes) > 2:
        right = (*sizes[:-2], sizes[-1], sizes[-2])
        yield right, "Exchange the last two axes of the factor", Replace(site, f"{text}.transpose(-2, -1)"), 0.95


def _before_turning(subject: Subject, operand: Operand) -> tuple[ast.expr, tuple[int, ...]] | None:
    """The expression whose axes the factor exchanges on the spot, and its sizes."""
    call = subject.network.producer(operand.value)
    if call is None or call.name not in TURNED or call.site != subject.source.site(operand.node) or not call.inputs:
        return None
    node, shape = operand.node, call.inputs[0].shape
    if shape is None or None in shape:
        return None
    sizes = tuple(size for size in shape if size is not None)
    match node:
        case ast.Attribute(value=base, attr="T" | "mT"):
            return base, sizes
        case ast.Call(func=ast.Attribute(value=base), args=given) if call.name.startswith("torch.Tensor."):
            return (base, sizes) if all(number(one) is not None for one in given) else None
        case ast.Call(args=[base, *rest]) if all(number(one) is not None for one in rest):
            return base, sizes
    return None


def _exchanged(subject: Subject, operation: Operation) -> tuple[Edit, ...]:
    left, right = (one.node for one in operation.operands)
    if operation.is_method and isinstance(operation.node, ast.Call):
        name = operation.node.func.attr if isinstance(operation.node.func, ast.Attribute) else operation.short
        text = f"{enclosed(subject, right)}.{name}({subject.text(subject.source.site(left))})"
        return (Replace(subject.source.site(operation.node), text),)
    text_of = enclosed if isinstance(operation.node, ast.BinOp) else _written
    return (
        Replace(subject.source.site(left), text_of(subject, right)),
        Replace(subject.source.site(right), text_of(subject, left)),
    )


def _written(subject: Subject, node: ast.expr) -> str:
    return subject.text(subject.source.site(node))
