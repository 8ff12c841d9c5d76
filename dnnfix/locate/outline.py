"""What of a Python file is indexed: its words by field, its definitions and the lines they stand on, what it raises, and the sizes it makes objects of."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from dnnfix.locate.words import text_of
from dnnfix.source.parse import Unparsable, parse

_NOTE = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_DEFINITION = re.compile(r"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_RAISING = ("raise ", "assert ", "warn(", "warning(", "error(")
_BUILT = re.compile(r"\b([A-Z]\w+)\(([^()\n]{1,160})\)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
SHORTEST = 9
"""Characters of a message below which it says nothing."""
RAISED_LINES = 6
"""Lines of a statement that raises in which its message is looked for."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, method or class: its dotted name in the file, and its first and last line."""

    name: str
    first: int
    last: int
    is_class: bool


@dataclass(frozen=True, slots=True)
class Message:
    """The literal text of what a statement raises, asserts or warns, and its line."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Built:
    """A call that makes an object of a class with whole numbers (`Linear(128, 10)`), as layers are made, and its line."""

    text: str
    numbers: frozenset[int]
    line: int


@dataclass(frozen=True, slots=True)
class Outline:
    """What of a file is indexed. `names`, `notes`, `body` and `bodies` are words as the index takes them."""

    names: str
    notes: str
    body: str
    definitions: tuple[Definition, ...]
    bodies: tuple[str, ...]
    """The words of each definition; of a class, those that stand in none of its methods."""
    messages: tuple[Message, ...]
    built: tuple[Built, ...]
    lines: int


def outline(text: str) -> Outline:
    """The outline of a file; one that does not parse is read by its lines."""
    lines = text.split("\n")
    said = [text_of(line) for line in lines]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    try:
        definitions = tuple(_defined(parse(text).body, ""))
    except Unparsable:
        definitions = tuple(_written(text, starts))
    return Outline(
        names=text_of(" ".join(each.name.rpartition(".")[2] for each in definitions)),
        notes=text_of(" ".join(_NOTE.findall(text))),
        body=" ".join(said),
        definitions=definitions,
        bodies=tuple(" ".join(_own_lines(each, definitions, said)) for each in definitions),
        messages=tuple(_raised(lines)),
        built=tuple(_built(text, starts)),
        lines=len(lines),
    )


def _defined(body: Sequence[ast.stmt], within: str) -> Iterator[Definition]:
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([statement.lineno, *(each.lineno for each in statement.decorator_list)])
            is_class = isinstance(statement, ast.ClassDef)
            yield Definition(within + statement.name, first, statement.end_lineno or first, is_class)
            if is_class:
                yield from _defined(statement.body, f"{within}{statement.name}.")
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _defined(statement.body, within)
            yield from _defined(getattr(statement, "orelse", []), within)
            for handler in getattr(statement, "handlers", []):
                yield from _defined(handler.body, within)


def _written(text: str, starts: Sequence[int]) -> Iterator[Definition]:
    """The definitions of a file that does not parse (of another Python, or broken): each ends where the next of its depth begins."""
    found = [
        (bisect_right(starts, match.start()), len(match[1].expandtabs()), match[2], match[3])
        for match in _DEFINITION.finditer(text)
    ]
    within: list[tuple[int, str]] = []
    for i, (line, depth, kind, name) in enumerate(found):
        while within and within[-1][0] >= depth:
            within.pop()
        last = next((other for other, deep, _, _ in found[i + 1 :] if deep <= depth), len(starts)) - 1
        dotted = ".".join([*(outer for _, outer in within), name])
        if len(within) == depth // 4 or not depth:
            yield Definition(dotted, line, max(line, last), kind == "class")
        if kind == "class":
            within.append((depth, name))


def _own_lines(own: Definition, every: Sequence[Definition], lines: Sequence[str]) -> Sequence[str]:
    if not own.is_class:
        return lines[own.first - 1 : own.last]
    inner = [each for each in every if each.name.startswith(f"{own.name}.")]
    held = {line for each in inner for line in range(each.first, each.last + 1)}
    return [lines[line - 1] for line in range(own.first, min(own.last, len(lines)) + 1) if line not in held]


def _raised(lines: Sequence[str]) -> Iterator[Message]:
    for number, line in enumerate(lines, 1):
        if any(word in line for word in _RAISING):
            said = " ".join(
                each[1:-1] for each in _STRING.findall("\n".join(lines[number - 1 : number - 1 + RAISED_LINES]))
            )
            if len(said) >= SHORTEST:
                yield Message(said, number)


def _built(text: str, starts: Sequence[int]) -> Iterator[Built]:
    for match in _BUILT.finditer(text):
        numbers = frozenset(map(int, _NUMBER.findall(match[2])))
        if numbers:
            yield Built(match[0], numbers, bisect_right(starts, match.start()))
