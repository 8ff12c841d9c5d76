"""Reads a bug report in Markdown: its programs, its traceback and logs, and its prose.

markdown-it-py parses the Markdown; which of its code blocks is a program, a traceback or a log is decided here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import unescape

from dnnfix.errors import InputError
from dnnfix.reproduce.reports.fragments import lacking_names
from dnnfix.source.parse import Unparsable
from dnnfix.source.parsing import recover


class BlockKind(StrEnum):
    """What a block of code in a report is."""

    PROGRAM = "program"
    TRACEBACK = "traceback"
    LOG = "log"
    SHELL = "shell"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code of a report and the line it begins on."""

    text: str
    kind: BlockKind
    line: int


@dataclass(frozen=True, slots=True)
class BugReport:
    """A parsed report. `program` is all of its code, in order; `said` everything else, tracebacks and logs too."""

    blocks: tuple[Block, ...]
    prose: str

    @property
    def program(self) -> str:
        """The code of the report as one program, without blocks that another one holds already, or that a longer and whole one follows."""
        programs = [block.text for block in self.blocks if block.kind is BlockKind.PROGRAM]
        kept = [text for i, text in enumerate(programs) if not _held(text, programs[:i] + programs[i + 1 :])]
        kept = [text for i, text in enumerate(kept) if not _shown_before(text, kept[i + 1 :])]
        return "\n\n".join(text.strip("\n") for text in kept) + "\n"

    @property
    def said(self) -> str:
        """What the report says besides its code."""
        logs = [block.text for block in self.blocks if block.kind is not BlockKind.PROGRAM]
        return "\n".join([self.prose, *logs])

    @property
    def logs(self) -> str:
        """Tracebacks and logs alone."""
        wanted = (BlockKind.TRACEBACK, BlockKind.LOG)
        return "\n".join(block.text for block in self.blocks if block.kind in wanted)


def read(text: str, path: str) -> BugReport:
    """Parse a report whose program is to be run. Raises `InputError` where it holds no code."""
    report = parsed(text)
    if not any(block.kind is BlockKind.PROGRAM for block in report.blocks):
        found = ", ".join(sorted({block.kind.value for block in report.blocks})) or "none"
        raise InputError(
            f"{path}: the report holds no Python code (blocks found: {found}). Put the program into a block that is "
            "fenced with ``` or indented by four spaces."
        )
    return report


def parsed(text: str) -> BugReport:
    """Parse a report, whatever it holds."""
    from markdown_it import MarkdownIt

    blocks: list[Block] = []
    prose: list[str] = []
    for token in MarkdownIt("commonmark").parse(text):
        line = (token.map or [0])[0] + 1
        if token.type in ("fence", "code_block"):
            blocks.append(Block(token.content, kind_of(token.content, token.info), line))
        elif token.type == "html_block" and "<pre" in token.content:
            content = unescape(re.sub(r"<[^>]+>", "", token.content))
            blocks.append(Block(content, kind_of(content, ""), line))
        elif token.type in ("inline", "html_block"):
            prose.append(token.content)
    return BugReport(tuple(blocks), "\n\n".join(prose))


_TRACEBACK = re.compile(
    r"^\s*Traceback \(most recent call last\)|^\s*File \".*\", line \d+|^\s*\S.*\.py:\d+: \w*(?:Warning|Error)\b",
    re.MULTILINE,
)
_ERROR = re.compile(r"^\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Warning)\b.*", re.MULTILINE)
_LOG = re.compile(
    r"^\s*(?:Epoch[\s:\[]+\d+|\d+/\d+ \[=*>?\.*\]|.*\bloss[:=\s]+(?:\d|nan)|.*\bacc(?:uracy)?[:=\s]+\d|_{10,}|={10,}"
    r"|Layer \(type\)|\[?\d{4}-\d\d-\d\d|W\d{4} |I\d{4} |\d{4}-\d\d-\d\d)",
    re.MULTILINE | re.IGNORECASE,
)
_SHELL = re.compile(
    r"^\s*(?:\$|>(?!>)|%|#)?\s*(?:pip3?|conda|python3?|sudo|apt(?:-get)?|git|nvidia-smi|docker)\s", re.MULTILINE
)
_PRINTED_NETWORK = re.compile(r"^\s*\(\w+\): [A-Z]\w* ?\(", re.MULTILINE)
"""A line of what torch prints of a network: `(fc1): Linear(…)`."""
_SHELL_WORDS = ("bash", "sh", "shell", "console", "cmd", "powershell", "zsh")
_CODE_WORDS = ("python", "py", "python3", "ipython", "pycon")


LEAST_KEPT = 0.5
"""Share of a block's lines that have to be code once it is made to parse; of prose and logs next to nothing is kept."""


def kind_of(text: str, info: str) -> BlockKind:
    """What a block is, by its text before its language tag, which people often set wrongly."""
    language = info.strip().split()[0].lower() if info.strip() else ""
    if _TRACEBACK.search(text) and not _is_code(_without_tracebacks(text)):
        return BlockKind.TRACEBACK
    if language in _SHELL_WORDS:
        return BlockKind.SHELL
    if _PRINTED_NETWORK.search(text):
        return BlockKind.LOG
    if _is_code(text):
        return BlockKind.PROGRAM
    if _ERROR.match(text.strip()):
        return BlockKind.TRACEBACK
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and sum(bool(_SHELL.match(line)) for line in lines) * 2 >= len(lines):
        return BlockKind.SHELL
    if _LOG.search(text) or language not in _CODE_WORDS:
        return BlockKind.LOG
    return BlockKind.PROGRAM


def _without_tracebacks(text: str) -> str:
    return _TRACEBACK.split(text)[0]


def _is_code(text: str) -> bool:
    """Whether a block is Python that does something: an import, a definition, an assignment, a call."""
    recovered = recover(text)
    if isinstance(recovered, Unparsable):
        return False
    given, kept = (sum(bool(line.strip()) for line in each.splitlines()) for each in (text, recovered.text))
    if kept < LEAST_KEPT * given:
        return False
    return any(_does_something(statement) for statement in recovered.tree.body)


_PRINTED = frozenset({"tensor", "array", "Size", "Parameter", "Variable"})
"""What arrays and such are printed as: calls of names that no program has by itself."""


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        value = statement.value
        return isinstance(value, ast.Call) and not (isinstance(value.func, ast.Name) and value.func.id in _PRINTED)
    if isinstance(statement, ast.AnnAssign):  # `Epoch: 3` in a log
        return statement.value is not None
    return not isinstance(statement, ast.Pass)


def _held(text: str, others: list[str]) -> bool:
    """Whether nearly all lines of a block stand in one longer block: an excerpt, quoted to point at something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for other in others:
        known = {line.strip() for line in other.splitlines()}
        if len(known) > len(lines) and sum(line in known for line in lines) >= 0.9 * len(lines):
            return True
    return False


def _shown_before(text: str, later: list[str]) -> bool:
    """Whether a block lacks names, and a longer one that lacks none comes after it: the part that matters, shown first."""
    longer = [other for other in later if other.count("\n") > text.count("\n")]
    return bool(longer) and bool(lacking_names(text)) and any(lacking_names(other) == () for other in longer)


_LAST = re.compile(
    r"^\s*((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning))\b:?\s?(.*)$", re.MULTILINE
)


def reported_errors(said: str) -> Iterator[tuple[str, str]]:
    """(class, message) of the exceptions that a text reports, the last line of each traceback first."""
    found = [(match[1].rpartition(".")[2], match[2].strip()) for match in _LAST.finditer(said)]
    yield from dict.fromkeys(reversed(found))
