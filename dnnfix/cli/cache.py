"""The cache of `check`: the reports of files that have not changed since the last call.

One JSON file for each working folder. An entry counts only while the file's bytes, the settings, the rules, the
engine and the interpreter are the same; that key is computed without importing any rule. Losing the file costs a
scan.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import dnnfix
from dnnfix.config import Settings
from dnnfix.index import entry_points, stamp_of
from dnnfix.records import (
    Applicability,
    Candidate,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Nature,
    Patch,
    PatchVerdict,
    Site,
    Symptom,
)

FORMAT = 2
MAX_ENTRIES = 50_000


@dataclass
class CheckCache:
    """The cache of one call; `variant` separates calls that keep different parts of a report."""

    path: Path
    variant: str = ""
    _entries: dict[str, list[Any]] = field(default_factory=dict)
    """By path, the key and the place of the report in `_reports`."""
    _reports: list[dict[str, Any]] = field(default_factory=list)
    """Reports as JSON, each once: those of clean files are all the same."""
    _places: dict[str, int] = field(default_factory=dict)
    _salts: dict[int, bytes] = field(default_factory=dict)
    """By the identity of settings, which `_kept` keeps alive: comparing them for each file would cost more."""
    _kept: list[Settings] = field(default_factory=list)
    _changed: bool = False

    @classmethod
    def open(cls, folder: Path, variant: str = "") -> CheckCache:
        """The cache for the working folder in that folder of caches; an unreadable one is an empty one."""
        place = blake2b(os.getcwd().encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        made = cls(folder / f"check-{place}.json", variant)
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            document = json.loads(made.path.read_bytes())
            if document["format"] == FORMAT:
                made._entries, made._reports = dict(document["entries"]), list(document["reports"])
                for report in made._reports:
                    report["unchecked"] = tuple(report["unchecked"])
        return made

    @cached_property
    def _rules(self) -> str:
        return _engine()

    def key(self, raw: bytes, settings: Settings) -> str:
        """The key of an entry: a hash of the bytes and of all that decides what is reported about them."""
        salt = self._salts.get(id(settings))
        if salt is None:
            self._kept.append(settings)
            known = [
                self.variant,
                settings.fingerprint(),
                sys.version,
                self._rules,
                _folders(settings),
                _stamp(settings.baseline),
            ]
            salt = self._salts[id(settings)] = blake2b(
                repr(known).encode("utf-8", "surrogateescape"), digest_size=16
            ).digest()
        return blake2b(raw, digest_size=16, key=salt).hexdigest()

    def get(self, path: str, key: str) -> FileReport | None:
        """The report of the file under that key, if it is cached."""
        try:
            known, place = self._entries[path]
            return _report(path, self._reports[place]) if known == key else None
        except (ValueError, LookupError, TypeError, AttributeError):  # unknown, or not written by us
            return None

    def put(self, path: str, key: str, report: FileReport) -> None:
        """Remember a report; `save` writes it."""
        made = _plain_report(report)
        text = json.dumps(made)
        if text not in self._places:
            self._places[text] = len(self._reports)
            self._reports.append(made)
        self._entries.pop(path, None)
        self._entries[path] = [key, self._places[text]]
        self._changed = True

    def save(self) -> None:
        """Write the cache in one step. A disk that is full or read-only is no reason to fail."""
        if not self._changed:
            return
        import tempfile

        entries, reports = self._compacted()
        with contextlib.suppress(OSError, ValueError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".check-")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(json.dumps({"format": FORMAT, "entries": entries, "reports": reports}))
                os.replace(name, self.path)
            except BaseException:
                os.unlink(name)
                raise

    def _compacted(self) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
        """The newest entries and the reports that they need."""
        kept = [item for item in self._entries.items() if isinstance(item[1], list)][-MAX_ENTRIES:]
        places: dict[int, int] = {}
        entries = {path: [key, places.setdefault(place, len(places))] for path, (key, place) in kept}
        return entries, [self._reports[place] for place in places]


def _engine() -> str:
    """Changes with every edit of the engine or a rule, installed ones included, and with every package that is installed or removed."""
    root = os.path.dirname(dnnfix.__file__)
    stamps = sorted(_stamps(root))
    here = os.getcwd()  # `python -m` puts the working folder on the path, and that changes all the time
    places = sorted((place, _stamp(Path(place))) for place in sys.path if place and place != here)
    known = (dnnfix.__version__, stamps, places, [stamp_of(point) for point in entry_points()])
    return blake2b(repr(known).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _folders(settings: Settings) -> str:
    return repr([(_stamp(place), sorted(_stamps(str(place)))) for place in settings.own_rules])


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if entry.name.startswith((".", "__pycache__")):
                continue
            if entry.is_dir():
                yield from _stamps(entry.path)
            elif entry.name.endswith((".py", ".toml", ".json")):
                found = entry.stat()
                yield (entry.path, found.st_size, found.st_mtime_ns)


def _stamp(path: Path | None) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        if path is not None:
            found = path.stat()
            return found.st_size, found.st_mtime_ns
    return 0, 0


# --- Reports as JSON: what emitters read of them, so without the edits ----------------------------------------------


def _plain_report(report: FileReport) -> dict[str, Any]:
    made: dict[str, Any] = {"unchecked": report.unchecked}
    if report.notes:
        made["notes"] = report.notes
    if report.findings:
        made["findings"] = [
            [_plain_finding(result.finding), result.outcome.value, result.reason, result.patches]
            for result in report.findings
        ]
    if report.patches:
        made["patches"] = [_plain_patch(patch) for patch in report.patches]
    return made


def _plain_site(site: Site) -> list[Any]:
    return [site.line, site.column, site.end_line, site.end_column, site.path]


def _plain_finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "family": finding.family.value,
        "site": _plain_site(finding.site),
        "message": finding.message,
        "symptom": finding.symptom.value,
        "confidence": finding.confidence,
        "evidence": dict(finding.evidence),
        "cause": finding.cause,
        "reading": finding.reading,
        "nature": finding.nature.value,
    }


def _plain_patch(patch: Patch) -> dict[str, Any]:
    candidate = patch.candidate
    return {
        "id": patch.id,
        "template": candidate.template,
        "title": candidate.title,
        "fix_pattern": candidate.fix_pattern.value,
        "findings": [_plain_finding(finding) for finding in candidate.findings],
        "applicability": candidate.applicability.value,
        "prior": candidate.prior,
        "diff": patch.diff,
        "verdict": patch.verdict.value,
        "rank": patch.rank,
    }


def _report(path: str, entry: Mapping[str, Any]) -> FileReport:
    results = tuple(
        FindingResult(_finding(finding), FindingOutcome(outcome), reason, tuple(patches))
        for finding, outcome, reason, patches in entry.get("findings", ())
    )
    patches = tuple(_patch(patch) for patch in entry.get("patches", ()))
    notes = tuple(entry.get("notes", ()))
    return FileReport(path, results, patches, unchecked=entry["unchecked"], notes=notes)


def _finding(entry: Mapping[str, Any]) -> Finding:
    return Finding(
        code=entry["code"],
        rule=entry["rule"],
        family=Family(entry["family"]),
        site=Site(*entry["site"]),
        message=entry["message"],
        symptom=Symptom(entry["symptom"]),
        confidence=entry["confidence"],
        evidence=entry["evidence"],
        cause=entry["cause"],
        reading=entry["reading"],
        nature=Nature(entry["nature"]),
    )


def _patch(entry: Mapping[str, Any]) -> Patch:
    candidate = Candidate(
        template=entry["template"],
        title=entry["title"],
        fix_pattern=FixPattern(entry["fix_pattern"]),
        edits=(),
        findings=tuple(_finding(finding) for finding in entry["findings"]),
        applicability=Applicability(entry["applicability"]),
        prior=entry["prior"],
    )
    return Patch(entry["id"], candidate, entry["diff"], PatchVerdict(entry["verdict"]), rank=entry["rank"])
