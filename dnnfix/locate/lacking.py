"""What a report lacks, and a reply that asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dnnfix.errors import InputError
from dnnfix.reproduce.reports.kinds import Information, missing_information, type_of
from dnnfix.reproduce.reports.report import BugReport
from dnnfix.source.program import Source

VERSIONS = "versions"

QUESTIONS: Mapping[str, str] = {
    Information.CODE: "a short program that shows the problem when it is run as it stands",
    Information.LOGS: "the whole traceback, or the lines of output that show the problem, as text",
    Information.DATA: "the shape, type and range of the data, or a few made-up samples that show the problem too",
    Information.MODEL: "the definition of the model, with its layers and their sizes",
    Information.HYPERPARAMETERS: "batch size, learning rate, optimizer and the number of epochs",
    VERSIONS: "the versions of Python, of this project and of the libraries that it uses (`pip list`)",
}
"""What is asked for, in words."""

ALWAYS = (Information.CODE, Information.LOGS)
"""What is asked for whatever the type of the bug; the rest only where it is of use for that type."""

_VERSION = re.compile(
    r"(?:python|torch|pytorch|tensorflow|keras|jax|numpy|version|==|\bv)\D{0,12}\d+\.\d+|\b\d+\.\d+\.\d+|[0-9a-f]{40}",
    re.IGNORECASE,
)


def lacking(report: BugReport, text: str) -> tuple[str, ...]:
    """What a report lacks, by the names of `QUESTIONS`, what matters most first; `text` is all of it."""
    return tuple(_lacking(report, text))


def _lacking(report: BugReport, text: str) -> Iterator[str]:
    program = report.program.strip()
    source = None
    if program:
        try:
            source = Source.from_bytes(program.encode("utf-8", "replace"), "report.py")
        except InputError:
            source = None
    kind = type_of(report.said, None).kind
    for each in missing_information(kind, report.said, report.logs, source, source is not None):
        if each.of_type or each.information in ALWAYS:
            yield each.information
    if not _VERSION.search(text):
        yield VERSIONS


def reply(missing: tuple[str, ...]) -> str:
    """A reply that one could post; empty where nothing is missing."""
    if not missing:
        return ""
    asked = "\n".join(f"- {QUESTIONS[name]}" for name in missing)
    return f"Thank you for the report. To find the cause it would help to have:\n\n{asked}\n"
