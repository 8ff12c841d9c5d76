"""Interpreter: constructors of library components, the part that torch and Keras share."""

from __future__ import annotations

import ast
from typing import ClassVar

from dnnfix.network.machine import Arguments, Machine
from dnnfix.network.signatures import bind, defaults
from dnnfix.network.values import Made, module_like
from dnnfix.records import Json

_HELD = ("layer", "model", "loss")
"""Kinds of components that are part of a network."""


class FrameworkLibrary:
    """Constructors of one framework."""

    framework: ClassVar[str]
    first_part: ClassVar[str] = "0"
    """The attribute that holds the first of the layers that a layer is given."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.recorder = machine.recorder

    def made(self, kind: str, name: str, arguments: Arguments, node: ast.Call | None) -> Made:
        """The component that the constructor `name` returns; its arguments' components may be called any number of
        times.
        """
        made = Made(self.recorder.draft(kind, name, node, self.arguments(name, arguments)), self.framework)
        if kind in _HELD:
            inner = [value for value, _ in arguments.all() if module_like(value)]
            made.inner = tuple((str(i) if i else self.first_part, value) for i, value in enumerate(inner))
            for value in inner:
                self.machine.escape(value, deep=True)
            self.recorder.roots.append(made)
        return made

    def arguments(self, name: str, arguments: Arguments) -> dict[str, Json]:
        """A call's arguments by parameter name, defaults included unless a star argument hides some."""
        positional = [self.recorder.json(value, node) for value, node in arguments.positional]
        keywords = {k: self.recorder.json(value, node) for k, (value, node) in arguments.keywords.items()}
        given = bind(name, positional, keywords)
        return given if arguments.open else {**defaults(name), **given}
