"""Where a report points: as text, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dnnfix.emit.text import PLAIN, Palette
from dnnfix.emit.view import printable
from dnnfix.locate.answer import Located, SuspectFile
from dnnfix.locate.lacking import reply

SCHEMA = "dnnfix-location/1"
REASONS = 3
"""Reasons that text gives for a place; JSON and pages have them all."""


def text(located: Located, palette: Palette = PLAIN) -> str:
    """The answer for a person at a terminal."""
    return "\n".join(_lines(located, palette)) + "\n"


def _lines(located: Located, palette: Palette) -> Iterator[str]:
    at = f" at {located.revision[:12]}" if located.revision else ""
    noun = "file" if located.searched == 1 else "files"
    yield f"{palette.bold}{printable(located.report)}{palette.off} against {located.searched} {noun} of {printable(located.repository)}{at}"
    yield from _triage(located)
    for rank, file in enumerate(located.files, 1):
        yield f"{rank:3}  {_share(file.share)}  {palette.bold}{printable(file.path)}{palette.off}"
        yield from _file(file)
    for remark in located.remarks:
        yield f"     note       {printable(remark)}"


def _triage(located: Located) -> Iterator[str]:
    triage = located.triage
    sure = "" if triage.is_sure else "unsure, "
    yield f"     fault      {triage.fault} ({sure}{100 * triage.chance:.0f} %): {printable(triage.sentence)}"
    yield f"     next       {triage.advice}"
    if located.lacking:
        yield f"     missing    {', '.join(located.lacking)} (--output-format json has a reply that asks for them)"


def _file(file: SuspectFile) -> Iterator[str]:
    for reason in file.reasons[:REASONS]:
        yield f"     because    {printable(reason)}"
    for suspect in file.suspects:
        why = f": {printable(suspect.reasons[0])}" if suspect.reasons else ""
        yield f"     in         {printable(suspect.name)}, lines {suspect.first}-{suspect.last}{why}"
    for line in file.lines:
        yield f"     line       {line.first}: {printable(line.reason)}"


def _share(share: float) -> str:
    return f"{100 * share:3.0f} %" if share >= 0.005 else " <1 %"


def document(located: Located) -> dict[str, Any]:
    """The answer as JSON; `share` is the part of the suspicion, 0 to 1, that falls on a place."""
    return {
        "schema": SCHEMA,
        "report": located.report,
        "repository": located.repository,
        "revision": located.revision or None,
        "searched": located.searched,
        "files": [
            {
                "path": file.path,
                "share": round(file.share, 4),
                "reasons": list(file.reasons),
                "definitions": [
                    {
                        "name": suspect.name,
                        "line": suspect.first,
                        "end_line": suspect.last,
                        "share": round(suspect.share, 4),
                        "reasons": list(suspect.reasons),
                    }
                    for suspect in file.suspects
                ],
                "lines": [{"line": line.first, "end_line": line.last, "reason": line.reason} for line in file.lines],
            }
            for file in located.files
        ],
        "triage": {
            "fault": located.triage.fault,
            "sure": located.triage.is_sure,
            "chance": round(located.triage.chance, 4),
            "sentence": located.triage.sentence,
            "next": located.triage.advice,
        },
        "missing": list(located.lacking),
        "reply": reply(located.lacking),
        "remarks": list(located.remarks),
    }


def page(located: Located) -> str:
    """The answer as a page of one file."""
    from dnnfix.emit.html.page import PAGES, render, require

    require(PAGES)
    return render("locate.html.j2", located=located, reply=reply(located.lacking))
