"""The comment that silences a finding, written so that `dnnfix.suppress` reads it."""

from __future__ import annotations

import re

from dnnfix.records import Finding
from dnnfix.server.checked import Checked
from dnnfix.server.programs import Part
from dnnfix.source.decode import split_lines
from dnnfix.suppress import read_comments

_OWN = re.compile(r"(#\s*noqa\s*:\s*)([A-Za-z]+[0-9]+(?:[,\s]+[A-Za-z]+[0-9]+)*)", re.IGNORECASE)


def suppressed(checked: Checked, finding: Finding) -> tuple[Part, int, str] | None:
    """The document, the line (from 0) and the text that this line needs for the finding not to be heard of again.

    `None` where no comment can stand at the line that the finding begins at, nor at the one that it ends at.
    """
    for number in dict.fromkeys((finding.site.line, finding.site.end_line)):
        cell, line = checked.source.locate(number)
        part = checked.program.parts.get(cell)
        if part is None or finding.site.path:
            continue
        lines = split_lines(part.text)[0]
        text = _with_comment(lines[line - 1], finding.code)
        if not text.split("#")[0].rstrip().endswith("\\") and _is_heard(checked, number, text, finding):
            return part, line - 1, text
    return None


def _with_comment(line: str, code: str) -> str:
    """A line that silences the code too."""
    if own := _OWN.search(line):
        return f"{line[: own.end()]}, {code}{line[own.end() :]}"
    bare = line.rstrip()
    return f"{bare}  # noqa: {code}" if bare else f"# noqa: {code}"


def _is_heard(checked: Checked, number: int, text: str, finding: Finding) -> bool:
    """Whether the text as line `number` of the program holds a comment that silences the finding, and not a string."""
    lines = checked.source.text.split("\n")
    lines[number - 1] = text
    return any(comment.covers(finding) for comment in read_comments("\n".join(lines)))
