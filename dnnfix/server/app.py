"""The server: which programs are open, what is known of them, and what is done for them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.uris import to_fs_path

from dnnfix import registry
from dnnfix.emit.text import verdict_line
from dnnfix.errors import DnnfixError, InputError
from dnnfix.records import FileReport, Patch, PatchVerdict
from dnnfix.server import actions, explanation, programs
from dnnfix.server.checked import Checked
from dnnfix.server.client import Connection
from dnnfix.server.diagnostics import diagnostics
from dnnfix.server.proofs import Task, proven
from dnnfix.server.schedule import Schedule
from dnnfix.server.settings import WHEN, EditorSettings
from dnnfix.suppress import path_matches

WRITE_PATCHES = ("dnnfix.synthesize.candidates", "dnnfix.source.elements")
"""Modules that are imported when the first patch is written, with LibCST."""


@dataclass(frozen=True)
class Proof:
    """What `suggest` said of a program whose bytes were `raw`."""

    raw: bytes
    report: FileReport


class Server(Connection):
    """One connection to an editor."""

    def __init__(self, settings: EditorSettings, worker: ThreadPoolExecutor | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.schedule = Schedule(self.check, worker)
        self.is_warm = worker is not None
        """Whether another connection has seen to it that rules are imported."""
        self.proofs: dict[str, Proof] = {}
        self._checked: dict[str, Checked] = {}

    # --- Checks

    async def check(self, uri: str) -> None:
        """Check a program as it is and publish what is found; where it cannot be read, what was published stays."""
        program = programs.program_at(self.workspace, uri)
        if program is None:
            return
        try:
            settings = self.settings.of(program.path, self.root(program.path))
            if any(path_matches(program.path, pattern, settings.root) for pattern in settings.exclude):
                self.forget(program)
                return
            codec = self.workspace.position_codec
            checked = await self.schedule.work(partial(Checked.of, program, settings, codec))
        except InputError as error:
            self.log(str(error))
            return
        except DnnfixError as error:
            self.tell(str(error))
            return
        except Exception as error:  # noqa: BLE001 - a program that dnnfix fails on must not end the server
            self.log(f"{program.path}: internal error: {type(error).__name__}: {error}", types.MessageType.Error)
            return
        self._checked[program.uri] = checked = self._with_proof(checked)
        self.publish(checked)

    def _with_proof(self, checked: Checked) -> Checked:
        """What was checked, with what a run of just this text found besides."""
        proof = self.proofs.get(checked.program.uri)
        if proof is None or proof.raw != checked.program.raw:
            return checked
        known = {(result.finding.code, result.finding.site.line) for result in checked.report.findings}
        more = [r for r in proof.report.findings if (r.finding.code, r.finding.site.line) not in known]
        return replace(checked, report=replace(checked.report, findings=(*checked.report.findings, *more)))

    def forget(self, program: programs.Program) -> None:
        """Say nothing of a program that is to be passed over."""
        self._checked.pop(program.uri, None)
        for part in program.parts.values():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(part.uri, [], part.version))

    def publish(self, checked: Checked) -> None:
        """Publish the diagnostics of a program."""
        versions = {part.uri: part.version for part in checked.program.parts.values()}
        for uri, found in diagnostics(checked).items():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, versions[uri]))

    async def current(self, uri: str) -> Checked | None:
        """What is known of the program that a document is, or is a cell of, as it is now."""
        program = programs.program_at(self.workspace, uri)
        if program is None:
            return None
        checked = self._checked.get(program.uri)
        if checked is None or checked.program != program:
            await self.schedule.settled(program.uri)
            checked = self._checked.get(program.uri)
        return checked if checked is not None and checked.program == programs.program_at(self.workspace, uri) else None

    def changed(self, uri: str, *, now: bool = False) -> None:
        """A program was opened or changed."""
        program = programs.program_at(self.workspace, uri)
        if program is not None and self.settings.when != WHEN[2]:
            self.schedule.soon(program.uri, now=now)

    def closed(self, uri: str, parts: list[str]) -> None:
        """A program was closed: nothing is said of it any more."""
        self.schedule.drop(uri)
        self._checked.pop(uri, None)
        self.proofs.pop(uri, None)
        for part in parts:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(part, []))

    def check_all(self) -> None:
        """Check every open program again: settings have changed."""
        self.settings.forget()
        for uri in programs.open_programs(self.workspace):
            if self.settings.when == WHEN[2]:
                if (program := programs.program_at(self.workspace, uri)) is not None:
                    self.forget(program)
            else:
                self.schedule.soon(uri, now=True)

    async def warm_up(self) -> None:
        """Import the rules one by one while nothing else is to do, so that the first of their programs is answered as the others."""
        if self.is_warm:
            return
        loads: list[Callable[[], object]] = [one.load for one in registry.listed() if not one.needs_run]
        loads += [partial(import_module, name) for name in WRITE_PATCHES]
        for load in loads:
            await self.schedule.work(lambda go_on, load=load: load())  # type: ignore[misc]
        gc.collect()
        gc.freeze()  # what is there now stays: to walk it again and again would take longer than a check

    def take_settings(self, options: object) -> None:
        """Settings from the client; those that make no sense are told, and change nothing."""
        try:
            self.settings.take(options)
        except DnnfixError as error:
            self.tell(str(error))

    # --- Proofs

    async def prove(self, uri: str, finding: str) -> dict[str, Any]:
        """Run `suggest` on a program as it is now, offer what it proved, and return it as plain data.

        `finding` is the id of the one that was asked about; empty for all. Raises `InputError` where no such program is open.
        """
        program = programs.program_at(self.workspace, uri)
        if program is None:
            raise InputError(f"{uri}: is no open Python program. Open it in the editor.")
        root = self.root(program.path)
        settings = self.settings.of(program.path, root)
        token = await self.begin(f"dnnfix: proving patches for {Path(program.path).name}")
        proof = asyncio.ensure_future(
            proven(Task(program.raw, program.path, settings, root), lambda text: self.reported(token, text))
        )
        if token is not None:
            loop = asyncio.get_running_loop()
            asked = self.work_done_progress.tokens[token]
            asked.add_done_callback(lambda done: done.cancelled() and loop.call_soon_threadsafe(proof.cancel))
        try:
            report = await proof
        except asyncio.CancelledError:
            if not proof.cancelled():
                proof.cancel()
                raise
            self.done(token, "stopped")
            return {"outcome": "cancelled", "patches": []}
        except DnnfixError as error:
            self.done(token, "failed")
            self.tell(str(error), types.MessageType.Warning)
            return {"outcome": "failed", "reason": str(error), "patches": []}
        self.done(token, "done")
        self.proofs[program.uri] = Proof(program.raw, report)
        self.changed(program.uri, now=True)
        return self._told_of(program, report, finding)

    def _told_of(self, program: programs.Program, report: FileReport, finding: str) -> dict[str, Any]:
        """What came of a proof, for the user and as plain data."""
        found = actions.offerable(report)
        named = next((r.patches for r in report.findings if r.finding.id == finding), ())
        own = [patch for patch in found if patch.id in named] or found
        if own:
            self.in_background(lambda: self._offer(program, own[0]))
        else:
            reasons = dict.fromkeys(result.reason for result in report.findings if result.reason)
            said = "; ".join(reasons) or "; ".join(report.unchecked) or "nothing was found to repair"
            self.tell(f"no patch was proven: {said}", types.MessageType.Info)
        return {
            "outcome": ("proven" if own[0].verdict is PatchVerdict.ACCEPTED else own[0].verdict.value)
            if own
            else "none",
            "findings": [
                {"code": r.finding.code, "outcome": r.outcome.value, "reason": r.reason} for r in report.findings
            ],
            "patches": [
                {"id": p.id, "title": p.candidate.title, "verdict": p.verdict.value, "diff": p.diff} for p in found
            ],
            "unchecked": list(report.unchecked),
        }

    async def _offer(self, program: programs.Program, patch: Patch) -> None:
        """Ask the user about a proven patch."""
        apply, show = "Apply", "Show the diff"
        text = f"dnnfix: {actions.titled(patch)}: {verdict_line(patch)}"
        offer = [types.MessageActionItem(apply), types.MessageActionItem(show)]
        answer = await self.window_show_message_request_async(
            types.ShowMessageRequestParams(types.MessageType.Info, text, offer)
        )
        if answer is None:
            return
        if answer.title == show:
            await self.show_diff(program.uri, patch.id)
            return
        now = programs.program_at(self.workspace, program.uri)
        try:
            edit = self.editor().patches(now or program, [patch])
        except InputError:
            self.tell("the program changed while the patch was proven. Prove it again.", types.MessageType.Warning)
            return
        await self.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, actions.titled(patch)))

    async def show_diff(self, uri: str, id: str) -> str:
        """Show, and return, the diff of a proven patch. Raises `InputError` where there is no such patch."""
        program = programs.program_at(self.workspace, uri)
        proof = self.proofs.get(program.uri if program is not None else uri)
        patch = next((patch for patch in proof.report.patches if patch.id == id), None) if proof is not None else None
        if patch is None:
            raise InputError(f"{uri}: there is no proven patch {id}. Prove it again.")
        await self.show(f"{Path(to_fs_path(uri) or uri).name}.diff", patch.diff)
        return patch.diff

    async def explain(self, code: str) -> str:
        """Show, and return, the story of a rule in Markdown. Raises `InputError` where there is none."""
        text = explanation.explanation(code)
        if not text:
            raise InputError(f"no rule has the code or name `{code}`.")
        await self.show(f"{code}.md", text + "\n")
        return text
