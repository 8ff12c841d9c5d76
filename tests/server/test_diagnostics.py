"""Findings as a text is typed: where they are, which text they are of, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.cli.programs import FAULTY, HEALTHY
from tests.server.edited import at

Connected = Callable[..., Any]


def insert(line: int, column: int, text: str) -> types.TextDocumentContentChangePartial:
    place = types.Position(line, column)
    return types.TextDocumentContentChangePartial(types.Range(place, place), text)


def test_a_fault_is_shown_where_it_is_and_goes_with_it(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "train me.py", FAULTY)
            (found,) = await editor.diagnostics(uri)
            assert (found.code, found.source) == ("DNF301", "dnnfix")
            assert at(FAULTY, found.range) == "nn.Softmax(dim=1)"
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument(HEALTHY))
            assert await editor.diagnostics(uri, 2) == []
            editor.change(uri, 3, types.TextDocumentContentChangeWholeDocument(FAULTY))
            assert len(await editor.diagnostics(uri, 3)) == 1
            editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
            await editor.until(lambda: editor.published[-1].version is None and not editor.published[-1].diagnostics)

    asyncio.run(main())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_are_in_the_units_that_were_agreed_on(connected: Connected, folder: Path, encoding: str) -> None:
    text = FAULTY.replace("nn.Linear(20, 64)", 'nn.Linear({"𝒳": 20, "ж": 3, "語": 4}["𝒳"], 64)')

    async def main() -> None:
        async with connected(encodings=[encoding]) as editor:
            assert editor.capabilities.position_encoding == encoding
            uri = editor.open(folder / "модель 模型.py", text)
            (found,) = await editor.diagnostics(uri)
            assert at(text, found.range, encoding) == "nn.Softmax(dim=1)"
            before = text.split("\n")[3].partition(", nn.Softmax")[0]
            column = {"utf-8": len(before.encode()), "utf-16": len(before.encode("utf-16-le")) // 2}
            editor.change(uri, 2, insert(3, column.get(encoding, len(before)), ', nn.Dropout(0.5 if "𝒳ж" else 0)'))
            (found,) = await editor.diagnostics(uri, 2)
            text2 = text.replace(before, before + ', nn.Dropout(0.5 if "𝒳ж" else 0)')
            assert at(text2, found.range, encoding) == "nn.Softmax(dim=1)"

    asyncio.run(main())


def test_lines_end_where_an_editor_ends_them(connected: Connected, folder: Path) -> None:
    """Python's own `splitlines` ends them at form feeds and separators too, and edits would go to other lines."""

    async def main() -> None:
        async with connected() as editor:
            for number, separator in enumerate(("\f", "\x1c", "\u2028", "\x85")):
                comment = f"import torch  # a{separator}b{separator}c\r\n"
                text = FAULTY.replace("import torch\n", comment, 1)
                uri = editor.open(folder / f"{number}.py", text)
                (found,) = await editor.diagnostics(uri)
                assert (found.range.start.line, at(text, found.range)) == (3, "nn.Softmax(dim=1)")
                gone = types.TextDocumentContentChangePartial(found.range, "nn.Identity()")
                editor.change(uri, 2, gone)
                assert await editor.diagnostics(uri, 2) == []

    asyncio.run(main())


def test_a_declared_coding_is_that_of_the_file_and_not_of_the_text(connected: Connected, folder: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n" + FAULTY.replace("nn.Linear(20", 'nn.Linear({"é": 20}["é"]')

    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", text)
            (found,) = await editor.diagnostics(uri)
            assert at(text, found.range) == "nn.Softmax(dim=1)"

    asyncio.run(main())


def test_what_cannot_be_read_keeps_what_was_shown(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY)
            await editor.diagnostics(uri)
            editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument("def (:\n\0"))
            await editor.until(lambda: editor.client.log_messages)
            assert "a.py" in editor.client.log_messages[-1].message
            assert [p.version for p in editor.published] == [1]
            editor.change(uri, 3, types.TextDocumentContentChangeWholeDocument(HEALTHY))
            assert await editor.diagnostics(uri, 3) == []

    asyncio.run(main())


def test_a_line_that_is_half_typed_hides_no_fault_of_the_others(connected: Connected, folder: Path) -> None:
    text = FAULTY + "print(loss.\n"

    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", text)
            assert "DNF301" in [found.code for found in await editor.diagnostics(uri)]

    asyncio.run(main())


def test_a_text_that_is_typed_on_is_not_checked_at_every_key(connected: Connected, folder: Path) -> None:
    filler = "".join(f"layer_{n} = nn.Linear({n + 1}, {n + 2})\n" for n in range(1500))

    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", FAULTY + filler)
            await editor.diagnostics(uri)
            for version in range(2, 52):
                editor.change(uri, version, insert(0, 0, "#" if version > 2 else "\n"))
            (found,) = await editor.diagnostics(uri, 51)
            assert found.range.start.line == 4
            versions = [p.version for p in editor.published]
            assert versions == sorted(versions) and len(versions) < 20

    asyncio.run(main())


def test_a_comment_that_suppresses_nothing_is_a_hint(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            uri = editor.open(folder / "a.py", HEALTHY.replace("\n\n", "  # noqa: DNF301\n\n"))
            (found,) = await editor.diagnostics(uri)
            assert (found.code, found.severity) == ("DNF900", types.DiagnosticSeverity.Hint)
            assert found.tags and types.DiagnosticTag.Unnecessary in found.tags

    asyncio.run(main())


def test_other_languages_are_left_alone(connected: Connected, folder: Path) -> None:
    async def main() -> None:
        async with connected() as editor:
            other = editor.open(folder / "notes.md", FAULTY, "markdown")
            uri = editor.open(folder / "untitled", FAULTY)
            await editor.diagnostics(uri)
            assert not [p for p in editor.published if p.uri == other]

    asyncio.run(main())
