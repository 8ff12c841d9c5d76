"""Programs as an editor has them: a file or a notebook, with the text that is in its windows at one moment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from lsprotocol.types import NotebookCellKind, NotebookDocument
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

from dnnfix.records.record import record
from dnnfix.source.decode import runnable

PYTHON = "python"


@record
class Part:
    """A text document of the client: a whole file, or a code cell."""

    uri: str
    version: int | None
    text: str


@record
class Program:
    """A file or a notebook at one moment. `raw` are the bytes that it would have on the disk, with the text as it is now.

    `parts` are its documents: the file itself under `None`, or code cells by what `dnnfix.source` calls them, which is their
    number among all cells, from 0.
    """

    uri: str
    path: str
    raw: bytes
    parts: Mapping[str | None, Part]

    @property
    def is_notebook(self) -> bool:
        """Whether its parts are cells."""
        return None not in self.parts


def program_at(workspace: Workspace, uri: str) -> Program | None:
    """The program that an open document is, or a cell of; `None` where it is neither Python nor open."""
    notebook = workspace.get_notebook_document(notebook_uri=uri) or workspace.get_notebook_document(cell_uri=uri)
    if notebook is not None:
        return _notebook(workspace, notebook)
    document = _open(workspace, uri)
    if document is None or not (document.language_id == PYTHON or document.path.endswith(".py")):
        return None
    path = _path(document.uri, ".py")
    return Program(
        document.uri,
        path,
        # A cookie of another coding is for the bytes on the disk, and this text has been decoded.
        runnable(_sound(document.source), "utf-8"),
        {None: Part(document.uri, document.version, document.source)},
    )


def open_programs(workspace: Workspace) -> set[str]:
    """The addresses of all programs that are open."""
    found = (program_at(workspace, uri) for uri in (*workspace.text_documents, *workspace.notebook_documents))
    return {program.uri for program in found if program is not None}


def _open(workspace: Workspace, uri: str) -> TextDocument | None:
    """An open document; what pygls makes of others is read from the disk."""
    document = workspace.get_text_document(uri)
    return document if document.version is not None else None


def _notebook(workspace: Workspace, notebook: NotebookDocument) -> Program:
    cells: list[dict[str, object]] = []
    parts: dict[str | None, Part] = {}
    for number, cell in enumerate(notebook.cells):
        document = _open(workspace, cell.document)
        is_code = cell.kind is NotebookCellKind.Code and document is not None and document.language_id == PYTHON
        source = _sound(document.source) if document is not None and is_code else ""
        if document is not None and is_code:
            parts[str(number)] = Part(document.uri, document.version, document.source)
        made: dict[str, object] = {"execution_count": None, "outputs": []} if is_code else {}
        lines = source.splitlines(keepends=True)
        cells.append({"cell_type": "code" if is_code else "raw", "metadata": {}, "source": lines, **made})
    about = {"language_info": {"name": PYTHON}}
    whole = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 4}
    # A line for each of the source, as on the disk: so diffs can be read.
    raw = json.dumps(whole, ensure_ascii=False, indent=1)
    return Program(notebook.uri, _path(notebook.uri, ".ipynb"), raw.encode(), parts)


def _path(uri: str, suffix: str) -> str:
    """Where a document lies, or would lie: what was not saved yet has an address without a folder."""
    path = to_fs_path(uri) or uri.rpartition("/")[2].rpartition(":")[2] or "untitled"
    path = path if uri.startswith("file:") or Path(path).is_absolute() else str(Path.cwd() / Path(path).name)
    return path if path.endswith(suffix) else path + suffix


def _sound(text: str) -> str:
    """The text without halves of characters, which have no bytes; it stays as long as it was."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
