"""What `dnnfix locate` answers: places in order of suspicion, with reasons."""

from __future__ import annotations

from dataclasses import dataclass

from dnnfix.locate.triage import Triage


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or a few, that the report or a rule points at, and why."""

    first: int
    last: int
    reason: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A function, method or class of a file, its lines, its share of the suspicion (0 to 1), and why."""

    name: str
    first: int
    last: int
    share: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuspectFile:
    """A file, its share of the suspicion (0 to 1), why, and what of it is suspected, all the most suspect first."""

    path: str
    share: float
    reasons: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Located:
    """The answer for one report. `files` are the most suspect first; `searched` is how many there were to choose from."""

    report: str
    repository: str
    revision: str
    searched: int
    files: tuple[SuspectFile, ...]
    triage: Triage
    lacking: tuple[str, ...] = ()
    """What the report lacks, what matters most first."""
    remarks: tuple[str, ...] = ()
