"""Interpreter: the abstract value of each expression."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from dnnfix.network.containers import element, entry, joined, part_of, unpack
from dnnfix.network.machine import Arguments, Machine
from dnnfix.network.values import (
    MOST_HELD,
    Abstract,
    Env,
    Function,
    Instance,
    Item,
    Items,
    Library,
    Mapping_,
    Opaque,
    Plain,
    Tensor,
    holds_modules,
    integer,
    module_like,
)

_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
}
_LARGEST = 10**12


class Expressions:
    """Evaluates expressions; everything that is not understood is evaluated for its effects and becomes unknown."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.recorder = machine.recorder
        self._by_type: dict[type[ast.expr], Callable[[Any, Env], Abstract]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Tuple: self._sequence,
            ast.List: self._sequence,
            ast.Set: self._sequence,
            ast.Dict: self._dict,
            ast.Subscript: self._subscript,
            ast.IfExp: self._conditional,
            ast.BoolOp: self._boolean,
            ast.Compare: self._compare,
            ast.Lambda: self._lambda,
            ast.ListComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.DictComp: self._dict_comprehension,
            ast.NamedExpr: self._walrus,
            ast.Starred: self._starred,
        }

    def evaluate(self, node: ast.expr, env: Env) -> Abstract:
        """The value of an expression; its calls are recorded on the way."""
        self.machine.step()
        handler = self._by_type.get(type(node))
        if handler is not None:
            return handler(node, env)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, env)
        return Opaque(node)

    def _constant(self, node: ast.Constant, env: Env) -> Abstract:
        value = node.value
        return Plain(value, node) if value is None or isinstance(value, bool | int | float | str) else Opaque()

    def _name(self, node: ast.Name, env: Env) -> Abstract:
        found = env.lookup(node.id)
        if found is not None:
            return found
        name = self.machine.source.qualified(node)
        if name is not None:
            return Library(name)
        unknown = Opaque(node)
        if env.module is not None:
            env.module.names.setdefault(node.id, unknown)
        return unknown

    def _attribute(self, node: ast.Attribute, env: Env) -> Abstract:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and env.lookup(root.id) is None:
            name = self.machine.source.qualified(node)
            if name is not None:
                return Library(name)
        return self.machine.get(self.evaluate(node.value, env), node.attr, node, env)

    def _call(self, node: ast.Call, env: Env) -> Abstract:
        callee = self.evaluate(node.func, env)
        return self.machine.call(callee, self.arguments(node, env), node, env)

    def arguments(self, node: ast.Call, env: Env) -> Arguments:
        """The evaluated arguments of a call, stars taken apart where their contents are known."""
        found = Arguments()
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(argument.value, env)
                if isinstance(value, Items) and value.draft is None and value.exact and not found.open:
                    found.positional.extend((v, None) for v in value.values())
                else:
                    found.open = True
                    found.rest.append(value)
            elif found.open:
                found.rest.append(self.evaluate(argument, env))
            else:
                found.positional.append((self.evaluate(argument, env), argument))
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, env)
            if keyword.arg is not None:
                found.keywords[keyword.arg] = (value, keyword.value)
            elif isinstance(value, Mapping_) and value.closed and value.draft is None:
                found.keywords.update({str(k): (v, None) for k, v in value.entries.items()})
            else:
                found.open = True
                found.rest.append(value)
        return found

    def _binary(self, node: ast.BinOp, env: Env) -> Abstract:
        left, right = self.evaluate(node.left, env), self.evaluate(node.right, env)
        return self.binary(node.op, left, right, node)

    def binary(self, op: ast.operator, left: Abstract, right: Abstract, node: ast.expr | ast.stmt) -> Abstract:
        """The result of an operator; a call of the tensor method where a torch tensor takes part."""
        name, function = _ARITHMETIC.get(type(op), ("", None))
        if isinstance(left, Plain) and isinstance(right, Plain) and function is not None:
            return _fold(function, left.value, right.value, op)
        if isinstance(left, Items) and isinstance(right, Items) and isinstance(op, ast.Add) and left.draft is None:
            return Items(left.kind, joined(left.items, right.items), self.machine.context)
        if isinstance(left, Items) and isinstance(op, ast.Mult) and left.draft is None:
            if (times := integer(right)) is not None and len(left.items) * times <= 64:
                return Items(left.kind, left.items * times, self.machine.context)
            return Items(left.kind, [Item(i.value, False) for i in left.items], self.machine.context)
        frameworks = {v.framework for v in (left, right) if isinstance(v, Tensor)}
        if not frameworks or not name:
            return Opaque(node)
        framework = frameworks.pop() if len(frameworks) == 1 else self.recorder.framework
        if framework == "numpy":
            return self.recorder.tensor("numpy", origin="data", site=self.recorder.site(node))
        inputs = [self.recorder.value_of(v, node) for v in (left, right)]
        prefix = "torch.Tensor." if framework == "torch" else "keras.ops."
        made = self.recorder.call(prefix + _name_in(framework, name), node, inputs)
        return Tensor(made[0], framework)

    def _unary(self, node: ast.UnaryOp, env: Env) -> Abstract:
        value = self.evaluate(node.operand, env)
        if isinstance(value, Plain):
            if isinstance(node.op, ast.USub) and isinstance(value.value, int | float):
                return Plain(-value.value, node)
            if isinstance(node.op, ast.Not):
                return Plain(not value.value, node)
        if isinstance(value, Tensor) and isinstance(node.op, ast.USub) and value.framework == "torch":
            return Tensor(self.recorder.call("torch.Tensor.neg", node, [value.value])[0], "torch")
        return Opaque(node)

    def _sequence(self, node: ast.Tuple | ast.List | ast.Set, env: Env) -> Abstract:
        kind = "tuple" if isinstance(node, ast.Tuple) else "list" if isinstance(node, ast.List) else "set"
        items: list[Item] = []
        for child in node.elts:
            if isinstance(child, ast.Starred):
                inner = self.evaluate(child.value, env)
                items = joined(items, inner.items if isinstance(inner, Items) else [Item(Opaque(), False)])
            else:
                items.append(Item(self.evaluate(child, env)))
        return self.machine.followed(Items(kind, items, self.machine.context))

    def _dict(self, node: ast.Dict, env: Env) -> Abstract:
        made = Mapping_("dict", context=self.machine.context)
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.evaluate(value, env)
            at = self.evaluate(key, env) if key is not None else held
            if key is None:
                made.closed = made.closed and isinstance(at, Mapping_) and at.closed
                made.entries.update(at.entries if isinstance(at, Mapping_) else {})
            elif isinstance(at, Plain) and not isinstance(at.value, list | dict):
                made.entries[at.value] = held
            else:
                made.closed = False
        return self.machine.followed(made)

    def _subscript(self, node: ast.Subscript, env: Env) -> Abstract:
        base = self.evaluate(node.value, env)
        index = self._index(node.slice, env)
        if isinstance(base, Tensor):
            return self._index_tensor(base, index, node)
        if isinstance(base, Items):
            return element(self.machine, base, index, node)
        if isinstance(base, Mapping_):
            return entry(self.machine, base, index)
        return part_of(base, node)

    def _index(self, node: ast.expr, env: Env) -> Abstract:
        if not isinstance(node, ast.Slice):
            return self.evaluate(node, env)
        bounds = [self.evaluate(b, env) if b is not None else Plain(None) for b in (node.lower, node.upper, node.step)]
        return Items("slice", [Item(b) for b in bounds])

    def _index_tensor(self, base: Tensor, index: Abstract, node: ast.Subscript) -> Abstract:
        if base.multiple:
            several = integer(index) is None
            return Tensor(self.recorder.value(producer=base.value.producer), base.framework, multiple=several)
        if base.framework == "numpy":
            return self.recorder.tensor("numpy", origin="data", dtype=base.value.dtype, site=self.recorder.site(node))
        prefix = "torch.Tensor." if base.framework == "torch" else "keras.ops."
        facts: dict[str, object] = {"dtype": base.value.dtype}
        return Tensor(self.recorder.call(prefix + "getitem", node, [base.value], facts=facts)[0], base.framework)

    def _conditional(self, node: ast.IfExp, env: Env) -> Abstract:
        truth = self.truth(node.test, env)
        if truth is not None:
            return self.evaluate(node.body if truth else node.orelse, env)
        with self.machine.branch():
            one = self.evaluate(node.body, env)
        with self.machine.branch():
            other = self.evaluate(node.orelse, env)
        return self.machine.join(one, other)

    def _boolean(self, node: ast.BoolOp, env: Env) -> Abstract:
        with self.machine.branch():
            values = [self.evaluate(v, env) for v in node.values]
        stop = isinstance(node.op, ast.Or)
        kept: list[Abstract] = []
        for value in values:
            known = truth_of(value)
            kept.append(value)
            if known is stop:
                break
            if known is not None and value is not values[-1]:
                kept.pop()
        joined = kept[0]
        for value in kept[1:]:
            joined = self.machine.join(joined, value)
        return joined

    def truth(self, node: ast.expr, env: Env) -> bool | None:
        """Whether a condition holds, where the program's text decides it."""
        return truth_of(self.evaluate(node, env))

    def _compare(self, node: ast.Compare, env: Env) -> Abstract:
        left = self.evaluate(node.left, env)
        others = [self.evaluate(c, env) for c in node.comparators]
        if len(others) != 1:
            return Opaque()
        op, right = node.ops[0], others[0]
        if isinstance(node.left, ast.Name) and node.left.id == "__name__" and isinstance(op, ast.Eq):
            return Plain(isinstance(right, Plain) and right.value == "__main__")
        same = isinstance(op, ast.Is | ast.Eq)
        if isinstance(left, Plain) and isinstance(right, Plain):
            return _compare_plain(op, left.value, right.value)
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and isinstance(right, Plain) and right.value is None:
            return Opaque() if isinstance(left, Opaque) or not _certainly_object(left) else Plain(not same)
        return Opaque()

    def _lambda(self, node: ast.Lambda, env: Env) -> Abstract:
        return self.machine.define(node, env)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, env: Env) -> Abstract:
        inner = Env(env, env.module, context=self.machine.context)
        first = node.generators[0]
        over = self.evaluate(first.iter, env)
        plain = len(node.generators) == 1 and not first.ifs
        if plain and isinstance(over, Items) and over.exact and any(holds_modules(v) for v in over.values()):
            made: list[Item] = []
            for value in over.values():
                self.machine.bind(first.target, value, inner)
                made.append(Item(self.evaluate(node.elt, inner)))
            return Items("list", made, self.machine.context)
        with self.machine.branch():
            self._generators(node.generators, over, inner)
            value = self.evaluate(node.elt, inner)
        return Items("list", [Item(value, False)], self.machine.context)

    def _generators(self, generators: list[ast.comprehension], first: Abstract, inner: Env) -> None:
        for position, generator in enumerate(generators):
            over = first if position == 0 else self.evaluate(generator.iter, inner)
            self.machine.bind(generator.target, unpack(self.machine, over, None)[0], inner)
            for condition in generator.ifs:
                self.evaluate(condition, inner)

    def _dict_comprehension(self, node: ast.DictComp, env: Env) -> Abstract:
        inner = Env(env, env.module, context=self.machine.context)
        with self.machine.branch():
            self._generators(node.generators, self.evaluate(node.generators[0].iter, env), inner)
            self.evaluate(node.key, inner)
            self.machine.escape(self.evaluate(node.value, inner))
        return Mapping_("dict", closed=False, context=self.machine.context)

    def _walrus(self, node: ast.NamedExpr, env: Env) -> Abstract:
        value = self.evaluate(node.value, env)
        self.machine.bind(node.target, value, env)
        return value

    def _starred(self, node: ast.Starred, env: Env) -> Abstract:
        self.evaluate(node.value, env)
        return Opaque()


def truth_of(value: Abstract) -> bool | None:
    """Whether a value counts as true, where that is known."""
    if isinstance(value, Plain):
        return bool(value.value)
    return True if isinstance(value, Function) or (isinstance(value, Instance) and not value.open) else None


def _certainly_object(value: Abstract) -> bool:
    return isinstance(value, Tensor | Instance | Function | Items | Mapping_) or module_like(value)


def _name_in(framework: str, name: str) -> str:
    if framework == "torch":
        return name
    return {"sub": "subtract", "mul": "multiply", "div": "divide", "remainder": "mod", "pow": "power"}.get(name, name)


def _fold(function: Callable[[Any, Any], Any], left: Any, right: Any, op: ast.operator) -> Abstract:
    if isinstance(op, ast.Pow | ast.Mult) and not _small(left, right, isinstance(op, ast.Pow)):
        return Opaque()
    if isinstance(left, str) and (isinstance(op, ast.Mod) or len(left) > MOST_HELD):
        return Opaque()  # a line that doubles a text stands in loops
    try:
        result = function(left, right)
    except (TypeError, ValueError, ArithmeticError):
        return Opaque()
    return Plain(result) if isinstance(result, bool | int | float | str) else Opaque()


def _small(left: Any, right: Any, power: bool) -> bool:
    """Whether the result of a product or power stays small enough to be worth computing."""
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return False
    return abs(left) < _LARGEST and abs(right) < (_LARGEST if not power else 64)


def _compare_plain(op: ast.cmpop, left: Any, right: Any) -> Abstract:
    table: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Is: operator.eq,
        ast.IsNot: operator.ne,
    }
    function = table.get(type(op))
    if function is None:
        return Opaque()
    try:
        return Plain(bool(function(left, right)))
    except TypeError:
        return Opaque()
