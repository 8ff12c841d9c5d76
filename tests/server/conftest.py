"""A client that speaks to a real `dnnfix server`, in a process of its own, over its streams."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Union

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'dnnfix[server]'")
pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed: pip install 'dnnfix[test]'")

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

PATIENCE = 180.0
"""Seconds after which a busy machine is no excuse."""


class Editor:
    """An editor that knows its documents, and how to wait."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.capabilities = types.ServerCapabilities()
        self.published: list[types.PublishDiagnosticsParams] = []
        self.applied: list[types.ApplyWorkspaceEditParams] = []
        self.registered: list[types.Registration] = []
        self.asked: list[types.ShowMessageRequestParams] = []
        self.answer: str | None = None
        """What its user chooses of what a message offers."""

    def features(self) -> dict[str, Any]:
        """What it does when the server asks, besides what every client of these tests does."""

        def publish(_: LanguageClient, params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)

        def apply(_: LanguageClient, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.applied.append(params)
            return types.ApplyWorkspaceEditResult(applied=True)

        def ask(_: LanguageClient, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.asked.append(params)
            return types.MessageActionItem(self.answer) if self.answer else None

        def register(_: LanguageClient, params: types.RegistrationParams) -> None:
            self.registered += params.registrations

        return {
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: publish,
            types.WORKSPACE_APPLY_EDIT: apply,
            types.WINDOW_SHOW_MESSAGE_REQUEST: ask,
            types.CLIENT_REGISTER_CAPABILITY: register,
        }

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for something to hold and return it."""
        async with asyncio.timeout(PATIENCE):
            while not (found := holds()):
                await asyncio.sleep(0.005)
        return found

    def open(self, path: Path, text: str, language: str = "python") -> str:
        """Open a document."""
        uri = path.as_uri()
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Change a document."""
        document = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [*changes]))

    async def diagnostics(self, uri: str, version: int = 1) -> list[types.Diagnostic]:
        """What is published of a version of a document."""
        found = await self.until(lambda: [p for p in self.published if p.uri == uri and p.version == version])
        return list(found[-1].diagnostics)

    async def actions(self, uri: str, place: types.Range, *only: str) -> list[types.CodeAction]:
        """The actions at a range."""
        context = types.CodeActionContext([], [*only] or None)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        )
        return [action for action in found or [] if isinstance(action, types.CodeAction)]

    async def command(self, name: str, *arguments: Any) -> Any:
        """The answer to a command."""
        return await self.client.workspace_execute_command_async(types.ExecuteCommandParams(name, [*arguments]))


def converter() -> Any:
    """What reads messages, but for one that lsprotocol takes wrongly: an action that has a command is still an action."""
    made = default_converter()  # type: ignore[no-untyped-call]
    either = types.Command | types.CodeAction

    def structured(value: Any, _: Any) -> Any:
        return made.structure(value, types.Command if isinstance(value.get("command"), str) else types.CodeAction)

    for kind in (either, Union[types.Command, types.CodeAction]):  # noqa: UP007 - two spellings, two keys
        made.register_structure_hook(kind, structured)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace."""
    made = tmp_path / "a workspace"
    made.mkdir()
    return made


@pytest.fixture
def connected(folder: Path, tmp_path: Path) -> Callable[..., Any]:
    """`async with connected() as editor` starts a server for the folder, and ends it as the protocol has it."""

    @asynccontextmanager
    async def start(
        name: str = "visual-studio-code",
        *flags: str,
        options: Any = None,
        configuration: dict[str, Any] | None = None,
        encodings: list[str] | None = None,
        versioned: bool = True,
        notebooks: bool = False,
    ) -> AsyncIterator[Editor]:
        client = LanguageClient(converter_factory=converter)
        if configuration is not None:
            client.set_configuration(configuration)
        editor = Editor(client)
        register_lsp_features(client, {**DEFAULT_CLIENT_FEATURES, **editor.features()})
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "dnnfix", "server", "--cache-dir", str(tmp_path / "cache"), *flags]
        await client.start_io(*command, env=environment, cwd=folder)
        capabilities = client_capabilities(name)
        if encodings is not None:
            capabilities.general = types.GeneralClientCapabilities(
                position_encodings=[types.PositionEncodingKind(encoding) for encoding in encodings]
            )
        workspace = capabilities.workspace
        if workspace is not None and not versioned:
            workspace.workspace_edit = types.WorkspaceEditClientCapabilities()
        if notebooks:
            capabilities.notebook_document = types.NotebookDocumentClientCapabilities(
                types.NotebookDocumentSyncClientCapabilities()
            )
        root = types.WorkspaceFolder(folder.as_uri(), folder.name)
        answer = await client.initialize_session(
            types.InitializeParams(
                capabilities, root_uri=folder.as_uri(), workspace_folders=[root], initialization_options=options
            )
        )
        editor.capabilities = answer.capabilities
        try:
            yield editor
        finally:
            await client.shutdown_session()
            await asyncio.wait_for(client.stop(), PATIENCE)  # type: ignore[no-untyped-call]

    return start
