"""Interpreter: the state that its parts share, namely names, control contexts, the budget of work, and joins.

The interpreter reads a program once, top to bottom, as Python would run it: functions of the program are entered where
they are called, both branches of an unknown condition are read and joined, loop bodies are read once with everything
that the body assigns unknown at its start. What may have several origins becomes unknown. Changes made to an object in
another control context than the one it was made in are uncertain, because they may happen never or many times.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from dnnfix.network.recorder import Recorder, draft_of, parts
from dnnfix.network.values import (
    Abstract,
    Env,
    Function,
    FunctionNode,
    Instance,
    Item,
    Items,
    Library,
    Mapping_,
    Method,
    OneOf,
    Opaque,
    Plain,
    Tensor,
    overfull,
)
from dnnfix.source.program import Source

INLINING_STEPS = 30_000
"""After this many evaluated nodes, functions of the program are no longer entered; more in one of over `LONG` lines."""
ALL_STEPS = 120_000
"""After this many, reading stops; what was found is kept. More as well."""
DEEPEST = 20
"""Calls of the program's functions are followed this deep."""


Key = TypeVar("Key")


class Flow(Enum):
    """How reading a block ended: at its end, certainly before it, or perhaps before it."""

    ON = "on"
    ENDED = "ended"
    PERHAPS = "perhaps"


class Exhausted(Exception):
    """The budget of work for one program is used up."""


@dataclass(slots=True)
class Frame:
    """A function that is being read: what it may return, and the states at `break` and `continue` of its loops."""

    function: Function | None
    returns: list[Abstract] = field(default_factory=list)
    loops: list[list[dict[str, Abstract]]] = field(default_factory=list)


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments of a call. `open` means that a star argument may contain more of them."""

    positional: list[tuple[Abstract, ast.expr | None]] = field(default_factory=list)
    keywords: dict[str, tuple[Abstract, ast.expr | None]] = field(default_factory=dict)
    open: bool = False
    rest: list[Abstract] = field(default_factory=list)

    def get(self, position: int | None, *names: str) -> Abstract | None:
        """The argument at a position or under one of the names; `None` where it is missing."""
        found = self.node(position, *names)
        return found[0] if found is not None else None

    def node(self, position: int | None, *names: str) -> tuple[Abstract, ast.expr | None] | None:
        """Like `get`, with the node."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def all(self) -> Iterator[tuple[Abstract, ast.expr | None]]:
        """Every argument in order."""
        yield from self.positional
        yield from self.keywords.values()


class Machine:
    """State and services. The callables that are declared without a value are set by `Interpreter`."""

    evaluate: Callable[[ast.expr, Env], Abstract]
    """The value of an expression."""
    execute: Callable[[list[ast.stmt], Env], Flow]
    """Read statements."""
    call: Callable[[Abstract, Arguments, ast.Call | None, Env], Abstract]
    """The result of a call."""
    get: Callable[[Abstract, str, ast.expr, Env], Abstract]
    """The value of an attribute."""
    bind: Callable[[ast.expr, Abstract, Env], None]
    """Assign to a target."""
    define: Callable[[FunctionNode, Env], Function]
    """Make a function of its definition."""

    def __init__(self, source: Source, recorder: Recorder) -> None:
        self.source = source
        self.recorder = recorder
        self.frames: list[Frame] = [Frame(None)]
        self.module = Env(None)
        self.module.module = self.module
        self.context = 0
        self.functions: list[Function] = []
        self.instances: list[Instance] = []
        self.executed: set[ast.AST] = set()
        self.active: list[ast.AST] = []
        self.leftover = False
        self._contexts = 0
        self._steps = 0
        self._all_steps, self._inlining_steps = ALL_STEPS * recorder.length, INLINING_STEPS * recorder.length
        self.imported: set[str] = set()

    def step(self) -> None:
        """Count one unit of work; raises `Exhausted` when there is none left."""
        self._steps += 1
        if self._steps > self._all_steps:
            raise Exhausted

    @property
    def may_enter(self) -> bool:
        """Whether a function of the program may still be entered."""
        if self._steps > self._inlining_steps and not self.leftover:
            self.recorder.complete = False
            return False
        return len(self.active) < DEEPEST

    @contextmanager
    def branch(self) -> Iterator[None]:
        """A control context of its own: what happens inside may happen never or often."""
        outer = self.context
        self.enter_context()
        try:
            yield
        finally:
            self.context = outer

    def enter_context(self) -> None:
        """From here on, in the present block, what happens may not happen."""
        self._contexts += 1
        self.context = self._contexts

    def certain(self, context: int) -> bool:
        """Whether a change now of something made in `context` surely happens once."""
        return context == self.context

    def join(self, one: Abstract, other: Abstract) -> Abstract:
        """What is known of a value that is one of the two."""
        if one is other:
            return one
        if isinstance(one, Plain) and isinstance(other, Plain):
            if type(one.value) is type(other.value) and one.value == other.value:
                return one
        elif isinstance(one, Library) and isinstance(other, Library):
            if one.name == other.name:
                return one
        elif isinstance(one, Tensor) and isinstance(other, Tensor):
            return self._join_tensors(one, other)
        elif isinstance(one, Items) and isinstance(other, Items):
            if one.kind == other.kind == "tuple" and len(one.items) == len(other.items) and one.exact and other.exact:
                joined = [self.join(a, b) for a, b in zip(one.values(), other.values(), strict=True)]
                return Items("tuple", [Item(v) for v in joined], self.context)
        elif isinstance(one, Function) and isinstance(other, Function):
            same = one.node is other.node and one.bound is other.bound and one.env is other.env
            if same:
                return one
        for lost in (one, other):
            self.escape(lost)
        return Opaque()

    def _join_tensors(self, one: Tensor, other: Tensor) -> Abstract:
        if one.value.id == other.value.id:
            return one
        a, b = one.value, other.value
        return self.recorder.tensor(
            one.framework,
            shape=a.shape if a.shape == b.shape else None,
            dtype=a.dtype if a.dtype == b.dtype else None,
            origin=a.origin if a.origin == b.origin and a.producer is None and b.producer is None else None,
        )

    def merge(self, states: list[dict[str, Abstract]]) -> dict[str, Abstract]:
        """The names after several control-flow paths have joined."""
        if not states:
            return {}
        merged = states[0]
        for state in states[1:]:
            merged = self._merge_two(merged, state)
        return dict(merged)

    def _merge_two(self, one: dict[str, Abstract], other: dict[str, Abstract]) -> dict[str, Abstract]:
        merged = dict(one)
        for name, value in other.items():
            if name not in one:
                merged[name] = Opaque() if name in self.imported else value
            elif one[name] is not value:
                merged[name] = self.join(one[name], value)
        for name in one:
            if name in self.imported and name not in other:
                merged[name] = Opaque()
        return merged

    def fuzz(self, value: Abstract) -> Abstract:
        """A value that may meanwhile have been replaced by another one."""
        if isinstance(value, Tensor):
            return self.recorder.tensor(value.framework)
        if isinstance(value, Plain | Opaque | Tensor):
            return Opaque()
        self.escape(value)
        return Opaque()

    def overwrite(self, tensor: Tensor) -> None:
        """Note that a tensor was changed in place: its shape and dtype stay, its producer is unknown."""
        old = tensor.value
        tensor.value = self.recorder.value(shape=old.shape, dtype=old.dtype)

    def escape(self, value: Abstract, deep: bool = False) -> None:
        """Note that a value is passed to unknown code: how often its components are called is unknown from here on."""
        draft = draft_of(value)
        if draft is not None and draft.id not in self.recorder.escaped:
            self.recorder.escaped.add(draft.id)
            if deep or not isinstance(value, Instance):
                for _, part in parts(value):
                    self.escape(part, deep)
        elif isinstance(value, Items) and value.draft is None:
            for part in value.values():
                self.escape(part, deep)
        elif isinstance(value, Mapping_) and value.draft is None:
            for part in value.entries.values():
                self.escape(part, deep)
        elif isinstance(value, Method):
            self.escape(value.base)
        elif isinstance(value, Function) and value.bound is not None:
            self.escape(value.bound)
        elif isinstance(value, OneOf):
            self.escape(value.of, deep=True)

    def escape_all(self, arguments: Arguments) -> None:
        """The arguments go to code that cannot be seen; an object that hands itself out hands out its parts."""
        for value in [*(v for v, _ in arguments.all()), *arguments.rest]:
            handed_by_itself = isinstance(value, Instance) and any(f in self.active for f in _nodes(value))
            self.escape(value, deep=handed_by_itself)

    def open_up(self, value: Abstract) -> None:
        """Attributes of the value may be read or set out of sight."""
        if isinstance(value, Instance):
            value.open = True
            for _, part in parts(value):
                self.escape(part, deep=True)

    def store(self, held: dict[Key, Abstract], key: Key, value: Abstract, context: int) -> None:
        """Set an attribute, an entry or a name of what was made in `context`; joined with the old value unless it surely replaces it."""
        old = held.get(key)
        held[key] = value if old is None or self.certain(context) else self.join(old, value)

    def followed(self, value: Abstract) -> Abstract:
        """The value, or an unknown one where it is too large to be followed."""
        if not overfull(value):
            return value
        self.escape(value)
        return Opaque()

    def append(self, target: Items, value: Abstract, name: str = "") -> None:
        """Add to a list."""
        target.items.append(Item(self.followed(value), self.certain(target.context), name))


def _nodes(instance: Instance) -> list[ast.AST]:
    return [method.node for method in instance.of.methods.values()]
