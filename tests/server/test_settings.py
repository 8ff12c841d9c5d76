"""Settings: from the editor, from files, and what neither may decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.cli.programs import FAULTY

Connected = Callable[..., Any]


@pytest.mark.parametrize(
    "options",
    [
        {"settings": {"ignore": ["DNF301"]}},
        {"dnnfix": {"perFileIgnores": {"*.py": ["DNF3"]}, "server": {"path": "x"}, "trace": {"server": "off"}}},
        {"exclude": ["a.*"]},
        {"extend-select": None, "ignore": ["output-unfit-for-loss"]},
    ],
)
def test_what_the_editor_sets_counts_from_the_start(connected: Connected, folder: Path, options: Any) -> None:
    async def main() -> None:
        async with connected(options=options) as editor:
            assert await editor.diagnostics(editor.open(folder / "a.py", FAULTY)) == []
            assert not editor.client.messages

    asyncio.run(main())


def test_a_change_in_the_editor_counts_at_once(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            assert await editor.diagnostics(uri)

            async def become(settings: Any, holds: Callable[[list[types.Diagnostic]], bool]) -> None:
                seen = len(editor.published)
                editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
                await editor.until(lambda: [p for p in editor.published[seen:] if holds(list(p.diagnostics))])

            await become({"dnnfix": {"ignore": ["DNF3"]}}, lambda found: not found)
            await become({"dnnfix": {"ignore": []}}, lambda found: len(found) == 1)
            await become({"dnnfix": {"check": "never"}}, lambda found: not found)
            await become({"dnnfix": {}}, lambda found: len(found) == 1)

    asyncio.run(main())


def test_a_client_that_is_asked_answers_for_its_user(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(configuration={"dnnfix": {"ignore": ["DNF301"]}}) as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            await editor.until(lambda: any(p.uri == uri and not p.diagnostics for p in editor.published))

    asyncio.run(main())


@pytest.mark.parametrize("name", ["dnnfix.toml", "pyproject.toml"])
def test_a_configuration_that_changes_is_read_again(connected: Connected, folder: Path, name: str) -> None:
    heading = "" if name == "dnnfix.toml" else "[tool.dnnfix]\n"

    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            assert await editor.diagnostics(uri)
            await editor.until(lambda: editor.registered)
            globs = [watcher["globPattern"] for watcher in editor.registered[0].register_options["watchers"]]
            assert f"**/{name}" in globs
            (folder / name).write_text(f'{heading}ignore = ["DNF301"]\n')
            event = types.FileEvent((folder / name).as_uri(), types.FileChangeType.Created)
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            await editor.until(lambda: not editor.published[-1].diagnostics)

    asyncio.run(main())


def test_on_save_waits_for_saving(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(options={"check": "on-save"}) as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            assert await editor.diagnostics(uri)
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument("import torch\n"))
            editor.change(uri, 3, types.TextDocumentContentChangeWholeDocument("import torch  # a\n"))
            editor.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
            assert await editor.diagnostics(uri, 3) == []
            assert [p.version for p in editor.published] == [1, 3]

    asyncio.run(main())


NONSENSE = [
    ({"ignore": ["DNF3x"]}, "DNF3x"),
    ({"selct": ["DNF3"]}, "Did you mean `select`?"),
    ({"trust": True, "sandbox": "none"}, "command line of `dnnfix server` only"),
    ({"templates": ["rules"]}, "command line of `dnnfix server` only"),
    ({"check": "sometimes"}, "on-type, on-save, never"),
    (["DNF3"], "have to be an object"),
]


def test_settings_that_make_no_sense_are_told_and_change_nothing(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected(options=NONSENSE[0][0]) as editor:
            for number, (options, said) in enumerate(NONSENSE):
                if number:
                    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(options))
                assert len(await editor.diagnostics(editor.open(folder / f"{number}.py", FAULTY))) == 1
                assert said in editor.client.messages[-1].message
                assert editor.client.messages[-1].type == types.MessageType.Error

    asyncio.run(main())


def test_a_configuration_that_makes_no_sense_is_told_once(connected: Connected, folder: Path) -> None:
    (folder / "dnnfix.toml").write_text("selct = []\n")

    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            await editor.until(lambda: editor.client.messages)
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(FAULTY + "\n"))
            (folder / "dnnfix.toml").unlink()
            editor.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
            assert len(await editor.diagnostics(uri, 2)) == 1
            assert len(editor.client.messages) == 1 and "dnnfix.toml" in editor.client.messages[0].message

    asyncio.run(main())


RULE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
"""


def test_a_folder_that_is_opened_runs_nothing(connected: Connected, folder: Path) -> None:
    """`templates` names programs; a stranger's repository must not have them run by being looked at."""
    (folder / "rules").mkdir()
    (folder / "rules" / "mine.py").write_text(RULE)
    (folder / "dnnfix.toml").write_text('templates = ["rules"]\n')

    async def main(*flags: str) -> None:
        async with connected("visual-studio-code", *flags) as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            await editor.until(lambda: editor.published or editor.client.messages)
            await editor.actions(uri, types.Range(types.Position(0, 0), types.Position(9, 0)))

    asyncio.run(main())
    assert not (folder / "rules" / "ran").exists()
    asyncio.run(main("--local-rules"))
    assert (folder / "rules" / "ran").exists()
