"""A notebook as a document: its code cells joined to one program, and edits written back into the cells."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from dnnfix.errors import EditError, InputError
from dnnfix.source.cells import Cell, NotNotebook, code_cells, written
from dnnfix.source.decode import MAX_PROGRAM_BYTES, split_lines
from dnnfix.source.document import Document, Splice, spliced
from dnnfix.source.lines import Line
from dnnfix.source.parse import Unparsable, parse
from dnnfix.source.parsing import Recovered, recover

MAX_NOTEBOOK_BYTES = 64 * 2**20
"""The largest notebook that is read, outputs included; the code in it may be as long as a program's."""


@dataclass(frozen=True)
class Notebook:
    """The cells of a notebook and where each begins in the joined program."""

    path: str
    text: str
    bom: bytes
    cells: Sequence[Cell]
    offsets: Sequence[int]
    first_lines: Sequence[int]

    def locate(self, line: int) -> tuple[str | None, int]:
        """The id (or number from 0) of the cell that a line of the program stands in, and the line's number there."""
        found: tuple[str | None, int] = (None, line)
        for cell, first in zip(self.cells, self.first_lines, strict=True):
            if first <= line:
                found = (cell.name, line - first + 1)
        return found

    def number(self, cell: str) -> int:
        """The number of a cell among all, from 1."""
        return next(one.number for one in self.cells if one.name == cell)

    def write(self, splices: Sequence[Splice]) -> bytes:
        """The notebook with the splices carried out in the cells that they fall into."""
        if not self.cells:
            raise EditError(f"{self.path}: there is no code cell to edit.")
        by_cell: dict[int, list[Splice]] = {}
        for splice in splices:
            number = max(n for n, offset in enumerate(self.offsets) if offset <= splice.start)
            by_cell.setdefault(number, []).append(self._in_cell(number, splice))
        changes = []
        for number, own in sorted(by_cell.items()):
            cell = self.cells[number]
            source = spliced(cell.source, own)
            changes.append(Splice(cell.start, cell.end, written(self.text, cell, source)))
        return self.bom + spliced(self.text, changes).encode("utf-8")

    def _in_cell(self, number: int, splice: Splice) -> Splice:
        source = self.cells[number].source
        start, end = splice.start - self.offsets[number], splice.end - self.offsets[number]
        if end == len(source) + 1:
            # Whole lines up to the cell's last: what ends them is the line end before, since the last has none.
            end -= 1
            if start and source[start - 1] == "\n":
                start -= 1
        if end > len(source):
            raise EditError(f"{self.path}: an edit reaches over the end of cell {self.cells[number].number}.")
        return Splice(start, end, splice.new)


def read_notebook(raw: bytes, path: str) -> Document:
    """The document in a notebook's bytes. Raises `InputError`, and nothing else, whatever the bytes."""
    text, bom = _decoded(raw, path)
    try:
        cells, language = code_cells(text)
    except NotNotebook as error:
        raise InputError(f"{path}: not a notebook, {error}; save it from Jupyter again or give a .py file.") from None
    if not language.startswith(("python", "ipython")):
        raise InputError(f"{path}: a notebook in {language}; dnnfix reads Python ones.")
    length = sum(len(cell.source) + 1 for cell in cells)
    if length > MAX_PROGRAM_BYTES:
        limit = MAX_PROGRAM_BYTES // 2**20
        raise InputError(f"{path}: {length:,} characters of code are more than the {limit} MiB that dnnfix analyses.")
    lines: list[str] = []
    endings: list[str] = []
    offsets, first_lines, at = [], [], 0
    for cell in cells:
        offsets.append(at)
        first_lines.append(len(lines) + 1)
        at += len(cell.source) + 1
        own, own_endings = split_lines(cell.source)
        lines += own
        endings += [*own_endings[:-1], "\n"]
    lines, endings = lines or [""], [*endings[:-1], ""]
    recovered = _recovered("\n".join(lines), cells, first_lines, path)
    return Document(
        path=path,
        container=Notebook(path, text, bom, cells, offsets, first_lines),
        own_lines=lines,
        text=recovered.text,
        parsed=recovered.tree,
        endings=endings,
        encoding="utf-8",
        bom=bom,
        rewritten=recovered.rewritten,
        recoveries=recovered.notes,
    )


def _decoded(raw: bytes, path: str) -> tuple[str, bytes]:
    if len(raw) > MAX_NOTEBOOK_BYTES:
        limit = MAX_NOTEBOOK_BYTES // 2**20
        raise InputError(
            f"{path}: {len(raw):,} bytes is more than the {limit} MiB that dnnfix reads; clear the outputs."
        )
    bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    try:
        return raw[len(bom) :].decode("utf-8"), bom
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + len(bom)} is not UTF-8, so this is not a notebook.") from None


def _recovered(text: str, cells: Sequence[Cell], first_lines: Sequence[int], path: str) -> Recovered:
    """The joined program made to parse, cell by cell; a cell that cannot be is left out."""
    try:
        return Recovered(text, parse(text), {}, ())
    except Unparsable:
        pass
    rewritten: dict[int, Line] = {}
    texts: list[str] = []
    notes: list[str] = []
    for cell, first in zip(cells, first_lines, strict=True):
        lines = split_lines(cell.source)[0]
        found = recover("\n".join(lines))
        if isinstance(found, Unparsable):
            rewritten.update({first + n: Line.of(line).blanked() for n, line in enumerate(lines) if line})
            texts.append("\n" * (len(lines) - 1))
            notes.append(f"cell {cell.number} was left out: {found}")
            continue
        rewritten.update({first + number - 1: line for number, line in found.rewritten.items()})
        texts.append(found.text)
        notes += [f"cell {cell.number}: {note}" for note in found.notes]
    joined = "\n".join(texts)
    try:
        tree = parse(joined)
    except Unparsable as error:
        raise InputError(f"{path}: the cells together are not Python, {error}; mend the cell.") from None
    if not tree.body:
        raise InputError(f"{path}: no code cell is Python; give a Python notebook.")
    return Recovered(joined, tree, rewritten, tuple(notes))
