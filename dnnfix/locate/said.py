"""What a bug report says that points at a place: its words by part, stack frames, files, dotted names, names of code, the error's message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.locate.words import IDENTIFIER
from dnnfix.reproduce.reports.report import BlockKind, BugReport, parsed, reported_errors

LONGEST = 200_000
"""Characters of a report that are read; of a longer one, its beginning and its end."""

_FRAMES = (
    re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>[\w<>.]+))?'),
    re.compile(r"(?P<path>[^\s\"'`(<]+\.py):(?P<line>\d+)(?:,|:)? in (?P<name>[\w<>.]+)"),
    re.compile(r"(?P<path>[^\s\"'`(<]+\.py)\((?P<line>\d+)\)(?P<name>[\w<>]+)"),
    re.compile(r"(?P<path>[^\s\"'`(<]+\.py) in (?P<name>[\w<>.]+)\("),
    re.compile(r"(?P<path>[^\s\"'`(<]+\.py):(?P<line>\d+)\b"),
)
_LINK = re.compile(r"/blob/[^/\s]+/(?P<path>(?:[^\s#()\]>\"'`]|\([^\s()]*\))+\.py)(?:#L(?P<line>\d+))?")
_FILE = r"(?<![\w~./\\+)-])(?:[\w~./\\+-]|(?<=\w)\(\w+\)(?=[\w.-]))+\.py"
"""A file of Python as it stands in a sentence; a name may hold parentheses."""
_TOLD = (
    re.compile(rf"(?P<path>{_FILE})\W{{0,4}}(?:at |on |in )?[Ll]ines? (?P<line>\d+)"),
    re.compile(
        rf"\b[Ll]ines? (?P<line>\d+)(?:\W{{1,3}}(?:(?:and|to) )?\d+)? (?:of|in) (?:the file )?`?(?P<path>{_FILE})"
    ),
)
_PATH = re.compile(rf"{_FILE}\b")
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_MARKED = re.compile(r"`([^`\n]{2,120})`")
_IMPORTED = re.compile(
    r"^[ \t>]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([\w. ,]+))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A stack frame, or a link to a line: the path as it was said, line (0: none) and function (empty: none)."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a report says, by part. `message` is the text of the error that it reports, `frames` are outermost first."""

    title: str
    prose: str
    code: str
    logs: str
    message: str
    error: str
    frames: tuple[Frame, ...]
    links: tuple[Frame, ...]
    told: tuple[Frame, ...]
    """Lines that sentences name: "line 7 of loss.py"."""
    paths: tuple[str, ...]
    dotted: tuple[str, ...]
    stretches: tuple[str, ...]
    """What stands between backticks in its sentences."""
    marked: frozenset[str]
    """Identifiers that stand between backticks, or are written as no word of a language is (`CamelCase`, `snake_case`)."""
    called: frozenset[str]
    """Identifiers of its code."""
    report: BugReport
    """Its blocks and prose, the title aside."""

    @property
    def whole(self) -> str:
        """All of the report."""
        return f"{self.title}\n{self.prose}\n{self.code}\n{self.logs}"


def said(text: str) -> Said:
    """Read a report in Markdown; its first heading or line is its title."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n\n{text[-LONGEST // 2 :]}"
    title, body = _title(text)
    report = parsed(body)
    code = "\n".join(block.text for block in report.blocks if block.kind in (BlockKind.PROGRAM, BlockKind.SHELL))
    logs = report.logs
    errors = [each for each in reported_errors(f"{title}\n{report.prose}\n{logs}") if not each[0].endswith("Warning")]
    error, message = errors[0] if errors else ("", "")
    told = f"{report.prose}\n{logs}\n{code}"
    frames = tuple(_frames(told))
    links = tuple(Frame(match["path"], int(match["line"] or 0), "") for match in _LINK.finditer(f"{title}\n{told}"))
    everything = f"{title}\n{told}"
    return Said(
        title=title,
        prose=report.prose,
        code=code,
        logs=logs,
        message=message,
        error=error,
        frames=frames,
        links=links,
        told=tuple(
            Frame(match["path"].replace("\\", "/"), int(match["line"]), "")
            for pattern in _TOLD
            for match in pattern.finditer(f"{title}\n{report.prose}")
        ),
        paths=tuple(dict.fromkeys(match.replace("\\", "/") for match in _PATH.findall(everything))),
        dotted=tuple(dict.fromkeys([*_imported(everything), *_DOTTED.findall(everything)])),
        stretches=tuple(_MARKED.findall(f"{title}\n{report.prose}")),
        marked=frozenset(_marked(f"{title}\n{report.prose}")),
        called=frozenset(IDENTIFIER.findall(code)),
        report=report,
    )


def _title(text: str) -> tuple[str, str]:
    lines = text.lstrip("\ufeff\n ").split("\n", 1)
    return lines[0].lstrip("# ").strip(), lines[1] if len(lines) > 1 else ""


def _frames(text: str) -> Iterator[Frame]:
    seen: dict[int, Frame] = {}
    taken: set[int] = set()
    for pattern in _FRAMES:
        for match in pattern.finditer(text):
            if match.start("path") not in taken and "/blob/" not in match["path"]:
                taken.add(match.start("path"))
                found = match.groupdict()
                seen[match.start()] = Frame(
                    found["path"].replace("\\", "/"), int(found.get("line") or 0), found.get("name") or ""
                )
    yield from (seen[at] for at in sorted(seen))


def _imported(text: str) -> Iterator[str]:
    for module, names, modules in _IMPORTED.findall(text):
        if module:
            yield module
            yield from (f"{module}.{name}" for name in IDENTIFIER.findall(re.sub(r"\bas\s+\w+", "", names)))
        else:
            yield from re.findall(r"[A-Za-z_][\w.]*", re.sub(r"\bas\s+\w+", "", modules))


def _marked(text: str) -> Iterator[str]:
    for stretch in _MARKED.findall(text):
        yield from IDENTIFIER.findall(stretch)
    for name in IDENTIFIER.findall(text):
        if "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name):
            yield name
