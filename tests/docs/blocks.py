"""The blocks of code of a page, and what it means that one holds.

A block is run, in the order of its page and in one folder: a shell's `$ command` has to say what stands below it, Python and
cells are executed, settings are read, and a block with a title is a file. One that cannot be run says so in the page's source, in a
comment above it: `<!-- not run: the reason -->`, or `<!-- excerpt of docs/other.md -->` where another page runs it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt

from dnnfix import config

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"<!-- (?P<how>not run|excerpt of):? (?P<what>.+?) -->\s*\Z")
TITLE = re.compile(r'title="([^"]+)"')
NAMED = re.compile(r"`([\w/]+\.py)`")
"""A paragraph that is the path of the file in the block below it, which is another way to give a title."""

ANYTHING = "…"
"""What stands for any lines of the output where it is a line, and for anything else within one."""

TOLERANCE = 0.15
"""By how much numbers with a decimal point may differ: what was learned with other threads, or on another machine."""

CERTIFICATE = re.compile(r"\S+/dnnfix/certificates/\w+\.json")
NUMBER = re.compile(r"(\d+\.\d+)")
SPARKS = re.compile("[▁-█]+")


@dataclass(frozen=True)
class Block:
    """A block of code: its line on the page, language, title, text, and the comment above it."""

    line: int
    language: str
    title: str
    code: str
    not_run: str = ""
    excerpt: str = ""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page in their order."""
    before = ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block"):
            mark = MARK.search(before)
            given = {"not run": "not_run", "excerpt of": "excerpt"}
            language, title = (token.info.split() or [""])[0], TITLE.search(token.info) or NAMED.fullmatch(before)
            assert token.map is not None
            marked = {given[mark["how"]]: mark["what"]} if mark else {}
            yield Block(token.map[0] + 1, language, title[1] if title else "", token.content, **marked)
        if token.type != "paragraph_close":
            before = token.content if token.type in ("html_block", "inline") else ""


def commands(code: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a shell, each with the lines that it says."""
    command, said = "", list[str]()
    for line in code.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, said
            command, said = line[2:], []
        elif line.startswith("> "):
            command += f"\n{line[2:]}"
        else:
            said.append(line)
    if command:
        yield command, said


def calls(command: str) -> Iterator[list[str]]:
    """The calls of dnnfix in a line of a shell: the words of each, without `dnnfix`."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word.strip("|&;<>()"):
            words.append(word)
            continue
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words.pop(0)
        if words and Path(words[0]).name == "dnnfix":
            yield words[1:]
        words = []


class Folder:
    """A folder in which the blocks of one page are run."""

    def __init__(self, path: Path) -> None:
        self.path = path / "page"
        self._names: dict[str, Any] = {"__name__": "page"}
        self._shell_of_cells: Any = None
        tools = path / "bin"
        for made in (self.path, tools):
            made.mkdir()
        for name, words in (("dnnfix", "-m dnnfix"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
            (tools / name).chmod(0o755)
        (path / "dnnfix.toml").write_text("budget = 900\n")  # for a busy machine
        self.environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "XDG_CACHE_HOME": str(path / "cache"),
            "COLUMNS": "200",
        }

    def run(self, block: Block) -> None:
        """Run a block, or read it where it is data. Raises `AssertionError` where it is not as the page says."""
        if block.title:
            file = self.path / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.code)
        match block.language:
            case "console":
                for command, said in commands(block.code):
                    self._shell(command, said)
            case "python" if block.title:
                compile(block.code, block.title, "exec")
            case "python":
                with chdir(self.path):
                    exec(compile(block.code, f"line {block.line}", "exec"), self._names)  # noqa: S102
            case "ipython":
                self._cell(block.code)
            case "toml":
                self._settings(tomllib.loads(block.code))
            case "yaml":
                assert yaml.safe_load(block.code)
            case "json":
                json.loads(block.code)
            case "diff":
                assert all(line[:1] in "+-@ " for line in block.code.splitlines())
            case "text" | "mermaid":
                pass  # a picture or a table, nothing that a computer is told
            case other:
                raise AssertionError(
                    f"nobody knows how to run {other or 'an indented block'}: name a language, or mark it"
                )

    def _cell(self, code: str) -> None:
        """Run a cell as a notebook would, after those before it."""
        if self._shell_of_cells is None:
            from IPython.core.interactiveshell import InteractiveShell

            self._shell_of_cells = InteractiveShell()
        with chdir(self.path):
            done = self._shell_of_cells.run_cell(code, store_history=True)
        done.raise_error()

    def _settings(self, table: dict[str, Any]) -> None:
        if "dnnfix" in table.get("tool", {}):
            config.freeze(config.merge(table["tool"]["dnnfix"], {}), self.path)

    def _shell(self, command: str, said: Sequence[str]) -> None:
        done = subprocess.run(
            ("bash", "-c", command), check=False, cwd=self.path, env=self.environment, capture_output=True, text=True
        )
        found = done.stdout if done.returncode != 2 else done.stdout + done.stderr
        assert agree(said, found.splitlines()), f"$ {command}\n{found}{done.stderr}"


def agree(told: Sequence[str], found: Sequence[str]) -> bool:
    """Whether an output is as the page tells, but for what differs from run to run."""
    told, found = [line.rstrip() for line in told], [line.rstrip() for line in found]
    while told and not told[-1]:
        told.pop()
    while found and not found[-1]:
        found.pop()
    if not told:
        return not found
    if told[0] == ANYTHING:
        return any(agree(told[1:], found[start:]) for start in range(len(found) + 1))
    return bool(found) and _alike(told[0], found[0]) and agree(told[1:], found[1:])


def _alike(told: str, found: str) -> bool:
    if told.startswith("  effects "):
        return found.startswith("  effects ")  # times and memory of this machine
    told, found = (SPARKS.sub("~", CERTIFICATE.sub("CERTIFICATE", line)) for line in (told, found))
    if ANYTHING in told:
        return bool(re.fullmatch(".*".join(map(re.escape, told.split(ANYTHING))), found))
    words, other = NUMBER.split(told), NUMBER.split(found)
    return words[::2] == other[::2] and all(
        abs(float(one) - float(two)) <= TOLERANCE for one, two in zip(words[1::2], other[1::2])
    )
