"""Notebooks: the cells are one program, and what is found and changed is in the cells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types

from tests.server.edited import at, edited, of

Connected = Callable[..., Any]

CELLS = [
    ("markdown", "# A network"),
    ("python", "%matplotlib inline\nimport torch\nfrom torch import nn"),
    ("python", "# 𝒳\nmodel = nn.Sequential(nn.Linear(20, 10), nn.Softmax(dim=1))"),
    (
        "python",
        "loss_fn = nn.CrossEntropyLoss()\nloss = loss_fn(model(torch.randn(32, 20)), torch.randint(0, 10, (32,)))",
    ),
]


class Notebook:
    """A notebook in an editor."""

    def __init__(self, editor: Any, path: Path) -> None:
        self.editor = editor
        self.uri = path.as_uri()
        self.cells = [f"vscode-notebook-cell:{path.as_posix()}#W{number}" for number in range(len(CELLS))]
        kinds = [types.NotebookCellKind.Markup if k == "markdown" else types.NotebookCellKind.Code for k, _ in CELLS]
        document = types.NotebookDocument(
            self.uri,
            "jupyter-notebook",
            1,
            [types.NotebookCell(kind, uri) for kind, uri in zip(kinds, self.cells, strict=True)],
        )
        texts = [types.TextDocumentItem(uri, k, 1, t) for uri, (k, t) in zip(self.cells, CELLS, strict=True)]
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, texts))

    def change(self, change: types.NotebookDocumentCellChanges, version: int) -> None:
        """Change cells."""
        document = types.VersionedNotebookDocumentIdentifier(version, self.uri)
        params = types.DidChangeNotebookDocumentParams(document, types.NotebookDocumentChangeEvent(cells=change))
        self.editor.client.notebook_document_did_change(params)

    def last(self, cell: int) -> list[types.Diagnostic] | None:
        """What was published last of a cell."""
        found = [p.diagnostics for p in self.editor.published if p.uri == self.cells[cell]]
        return list(found[-1]) if found else None


def test_a_fault_between_cells_is_shown_and_repaired_in_its_own(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(notebooks=True) as editor:
            assert editor.capabilities.notebook_document_sync is not None
            notebook = Notebook(editor, folder / "a.ipynb")
            (found,) = await editor.until(lambda: notebook.last(2))
            assert (found.code, at(CELLS[2][1], found.range)) == ("DNF301", "nn.Softmax(dim=1)")
            await editor.until(lambda: notebook.last(3) == [])
            assert notebook.last(0) is None
            patch = (await editor.actions(notebook.cells[2], found.range))[0]
            after = edited(CELLS[2][1], of(patch, notebook.cells[2]))
            assert after == "# 𝒳\nmodel = nn.Sequential(nn.Linear(20, 10))"
            (silence,) = [
                a for a in await editor.actions(notebook.cells[2], found.range) if a.title.startswith("Silence")
            ]
            assert edited(CELLS[2][1], of(silence, notebook.cells[2])).endswith("  # noqa: DNF301")
            hover = await editor.client.text_document_hover_async(
                types.HoverParams(types.TextDocumentIdentifier(notebook.cells[2]), found.range.start)
            )
            assert "DNF301" in hover.contents.value

    asyncio.run(main())


def test_cells_change_move_and_go(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(notebooks=True) as editor:
            notebook = Notebook(editor, folder / "a.ipynb")
            await editor.until(lambda: notebook.last(2))
            # A character is put in before the fault: a change of a range, in a cell that is not the first.
            place = types.Position(1, 0)
            insert = types.TextDocumentContentChangePartial(types.Range(place, place), "# moved\n")
            document = types.VersionedTextDocumentIdentifier(2, notebook.cells[2])
            content = types.NotebookDocumentCellContentChanges(document, [insert])
            notebook.change(types.NotebookDocumentCellChanges(text_content=[content]), 2)
            await editor.until(lambda: [d for d in notebook.last(2) or [] if d.range.start.line == 2])
            # The cell with the loss is deleted: nothing speaks of a cross-entropy any more.
            closed = [types.TextDocumentIdentifier(notebook.cells[3])]
            array = types.NotebookCellArrayChange(3, 1, [])
            structure = types.NotebookDocumentCellChangeStructure(array, did_open=[], did_close=closed)
            notebook.change(types.NotebookDocumentCellChanges(structure=structure), 3)
            await editor.until(lambda: notebook.last(2) == [])

    asyncio.run(main())
