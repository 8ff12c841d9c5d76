"""Proving a patch by running: progress, the offer, its edit and its diff, and stopping it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.server.edited import edited, of

pytest.importorskip("torch", reason="torch is not installed")

Connected = Callable[..., Any]

CRASHING = """import numpy as np
import torch

labels = torch.from_numpy(np.array([0, 1], dtype=np.int)).long()
print(torch.nn.CrossEntropyLoss()(torch.zeros(2, 2), labels))
"""
"""A program that stops at a name which NumPy has no more."""

ENDLESS = "import time\nimport torch\n\nwhile True:\n    time.sleep(0.1)\n"


def whole(text: str) -> types.Range:
    return types.Range(types.Position(0, 0), types.Position(text.count("\n"), 0))


def of_folder(folder: Path) -> list[int]:
    """The processes that name the folder or work in it, but for this one and the one that Python starts for shared memory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                if str(folder).encode() in command or Path(entry, "cwd").readlink() == folder:
                    found += [] if b"resource_tracker" in command else [int(entry.name)]
            except OSError:
                continue
    return found


def test_a_proven_patch_is_offered_shown_and_applied(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(options={"budget": 60, "sandbox": None}) as editor:
            editor.answer = "Apply"
            uri = editor.open(folder / "a.py", CRASHING)
            await editor.diagnostics(uri)
            (everything,) = await editor.actions(uri, whole(CRASHING), "source.dnnfix.prove")
            assert everything.command is not None
            came = await editor.command(everything.command.command, *(everything.command.arguments or []))
            assert came["outcome"] == "proven", came
            (reports,) = editor.client.progress_reports.values()
            assert isinstance(reports[0], types.WorkDoneProgressBegin) and reports[0].cancellable
            assert isinstance(reports[-1], types.WorkDoneProgressEnd)
            said = [report.message for report in reports[1:-1]]
            assert "running the program" in said and len(set(said)) > 2

            # The offer, and what is applied when its user takes it.
            applied = (await editor.until(lambda: editor.applied))[0]
            assert [item.title for item in editor.asked[0].actions or []] == ["Apply", "Show the diff"]
            assert "(proven" in editor.asked[0].message and "passed parse, run" in editor.asked[0].message
            after = edited(CRASHING, of(types.CodeAction("", edit=applied.edit), uri))
            assert after == CRASHING.replace("np.int)", "int)")

            # What a run found is shown as long as the text is the one that ran, with its patch.
            found = await editor.until(lambda: [d for d in editor.published[-1].diagnostics if d.code])
            own = await editor.actions(uri, found[0].range)
            assert any("(proven" in action.title for action in own)
            (show, *_) = [a.command for a in own if a.command is not None and a.command.command == "dnnfix.showDiff"]
            diff = await editor.command(show.command, *(show.arguments or []))
            assert diff.startswith("diff ") and "+" in diff
            shown = editor.client.shown_documents[-1].uri
            assert shown.endswith("a.py.diff")
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(after))
            assert await editor.diagnostics(uri, 2) == []

    asyncio.run(main())


def test_a_proof_is_stopped_and_leaves_nothing_running(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", ENDLESS)
            await editor.diagnostics(uri)
            before = set(of_folder(folder))
            proof = asyncio.ensure_future(editor.command("dnnfix.prove", uri, ""))
            reports = await editor.until(lambda: next(iter(editor.client.progress_reports.values()), None))
            await editor.until(lambda: [r for r in reports if getattr(r, "message", None) == "running the program"])
            # The editor goes on meanwhile.
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(CRASHING))
            assert isinstance(await editor.diagnostics(uri, 2), list)
            (token,) = editor.client.progress_reports
            editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
            assert (await proof)["outcome"] == "cancelled"
            assert isinstance(reports[-1], types.WorkDoneProgressEnd) and reports[-1].message == "stopped"
            await editor.until(lambda: set(of_folder(folder)) <= before)

    asyncio.run(main())


def test_what_cannot_be_proven_is_told(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(options={"python": "/no/such/python"}) as editor:
            uri = editor.open(folder / "a.py", CRASHING)
            await editor.diagnostics(uri)
            came = await editor.command("dnnfix.prove", uri, "")
            assert came["outcome"] == "failed" and "/no/such/python" in came["reason"]
            assert "/no/such/python" in editor.client.messages[-1].message

    asyncio.run(main())
