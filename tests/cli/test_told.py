"""A finding in a module is told for the first program that imports it, and again only where more came of it."""

from __future__ import annotations

from dataclasses import replace

from dnnfix.cli.told import Told
from dnnfix.records import (
    Candidate,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Patch,
    PatchVerdict,
    Site,
)

IN_MODULE = Finding("DNF501", "removed-name", Family.VERSIONING, Site(9, 1, 9, 5, "../layers/graph.py"), "gone")


def report(path: str, outcome: FindingOutcome, own: bool = False) -> FileReport:
    found = replace(IN_MODULE, site=Site(3, 1, 3, 5)) if own else IN_MODULE
    patch = Patch("patch-1", Candidate("DNF501", "t", FixPattern.VERSIONING, (), (found,)), "", PatchVerdict.ACCEPTED)
    return FileReport(path, (FindingResult(found, outcome, "", ("patch-1",)),), (patch,))


def test_the_same_finding_in_a_module_of_several_programs_is_told_once() -> None:
    told = Told()
    first = report("models/one.py", FindingOutcome.REPAIRED)
    assert told.once(first) is first
    for outcome in (FindingOutcome.REPAIRED, FindingOutcome.DECLINED):
        left = told.once(report("models/other.py", outcome))
        assert (left.findings, left.patches) == ((), ())
        assert left.notes == ("1 finding in modules beside it told for models/one.py are left out",)


def test_a_better_end_is_told_too_and_a_program_of_its_own_as_ever() -> None:
    told = Told()
    told.once(report("models/one.py", FindingOutcome.DECLINED))
    better = report("models/other.py", FindingOutcome.REPAIRED)
    assert told.once(better) is better
    own = report("layers/graph.py", FindingOutcome.DECLINED, own=True)
    assert told.once(own) is own
