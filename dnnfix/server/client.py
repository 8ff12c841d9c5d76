"""What the server knows of its client: its folders, what it can show, and what it takes."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from dnnfix import __version__
from dnnfix.server.edits import Editor

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    # Cells of every language, so that they have the numbers that they have in the file.
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook")
        )
    ],
    save=True,
)


class Connection(LanguageServer):
    """A connection to one editor, in the words of this package."""

    def __init__(self) -> None:
        super().__init__("dnnfix", __version__, notebook_document_sync=NOTEBOOKS)
        self._told: set[str] = set()
        self._folder = ""
        self._tasks: set[asyncio.Task[Any]] = set()

    def root(self, path: str) -> Path:
        """The workspace folder that a program lies in, else the folder of the program."""
        folders = [Path(p) for f in self.workspace.folders.values() if (p := to_fs_path(f.uri))]
        if not folders and self.workspace.root_path:
            folders = [Path(self.workspace.root_path)]
        above = [folder for folder in folders if Path(path).is_relative_to(folder)]
        return max(above, key=lambda folder: len(folder.parts), default=Path(path).parent)

    def editor(self) -> Editor:
        """Writes edits as the client takes them."""
        edits = self.client_capabilities.workspace and self.client_capabilities.workspace.workspace_edit
        return Editor(self.workspace, self.workspace.position_codec, bool(edits and edits.document_changes))

    def log(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """A line for the client's log."""
        self.window_log_message(types.LogMessageParams(kind, text))

    def tell(self, text: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """A message that its user sees; a problem that lasts is told once."""
        if kind is not types.MessageType.Error or text not in self._told:
            self._told.add(text)
            self.window_show_message(types.ShowMessageParams(kind, f"dnnfix: {text}"))

    def report_server_error(self, error: Exception, source: type[PyglsError | JsonRpcException]) -> None:
        """What goes wrong with a message goes to the log, and the server on."""
        self.log(f"{type(error).__name__}: {error}", types.MessageType.Error)

    def in_background(self, work: Callable[[], Any]) -> None:
        """Do something that no message waits for."""
        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Give up what was begun in the background."""
        for task in self._tasks:
            task.cancel()

    async def show(self, name: str, text: str) -> None:
        """Show a text that is no file of the user's, as a document where the client can, else as a message."""
        window = self.client_capabilities.window
        if window is None or window.show_document is None or not window.show_document.support:
            self.tell(text, types.MessageType.Info)
            return
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="dnnfix-")
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        file = Path(self._folder, name)
        file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        uri = from_fs_path(str(file)) or ""
        await self.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))

    async def begin(self, title: str) -> str | None:
        """Begin progress that can be stopped; `None` where the client shows none."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            return None
        token = str(uuid4())
        await self.work_done_progress.create_async(token)
        self.work_done_progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=True))
        return token

    def reported(self, token: str | None, text: str) -> None:
        """Tell how far it is."""
        if token is not None:
            self.work_done_progress.report(token, types.WorkDoneProgressReport(message=text, cancellable=True))

    def done(self, token: str | None, text: str) -> None:
        """End progress with a word on how."""
        if token is not None:
            self.work_done_progress.end(token, types.WorkDoneProgressEnd(message=text))
            self.work_done_progress.tokens.pop(token, None)
