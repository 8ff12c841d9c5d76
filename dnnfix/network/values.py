"""Interpreter: the abstract values that an expression can have, and environments of names.

Anything that is not one of the known kinds is an `Opaque`; it keeps its identity, so that two uses of one unknown
tensor are still two uses of the same object.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TypeAlias

from dnnfix.records import Json, Site, Value

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False, slots=True)
class Draft:
    """A component while the program is still being read."""

    id: int
    kind: str
    name: str
    site: Site | None
    args: dict[str, Json] = field(default_factory=dict)
    attribute: str | None = None
    parameters: tuple[str, ...] = ()
    children: tuple[int, ...] = ()
    called: int = 0


@dataclass(eq=False, slots=True)
class Opaque:
    """Something unknown, first met at `node`. `value` is there once it was used as a tensor; `origin` is passed on to its
    parts."""

    node: ast.AST | None = None
    origin: str | None = None
    value: Value | None = None


@dataclass(eq=False, slots=True)
class Plain:
    """A literal: number, string, boolean or None, and the node that spelled it.

    `of_modules` marks the length of a container of layers: a loop over that range is a loop over the layers.
    """

    value: Json
    node: ast.expr | None = None
    of_modules: bool = False


@dataclass(eq=False, slots=True)
class Library:
    """A function, class or module of a library, by canonical name."""

    name: str


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor or array. `multiple` means a tuple of tensors that one call returned."""

    value: Value
    framework: str
    multiple: bool = False


@dataclass(eq=False, slots=True)
class Item:
    """One element of a container; `certain` is false for elements that may be missing or repeated."""

    value: Abstract
    certain: bool = True
    name: str = ""


@dataclass(eq=False, slots=True)
class Items:
    """A list, tuple, or a library container of layers. `draft` is there for library containers.

    `context` is the control context in which it was made; changes made in another one are not certain.
    """

    kind: str
    items: list[Item] = field(default_factory=list)
    context: int = 0
    draft: Draft | None = None

    @property
    def exact(self) -> bool:
        """Whether all elements are known to be there, once each."""
        return all(item.certain for item in self.items)

    def values(self) -> list[Abstract]:
        """The elements."""
        return [item.value for item in self.items]


@dataclass(eq=False, slots=True)
class Mapping_:
    """A dictionary with literal keys; `closed` is false when there may be other entries."""

    kind: str
    entries: dict[Json, Abstract] = field(default_factory=dict)
    closed: bool = True
    context: int = 0
    draft: Draft | None = None


@dataclass(eq=False, slots=True)
class Made:
    """An object that a library constructor returned: layer, loss, optimizer, loader, opaque model, …"""

    draft: Draft
    framework: str
    inner: tuple[tuple[str, Abstract], ...] = ()


@dataclass(eq=False, slots=True)
class KerasModel:
    """A Keras `Sequential` (`layers`) or functional model (`inputs`, `outputs`)."""

    draft: Draft
    context: int
    layers: Items | None = None
    inputs: tuple[Abstract, ...] = ()
    outputs: tuple[Abstract, ...] = ()
    emitted: Abstract | None = None


@dataclass(eq=False, slots=True)
class Class:
    """A class of the program. `framework` is set for subclasses of torch's or Keras's module classes."""

    node: ast.ClassDef
    env: Env
    bases: tuple[Abstract, ...]
    methods: dict[str, Function]
    framework: str | None = None


@dataclass(eq=False, slots=True)
class Instance:
    """An object of a class of the program. `open` means that attributes may have been set where it was not seen.

    `inner` is the library model that it is by inheritance, for subclasses of a `Sequential` or of a functional model.
    """

    of: Class
    context: int
    attributes: dict[str, Abstract] = field(default_factory=dict)
    draft: Draft | None = None
    open: bool = False
    inner: Items | KerasModel | None = None


@dataclass(eq=False, slots=True)
class Function:
    """A function, method or lambda of the program, with the object that it is bound to."""

    node: FunctionNode
    env: Env
    defaults: dict[str, Abstract] = field(default_factory=dict)
    bound: Abstract | None = None
    transparent: bool = True
    kind: str = "function"
    of: Class | None = None


@dataclass(eq=False, slots=True)
class Method:
    """A method of something that is not an object of the program: `x.view`, `model.fit`, `net.parameters`."""

    base: Abstract
    name: str


@dataclass(eq=False, slots=True)
class Parameters:
    """The parameters of models, as an optimizer takes them."""

    of: tuple[Abstract, ...]


@dataclass(eq=False, slots=True)
class OneOf:
    """An unknown submodule of a model, as `modules()` yields them."""

    of: Abstract


@dataclass(eq=False, slots=True)
class Super:
    """The object that `super()` returns in a method of `of`."""

    of: Class
    bound: Abstract


Abstract: TypeAlias = (
    Opaque
    | Plain
    | Library
    | Tensor
    | Items
    | Mapping_
    | Made
    | KerasModel
    | Class
    | Instance
    | Function
    | Method
    | Parameters
    | OneOf
    | Super
)


@dataclass(eq=False, slots=True)
class Env:
    """Names and what they hold. A class body has its own environment, which functions in it do not see."""

    parent: Env | None
    module: Env | None = None
    names: dict[str, Abstract] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    context: int = 0
    is_class: bool = False

    def lookup(self, name: str) -> Abstract | None:
        """What the name holds, here or further out; `None` where it is not bound."""
        if name in self.global_names and self.module is not None:
            return self.module.names.get(name)
        env: Env | None = self
        first = True
        while env is not None:
            if (first or not env.is_class) and name in env.names:
                return env.names[name]
            first, env = False, env.parent
        return None


def integer(value: Abstract | None) -> int | None:
    """The integer that a literal is; `None` for any other value."""
    return value.value if isinstance(value, Plain) and isinstance(value.value, int) else None


def string(value: Abstract | None) -> str | None:
    """The string that a literal is; `None` for any other value."""
    return value.value if isinstance(value, Plain) and isinstance(value.value, str) else None


def module_like(value: Abstract) -> bool:
    """Whether the value is a layer, a model or a container of layers."""
    if isinstance(value, Made):
        return value.draft.kind in ("layer", "model", "loss")
    if isinstance(value, Instance):
        return value.of.framework is not None
    if isinstance(value, Items):
        return value.draft is not None
    return isinstance(value, KerasModel) or (isinstance(value, Mapping_) and value.draft is not None)


def holds_modules(value: Abstract) -> bool:
    """Whether the value is module-like or a plain container with something module-like in it."""
    if isinstance(value, Items) and value.draft is None:
        return any(holds_modules(v) for v in value.values())
    return module_like(value)


MOST_HELD = 10_000
"""More than this is not followed element by element: a line that doubles a list stands in loops."""


def overfull(*values: Abstract) -> bool:
    """Whether plain lists hold, one in another, more than is followed: `x = [x, x]` doubles what all walks visit."""
    left, waiting = MOST_HELD, list(values)
    while waiting and left > 0:
        value = waiting.pop()
        left -= 1
        if isinstance(value, Items):
            waiting.extend(value.values())
        elif isinstance(value, Mapping_):
            waiting.extend(value.entries.values())
    return left <= 0
