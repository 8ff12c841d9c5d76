"""What a patch of a notebook changes, cell by cell, and how that gets into the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from pathlib import Path

from dnnfix.emit.diff import taken
from dnnfix.emit.hunks import own_section, sections
from dnnfix.errors import InputError
from dnnfix.notebook.cells import Cell
from dnnfix.notebook.target import Target
from dnnfix.records import Patch
from dnnfix.records.record import record
from dnnfix.rewrite import Rewrite
from dnnfix.source import cells as notebook
from dnnfix.source.cells import NotNotebook, code_cells
from dnnfix.source.document import Splice, spliced


@record
class Change:
    """The source of one cell before and after a patch."""

    name: str
    before: str
    after: str


def changes(target: Target, patch: Patch) -> tuple[Change, ...]:
    """The cells that a patch changes. Raises `InputError` where it was made for other bytes."""
    before = code_cells(_text(target.raw))[0]
    after = code_cells(_text(taken(target.raw, target.path, [patch])))[0]
    pairs = zip(before, after, strict=True)
    return tuple(Change(old.name, old.source, new.source) for old, new in pairs if old.source != new.source)


def diff(target: Target, patch: Patch) -> Iterator[str]:
    """A patch as lines for a reader: the source of each cell that it changes, and of modules beside the notebook."""
    for change in changes(target, patch):
        name = target.labels.get(change.name, f"cell {change.name}")
        old, new = change.before.splitlines(), change.after.splitlines()
        yield f"{name}:"
        yield from islice(difflib.unified_diff(old, new, lineterm=""), 2, None)  # without names of files
    own = own_section(target.path)
    for name, section in sections(patch.diff).items():
        if name != own:
            yield f"{name}:"
            yield from dropwhile(lambda line: not line.startswith("@@"), section.splitlines())


def rewrite(file: Path, made: Sequence[tuple[Cell, Change]]) -> tuple[Rewrite | None, tuple[Change, ...]]:
    """The notebook's file with changes of executed cells, and the changes of cells that it holds as they were executed.

    Everything else in it keeps its bytes: outputs, metadata, attachments, other cells.
    """
    try:
        raw = file.read_bytes()
        text = _text(raw)
        held = code_cells(text)[0]
    except (OSError, InputError, NotNotebook):
        return None, ()
    splices, written = [], []
    for cell, change in made:
        same = [one for one in held if one.source == change.before and cell.id in ("", one.name)]
        if len(same) == 1:  # of several alike nobody knows which was run
            splices.append(Splice(same[0].start, same[0].end, notebook.written(text, same[0], change.after)))
            written.append(change)
    if not splices:
        return None, ()
    after = spliced(text, sorted(splices, key=lambda splice: splice.start)).encode()
    return Rewrite(file, raw, raw[: len(raw) - len(text.encode())] + after), tuple(written)


def _text(raw: bytes) -> str:
    """The JSON text of a notebook, without a byte order mark."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8, so this is not a notebook.") from None
