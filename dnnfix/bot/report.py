"""Writes and checks the report of an analysis, which `analyse` hands to `publish`; the latter does not trust it.

It is one JSON document: the repository and the commit, the report of the pipeline (contract `dnnfix/1`), the patches
of it that may be proposed, and what goes with them. `read` checks every value that is used later, and returns plain
records. That the lines of a patch do what its words say is beyond it: who can write reports can propose any change of
a program.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from dnnfix.bot.picture import Drawing, drawing
from dnnfix.emit import hunks
from dnnfix.emit.hunks import Replacement
from dnnfix.errors import BotReportError
from dnnfix.records import LEFT, NOT_RUN

SCHEMA = "dnnfix-bot/1"
MOST_BYTES = 32 * 2**20
MOST_PATCHES = 200
MOST_TEXT = 4000
"""Characters of a text of a report that are shown."""

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_CODE = re.compile(r"DNF\d{3}")
_RULE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SLUG = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FORBIDDEN = (".github", ".git", ".gitlab", ".circleci", ".husky")
"""Folders in which a patch could change what runs with rights, whatever it says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding."""

    code: str
    rule: str
    path: str
    line: int
    message: str

    @property
    def identity(self) -> str:
        """The key that distinguishes it from other faults: rule, file and message, and not the line, which moves."""
        said = f"{self.code}\0{self.path}\0{self.message}"
        return hashlib.sha256(said.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Proven:
    """An accepted or partial patch: its diff by file, the faults that it settles, and the proof."""

    id: str
    title: str
    verdict: str
    is_safe: bool
    changes: Mapping[str, tuple[Replacement, ...]]
    """What is replaced in each file."""
    blobs: Mapping[str, str]
    """The object of git that each of these files was."""
    faults: tuple[Fault, ...]
    proof: tuple[str, ...]
    """What the validators said that measured something."""
    certificate: str
    """The certificate as JSON text; empty where there is none."""
    unshown: tuple[str, ...] = ()
    """What the validators said that no run came to, and so is not proven."""
    drawing: Drawing | None = None
    """How its training went before and after, where there is something to be seen."""
    author: str = ""
    """The language model that wrote it; empty for what rules and the search wrote."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in a repository at a commit."""

    slug: str
    commit: str
    patches: tuple[Proven, ...]
    faults: frozenset[str] = frozenset()
    """The identities of all findings, whether or not a patch settles them."""
    programs: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Programs of which nothing is known: there was no time for them, or they could not be read."""
    unchanged: frozenset[str] = frozenset()
    """Files that were not looked at, as nothing that they need has changed since an earlier analysis."""
    findings: tuple[Fault, ...] = ()


def written(slug: str, commit: str, report: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    """The document as a string; `report` is a document of the contract, `beside` what goes with it (see `read`)."""
    return (
        json.dumps({"schema": SCHEMA, "repository": slug, "commit": commit, **beside, "report": report}, indent=2)
        + "\n"
    )


def is_slug(text: str) -> bool:
    """Whether a string is the name of a repository, `owner/name`."""
    return _SLUG.fullmatch(text) is not None


def is_commit(text: str) -> bool:
    """Whether a string is the full hash of a commit."""
    return _COMMIT.fullmatch(text) is not None


def read(text: bytes, origin: str) -> Analysis:
    """The analysis in a document. Raises `BotReportError` for one that does not follow its schema."""
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
    titles, certificates, blobs = (
        told.mapping(document.get(name), name) for name in ("titles", "certificates", "blobs")
    )
    listed = [told.mapping(one, "a patch") for one in told.listed(report.get("patches"), "patches")]
    proposed = [one for one in listed if isinstance(one.get("id"), str) and one["id"] in titles]
    if len(proposed) > MOST_PATCHES:
        raise BotReportError(f"{origin}: proposes {len(proposed)} patches; at most {MOST_PATCHES} are looked at.")
    return Analysis(
        told.text(document.get("repository"), "repository", _SLUG),
        told.text(document.get("commit"), "commit", _COMMIT),
        tuple(_patch(told, one, faults, (titles, certificates, blobs)) for one in proposed),
        frozenset(fault.identity for fault in faults.values()),
        tuple(told.text(one, "a program") for one in told.listed(document.get("programs"), "programs")),
        tuple(told.text(one, "a program") for one in told.listed(document.get("left_out"), "left_out")),
        frozenset(told.text(one, "a file") for one in told.listed(document.get("unchanged", []), "unchanged")),
        tuple(faults.values()),
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
    told: _Reader, one: Mapping[str, Any], faults: Mapping[str, Fault], beside: tuple[Mapping[str, Any], ...]
) -> Proven:
    titles, certificates, blobs = beside
    identity, verdict = told.text(one.get("id"), "id"), told.text(one.get("verdict"), "verdict")
    if verdict not in ("accepted", "partial"):
        raise BotReportError(f"{told.origin}: {identity}: is {verdict}, and proposed. Only what was proven is.")
    diff = told.whole(one.get("diff"), f"{identity}: diff")
    try:
        changes = {path: hunks.replacements(section) for path, section in hunks.sections(diff).items()}
    except ValueError as error:
        raise BotReportError(f"{told.origin}: {identity}: its diff cannot be read ({str(error)[:100]}).") from None
    if not any(changes.values()):
        raise BotReportError(f"{told.origin}: {identity}: its diff changes nothing.")
    for path in changes:
        _refuse(told, identity, path)
    names = [told.text(name, "a finding of a patch") for name in told.listed(one.get("findings"), "findings")]
    settled = [faults[name] for name in names if name in faults]
    if not settled:
        raise BotReportError(f"{told.origin}: {identity}: settles no finding of the report.")
    verdicts = [told.mapping(each, "a verdict") for each in told.listed(one.get("verdicts"), "verdicts")]
    passed = [each for each in verdicts if each.get("status") == "pass" and each.get("reason")]
    reasons = [(told.text(each.get("reason"), "reason"), _is_unshown(told, each)) for each in passed]
    return Proven(
        identity,
        told.text(titles.get(identity), "title"),
        verdict,
        one.get("applicability") == "safe",
        changes,
        {path: told.text(blobs.get(path), f"the object of {path}", _COMMIT) for path in changes},
        tuple(settled),
        tuple(dict.fromkeys(reason for reason, unshown in reasons if not unshown)),
        told.whole(certificates.get(identity, ""), f"{identity}: certificate"),
        tuple(dict.fromkeys(reason for reason, unshown in reasons if unshown)),
        drawing(told.listed(one.get("curves", []), "curves")),
        told.text(one.get("author") or "", f"{identity}: author"),
    )


def _is_unshown(told: _Reader, verdict: Mapping[str, Any]) -> bool:
    """Whether a verdict that lets a patch through names what no run came to."""
    measured = told.mapping(verdict.get("measured", {}), "what a verdict measured")
    return NOT_RUN in measured or LEFT in measured


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
        """A string that is shown, cut to what a person reads."""
        found = self.whole(value, name)
        if form is not None and not form.fullmatch(found):
            raise BotReportError(f"{self.origin}: {name} has to be of its form. Received: {found[:80]!r}")
        return found[:MOST_TEXT]

    def whole(self, value: Any, name: str) -> str:
        """A string that can be encoded as UTF-8."""
        if not isinstance(value, str) or "\0" in value or _SURROGATE.search(value):
            raise BotReportError(f"{self.origin}: {name} has to be a text. Received: {str(value)[:80]!a}")
        return value
