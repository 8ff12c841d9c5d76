"""The report of an analysis: what `analyse` hands to `publish`, which has no reason to trust it.

It is one JSON document: the repository and the commit, the report of the pipeline (contract `dnnfix/1`), and the certificates of its
patches. `read` checks every value that is used later, and gives plain records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from dnnfix.emit import hunks
from dnnfix.errors import BotReportError

SCHEMA = "dnnfix-bot/1"
MOST_BYTES = 32 * 2**20
MOST_PATCHES = 200
MOST_TEXT = 4000
"""Characters of a text of a report that are shown."""

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_CODE = re.compile(r"DNF\d{3}")
_RULE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SLUG = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_FORBIDDEN = (".github", ".git", ".gitlab", ".circleci", ".husky")
"""Folders in which a patch could change what runs with rights, whatever it says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding that a patch settles."""

    code: str
    rule: str
    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Proven:
    """An accepted or partial patch: its diff by file, the faults that it settles, and the proof."""

    id: str
    title: str
    verdict: str
    is_safe: bool
    sections: Mapping[str, str]
    faults: tuple[Fault, ...]
    proof: tuple[str, ...]
    """What the validators said that measured something."""
    certificate: str
    """The certificate as JSON text; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in a repository at a commit."""

    slug: str
    commit: str
    patches: tuple[Proven, ...]
    programs: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    unproven: int = 0
    """Findings that no patch settles."""


def written(
    slug: str, commit: str, report: Mapping[str, Any], programs: Sequence[str], extra: Mapping[str, Mapping[str, str]]
) -> str:
    """The document as text; `report` is a document of the contract, `extra` has the `titles` and `certificates` of its patches."""
    said = {"schema": SCHEMA, "repository": slug, "commit": commit, "programs": list(programs)}
    return json.dumps({**said, "report": report, **extra}, indent=2) + "\n"


def read(text: bytes, origin: str) -> Analysis:
    """The analysis that a document tells. Raises `BotReportError` for one that does not hold together."""
    if len(text) > MOST_BYTES:
        raise BotReportError(f"{origin}: is too large for a report ({len(text)} bytes; at most {MOST_BYTES}).")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BotReportError(f"{origin}: is no JSON ({error}).") from None
    told = _Reader(origin)
    document = told.mapping(said, "the document")
    if document.get("schema") != SCHEMA:
        raise BotReportError(f"{origin}: schema has to be {SCHEMA}. Received: {document.get('schema')!r}")
    report = told.mapping(document.get("report"), "report")
    faults = dict(_fault(told, one) for one in told.listed(report.get("findings"), "findings"))
    titles, certificates = (told.mapping(document.get(name), name) for name in ("titles", "certificates"))
    listed = told.listed(report.get("patches"), "patches")
    if len(listed) > MOST_PATCHES:
        raise BotReportError(f"{origin}: has {len(listed)} patches; at most {MOST_PATCHES} are looked at.")
    patches = [_patch(told, one, faults, titles, certificates) for one in listed]
    kept = tuple(patch for patch in patches if patch is not None)
    settled = {fault for patch in kept for fault in patch.faults}
    return Analysis(
        told.text(document.get("repository"), "repository", _SLUG),
        told.text(document.get("commit"), "commit", _COMMIT),
        kept,
        tuple(told.text(one, "a program") for one in told.listed(document.get("programs"), "programs")),
        tuple(told.text(one, "unchecked") for one in told.listed(report.get("unchecked"), "unchecked")),
        sum(fault not in settled for fault in faults.values()),
    )


def _fault(told: _Reader, said: Any) -> tuple[str, Fault]:
    one = told.mapping(said, "a finding")
    line = one.get("line")
    if not isinstance(line, int) or isinstance(line, bool) or line < 0:
        raise BotReportError(f"{told.origin}: the line of a finding has to be a number. Received: {line!r}")
    fault = Fault(
        told.text(one.get("code"), "code", _CODE),
        told.text(one.get("rule"), "rule", _RULE),
        told.text(one.get("path"), "path"),
        line,
        told.text(one.get("message"), "message"),
    )
    return told.text(one.get("id"), "id"), fault


def _patch(
    told: _Reader, said: Any, faults: Mapping[str, Fault], titles: Mapping[str, Any], certificates: Mapping[str, Any]
) -> Proven | None:
    one = told.mapping(said, "a patch")
    verdict = told.text(one.get("verdict"), "verdict")
    if verdict not in ("accepted", "partial"):
        return None
    identity = told.text(one.get("id"), "id")
    diff = one.get("diff")
    if not isinstance(diff, str):
        raise BotReportError(f"{told.origin}: {identity}: diff has to be a text. Received: {type(diff).__name__}")
    sections = hunks.sections(diff)
    if not sections:
        raise BotReportError(f"{told.origin}: {identity}: its diff names no file.")
    for path in sections:
        _refuse(told, identity, path)
    names = [told.text(name, "a finding of a patch") for name in told.listed(one.get("findings"), "findings")]
    settled = [faults[name] for name in names if name in faults]
    if not settled:
        raise BotReportError(f"{told.origin}: {identity}: settles no finding of the report.")
    verdicts = [told.mapping(each, "a verdict") for each in told.listed(one.get("verdicts"), "verdicts")]
    proof = [
        told.text(each.get("reason"), "reason")
        for each in verdicts
        if each.get("status") == "pass" and each.get("reason")
    ]
    certificate = certificates.get(identity, "")
    return Proven(
        identity,
        told.text(titles.get(identity), "title"),
        verdict,
        one.get("applicability") == "safe",
        sections,
        tuple(settled),
        tuple(dict.fromkeys(proof)),
        certificate if isinstance(certificate, str) else "",
    )


def _refuse(told: _Reader, identity: str, path: str) -> None:
    """Raise where a path leaves the repository, or is that of a file that runs with rights."""
    parts = PurePosixPath(path).parts
    plain = bool(parts) and not path.startswith("/") and "\\" not in path and "\0" not in path and ".." not in parts
    if not plain or parts[0].lower() in _FORBIDDEN or not path.endswith((".py", ".ipynb")):
        raise BotReportError(f"{told.origin}: {identity}: a patch may not change {path!r}.")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes values out of a document, or says what is wrong with them."""

    origin: str

    def mapping(self, value: Any, name: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise BotReportError(f"{self.origin}: {name} has to be an object. Received: {type(value).__name__}")
        return value

    def listed(self, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            raise BotReportError(f"{self.origin}: {name} has to be a list. Received: {type(value).__name__}")
        return value

    def text(self, value: Any, name: str, form: re.Pattern[str] | None = None) -> str:
        if not isinstance(value, str) or (form is not None and not form.fullmatch(value)):
            raise BotReportError(f"{self.origin}: {name} has to be a text of its form. Received: {str(value)[:80]!r}")
        return value[:MOST_TEXT]
