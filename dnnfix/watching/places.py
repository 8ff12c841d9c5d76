"""Where the layers of a model are made: read from the source of the classes that hold them, when a symptom names one.

A framework does not remember where a layer was made. But a class of the program's says `self.encoder = Sequential(…)`, and
a script `net = Sequential(…)`: from there the path of a layer leads to its call.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

_LIBRARY = tuple(
    os.path.realpath(path) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(name))
)
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True, slots=True)
class Program:
    """The program that trains, and what it calls the model: the file that was started, and the one that watches."""

    file: str = ""
    watching: str = ""
    names: tuple[str, ...] = ()
    line: int = 0
    """The line of the file that watches."""

    def relative(self, file: str) -> str:
        """A file as seen from the program's folder."""
        return os.path.relpath(file, os.path.dirname(self.file)) if self.file else file


def is_users(file: str | None) -> bool:
    """Whether a file is of the user's own: it is there, and of no library."""
    if not file or not os.path.isfile(file):
        return False
    whole = os.path.realpath(file)
    return not whole.startswith((*_LIBRARY, _OWN)) and f"{os.sep}site-packages{os.sep}" not in whole


def program_of(model: object) -> Program:
    """The program from which this is called, and the names that it has for the model."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    started = getattr(sys.modules.get("__main__"), "__file__", None)
    if frame is None:
        return Program(os.path.abspath(started) if started and is_users(started) else "")
    watching = os.path.abspath(frame.f_code.co_filename)
    names = tuple(dict.fromkeys((*_named(frame.f_locals, model), *_named(frame.f_globals, model))))
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and isinstance(frame.f_locals, dict):
        for name in names:  # a copy that lives as long as the function would keep the model alive
            frame.f_locals.pop(name, None)
    return Program(
        os.path.abspath(started) if started and is_users(started) else watching, watching, names, frame.f_lineno
    )


def _named(space: Mapping[str, object], model: object) -> list[str]:
    return [name for name, value in space.items() if value is model]


def made_at(model: object, path: str, program: Program, attribute: Any = getattr) -> tuple[str, int] | None:
    """The file and the line in which the module at a path of the model (`encoder.0.linear`) is made; `None` where that is not known.

    `attribute` reads one step of the path: what a name leads to in a module. A step that leads nowhere ends the path, as
    the name of a weight does.
    """
    owners: list[tuple[object, Sequence[str]]] = [(model, path.split(".") if path else [])]
    module: Any = model
    for number, step in enumerate(owners[0][1]):
        module = attribute(module, step, None)
        if module is None or not hasattr(module, "__dict__"):
            break
        owners.append((module, owners[0][1][number + 1 :]))
    for owner, rest in reversed(owners):
        kind = owner.__class__  # of what a weak reference leads to, where there is one
        file = _file_of(kind)
        if rest and file is not None and (line := _line_in_class(file, kind.__name__, rest)) is not None:
            return file, line
    if program.watching and program.names:
        line = _line_in_script(program, owners[0][1])
        return None if line is None else (program.watching, line)
    return None


def _file_of(kind: type) -> str | None:
    try:
        file = inspect.getsourcefile(kind)
    except (TypeError, OSError):
        return None
    return os.path.abspath(file) if file and is_users(file) else None


def _line_in_class(file: str, name: str, rest: Sequence[str]) -> int | None:
    """The line of `self.<first> = …` in a class, or of what the rest of the path leads to in it."""
    classes = [node for node in ast.walk(_tree(file)) if isinstance(node, ast.ClassDef) and node.name == name]
    for node in classes:
        for target, value in _assigned(node):
            is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
            if is_own and target.attr == rest[0]:  # type: ignore[attr-defined]
                return _within(value, rest[1:])
    return None


def _line_in_script(program: Program, steps: Sequence[str]) -> int | None:
    """The line of the last `<name> = …` before the model is watched, or of what the steps lead to in it."""
    found = [
        (target.lineno <= program.line, target.lineno, value)
        for target, value in _assigned(_tree(program.watching))
        if isinstance(target, ast.Name) and target.id in program.names
    ]
    return _within(max(found, key=lambda one: one[:2])[2], steps) if found else None


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    for one in ast.walk(node):
        if isinstance(one, ast.Assign):
            yield from ((target, one.value) for target in one.targets)
        elif isinstance(one, ast.AnnAssign) and one.value is not None:
            yield one.target, one.value


def _within(made: ast.expr, steps: Sequence[str]) -> int:
    """The line of what a path of indices leads to in the call that makes a container, as far as it is written there."""
    for step in steps:
        if not isinstance(made, ast.Call):
            break
        parts: Sequence[ast.expr] = made.args
        if len(parts) == 1 and isinstance(parts[0], (ast.List, ast.Tuple)):
            parts = parts[0].elts
        parts = [part for part in parts if not _is_input(part)]
        if not step.isdigit() or int(step) >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
            break
        made = parts[int(step)]
    return made.lineno


def _is_input(made: ast.expr) -> bool:
    """Whether an entry of a list of Keras layers only says the shape of the inputs: it is none of the model's layers."""
    name = made.func if isinstance(made, ast.Call) else None
    said = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
    return said in ("Input", "InputLayer")


def _tree(file: str) -> ast.Module:
    try:
        with open(file, "rb") as opened:
            return ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
