"""What the tools answer: records whose fields, with the sentences below them, are the schemas that agents read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dnnfix.records import Applicability, FindingOutcome, Nature, PatchVerdict

DESCRIBED = {"use_attribute_docstrings": True}
"""Has pydantic, which makes the schemas, take the sentence below a field for its description."""


@dataclass(frozen=True)
class Found:
    """A fault, a risk or advice, with its place."""

    __pydantic_config__: ClassVar = DESCRIBED

    code: str
    """The rule's code, such as DNF301: what `explain` takes and `# noqa: DNF301` silences."""
    rule: str
    """The rule's name, which says the bad pattern."""
    path: str
    """The file, from `folder`; it may be a module that the program imports."""
    line: int
    """The line, from 1: in a notebook that of the cell."""
    cell: int | None
    """The number of the notebook's cell among all, from 1."""
    nature: Nature
    """`fault`: the program does something else than it says. `risk`: it may, under conditions that the code does not show. `advice`: it works, and is better written otherwise."""
    message: str
    """What was found, where it came from and what was expected."""


@dataclass(frozen=True)
class Settled(Found):
    """The same with its end."""

    outcome: FindingOutcome
    """`repaired`: a patch is proven. `partial`: one gets the program further, to another stop. `undecided`: several patches hold, and no run can tell which was meant. `rejected`: patches were tried, and none held. `declined`: no patch was written, or the program does not suffer from it. `failed`: dnnfix failed on it."""
    reason: str
    """Why it ended so."""


@dataclass(frozen=True)
class Offered:
    """A patch that a person or an agent may apply."""

    __pydantic_config__: ClassVar = DESCRIBED

    verdict: PatchVerdict
    """`accepted`: runs before and after showed that it removes the symptom and breaks nothing else. `partial`: it removes its fault, and the program then stops at another. `choice`: one of several that hold; the intention of the program decides. `unvalidated`: it stands by reading alone, as no run came to it."""
    applicability: Applicability
    """`safe`: it provably keeps what is computed. `unsafe`: it changes what is trained, as most repairs do."""
    title: str
    """What it does."""
    repairs: tuple[str, ...]
    """The codes of the findings that it is for."""
    diff: str
    """The patch for `git apply` in `folder`; empty where it is too long for an answer (see `left_out`)."""
    proof: str
    """What its runs showed, and the rungs of validation that it passed; of a partial one, where the program then stops."""
    not_shown: tuple[str, ...]
    """What the runs did not show: parts of the patch that did not run, places where the same fault still stands."""
    certificate: str | None
    """The file from which `verify` repeats the proof; only of an accepted patch."""


@dataclass(frozen=True)
class Repaired:
    """What came of one program."""

    __pydantic_config__: ClassVar = DESCRIBED

    path: str
    """The program, from `folder`."""
    through: str
    """For a module that has no program of its own: the program that was run for it, which is reported apart. Else empty."""
    ran: bool
    """Whether a run told anything. Where it is false, no finding means nothing; where it is true, read `unchecked` as well."""
    sandbox: str
    """What it was run in: `bubblewrap` keeps a program from network and files, `limits` and `none` do not."""
    findings: tuple[Settled, ...]
    """What was found, repaired first."""
    patches: tuple[Offered, ...]
    """The one patch to apply, or the `choice`s of which one was meant. Others wait until this one is applied."""
    made_up: tuple[str, ...]
    """What was made up so that the program runs, such as data that are missing. It is no part of a patch."""
    unchecked: tuple[str, ...]
    """What was not checked, and why."""


@dataclass(frozen=True)
class Suggested:
    """The answer of `suggest`."""

    __pydantic_config__: ClassVar = DESCRIBED

    folder: str
    """The folder that paths start from."""
    programs: tuple[Repaired, ...]
    """The programs that were run."""
    problems: tuple[str, ...]
    """What could not be looked at, and what to do about it."""
    left_out: tuple[str, ...]
    """What this answer leaves out, and how to get it."""


@dataclass(frozen=True)
class Checked:
    """The answer of `check`."""

    __pydantic_config__: ClassVar = DESCRIBED

    folder: str
    """The folder that paths start from."""
    programs: int
    """How many programs were read."""
    findings: tuple[Found, ...]
    """What was found in their source. None is no proof that there is nothing: most faults show only in a run."""
    unchecked: tuple[str, ...]
    """What was not checked, and why."""
    problems: tuple[str, ...]
    """What could not be looked at, and what to do about it."""
    left_out: tuple[str, ...]
    """What this answer leaves out, and how to get it."""


@dataclass(frozen=True)
class Made:
    """A step that makes a program run."""

    __pydantic_config__: ClassVar = DESCRIBED

    what: str
    """What was made or changed around the program, and where."""
    evidence: str
    """What its form was taken from; `a guess` where nothing told."""
    invented: bool
    """Whether anything was made up."""


@dataclass(frozen=True)
class Reproduced:
    """The answer of `reproduce`."""

    __pydantic_config__: ClassVar = DESCRIBED

    folder: str
    """The folder that paths start from."""
    path: str
    """The program or the report."""
    succeeded: bool
    """Whether the symptom that a report names appeared; where none is named, whether the program now runs (to its end, its budget, or a crash of its own)."""
    outcome: str
    """How the last run ended."""
    as_it_is: str
    """How the program ends as it stands."""
    kind: str | None
    """What the bug is about: model, training, tensor, API or GPU; null where nothing tells of one."""
    steps: tuple[Made, ...]
    """What it took to run. None where it runs as it stands, or nothing could be done."""
    missing: tuple[str, ...]
    """What still keeps it from running."""
    ask_for: tuple[str, ...]
    """Of a report: what to ask its author for."""
    script: str
    """A script that runs by itself, if asked for; else empty."""
    left_out: tuple[str, ...]
    """What this answer leaves out, and how to get it."""


@dataclass(frozen=True)
class Verified:
    """The answer of `verify`."""

    __pydantic_config__: ClassVar = DESCRIBED

    certificate: str
    """The certificate's file."""
    folder: str
    """The folder that the program's path starts from."""
    program: str
    """The program that was run."""
    holds: bool
    """Whether the proof came out as before."""
    applied: bool
    """Whether the patch is in the file now, or something else: the proof is about the program as it was and with the patch."""
    differences: tuple[str, ...]
    """In what it differs, and what could not be repeated here."""


@dataclass(frozen=True)
class Explained:
    """The answer of `explain`."""

    __pydantic_config__: ClassVar = DESCRIBED

    code: str
    """The rule's code."""
    name: str
    """The rule's name."""
    story: str
    """What it finds, why that is a fault, how it is repaired and how safe that is, with examples, in Markdown."""
    left_out: tuple[str, ...]
    """What this answer leaves out, and how to get it."""
