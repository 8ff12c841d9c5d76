"""The operations on each input of a network before its first layer, read from `forward` (or `call`).

The result is a table of plain values that the harness uses in the run: for each class of the program and each input the
operations up to the first layer that takes it, and the attribute that holds the layer.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.reproduce.harness.unused import top_level
from dnnfix.reproduce.syntax import is_static, methods_of
from dnnfix.source.arithmetic import number
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name

Operation = tuple[str, tuple[int, ...]]
"""`("flatten", ())`, `("reshape", (1, 28, 28))` without the batch, `("unsqueeze", (1,))`, `("permute", (0, 2, 1))`, …"""

METHODS = ("forward", "call")
_SAME = words(
    """float double half contiguous clone detach cuda cpu to type requires_grad_ relu tanh sigmoid abs exp log clamp
    type_as relu_ sqrt neg dropout elu leaky_relu selu gelu log_softmax softmax normalize Variable cast identity
    dropout2d div mul add sub clamp_ array asarray tensor FloatTensor checkpoint pad_packed"""
)
_INTEGERS = frozenset({"long", "int", "LongTensor", "one_hot", "embedding_lookup"})


@dataclass(frozen=True)
class Input:
    """One parameter of a `forward`: the operations on it, the layer that takes it (a path of attributes), its rank.

    `layer` is empty where no layer was seen to take it; `known` is false where something was done that is not followed.
    """

    name: str
    operations: tuple[Operation, ...] = ()
    layer: str = ""
    place: int = 0
    rank: int | None = None
    known: bool = True
    required: bool = True


@dataclass
class _Tracked:
    name: str
    operations: tuple[Operation, ...] = ()
    known: bool = True


@once
def feeds(source: Source) -> dict[str, tuple[Input, ...]]:
    """For each class of the program that has a `forward` or `call`: its inputs in order."""
    found: dict[str, tuple[Input, ...]] = {}
    for node in (definition for definition in top_level(source) if isinstance(definition, ast.ClassDef)):
        methods = methods_of(node)
        method = next((methods[name] for name in METHODS if name in methods), None)
        if method is not None:
            found[node.name] = tuple(_Reader(methods).inputs(method))
    return found


def as_code(source: Source) -> str:
    """The table as the harness takes it."""
    table = {
        name: [
            (one.name, list(one.operations), one.layer, one.place, one.rank, one.known, one.required) for one in inputs
        ]
        for name, inputs in feeds(source).items()
    }
    return repr(table)


class _Reader:
    """Follows the parameters of one method through its statements, and through other methods of the class."""

    def __init__(self, methods: dict[str, ast.FunctionDef], depth: int = 0) -> None:
        self._methods = methods
        self._depth = depth
        self._tracked: dict[str, _Tracked] = {}
        self._layers: dict[str, str] = {}
        self._found: dict[str, Input] = {}
        self._ranks: dict[str, int] = {}

    def inputs(self, method: ast.FunctionDef) -> list[Input]:
        positional = method.args.args[1:] if method.args.args and not is_static(method) else method.args.args
        needed = len(positional) - len(method.args.defaults)
        self._tracked = {argument.arg: _Tracked(argument.arg) for argument in positional}
        self._block(method.body)
        made = []
        for place, argument in enumerate(positional):
            name = argument.arg
            one = self._found.get(name) or Input(name, known=False)
            rank = self._ranks.get(name)
            made.append(Input(name, one.operations, one.layer, one.place, rank, one.known, place < needed))
        return made

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            value = self._value(statement.value)
            for target in statement.targets:
                self._bind(target, value, statement.value)
        elif isinstance(statement, (ast.For, ast.While)):
            if isinstance(statement, ast.For):
                self._loop(statement)
            self._block(statement.body)
        elif isinstance(statement, ast.If):
            self._value(statement.test)
            self._block(statement.body)
            self._block(statement.orelse)
        elif isinstance(statement, (ast.With, ast.Try)):
            self._block(statement.body)
        elif (
            isinstance(statement, (ast.Expr, ast.Return, ast.AugAssign, ast.AnnAssign)) and statement.value is not None
        ):
            value = self._value(statement.value)
            if isinstance(statement, ast.AnnAssign):
                self._bind(statement.target, value, statement.value)

    def _loop(self, loop: ast.For) -> None:
        over = loop.iter
        target: ast.expr = loop.target
        if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
            over = over.args[0]
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        path = _path(over)
        if path and isinstance(target, ast.Name):
            self._layers[target.id] = path + ".0"

    def _bind(self, target: ast.expr, value: _Tracked | None, expression: ast.expr) -> None:
        if isinstance(target, ast.Name):
            if value is not None:
                self._tracked[target.id] = value
            else:
                self._tracked.pop(target.id, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            owner = _shape_of(expression)
            known = self._tracked.get(owner) if owner else None
            if known is not None and not known.operations and not any(isinstance(e, ast.Starred) for e in target.elts):
                self._ranks.setdefault(known.name, len(target.elts))
            whole = self._tracked.get(expression.id) if isinstance(expression, ast.Name) else None
            if whole is not None:  # x, y = inputs
                self._taken(_Tracked(whole.name, whole.operations, False), "", 0)
            for part in target.elts:
                if isinstance(part, ast.Name) and part.id != owner:
                    self._tracked.pop(part.id, None)

    def _value(self, node: ast.expr) -> _Tracked | None:
        """What an expression is of the inputs; `None` for what was made of them."""
        if isinstance(node, ast.Name):
            return self._tracked.get(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left), self._value(node.right)
            if left is not None and right is not None:
                self._taken(_unknown(left), "", 0)
                self._taken(_unknown(right), "", 0)
                return None
            return left or right
        if isinstance(node, ast.Subscript):
            inner = self._value(node.value)
            if inner is not None and isinstance(node.value, ast.Name):
                return _Tracked(inner.name, inner.operations, known=False)
            return None
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child)
        return None

    def _call(self, call: ast.Call) -> _Tracked | None:
        name = last_name(call.func)
        path = _path(call.func) or (self._layers.get(call.func.id, "") if isinstance(call.func, ast.Name) else "")
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if path:
            for place, argument in enumerate(arguments):
                value = self._value(argument)
                if value is not None:
                    self._into(value, path, place)
            return None
        if isinstance(call.func, ast.Attribute):
            on = self._value(call.func.value)
            if on is not None:
                return self._operated(on, name, call.args, call.keywords)
        values = [self._value(argument) for argument in arguments]
        first = values[0] if values else None
        if first is not None and sum(value is not None for value in values) == 1:
            return self._operated(first, name, call.args[1:], call.keywords)
        for value in values:
            if value is not None:
                self._taken(_unknown(value), "", 0)
        return None

    def _into(self, value: _Tracked, path: str, place: int) -> None:
        """A layer, or a method of the class, takes a value."""
        method = self._methods.get(path)
        if method is None or self._depth > 4:
            self._taken(value, path, place)
            return
        inner = _Reader(self._methods, self._depth + 1)
        inner._layers = dict(self._layers)
        inputs = inner.inputs(method)
        if place < len(inputs) and value.known:
            one = inputs[place]
            self._taken(_Tracked(value.name, (*value.operations, *one.operations), one.known), one.layer, one.place)
            if one.rank is not None and not value.operations:
                self._ranks.setdefault(value.name, one.rank)
        else:
            self._taken(_unknown(value), "", 0)

    def _operated(
        self, value: _Tracked, name: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> _Tracked | None:
        if name in ("size", "dim", "shape", "get_shape", "numel", "len", "is_cuda", "isinstance", "print", "nelement"):
            return None
        if name in _SAME:
            return value
        if name in _INTEGERS:
            return _Tracked(value.name, (*value.operations, ("integers", ())), value.known)
        numbers = _numbers(
            [*args, *(k.value for k in keywords if k.arg in ("dim", "dim0", "dim1", "axis", "start_dim"))]
        )
        operation: Operation | None = None
        if name in ("view", "reshape"):
            operation = _reshaped(args)
        elif name == "flatten" and (numbers is None or numbers in ((), (1,))):
            operation = ("flatten", ())
        elif name in ("unsqueeze", "expand_dims", "squeeze", "permute", "transpose", "swapaxes") and numbers:
            operation = ("transpose" if name == "swapaxes" else "unsqueeze" if name == "expand_dims" else name, numbers)
        if operation is None:
            self._taken(_unknown(value), "", 0)
            return None
        return _Tracked(value.name, (*value.operations, operation), value.known)

    def _taken(self, value: _Tracked, layer: str, place: int) -> None:
        """Remember the first taker of an input."""
        if value.name not in self._found:
            self._found[value.name] = Input(value.name, value.operations, layer, place, None, value.known)


def _unknown(value: _Tracked) -> _Tracked:
    return _Tracked(value.name, value.operations, known=False)


def _reshaped(args: list[ast.expr]) -> Operation | None:
    """`view(-1, 784)`, `view(x.size(0), 1, 28, 28)`, `view(batch, -1)`: the sizes behind the batch."""
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        args = args[0].elts
    sizes = [number(arg) for arg in args[1:]]
    if len(args) == 2 and sizes == [-1]:
        return "flatten", ()
    if len(args) < 2 or any(size is None or size < 1 for size in sizes):
        return None
    return "reshape", tuple(size for size in sizes if size is not None)


def _numbers(args: list[ast.expr]) -> tuple[int, ...] | None:
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        args = args[0].elts
    values = [number(arg) for arg in args]
    return None if any(value is None for value in values) else tuple(value for value in values if value is not None)


def _path(node: ast.expr) -> str:
    """`self.encoder.layers[0]` as "encoder.layers.0"; empty for what is no attribute of `self`."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            index = number(node.slice)
            parts.append(str(index) if index is not None else "0")
            node = node.value
        else:
            return ""
    return ".".join(reversed(parts)) if node.id == "self" else ""


def _shape_of(node: ast.expr) -> str | None:
    """The name whose `.shape` or `.size()` an expression is."""
    if isinstance(node, ast.Call):
        node = node.func if not node.args else ast.Constant(None)
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "size") and isinstance(node.value, ast.Name):
        return node.value.id
    return None
