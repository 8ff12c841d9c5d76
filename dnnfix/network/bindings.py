"""Interpreter: assignment of a value to a target, which is a name, an attribute, an element or a tuple of these."""

from __future__ import annotations

import ast

from dnnfix.network.containers import unpack
from dnnfix.network.machine import Machine
from dnnfix.network.values import (
    Abstract,
    Class,
    Env,
    Instance,
    Items,
    Made,
    Mapping_,
    Opaque,
    Plain,
    Tensor,
)


class Bindings:
    """Assigns values to targets; see `machine` for the rules."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def bind(self, target: ast.expr, value: Abstract, env: Env) -> None:
        """Assign a value to a target: a name, an attribute, an element, or a tuple of targets."""
        if isinstance(target, ast.Name):
            self._bind_name(target, value, env)
        elif isinstance(target, ast.Attribute):
            self._bind_attribute(target, value, env)
        elif isinstance(target, ast.Subscript):
            self._bind_element(target, value, env)
        elif isinstance(target, ast.Tuple | ast.List):
            starred = any(isinstance(e, ast.Starred) for e in target.elts)
            count = len(target.elts)
            values = unpack(self.machine, value, count, target.elts) if not starred else []
            for i, part in enumerate(target.elts):
                self.bind(part, values[i] if values else Opaque(), env)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, Opaque(), env)

    def _bind_name(self, target: ast.Name, value: Abstract, env: Env) -> None:
        if isinstance(value, Opaque) and value.node is None:
            value.node = target
        if target.id in env.global_names:
            home = env.module if env.module is not None else env
            self.machine.store(home.names, target.id, value, home.context)
        else:
            env.names[target.id] = value

    def _bind_attribute(self, target: ast.Attribute, value: Abstract, env: Env) -> None:
        base = self.machine.evaluate(target.value, env)
        if isinstance(base, Instance):
            self.machine.store(base.attributes, target.attr, value, base.context)
        elif isinstance(base, Class):
            base.methods.pop(target.attr, None)
            base.env.names[target.attr] = Opaque()
            self.machine.escape(value)
        elif isinstance(base, Made) and target.attr in base.draft.args:
            base.draft.args = {**base.draft.args, target.attr: {"repr": "set later"}}
        elif isinstance(base, Made) and base.draft.kind == "model":
            base.inner = (*(i for i in base.inner if i[0] != target.attr), (target.attr, value))
        else:
            self.machine.escape(value)

    def _bind_element(self, target: ast.Subscript, value: Abstract, env: Env) -> None:
        base = self.machine.evaluate(target.value, env)
        key = self.machine.evaluate(target.slice, env)
        if isinstance(base, Mapping_):
            if isinstance(key, Plain) and not isinstance(key.value, list | dict):
                self.machine.store(base.entries, key.value, value, base.context)
            else:
                base.closed = False
                self.machine.escape(value)
        elif isinstance(base, Tensor):
            self.machine.overwrite(base)
        elif isinstance(base, Items):
            for item in base.items:
                self.machine.escape(item.value)
                item.value = self.machine.fuzz(item.value)
            self.machine.escape(value)
        else:
            self.machine.escape(value)
