"""Every block of code of the documentation is run, or says in the page's source why it cannot be."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from dnnfix.cli import main
from tests.docs.blocks import ANYTHING, ROOT, Block, Folder, agree, blocks, calls, commands

GENERATED = ROOT / "docs" / "templates.md"
"""Its blocks are the examples of rules, which the harness of the catalogue runs."""

PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page != GENERATED]
PAGES += [ROOT / name for name in ("CONTRIBUTING.md", "benchmarks/README.md", "benchmark_667/README.md")]
PLACEHOLDER = re.compile(r"Received: [A-Z-]+$")
"""What stands for a value that readers have to put in."""

TRAINING = re.compile(
    r"^\$ .*(?:dnnfix (?:suggest|fix|verify)|python \S+\.py)|^%%dnnfix --suggest|dnnfix\.watch\(", re.MULTILINE
)


def _read(page: Path) -> list[Block]:
    return list(blocks(page.read_text(encoding="utf-8")))


def _trains(page: Path) -> bool:
    return any(TRAINING.search(block.code) for block in _read(page) if not block.not_run and not block.excerpt)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.slow] if _trains(page) else [])
        for page in PAGES
        if _read(page)
    ],
)
def test_the_blocks_of_a_page_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    if page.name == "tutorial.md":
        pytest.importorskip("keras")
    if _trains(page):
        pytest.importorskip("torch")
        if not shutil.which("bwrap"):
            pytest.skip("the page was written with bubblewrap")
    folder = Folder(tmp_path)
    for block in _read(page):
        if block.excerpt:
            assert_excerpt(block)
        elif not block.not_run:
            try:
                folder.run(block)
            except Exception as error:
                raise AssertionError(f"{page.relative_to(ROOT)}:{block.line}: {error}") from error


def assert_excerpt(block: Block) -> None:
    """Every line of the block stands in a block of the page that it is taken from, wherever lines end there."""
    whole = " ".join(" ".join(other.code for other in _read(ROOT / block.excerpt)).split())
    for line in block.code.splitlines():
        for part in line.split(ANYTHING):
            assert " ".join(part.split()) in whole, f"{block.excerpt} has no {part!r}"


def _taken(words: list[str]) -> Any:
    """Have typer read a call; it raises `UsageError` where there is no such command or flag."""
    module: Any = main
    for count, word in enumerate(words, 1):
        assert word in module.COMMANDS, f"no such command: {word}"
        module = import_module(f"{getattr(module, '__package__', 'dnnfix.cli')}.{word}")
        if not hasattr(module, "COMMANDS"):
            return module.run.built(word).make_context(word, words[count:])
    raise AssertionError(f"is no whole command: {words}")


def _told() -> dict[str, list[str]]:
    """Each call of dnnfix on a page or in the help of a command, with its words."""
    told = {}
    for page in PAGES:
        for block in _read(page):
            if block.language == "console":
                told.update({f"{page.name}: {c}": w for c, _ in commands(block.code) for w in calls(c)})
    for file in sorted((ROOT / "dnnfix" / "cli").rglob("*.py")):
        for match in re.finditer(r"^  (?:.*\| )?(dnnfix .*?)(?: {2,}\S.*)?$", file.read_text(), re.MULTILINE):
            told.update({f"{file.stem}: {match[1]}": words for words in calls(match[1])})
    return told


@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in _told().items()])
def test_a_call_that_is_shown_is_one_that_is_taken(words: list[str]) -> None:
    try:
        _taken(words)
    except typer.BadParameter as error:
        assert PLACEHOLDER.search(error.message), error.message


def test_output_agrees_but_for_what_differs_from_run_to_run() -> None:
    told = ["skill 0.49 before", ANYTHING, "certificate ~/.cache/dnnfix/certificates/0a.json", ""]
    said = ["skill 0.52 before", "other", "lines", "certificate /tmp/x/dnnfix/certificates/ff.json"]
    assert agree(told, said)
    assert not agree(told, ["skill 0.99 before", *said[1:]])
    assert not agree(told, said[:-1])
    assert not agree(told, [*said, "and more"])
    assert agree([], []) and not agree([], ["said"])


def test_a_block_that_nobody_can_run_is_noticed(tmp_path: Path) -> None:
    (indented,) = blocks("text\n\n    indented\n")
    with pytest.raises(AssertionError, match="nobody knows"):
        Folder(tmp_path).run(indented)
    (marked,) = blocks("<!-- not run: a reason -->\n```console\n$ false\n```\n")
    assert marked.not_run == "a reason"
