"""What is offered at a finding, and what a client makes of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from dnnfix.cli.main import run
from tests.cli.programs import FAULTY
from tests.server.edited import edited, of

Connected = Callable[..., Any]

OLD = """import numpy as np
import torch

labels = torch.from_numpy(np.array([0, 1], dtype=np.int)).long()
mask = np.zeros(3, dtype=np.float)
"""
"""A program with two findings (DNF501) whose patches are safe."""


def everything(text: str) -> types.Range:
    return types.Range(types.Position(0, 0), types.Position(text.count("\n"), 0))


def titles(actions: list[types.CodeAction]) -> list[str]:
    return [action.title for action in actions]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_is_the_patch_of_check(
    connected: Connected,
    folder: Path,
    newline: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = FAULTY.replace("\n", newline)
    (folder / "a.py").write_bytes(text.encode())

    async def main() -> str:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", text)
            (found,) = await editor.diagnostics(uri)
            patch = (await editor.actions(uri, found.range))[0]
            assert patch.kind == types.CodeActionKind.QuickFix and not patch.is_preferred
            assert patch.diagnostics and patch.diagnostics[0].code == "DNF301"
            assert "not proven" in patch.title and "changes what is trained" in patch.title
            after = edited(text, of(patch, uri))
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(after))
            assert await editor.diagnostics(uri, 2) == []
            return after

    after = asyncio.run(main())
    monkeypatch.chdir(folder)
    assert run(["check", "a.py", "--output-format", "json", "--isolated", "--no-cache"]) == 1
    diff = json.loads(capsys.readouterr().out)["patches"][0]["diff"]
    subprocess.run(["git", "apply", "-"], input=diff.encode(), check=True)
    assert (folder / "a.py").read_bytes() == after.encode()


def test_safe_patches_are_preferred_and_applied_together(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", OLD)
            found = await editor.diagnostics(uri)
            assert [one.code for one in found] == ["DNF501", "DNF501"]
            own = await editor.actions(uri, found[0].range, "quickfix")
            assert own[0].is_preferred and "changes what is trained" not in own[0].title
            (all_of_them,) = await editor.actions(uri, everything(OLD), "source.fixAll")
            assert all_of_them.kind == "source.fixAll.dnnfix"
            after = edited(OLD, of(all_of_them, uri))
            assert after == OLD.replace("np.int)", "int)").replace("np.float)", "float)")
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(after))
            assert await editor.diagnostics(uri, 2) == []
            assert await editor.actions(uri, everything(after), "source.fixAll.dnnfix") == []

    asyncio.run(main())


def test_what_changes_the_training_is_never_applied_together(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            await editor.diagnostics(uri)
            assert await editor.actions(uri, everything(FAULTY), "source.fixAll") == []

    asyncio.run(main())


SPREAD = """import torch
from torch import nn

model = nn.Sequential(
    nn.Linear(20, 10),  # scores
    nn.Softmax(
        dim=1,
    ),
)
loss_fn = nn.CrossEntropyLoss()
loss = loss_fn(model(torch.randn(32, 20)), torch.randint(0, 10, (32,)))
"""


def test_the_comment_silences_the_finding(connected: Connected, folder: Path) -> None:
    noted = FAULTY.replace("nn.Softmax(dim=1))", "nn.Softmax(dim=1))  # noqa: E501")

    async def main() -> None:
        async with connected() as editor:
            for number, text in enumerate((FAULTY, SPREAD, noted)):
                uri = editor.open(folder / f"{number}.py", text)
                (found,) = await editor.diagnostics(uri)
                (silence,) = [a for a in await editor.actions(uri, found.range) if a.title.startswith("Silence DNF301")]
                after = edited(text, of(silence, uri))
                assert len(after.splitlines()) == len(text.splitlines())
                editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(after))
                assert await editor.diagnostics(uri, 2) == []

    asyncio.run(main())


def test_hover_and_command_tell_the_story_of_the_rule(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            (found,) = await editor.diagnostics(uri)
            document = types.TextDocumentIdentifier(uri)
            hover = await editor.client.text_document_hover_async(types.HoverParams(document, found.range.start))
            assert isinstance(hover.contents, types.MarkupContent) and hover.range == found.range
            assert found.message in hover.contents.value and "### DNF301 output-unfit-for-loss" in hover.contents.value
            away = types.HoverParams(document, types.Position(0, 0))
            assert await editor.client.text_document_hover_async(away) is None
            explain = [a for a in await editor.actions(uri, found.range) if a.title.startswith("Explain DNF301")]
            command = explain[0].command
            assert command is not None
            story = await editor.command(command.command, *(command.arguments or []))
            assert "Fix safety:" in story and "```diff" in story

    asyncio.run(main())


def test_a_client_without_versions_gets_plain_changes(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(versioned=False) as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            (found,) = await editor.diagnostics(uri)
            edit = (await editor.actions(uri, found.range))[0].edit
            assert edit is not None and edit.document_changes is None
            assert list(edit.changes or {}) == [uri]

    asyncio.run(main())
