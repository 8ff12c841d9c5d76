"""Finds the code cells in the JSON text of a notebook, and writes a changed cell back without touching anything else.

The JSON text is walked with the standard library's own scanner, so that a changed cell can be written back in place and
everything else (outputs, key order, indentation, escapes) stays as it is to the byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from json.decoder import scanstring  # type: ignore[attr-defined]

_SPACE = re.compile(r"[ \t\n\r]*")
_RAW_LINE = re.compile(r"(?:[^\\]|\\[^n])*(?:\\n|$)", re.DOTALL)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell. `start` and `end` delimit its source value in the JSON text; `items` are the strings in it."""

    name: str
    """Its id, or its number among all cells, from 0, where it has none."""
    number: int
    """Its number among all cells, from 1: what its reader can count."""
    source: str
    start: int
    end: int
    items: tuple[tuple[int, int], ...]
    is_list: bool


class NotNotebook(Exception):
    """Why a text is not a notebook."""


def code_cells(text: str) -> tuple[list[Cell], str]:
    """The code cells of a notebook's JSON text, and its language ("python" where it names none)."""
    cells: list[Cell] = []
    language = "python"
    seen = False
    try:
        for key, at in _members(text, _skip(text, 0)):
            if key == "metadata":
                language = _language(_DECODER.raw_decode(text, at)[0]) or language
            elif key in {"cells", "worksheets"}:
                seen = True
                _collect(text, at, cells)
    except json.JSONDecodeError as error:
        raise NotNotebook(f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise NotNotebook("its JSON is nested too deeply") from None
    except (IndexError, ValueError) as error:
        raise NotNotebook(f"its JSON cannot be read: {error}") from None
    if not seen:
        raise NotNotebook("it has no cells")
    return cells, language


def written(text: str, cell: Cell, source: str) -> str:
    """The JSON of a cell's source value with `source` as its content; unchanged lines keep their own form."""
    escape = text.isascii() and "\\u" in text
    new = re.findall(r"[^\n]*\n|[^\n]+", source)
    old_raw, old = _units(text, cell)
    parts: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts += old_raw[a:b]
        else:
            parts += [json.dumps(line, ensure_ascii=escape)[1:-1] for line in new[c:d]]
    if not cell.is_list:
        return '"' + "".join(parts) + '"'
    if not cell.items:
        return "[" + ", ".join(f'"{part}"' for part in parts) + "]"
    lead = text[cell.start + 1 : cell.items[0][0]]
    tail = text[cell.items[-1][1] : cell.end - 1]
    between = text[cell.items[0][1] : cell.items[1][0]] if len(cell.items) > 1 else "," + (lead or " ")
    return "[" + lead + between.join(f'"{part}"' for part in parts) + tail + "]" if parts else "[]"


def _units(text: str, cell: Cell) -> tuple[list[str], list[str]]:
    """The lines of a cell as they stand in the JSON text (without quotes) and what they mean."""
    if cell.is_list:
        raw = [text[start + 1 : end - 1] for start, end in cell.items]
    else:
        (start, end), *_ = cell.items
        raw = [found for found in _RAW_LINE.findall(text[start + 1 : end - 1]) if found]
    return raw, [scanstring(f'{part}"', 0)[0] for part in raw]


def _collect(text: str, at: int, cells: list[Cell]) -> None:
    """Add the code cells of the array at `at`; the cells of a version 3 notebook lie in worksheets."""
    for number, item in enumerate(_elements(text, at)):
        kind, name, source = "", "", None
        for key, value in _members(text, item):
            if key in {"cell_type", "id"}:
                content = _DECODER.raw_decode(text, value)[0]
                if isinstance(content, str):
                    kind, name = (content, name) if key == "cell_type" else (kind, content)
            elif key in {"source", "input"}:
                source = value
            elif key == "cells":
                _collect(text, value, cells)
        if kind == "code" and source is not None:
            cells.append(_cell(text, source, name or str(number), number + 1))


def _cell(text: str, at: int, name: str, number: int) -> Cell:
    if text[at] == '"':
        source, end = scanstring(text, at + 1)
        return Cell(name, number, source, at, end, ((at, end),), False)
    items, parts, end = [], [], at
    for item in _elements(text, at):
        if text[item] != '"':
            raise NotNotebook(f"the source of cell {number} is not text")
        part, end = scanstring(text, item + 1)
        items.append((item, end))
        parts.append(part)
    end = _DECODER.raw_decode(text, at)[1]
    return Cell(name, number, "".join(parts), at, end, tuple(items), True)


def _language(metadata: object) -> str | None:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        found = part.get(name) if isinstance(part, dict) else None
        if isinstance(found, str) and found:
            return found.lower()
    return None


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The keys of the object at `at`, each with the place of its value."""
    yield from ((key or "", place) for key, place in _walk(text, at, "{", "}"))


def _elements(text: str, at: int) -> Iterator[int]:
    """The places of the elements of the array at `at`."""
    yield from (place for _, place in _walk(text, at, "[", "]"))


def _walk(text: str, at: int, opening: str, closing: str) -> Iterator[tuple[str | None, int]]:
    if text[at : at + 1] != opening:
        raise json.JSONDecodeError(f"Expecting '{opening}'", text, at)
    at = _skip(text, at + 1)
    if text[at : at + 1] == closing:
        return
    while True:
        key = None
        if opening == "{":
            if text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting a key in double quotes", text, at)
            key, at = scanstring(text, at + 1)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise json.JSONDecodeError("Expecting ':'", text, at)
            at = _skip(text, at + 1)
        yield key, at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at : at + 1] == closing:
            return
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ','", text, at)
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
