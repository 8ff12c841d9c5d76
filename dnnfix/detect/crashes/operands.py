"""The tensor operation that crashed: which expression of the program gave each of its inputs, and with which sizes."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.detect.origins import origins
from dnnfix.detect.tensors.shapes import CONCATENATIONS, known
from dnnfix.records import Call, Value
from dnnfix.source.arithmetic import number
from dnnfix.subject import Subject

JOINS = CONCATENATIONS | {"torch.stack", "torch.vstack", "torch.dstack"}
"""Operations that take a list of tensors."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One input of an operation: its expression, its sizes, and what was recorded of it."""

    node: ast.expr
    shape: tuple[int, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on tensors that failed, as it is written: a call, a binary operator or an augmented assignment."""

    call: Call
    node: ast.Call | ast.BinOp | ast.AugAssign | ast.Compare
    operands: tuple[Operand, ...]

    @property
    def short(self) -> str:
        """The last part of the operation's name."""
        return self.call.name.rpartition(".")[2]

    @property
    def is_method(self) -> bool:
        """Whether the first operand is the receiver of a method: `a.mm(b)`."""
        return isinstance(self.node, ast.Call) and self.call.name.startswith("torch.Tensor.")


def failed_operation(subject: Subject) -> Operation | None:
    """The torch function or tensor method in which the program crashed; `None` where an input's place is not known."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or not call.name.startswith("torch.") or call.made_at is not None or not call.inputs:
        return None
    node = subject.node(call.site)
    node = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(node, (ast.Call, ast.BinOp, ast.AugAssign, ast.Compare)):
        return None
    given = _given(node, call)
    shapes = [known(value.shape) for value in call.inputs]
    if len(given) < len(shapes) or (call.name in JOINS and len(given) != len(shapes)):
        return None
    found: list[Operand] = []
    for place, value, shape in zip(given, call.inputs, shapes, strict=False):
        if shape is None or isinstance(place, ast.Starred):
            return None
        found.append(Operand(place, shape, value))
    return Operation(call, node, tuple(found))


def _given(node: ast.Call | ast.BinOp | ast.AugAssign | ast.Compare, call: Call) -> list[ast.expr]:
    """The expressions that may be tensors, in the order of the recorded inputs."""
    if isinstance(node, ast.BinOp):
        return _tensors([node.left, node.right])
    if isinstance(node, ast.AugAssign):
        return _tensors([node.target, node.value])
    if isinstance(node, ast.Compare):
        return _tensors([node.left, *node.comparators]) if len(node.comparators) == 1 else []
    given = [*node.args, *(one.value for one in node.keywords if one.arg is not None)]
    if call.name in JOINS:
        listed = given[0] if given else None
        return listed.elts if isinstance(listed, (ast.Tuple, ast.List)) else []
    if call.name.startswith("torch.Tensor."):
        return _tensors([node.func.value, *given]) if isinstance(node.func, ast.Attribute) else []
    return _tensors(given)


def _tensors(given: list[ast.expr]) -> list[ast.expr]:
    return [one for one in given if not isinstance(one, (ast.Constant, ast.UnaryOp)) or _negates_name(one)]


def _negates_name(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant)


SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
"""Expressions behind which a method can be called without parentheses."""


def enclosed(subject: Subject, node: ast.expr) -> str:
    """The code of an expression, in parentheses where an operator or a dot behind it requires them."""
    text = subject.text(subject.source.site(node))
    return text if isinstance(node, SIMPLE) else f"({text})"


FACTORIES = frozenset(
    {f"torch.{name}" for name in ("zeros", "ones", "rand", "randn", "empty", "full")}
    | {f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "random.rand", "random.randn")}
)
"""Functions that make a tensor or array of sizes that they are given first."""

NEW = frozenset({"new_zeros", "new_ones", "new_empty", "new_full"})
"""Methods of tensors that do so."""

PASSES = frozenset(
    {"torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.autograd.Variable", "torch.from_numpy"}
)
"""Calls that hand on the tensor they are given."""

MAX_CALLS = 512
"""Calls looked through, backwards, for the shape of what a name stands for."""


@dataclass(frozen=True, slots=True)
class Made:
    """The call that made an operand, and the expressions of its sizes, one for each axis."""

    call: ast.Call
    sizes: tuple[ast.expr, ...]


def made_by(subject: Subject, operand: Operand) -> Made | None:
    """The call that made an operand with sizes that are written out; numbers among them are those of its shape."""
    for expr in origins(subject, operand.node):
        call = _without_methods(subject, expr)
        if call is None:
            continue
        name = subject.source.qualified(call.func)
        given = call.args
        if given and (isinstance(given[0], (ast.Tuple, ast.List)) or name is None or name.endswith("full")):
            listed = given[0] if isinstance(given[0], (ast.Tuple, ast.List)) else None
            given = listed.elts if listed is not None else given
        sizes = tuple(given)
        if len(sizes) != len(operand.shape) or any(isinstance(one, ast.Starred) for one in sizes):
            return None
        stated = zip(map(number, sizes), operand.shape, strict=True)
        return Made(call, sizes) if all(one in (None, size) for one, size in stated) else None
    return None


def _without_methods(subject: Subject, expr: ast.expr) -> ast.Call | None:
    """The call of a factory behind calls that keep a shape: `nn.Parameter(torch.zeros(3).to(device))`."""
    for _ in range(8):
        if not isinstance(expr, ast.Call):
            return None
        name = subject.source.qualified(expr.func)
        if name in FACTORIES or (isinstance(expr.func, ast.Attribute) and expr.func.attr in NEW):
            return expr
        if name in PASSES and expr.args:
            expr = expr.args[0]
        elif isinstance(expr.func, ast.Attribute) and name is None:
            expr = expr.func.value
        else:
            return None
        if isinstance(expr, ast.BinOp):
            expr = expr.left if isinstance(expr.left, ast.Call) else expr.right
    return None


def recorded_shape(subject: Subject, expr: ast.expr) -> tuple[int, ...] | None:
    """The last recorded shape of an expression as the argument of a call, in its own function."""
    own, written = subject.source.enclosing(expr, ast.FunctionDef, ast.AsyncFunctionDef), ast.dump(expr)
    for call in reversed(subject.network.calls[-MAX_CALLS:]):
        node = subject.node(call.site)
        if not isinstance(node, (ast.Call, ast.BinOp, ast.AugAssign, ast.Compare, ast.Subscript)):
            continue
        if subject.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) is not own:
            continue
        if isinstance(node, ast.Subscript):
            given = [node.value]
        else:
            layer = isinstance(node, ast.Call) and call.made_at is not None
            given = _tensors(node.args) if layer and isinstance(node, ast.Call) else _given(node, call)
        for place, value in zip(given, call.inputs, strict=False):
            if ast.dump(place) == written and known(value.shape) is not None:
                return known(value.shape)
    return None
