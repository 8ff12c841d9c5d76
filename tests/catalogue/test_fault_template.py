"""What templates that read a fault twice inherit: where faults are reported, and what is said when nothing mends one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dnnfix.records import (
    CRASH_CAUSE,
    Candidate,
    Crash,
    Decline,
    Delete,
    Family,
    Finding,
    FixPattern,
    RunOutcome,
    Site,
    Symptom,
    Trace,
)
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.crash_template import ShapeTemplate
from dnnfix.synthesize.bases.fault_template import Fault, Faults, FaultTemplate, ReadTemplate, Repairs

HERE, ELSEWHERE = Site(1, 1, 1, 2), Site(1, 1, 1, 2, "other.py")
SUBJECT = Subject(Source.from_bytes(b"x\n", "program.py"))


class Plain(FaultTemplate[str]):
    """Faults at no place, in another file, and here; the fault says which repairs there are."""

    code = "DNF999"
    name = "plain"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    message = "{what}"
    declined = "no place"

    def faults(self, subject: Subject) -> Faults[str]:
        yield None, "nowhere"
        yield ELSEWHERE, "refused"
        yield HERE, "mended"
        yield HERE, "a second one at the same place"

    def report(self, site: Site, fault: str) -> Finding:
        return self.finding(site, what=fault)

    def repairs(self, subject: Subject, fault: str) -> Repairs:
        yield f"cannot be made: {fault}", None, 0.9
        if fault == "mended":
            yield fault, (Delete(HERE),), 0.8
        yield Decline(f"{fault}, for a reason")


class Everywhere(Plain):
    """The same, with modules that the program imports."""

    elsewhere = True


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (Plain, ["mended", "a second one at the same place"]),
        (Everywhere, ["refused", "mended", "a second one at the same place"]),
    ],
)
def test_faults_are_reported_at_known_places(template: type[Plain], said: list[str]) -> None:
    assert [finding.message for finding in template().detect(SUBJECT)] == said


def test_a_finding_is_mended_as_the_first_fault_at_its_place() -> None:
    finding = next(Plain().detect(SUBJECT))
    proposed = list(Plain().propose(finding, SUBJECT))
    assert [(p.title, p.prior) for p in proposed if isinstance(p, Candidate)] == [("mended", 0.8)]
    assert len(proposed) == 1


def test_what_cannot_be_mended_is_declined_with_its_own_reason() -> None:
    refused = next(Everywhere().detect(SUBJECT))
    assert list(Everywhere().propose(refused, SUBJECT)) == [Decline("refused, for a reason")]
    assert list(Plain().propose(refused, SUBJECT)) == [Decline("no place")]


class Read(ReadTemplate):
    """Faults that say themselves what they are and how they are mended."""

    code = "DNF999"
    name = "read"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    confidence = 0.6

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield Fault.with_repair(HERE, "mended", "Take it out", Delete(HERE), prior=0.8)
        yield Fault(Site(2, 1, 2, 2), "crashed", (("cannot be made", None, 0.9),), symptom=Symptom.CRASH)


def test_a_fault_that_was_read_says_how_sure_it_is_what_it_shows_and_how_it_is_mended() -> None:
    found = list(Read().detect(SUBJECT))
    assert [(each.message, each.confidence, each.symptom, each.cause) for each in found] == [
        ("mended", 0.8, Symptom.VIOLATION, ""),
        ("crashed", 0.6, Symptom.CRASH, CRASH_CAUSE),
    ]
    proposed = [list(Read().propose(finding, SUBJECT)) for finding in found]
    assert [p.title for p in proposed[0] if isinstance(p, Candidate)] == ["Take it out"]
    assert proposed[1] == [Decline(Read.declined)]


class Readings(ShapeTemplate):
    """Two readings of one crash at one place, the second of which changes one of two things that do not fit."""

    code = "DNF998"
    name = "readings"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.DATA_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        yield Fault(HERE, "an axis is missing", (("Add it", (Delete(HERE),), 0.9),), reading="one")
        repair = ("Change it", (Delete(HERE),), 0.4)
        yield Fault(HERE, "a size is", (repair,), confidence=0.5, reading="other", at_either_end=True)


def test_readings_of_a_crash_are_findings_of_their_own_and_each_has_its_own_repairs() -> None:
    assert list(Readings().detect(SUBJECT)) == []  # nothing crashed
    crashed = Subject(SUBJECT.source, Trace(RunOutcome.CRASHED, crash=Crash("ValueError", "")))
    found = list(Readings().detect(crashed))
    assert [(one.id, one.message) for one in found] == [
        (f"DNF998#one@{HERE}", "an axis is missing"),
        (f"DNF998#other@{HERE}", "a size is"),
    ]
    proposed = [one for finding in found for one in Readings().propose(finding, crashed)]
    told = [(one.title, one.at_either_end) for one in proposed if isinstance(one, Candidate)]
    assert told == [("Add it", False), ("Change it", True)]


class Twice(ReadTemplate):
    """Two faults at one place."""

    code = "DNF997"
    name = "twice"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield Fault.with_repair(HERE, "one", "Repair one", Delete(HERE))
        yield Fault.with_repair(HERE, "another", "Repair another", Delete(HERE))
        yield Fault.with_repair(HERE, "one", "Repair one", Delete(HERE))  # the layer runs again


def test_two_faults_at_one_place_are_of_one_kind_and_each_has_its_own_repair() -> None:
    one, another = Twice().detect(SUBJECT)
    assert one.kind == another.kind == "DNF997" and one.id != another.id
    titles = [each.title for f in (one, another) for each in Twice().propose(f, SUBJECT) if isinstance(each, Candidate)]
    assert titles == ["Repair one", "Repair another"]


def test_a_program_is_read_again_once_for_all_of_its_faults() -> None:
    reads = []

    class Many(Plain):
        def faults(self, subject: Subject) -> Faults[str]:
            reads.append(subject)
            for line in range(1, 100):
                yield Site(line, 1, line, 2), "mended"

    subject = Subject(SUBJECT.source)
    found = list(Many().detect(subject))
    assert len(found) == 99
    assert all(isinstance(next(Many().propose(finding, subject)), Candidate) for finding in found)
    assert len(reads) == 2
