"""The messages of the protocol that the server answers, and what each of them is to it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types

from dnnfix.server import actions, explanation
from dnnfix.server.app import Server
from dnnfix.server.settings import CONFIGURATIONS, WHEN, EditorSettings
from dnnfix.server.texts import Text


def server(settings: EditorSettings, worker: ThreadPoolExecutor | None = None) -> Server:
    """A server for one editor, which is not connected yet. `worker` is the thread of a process that has several."""
    made = Server(settings, worker)
    _documents(made)
    _requests(made)
    _configuration(made)
    return made


def _documents(server: Server) -> None:
    """Documents and notebooks: what opens, changes and closes."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
        ls.settings.forget()  # for clients that watch no files
        ls.changed(params.text_document.uri, now=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
        if ls.settings.when == WHEN[0]:
            ls.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
        ls.settings.forget()
        ls.changed(params.text_document.uri, now=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        ls.closed(params.text_document.uri, [params.text_document.uri])

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened_notebook(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
        ls.changed(params.notebook_document.uri, now=True)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed_notebook(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
        cells = params.change.cells
        gone = cells.structure.did_close if cells is not None and cells.structure is not None else None
        for cell in gone or []:
            ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(cell.uri, []))
        if ls.settings.when == WHEN[0]:
            ls.changed(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved_notebook(ls: Server, params: types.DidSaveNotebookDocumentParams) -> None:
        ls.changed(params.notebook_document.uri, now=True)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed_notebook(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
        ls.closed(params.notebook_document.uri, [cell.uri for cell in params.cell_text_documents])


def _requests(server: Server) -> None:
    """What the client asks: actions, hovers, commands."""

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[*actions.KINDS]))
    async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        checked = await ls.current(uri)
        if checked is None:
            return []
        proof = ls.proofs.get(checked.program.uri)
        report = proof.report if proof is not None and proof.raw == checked.program.raw else None
        editor = ls.editor()
        return await ls.schedule.work(
            lambda go_on: list(actions.actions(checked, report, uri, params.range, params.context, editor))
        )

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        checked = await ls.current(params.text_document.uri)
        if checked is None:
            return None
        place = types.Range(params.position, params.position)
        found = list(checked.at(params.text_document.uri, place))
        if not found:
            return None
        codes = dict.fromkeys(result.finding.code for result, _ in found)
        stories = [explanation.explanation(code, checked.settings.own_rules, whole=False) for code in codes]
        said = [f"**{result.finding.message}**" for result, _ in found]
        text = "\n\n---\n\n".join(["\n\n".join(said), *filter(None, stories)])
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), found[0][1])

    @server.command(actions.PROVE)
    async def prove(ls: Server, uri: str, finding: str) -> dict[str, Any]:
        return await ls.prove(uri, finding)

    @server.command(actions.SHOW_DIFF)
    async def show_diff(ls: Server, uri: str, id: str) -> str:
        return await ls.show_diff(uri, id)

    @server.command(actions.EXPLAIN)
    async def explain(ls: Server, code: str) -> str:
        return await ls.explain(code)


def _configuration(server: Server) -> None:
    """Settings: from the start, from the client when they change there, and from files that are watched."""

    @server.feature(types.INITIALIZE)
    def initialize(ls: Server, params: types.InitializeParams) -> None:
        workspace = ls.workspace
        kind, codec = types.TextDocumentSyncKind.Incremental, workspace.position_codec

        def document(
            doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
        ) -> Text:
            return Text(doc_uri, source, version, language_id, sync_kind=kind, position_codec=codec)

        workspace._create_text_document = document  # type: ignore[method-assign]  # see `Text`
        ls.take_settings(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(ls: Server, params: types.InitializedParams) -> None:
        workspace = ls.client_capabilities.workspace
        watched = workspace and workspace.did_change_watched_files
        if watched and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher(f"**/{name}") for name in CONFIGURATIONS]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registered = types.Registration("dnnfix-settings", method, options)
            await ls.client_register_capability_async(types.RegistrationParams([registered]))
        if workspace and workspace.configuration:
            await fetched(ls)
        ls.in_background(ls.warm_up)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(ls: Server, params: types.DidChangeConfigurationParams) -> None:
        workspace = ls.client_capabilities.workspace
        if not params.settings and workspace and workspace.configuration:
            await fetched(ls)
        else:
            ls.take_settings(params.settings)
            ls.check_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def file_changed(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
        ls.check_all()

    @server.feature(types.SHUTDOWN)
    def shut_down(ls: Server, params: None) -> None:
        ls.stop()
        ls.schedule.close()

    async def fetched(ls: Server) -> None:
        """Ask the client for its settings, and heed them."""
        asked = types.ConfigurationParams([types.ConfigurationItem(section="dnnfix")])
        answer = await ls.workspace_configuration_async(asked)
        if answer and answer[0]:
            ls.take_settings(answer[0])
            ls.check_all()
