"""Interpreter: attribute access, for instances of the program's classes, tensors, models and library objects."""

from __future__ import annotations

import ast

from dnnfix.network.machine import Arguments, Machine
from dnnfix.network.nodes import own_nodes
from dnnfix.network.user_code import UserCode
from dnnfix.network.values import (
    Abstract,
    Class,
    Env,
    Instance,
    Item,
    Items,
    KerasModel,
    Library,
    Made,
    Method,
    Opaque,
    Plain,
    Super,
    Tensor,
)

_VIEWS = ("data", "T", "mT", "H")
_FACTS = ("device", "dtype", "grad", "ndim", "grad_fn", "is_cuda", "requires_grad", "layout", "names")
_HARMLESS = (
    "in_features", "out_features", "in_channels", "out_channels", "num_features", "hidden_size", "input_size",
    "num_layers", "embedding_dim", "num_embeddings", "training", "kernel_size", "stride", "padding", "name", "units",
)  # fmt: skip


class Attributes:
    """Looks attributes up in objects of the program, in classes, tensors and library objects."""

    def __init__(self, machine: Machine, user_code: UserCode) -> None:
        self.machine = machine
        self.user_code = user_code
        self._places: dict[ast.ClassDef, dict[str, tuple[int, bool]]] = {}

    def get(self, base: Abstract, name: str, node: ast.expr, env: Env) -> Abstract:
        """The value of `base.name`."""
        if isinstance(base, Instance):
            return self._of_instance(base, name, node)
        if isinstance(base, Library):
            return Library(f"{base.name}.{name}")
        if isinstance(base, Tensor):
            return self._of_tensor(base, name, node)
        if isinstance(base, Class):
            found = self.user_code.find_value(base, name)
            return found if found is not None else Opaque()
        if isinstance(base, Super):
            return self._of_super(base, name)
        if isinstance(base, Made):
            return self._of_made(base, name)
        if isinstance(base, KerasModel) and name in ("output", "outputs", "input", "inputs", "layers"):
            return self.machine.call(Method(base, name), Arguments(), None, env)
        return Method(base, name)

    def _of_instance(self, base: Instance, name: str, node: ast.expr) -> Abstract:
        if name in base.attributes:
            if self.machine.leftover and self._set_in_many_places(base.of, name):
                self.machine.escape(base.attributes[name])
                return Opaque(node)
            return base.attributes[name]
        method = self.user_code.find(base.of, name)
        if method is not None:
            bound = self.user_code.bind_method(method, base)
            if method.kind == "property":
                return self.user_code.call_function(bound, Arguments())
            return bound
        held = self.user_code.find_value(base.of, name)
        if held is not None:
            return held
        if name in ("__dict__", "_modules", "__class__"):
            self.machine.open_up(base)
        if name == "training":
            return Opaque()
        return Method(base, name)

    def _set_in_many_places(self, of: Class, name: str) -> bool:
        """Whether methods other than the constructor set the attribute as well, so that its value depends on their
        order."""
        if of.node not in self._places:
            self._places[of.node] = _assignments(of.node)
        count, outside = self._places[of.node].get(name, (0, False))
        return count > 1 and outside

    def _of_tensor(self, base: Tensor, name: str, node: ast.expr) -> Abstract:
        if name in _VIEWS and base.framework == "torch":
            return Tensor(self.machine.recorder.call(f"torch.Tensor.{name}", node, [base.value])[0], "torch")
        if name == "shape" and base.value.shape is not None and all(d is not None for d in base.value.shape):
            return Items("tuple", [Item(Plain(d)) for d in base.value.shape])
        return Opaque() if name in _FACTS or name == "shape" else Method(base, name)

    def _of_super(self, base: Super, name: str) -> Abstract:
        for parent in base.of.bases:
            if isinstance(parent, Class) and (found := self.user_code.find(parent, name)) is not None:
                if isinstance(base.bound, Instance):
                    return self.user_code.bind_method(found, base.bound)
                return found
        if isinstance(base.bound, Instance) and name not in ("__new__", "__setattr__", "build"):
            return Method(base.bound, name)
        return Method(Opaque(), name)

    def _of_made(self, base: Made, name: str) -> Abstract:
        for label, part in base.inner:
            if label == name:
                return part
        if name in ("weight", "bias") and base.draft.kind == "layer":
            self.machine.escape(base)
        if name in _HARMLESS and name in base.draft.args:
            value = base.draft.args[name]
            return Plain(value) if isinstance(value, bool | int | float | str) else Opaque()
        return Method(base, name)


def _assignments(node: ast.ClassDef) -> dict[str, tuple[int, bool]]:
    """How often each attribute of `self` is assigned in a class, and whether outside of the constructor as well."""
    found: dict[str, tuple[int, bool]] = {}
    for method in node.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        outside = method.name != "__init__"
        for child in own_nodes(method.body):
            if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
                count, before = found.get(child.attr, (0, False))
                found[child.attr] = (count + 1, before or outside)
    return found
