"""Two tensors are combined or multiplied whose shapes do not match."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, zip_longest
from math import prod

from dnnfix.api import (
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Repairs,
    Replace,
    ShapeTemplate,
    Subject,
    arithmetic,
    data_edits,
    failed_operands,
    tensor_shapes,
    words,
)

OPERATORS = words("""add sub mul div truediv floordiv pow remainder add_ sub_ mul_ div_ eq ne lt le gt ge maximum minimum
    masked_fill masked_fill_ expand_as copy_ and or logical_and logical_or""")

MEETINGS = frozenset(f"torch.{home}{name}" for home in ("", "Tensor.") for name in OPERATORS)

PICKS = frozenset(
    f"torch.{home}{name}"
    for home in ("", "Tensor.")
    for name in ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_")
)
"""Operations whose index needs as many axes as the tensor it indexes."""

RANKS = {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1), "vdot": (1, 1)}
"""The ranks of the factors in products with fixed ranks."""

PRODUCTS = frozenset(f"torch.{home}{name}" for home in ("", "Tensor.") for name in (*RANKS, "matmul", "addmm"))

LINEAR = "torch.nn.functional.linear"
"""The product with a weight of shape (outputs, inputs), as layers have it."""

TURNED = frozenset(
    f"torch.{home}{name}"
    for home in ("", "Tensor.")
    for name in ("t", "transpose", "permute", "swapaxes", "swapdims", "T", "mT")
)
"""Calls that return a matrix with its axes swapped."""

ELEMENTWISE = words("""add sub mul div truediv floordiv pow add_ sub_ mul_ div_ maximum minimum masked_fill masked_fill_
    eq ne lt le gt ge copy_ and or lerp""")

FACTORS = frozenset({"mm", "matmul", "bmm", "addmm", "mv"})

CONVOLUTION = re.compile(r"torch\.(?:nn\.functional\.)?conv[123]d")
"""Convolutions with an explicit weight of shape (output channels, input channels, kernel)."""

Shape = tuple[int, ...]
Way = tuple[str, tuple[Edit, ...], float]


class OperandsDoNotAlign(ShapeTemplate):
    """Two tensors are combined or multiplied whose shapes do not match.

    - Elementwise operations align the last axes: one weight per channel, one length per sample or one mask entry per
      step needs axes of size 1 after it, as in `scale[:, :, None, None]`.
    - `torch.dot` multiplies two vectors, `torch.mm` two matrices, `torch.bmm` two batches of matrices; functions of
      these names in NumPy and Lua accept more. The last axis of the first factor needs the size of the last but one of
      the second: a factor may need to be transposed, or the two to be swapped.
    - A weight, state or mask is created with literal sizes or those of another tensor, and they are swapped, read from
      the wrong axis (`x.size(1)` for `x.size(0)`), or were not changed along with the layer before.

    Fix safety: unsafe. The program did not run before. An operand is moved only where its sizes fit one position; uses
    of the product decide which one was meant.

    References: "Broadcasting semantics" of the torch manual; torch.unsqueeze, torch.matmul, torch.mm, torch.bmm,
    torch.dot, torch.zeros, torch.Tensor.size.
    """

    code = "DNF226"
    name = "operands-do-not-align"
    formerly = ("DNF225", "matrices-do-not-multiply", "DNF227", "made-with-other-sizes")
    message = "the shapes of the operands do not match: {what}"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        operation = failed_operands.failed_operation(subject)
        if operation is None or len(operation.operands) < 2:
            return
        site, (first, second) = subject.source.site(operation.node), operation.operands[:2]
        meeting, product = _meeting(operation), _product(operation)
        evidence: dict[str, Json]
        if meeting is not None:
            what = f"{operation.short} gets {tensor_shapes.by(first.shape)} and {tensor_shapes.by(second.shape)}, which do not broadcast"
            evidence = {"first": list(first.shape), "second": list(second.shape)}
            yield Fault(
                site,
                what,
                tuple(_aligned(subject, meeting)),
                evidence,
                confidence=0.8,
                reading="aligned",
                at_either_end=True,
            )
        if product is not None:
            left, right = product.left.shape, product.right.shape
            what = f"{operation.short} cannot multiply {tensor_shapes.by(left)} by {tensor_shapes.by(right)}"
            evidence = {"left": list(left), "right": list(right)}
            yield Fault(site, what, tuple(_multiplied(subject, product)), evidence, confidence=0.85, reading="product")
        for place, made in enumerate(_made_otherwise(subject, operation)):
            ways = sorted(_of_other_sizes(subject, made), key=lambda way: -way[2])[:3]
            if ways:
                shape, right = made.operand.shape, made.right
                what = f"{operation.short} needs {tensor_shapes.by(right)}, and the tensor is created with {tensor_shapes.by(shape)}"
                evidence = {"made": list(shape), "needed": list(right)}
                yield Fault(
                    subject.source.site(made.sizes[0]),
                    what,
                    tuple(iter(ways)),
                    evidence,
                    confidence=0.85,
                    reading=f"made-{place}",
                )

    programs = """
=== example: one weight for each channel of images
import torch
from torch import nn


class Squeeze(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 5)

    def forward(self, x):
        scale = torch.sigmoid(self.fc(x.mean(dim=(2, 3))))
-         return x * scale
+         return x * scale[:, :, None, None]


Squeeze()(torch.rand(2, 5, 8, 8))

=== example: one length for each sample
import torch

sums = torch.rand(6, 3)
counts = torch.arange(1.0, 7.0)
- sums /= counts + 1
+ sums /= (counts + 1).unsqueeze(-1)

=== example: values of the chosen actions
import torch
import torch.nn.functional as F

critic = torch.nn.Linear(4, 3)
states, actions, rewards = torch.rand(6, 4), torch.randint(0, 3, (6,)), torch.rand(6)
- loss = F.mse_loss(critic(states).gather(1, actions), rewards)
+ loss = F.mse_loss(critic(states).gather(1, actions.unsqueeze(1)).squeeze(1), rewards)

=== example: labels written into a table of zeros
import torch


def one_hot(labels, classes):
    table = torch.zeros(len(labels), classes)
-     table.scatter_(1, labels, 1.0)
+     table.scatter_(1, labels.unsqueeze(1), 1.0)
    return table


one_hot(torch.tensor([2, 0, 1]), 3)

=== example: a comparison of lengths with steps
import torch


def steps_within(lengths, most):
    steps = torch.arange(most).repeat(len(lengths), 1)
-     return torch.lt(steps, lengths)
+     return torch.lt(steps, lengths.unsqueeze(-1))


steps_within(torch.tensor([2, 5, 1]), 5)

=== example: dot of two matrices
import torch

users = torch.rand(6, 3)
films = torch.rand(3, 5)
- ratings = torch.dot(users, films) + 1
+ ratings = torch.mm(users, films) + 1

=== example: dot of rows of one sample
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

=== example: addmm of a batch of sequences
import torch

weight, bias = torch.rand(8, 3), torch.zeros(3)


def affine(x):
-     return torch.addmm(bias, x, weight)
+     return torch.matmul(x, weight) + bias


affine(torch.rand(4, 7, 8))

=== example: weights over time steps without an axis of their own
import torch

scores = torch.softmax(torch.rand(4, 7), dim=1)
states = torch.rand(4, 7, 8)
- context = torch.bmm(scores, states)
+ context = torch.bmm(scores.unsqueeze(1), states)

=== example: keys that are not turned
import torch

query, key, value = torch.rand(2, 7, 8), torch.rand(2, 7, 8), torch.rand(2, 7, 5)
- attention = torch.softmax(query @ key, dim=-1) @ value
+ attention = torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value

=== example: keys of several heads turned along other axes
import torch

query, key = torch.rand(2, 4, 7, 8), torch.rand(2, 4, 7, 8)
- attention = torch.matmul(query, key.transpose(1, 2))
+ attention = torch.matmul(query, key.transpose(-2, -1))

=== example: factors in the other order
import torch
import torch.nn.functional as F

w = torch.rand(9, 4, requires_grad=True)
x, y = torch.rand(6, 9), torch.randint(0, 4, (6,))
- F.cross_entropy(torch.matmul(w, x), y).backward()
+ F.cross_entropy(torch.matmul(x, w), y).backward()

=== example: a weight of inputs by outputs where layers keep outputs by inputs
import torch
import torch.nn.functional as F

weight = torch.randn(9, 4, requires_grad=True)
- scores = F.linear(torch.rand(6, 9), weight)
+ scores = F.linear(torch.rand(6, 9), weight.t())

=== example: a state with the number of steps for that of samples
import torch


def run(x, weight):
-     state = torch.zeros(x.size(1), 6)
+     state = torch.zeros(x.size(0), 6)
    for t in range(x.size(1)):
        state = torch.tanh(x[:, t] @ weight + state)
    return state


run(torch.rand(4, 7, 3), torch.rand(3, 6))

=== example: sizes of a mask exchanged
import torch

batch, steps = 4, 7
states = torch.rand(batch, steps)
- mask = torch.ones(steps, batch)
+ mask = torch.ones(batch, steps)
kept = states * mask

=== example: a second weight that does not follow the first
import torch

inputs, hidden, outputs = 12, 8, 3
w1 = torch.randn(inputs, hidden, requires_grad=True)
- w2 = torch.randn(inputs, outputs, requires_grad=True)
+ w2 = torch.randn(hidden, outputs, requires_grad=True)
x = torch.rand(5, inputs)
y = x.mm(w1).clamp(min=0).mm(w2)

=== example: a kernel with its channels exchanged
import torch
import torch.nn.functional as F

channels, maps = 3, 8
- kernel = torch.randn(channels, maps, 5, 5) * 0.1
+ kernel = torch.randn(maps, channels, 5, 5) * 0.1
out = F.conv2d(torch.rand(2, channels, 9, 9), kernel)

=== example: a bias of another width, as a parameter
import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 3) * 0.1)
-         self.bias = nn.Parameter(torch.zeros(5))
+         self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return x @ self.weight + self.bias


Dense()(torch.rand(4, 5))

=== reject: operands that align
import torch

x, scale, mask = torch.rand(2, 5, 8, 8), torch.rand(5, 1, 1), torch.rand(8)
y = x * scale + mask

=== reject: products that fit
import torch

a, b, c = torch.rand(4, 3), torch.rand(3, 5), torch.rand(2, 5, 6)
torch.mm(a, b) @ c
torch.dot(a[0], b[:, 0])

=== reject: a failed product that is expected
import torch

try:
    torch.rand(4, 3) @ torch.rand(4, 3)
except RuntimeError:
    pass

=== reject: sizes that meet
import torch

x = torch.rand(4, 7)
state, weight = torch.zeros(4, 1), torch.randn(7, 2)
y = (x + state) @ weight
"""


# --- elementwise operations --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Meeting:
    """An elementwise operation that failed, its operand with fewer axes (or the second one), and the other operand."""

    operation: failed_operands.Operation
    small: failed_operands.Operand
    large: failed_operands.Operand


def _meeting(operation: failed_operands.Operation) -> _Meeting | None:
    if operation.call.name in PICKS:
        table, index = operation.operands[:2]
        return _Meeting(operation, index, table) if len(index.shape) != len(table.shape) else None
    if operation.call.name not in MEETINGS or len(operation.operands) != 2:
        return None
    first, second = operation.operands
    if _stretch(first.shape, second.shape):
        return None
    first_is_small = len(first.shape) < len(second.shape)
    return _Meeting(operation, first, second) if first_is_small else _Meeting(operation, second, first)


def _stretch(one: Shape, other: Shape) -> bool:
    """Whether the shapes broadcast."""
    return all(a == b or 1 in (a, b) for a, b in zip_longest(reversed(one), reversed(other), fillvalue=1))


def _aligned(subject: Subject, found: _Meeting) -> Repairs:
    yield Decline("the sizes do not show which axes belong together")
    node, small, large = found.small.node, found.small.shape, found.large.shape
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return
    if found.operation.call.name in PICKS:
        yield from _index_with_axis(subject, found)
        return
    places = list(_places(small, large))
    if len(small) < len(large) and len(places) == 1:
        code = _axes(places[0], len(large))
        yield f"Align the operand with {code}", (data_edits.wrapped(subject, node, "", code),), 0.85
    elif len(small) == len(large) == 2 and small == large[::-1]:
        yield "Transpose the operand", (data_edits.wrapped(subject, node, "", ".t()"),), 0.6


def _index_with_axis(subject: Subject, found: _Meeting) -> Repairs:
    """Add the axis of the indexing to the index; the result of a gather may lose it again."""
    axis, small, large = found.operation.call.args.get("dim"), found.small.shape, found.large.shape
    if not isinstance(axis, int) or len(small) != len(large) - 1 or not -len(large) <= axis < len(large):
        return
    axis %= len(large)
    if any(size > room for size, room in zip(small, large[:axis] + large[axis + 1 :], strict=True)):
        return
    widened = data_edits.wrapped(subject, found.small.node, "", f".unsqueeze({axis})")
    around = subject.source.parent(found.operation.node)
    used_alone = not isinstance(around, (ast.Attribute, ast.Subscript, ast.Expr))
    if found.operation.short == "gather" and used_alone and isinstance(found.operation.node, ast.expr):
        narrowed = data_edits.wrapped(subject, found.operation.node, "", f".squeeze({axis})")
        yield "Add the missing axis to the index, and squeeze the result", (widened, narrowed), 0.9
    yield "Add the missing axis to the index", (widened,), 0.85


def _places(small: Shape, large: Shape) -> Iterator[Shape]:
    """The axes of the large operand, in order, whose sizes are those of the small one."""
    for axes in combinations(range(len(large)), len(small)):
        if small and all(size == large[axis] for size, axis in zip(small, axes, strict=True)):
            yield axes


def _axes(axes: Shape, rank: int) -> str:
    """The code that adds axes of size 1 between and after those of the small operand."""
    missing = [axis for axis in range(axes[0], rank) if axis not in axes]
    if len(missing) == 1:
        return f".unsqueeze({-1 if missing[0] == rank - 1 else missing[0] - axes[0]})"
    return f"[{', '.join(':' if axis in axes else 'None' for axis in range(axes[0], rank))}]"


# --- products ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Product:
    """A product that failed, and its two factors; `added` is the summand of `addmm`."""

    operation: failed_operands.Operation
    left: failed_operands.Operand
    right: failed_operands.Operand
    added: failed_operands.Operand | None = None


def _product(operation: failed_operands.Operation) -> _Product | None:
    if operation.call.name == LINEAR:
        x, weight = operation.operands[:2]
        fits = len(weight.shape) != 2 or not x.shape or x.shape[-1] == weight.shape[1]
        return None if fits else _Product(operation, x, weight)
    if operation.call.name not in PRODUCTS:
        return None
    if operation.short == "addmm":
        if len(operation.operands) != 3 or not isinstance(operation.node, ast.Call) or operation.node.keywords:
            return None
        added, left, right = operation.operands
        return _Product(operation, left, right, added)
    if len(operation.operands) != 2:
        return None
    found = _Product(operation, *operation.operands)
    ranks = RANKS.get(operation.short)
    return None if ranks in (None, _ranks(found)) and _fits(found.left.shape, found.right.shape) else found


def _multiplied(subject: Subject, found: _Product) -> Repairs:
    yield Decline("neither another product nor transposing a factor makes the sizes match")
    ranks = RANKS.get("mm" if found.added is not None else found.operation.short)
    wrong = ranks is not None and ranks != _ranks(found)
    ways = list(_other_product(subject, found)) if wrong else list(_turned(subject, found))
    yield from sorted(ways, key=lambda way: -way[2])[:4]


def _ranks(found: _Product) -> tuple[int, int]:
    return len(found.left.shape), len(found.right.shape)


def _fits(a: Shape, b: Shape) -> bool:
    """Whether `matmul` accepts tensors of these shapes."""
    return bool(a) and bool(b) and a[-1] == b[-2 if len(b) > 1 else 0] and _stretch(a[:-2], b[:-2])


def _other_product(subject: Subject, found: _Product) -> Iterator[Way]:
    """Products that accept the factors unchanged, or with an axis of size 1 more."""
    a, b = found.left.shape, found.right.shape
    if found.operation.short == "bmm" and a[:1] == b[:1] and sorted(_ranks(found)) == [2, 3]:
        few, code = (found.left, ".unsqueeze(1)") if len(a) == 2 else (found.right, ".unsqueeze(2)")
        if a[-1] == b[1]:
            yield "Add an axis to the vectors", (data_edits.wrapped(subject, few.node, "", code),), 0.95
        return
    if _fits(a, b) and found.added is not None:
        yield _spelled_out(subject, found)
    elif _fits(a, b):
        fitting = [name for name in ("mm", "mv", "bmm") if RANKS[name] == _ranks(found)]
        name = fitting[0] if fitting and (fitting[0] != "bmm" or a[0] == b[0]) else "matmul"
        edit = _other_function(subject, found.operation, name)
        if edit is not None:
            yield f"Multiply with {name}", (edit,), 0.9
    if found.operation.short not in ("dot", "vdot"):
        return
    if prod(a) == prod(b) == a[-1] == b[-1]:
        long = [one for one in (found.left, found.right) if len(one.shape) > 1]
        yield (
            "Flatten the factors to vectors",
            tuple(data_edits.wrapped(subject, one.node, "", ".flatten()") for one in long),
            0.95,
        )
    elif a == b and len(a) == 2:
        both = f"({failed_operands.enclosed(subject, found.left.node)} * {failed_operands.enclosed(subject, found.right.node)})"
        site = subject.source.site(found.operation.node)
        yield "Compute the dot product of each row", (Replace(site, f"{both}.sum(1)"),), 0.7
        yield "Compute one dot product of all values", (Replace(site, f"{both}.sum()"),), 0.6


def _spelled_out(subject: Subject, found: _Product) -> Way:
    """`addmm` as a product and a sum; the first factor's other axes are kept."""
    operation = found.operation
    function = operation.node.func if isinstance(operation.node, ast.Call) else operation.node
    home = function.value if isinstance(function, ast.Attribute) and not operation.is_method else None
    left, right = (subject.text(subject.source.site(one.node)) for one in (found.left, found.right))
    added = subject.text(subject.source.site(found.added.node)) if found.added is not None else ""
    product = f"{subject.text(subject.source.site(home))}.matmul({left}, {right})" if home is not None else ""
    text = f"{product or f'{failed_operands.enclosed(subject, found.left.node)}.matmul({right})'} + {added}"
    around = subject.source.parent(operation.node)
    if not isinstance(around, (ast.Return, ast.Assign, ast.Call, ast.keyword, ast.Expr)):
        text = f"({text})"
    return "Multiply with matmul", (Replace(subject.source.site(operation.node), text),), 0.9


def _other_function(subject: Subject, operation: failed_operands.Operation, name: str) -> Edit | None:
    function = operation.node.func if isinstance(operation.node, ast.Call) else None
    if not isinstance(function, ast.Attribute):
        return None
    owner = subject.text(subject.source.site(function.value))
    return Replace(subject.source.site(function), f"{owner}.{name}")


def _turned(subject: Subject, found: _Product) -> Iterator[Way]:
    """Transposes of one factor, or a swap of the two, that make the inner sizes match."""
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
        yield "Swap the factors", _exchanged(subject, found.operation), 0.75


def _flips(subject: Subject, operand: failed_operands.Operand) -> Iterator[tuple[tuple[int, ...], str, Edit, float]]:
    """The shapes of a factor with its last axes swapped, each with its title, edit and prior."""
    shape = operand.shape
    if len(shape) < 2:
        return
    flipped = (*shape[:-2], shape[-1], shape[-2])
    before = _before_turning(subject, operand)
    if before is None:
        code = ".t()" if len(shape) == 2 else ".transpose(-2, -1)"
        yield (
            flipped,
            "Transpose the last two axes of a factor",
            data_edits.wrapped(subject, operand.node, "", code),
            0.85,
        )
        return
    base, sizes = before
    site, text = subject.source.site(operand.node), subject.text(subject.source.site(base))
    yield sizes, "Use the factor without the transpose", Replace(site, text), 0.9
    if len(sizes) > 2:
        right = (*sizes[:-2], sizes[-1], sizes[-2])
        yield right, "Transpose the last two axes of the factor", Replace(site, f"{text}.transpose(-2, -1)"), 0.95


def _before_turning(subject: Subject, operand: failed_operands.Operand) -> tuple[ast.expr, tuple[int, ...]] | None:
    """The expression that the factor transposes, and its sizes."""
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
            return (base, sizes) if all(arithmetic.number(one) is not None for one in given) else None
        case ast.Call(args=[base, *rest]) if all(arithmetic.number(one) is not None for one in rest):
            return base, sizes
    return None


def _exchanged(subject: Subject, operation: failed_operands.Operation) -> tuple[Edit, ...]:
    left, right = (one.node for one in operation.operands)
    if operation.is_method and isinstance(operation.node, ast.Call):
        name = operation.node.func.attr if isinstance(operation.node.func, ast.Attribute) else operation.short
        text = f"{failed_operands.enclosed(subject, right)}.{name}({subject.text(subject.source.site(left))})"
        return (Replace(subject.source.site(operation.node), text),)
    text_of = failed_operands.enclosed if isinstance(operation.node, ast.BinOp) else _written
    return (
        Replace(subject.source.site(left), text_of(subject, right)),
        Replace(subject.source.site(right), text_of(subject, left)),
    )


def _written(subject: Subject, node: ast.expr) -> str:
    return subject.text(subject.source.site(node))


# --- tensors that are created with explicit sizes ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Made:
    """An operand of a failed operation that is created with explicit sizes, and the sizes it needs."""

    operation: failed_operands.Operation
    operand: failed_operands.Operand
    sizes: tuple[ast.expr, ...]
    wanted: Mapping[int, int]
    partner: failed_operands.Operand

    @property
    def right(self) -> Shape:
        """The shape that the operand needs."""
        return tuple(self.wanted.get(axis, size) for axis, size in enumerate(self.operand.shape))


def _made_otherwise(subject: Subject, operation: failed_operands.Operation) -> Iterator[_Made]:
    """The operands of the failed operation that are created with explicit sizes, each with the sizes it needs."""
    pair = operation.operands[-2:] if operation.short == "addmm" else operation.operands[:2]
    for operand, partner in (pair, pair[::-1]):
        wanted = _needed(operation, operand, partner, first=operand is pair[0])
        made = failed_operands.made_by(subject, operand) if wanted else None
        weighs = operation.short in FACTORS or CONVOLUTION.fullmatch(operation.call.name) is not None
        second_factor = weighs and operand is pair[1]
        if made is not None and (second_factor or not (_drawn(subject, made.call) and _is_data(operand))):
            yield _Made(operation, operand, made.sizes, wanted, partner)


def _drawn(subject: Subject, made: ast.Call) -> bool:
    """Whether a tensor is random, as weights and synthetic data are."""
    name = subject.source.qualified(made.func) or ""
    return name.rpartition(".")[2] in ("rand", "randn")


def _is_data(operand: failed_operands.Operand) -> bool:
    """Whether a random tensor may be synthetic data: it is not trained."""
    return operand.value.requires_grad is not True and operand.value.origin != "parameter"


def _needed(
    operation: failed_operands.Operation,
    operand: failed_operands.Operand,
    partner: failed_operands.Operand,
    *,
    first: bool,
) -> dict[int, int]:
    """The axes of an operand whose sizes do not match the other's, each with the size it needs."""
    own, other = operand.shape, partner.shape
    if operation.short in FACTORS:
        if not own or not other or (first and len(other) < 2 and operation.short != "mv"):
            return {}
        axis = len(own) - 1 if first else max(len(own) - 2, 0)
        needed = (other[-2] if len(other) > 1 else other[0]) if first else other[-1]
        return {axis: needed} if own[axis] != needed else {}
    if CONVOLUTION.fullmatch(operation.call.name):
        plain = not first and len(own) > 1 < len(other) and operation.call.args.get("groups", 1) == 1
        if not plain or own[1] == other[1]:
            return {}
        return {0: own[1], 1: own[0]} if own[0] == other[1] else {1: other[1]}
    if operation.call.name in tensor_shapes.CONCATENATIONS and len(own) == len(other):
        joined = operation.call.args.get("dim", 0)
        axis = joined % len(own) if isinstance(joined, int) and own else 0
        return {i: size for i, size in enumerate(other) if i != axis and own[i] != size}
    if operation.short not in ELEMENTWISE or len(own) > len(other):
        return {}
    shift = len(other) - len(own)
    met = dict(enumerate(other[shift:]))
    return {axis: met[axis] for axis, size in enumerate(own) if 1 not in (size, met[axis]) and size != met[axis]}


def _of_other_sizes(subject: Subject, found: _Made) -> Iterator[Way]:
    sites = [subject.source.site(one) for one in found.sizes]
    if len(found.wanted) == 2:
        (one, other), shape = found.wanted, found.operand.shape
        if found.wanted[one] == shape[other] and found.wanted[other] == shape[one]:
            texts = [subject.text(site) for site in sites]
            yield "Swap the two sizes", (Replace(sites[one], texts[other]), Replace(sites[other], texts[one])), 0.9
        return
    ((axis, needed),) = found.wanted.items() if len(found.wanted) == 1 else (((0, 0)),)
    given = found.sizes[axis]
    if not needed:
        return
    moved = _other_axis(subject, given, needed)
    if moved is not None:
        yield f"Read the size of axis {moved[1]}", (moved[0],), 0.9
        return
    names = _names_of(subject, given, needed)
    if len(names) == 1:
        yield f"Create the tensor with size {names[0]}", (Replace(sites[axis], names[0]),), 0.85
    elif arithmetic.number(given) is not None and not _may_be_batch(found, needed):
        yield f"Create the tensor with size {needed}", (Replace(sites[axis], str(needed)),), 0.75


def _other_axis(subject: Subject, given: ast.expr, needed: int) -> tuple[Edit, int] | None:
    """The edit that reads the size of another axis of the same tensor, and that axis, where only one has the size."""
    axis: ast.expr | None = None
    match given:
        case ast.Call(func=ast.Attribute(value=thing, attr="size"), args=[axis]):
            pass
        case ast.Subscript(value=ast.Attribute(value=thing, attr="shape"), slice=axis):
            pass
        case ast.Call(func=ast.Name(id="len"), args=[thing]):
            pass
        case _:
            return None
    shape = failed_operands.recorded_shape(subject, thing)
    axes = [i for i, size in enumerate(shape) if size == needed] if shape is not None else []
    if len(axes) != 1:
        return None
    if axis is not None:
        return (
            (Replace(subject.source.site(axis), str(axes[0])), axes[0]) if arithmetic.number(axis) is not None else None
        )
    return Replace(subject.source.site(given), f"{ast.unparse(thing)}.shape[{axes[0]}]"), axes[0]


def _names_of(subject: Subject, given: ast.expr, needed: int) -> list[str]:
    """Module-level names with the needed value, where the size is such a name too."""
    if not isinstance(given, ast.Name) or _number_of(subject, given) is None:
        return []
    found = {
        node.id
        for node in subject.source.nodes(ast.Name)
        if isinstance(node.ctx, ast.Load) and node.id != given.id and _number_of(subject, node) == needed
    }
    return sorted(found)


def _number_of(subject: Subject, name: ast.Name) -> int | None:
    """The value of a name that is bound once to a number."""
    bound = subject.source.bindings(name, name)
    return arithmetic.number(bound[0]) if len(bound) == 1 else None


def _may_be_batch(found: _Made, needed: int) -> bool:
    """Whether the needed size may be the batch size, which should not be a literal."""
    return len(found.partner.shape) > 0 and needed == found.partner.shape[0] and len(found.operand.shape) > 1
