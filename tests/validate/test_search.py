"""The search and the ladder with a laboratory that answers from tables: no program is run here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

from dnnfix import registry
from dnnfix.detect.run_rules import detect
from dnnfix.errors import EditError
from dnnfix.records import (
    Candidate,
    Crash,
    Decline,
    Delete,
    Family,
    Finding,
    FindingOutcome,
    FixPattern,
    Frame,
    Network,
    Parameter,
    PatchVerdict,
    Replace,
    RunOutcome,
    Site,
    Step,
    Symptom,
    Trace,
    Verdict,
)
from dnnfix.run.job import Experiment, Speculation
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.at_crash import Choice, Found
from dnnfix.synthesize.candidates import Variant, apply, edited
from dnnfix.synthesize.repairs import Repair, _settled
from dnnfix.synthesize.rivals import RIVALLING
from dnnfix.synthesize.search import repair
from dnnfix.synthesize.search_state import Search
from dnnfix.template import FixTemplate
from dnnfix.validate.evidence import Validator


class _Number(FixTemplate):
    """Replaces a literal that the laboratory does not like."""

    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{old} is wrong"
    old: ClassVar[str]
    options: ClassVar[tuple[str, ...]]

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for number, line in enumerate(subject.source.text.splitlines(), 1):
            at = line.find(self.old)
            if at >= 0:
                place = subject.crash.site if subject.crash is not None else None
                crashed = place is not None
                if place is not None and place.line != number:
                    continue
                site = Site(number, at + 1, number, at + 1 + len(self.old))
                yield self.finding(site, symptom=Symptom.CRASH if crashed else Symptom.VIOLATION, old=self.old)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        if not self.options:
            yield Decline("nothing fits")
        for place, option in enumerate(self.options):
            yield self.candidate(finding, f"write {option}", Replace(finding.site, option), prior=0.9 - place / 10)


class One(_Number):
    code, name, old, options = "DNF201", "one", "111", ("999", "11")


class Two(_Number):
    code, name, old, options = "DNF202", "two", "222", ("22",)


class Three(_Number):
    code, name, old, options = "DNF203", "three", "333", ()


class Four(_Number):
    code, name, old, options = "DNF204", "four", "444", ()

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for number, line in enumerate(subject.source.text.splitlines(), 1):
            if line == "444" and subject.crash is not None and subject.crash.site == Site(number, 1, number, 2):
                yield self.finding(Site(number, 1, number, 4), symptom=Symptom.CRASH, old="444")

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield self.candidate(finding, "take it out", Delete(finding.site), prior=0.9)


class Five(_Number):
    """Wrong only beside 666."""

    code, name, old, options = "DNF205", "five", "555", ("55",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        return super().detect(subject) if "666" in subject.source.text else iter(())


class Six(_Number):
    code, name, old, options = "DNF206", "six", "666", ("66",)


class Seven(_Number):
    code, name, old, options = "DNF207", "seven", "777", ("77",)


class SevenOtherwise(_Number):
    code, name, old, options = "DNF208", "seven-otherwise", "777", ("78",)


class Eight(_Number):
    code, name, old, options = "DNF209", "eight", "888", ("88",)


class EightAndMore(_Number):
    """Writes what `Eight` writes, and another line."""

    code, name, old, options = "DNF210", "eight-and-more", "888", ()

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        rest = Replace(Site(2, 5, 2, 6), "8")
        yield self.candidate(finding, "write more", Replace(finding.site, "88"), rest, prior=0.9)


class Nine(_Number):
    code, name, old, options = "DNF211", "nine", "width", ("9",)


RULES = (One, Two, Three, Four, Five, Six, Seven, SevenOtherwise, Eight, EightAndMore, Nine)
TEMPLATES: dict[str, type[FixTemplate]] = {rule.code: rule for rule in RULES}


class Wishes:
    def may_fix(self, code: str, name: str) -> bool:
        return True


@dataclass
class Table:
    """A laboratory in which lines with a number from `crashing` crash, first line first."""

    crashing: tuple[str, ...] = ()
    skill: Callable[[Source, int], float] = lambda source, seed: 0.5
    loss: Callable[[Source], float] = lambda source: 1.0
    runs: list[bytes] = field(default_factory=list)
    time: int = 1000
    validators: tuple[Validator, ...] = registry.validators()
    called_from: tuple[Frame, ...] = ()

    def observe(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        return self._trace(source, seed)

    def observe_whole(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        return self._trace(source, seed)

    def observe_anew(self, source: Source, seed: int) -> Trace:
        return self._trace(source, seed)

    def train(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
        return self._trace(source, seed)

    def look(self, source: Source, seed: int, length: int = 0) -> Trace:
        return self._trace(source, seed)

    def allow_steps(self, most: int, trials: int) -> None:
        pass

    def speculate(self, source: Source, seed: int, speculation: Speculation) -> Trace:
        return self._trace(source, seed)

    def observe_all(self, sources: Sequence[Source], seed: int) -> None:
        pass

    def time_left(self) -> float:
        return float(self.time - len(self.runs))

    def prepare(self, sources: Sequence[Source], seeds: Sequence[int]) -> None:
        pass

    def findings(self, source: Source, trace: Trace | None) -> tuple[Finding, ...]:
        subject = Subject(source, trace)
        return detect(subject, TEMPLATES.values()).findings

    def as_before(self, before: Source, after: Source, seed: int) -> Verdict | None:
        return None

    def user_tests(self, source: Source) -> tuple[int, str] | None:
        return None

    def out_of_time(self) -> bool:
        return len(self.runs) >= self.time

    def _trace(self, source: Source, seed: int) -> Trace:
        self.runs.append(source.raw)
        for number, line in enumerate(source.text.splitlines(), 1):
            if any(re.search(rf"\b{bad}\b", line) for bad in self.crashing):
                site = Site(number, 1, number, 2)
                return Trace(
                    RunOutcome.CRASHED, seed, crash=Crash("Error", line, (*self.called_from, Frame(site, "f")))
                )
        network = Network("torch", "trace", parameters=(Parameter("w", (1,), update=0.1),))
        steps = tuple(Step(i, self.loss(source), self.skill(source, seed)) for i in range(8))
        return Trace(RunOutcome.FINISHED, seed, network=network, steps=steps)


def search(text: str, laboratory: Table) -> Repair:
    source = Source.from_bytes(text.encode(), "a.py")
    trace = laboratory.observe(source, 0)
    return repair(source, trace, laboratory, TEMPLATES, Wishes(), lambda said: None)


def accepted(result: Repair) -> list[str]:
    return [patch.diff for patch in result.patches if patch.verdict is PatchVerdict.ACCEPTED]


def test_of_two_candidates_the_one_that_runs_is_accepted_and_the_other_keeps_its_reason() -> None:
    result = search("a = 111\n", Table(("111", "999")))
    assert len(accepted(result)) == 1
    assert "+a = 11\n" in accepted(result)[0]
    rejected = [p for p in result.patches if p.verdict is PatchVerdict.REJECTED]
    assert rejected[0].refusal is not None
    assert rejected[0].refusal.validator == "runs"
    assert result.results[0].outcome is FindingOutcome.REPAIRED


def test_targets_are_permuted_only_for_patches_that_claim_better_training() -> None:
    asked: list[Experiment] = []

    class Asked(Table):
        def train(self, source: Source, seed: int, *experiments: Experiment) -> Trace:
            asked.extend(experiments)
            return self._trace(source, seed)

    assert accepted(search("a = 111\n", Asked(("111", "999")))) and accepted(search("a = 111\n", Asked()))
    assert Experiment.SHUFFLE_TARGETS not in asked


def test_a_crash_behind_a_crash_is_repaired_in_one_patch() -> None:
    result = search("a = 111\nb = 222\n", Table(("111", "999", "222")))
    best = accepted(result)[0]
    assert "+a = 11\n" in best
    assert "+b = 22\n" in best
    assert {r.finding.code for r in result.results} >= {"DNF201", "DNF202"}


def test_a_crash_behind_a_crash_of_one_function_is_repaired_too() -> None:
    called_from = (Frame(Site(3, 1, 3, 7), "<module>"),)
    result = search("a = 111\nb = 222\nmain()\n", Table(("111", "999", "222"), called_from=called_from))
    assert "+a = 11\n" in accepted(result)[0]
    assert "+b = 22\n" in accepted(result)[0]


def test_two_faults_of_one_call_are_repaired_in_one_patch() -> None:
    result = search("a = 111, 222\n", Table(("111", "999", "222")))
    assert "+a = 11, 22\n" in accepted(result)[0]


def test_a_finding_behind_a_crash_is_told_at_its_line_whatever_its_repair_does_to_the_lines() -> None:
    result = search("a = 111\n444\nb = 222\n", Table(("111", "999", "444", "222")))
    assert [(r.finding.code, r.finding.site.line) for r in result.results] == [
        ("DNF201", 1),
        ("DNF204", 2),
        ("DNF202", 3),
    ]
    assert {r.outcome for r in result.results} == {FindingOutcome.REPAIRED}


def test_findings_that_do_not_hide_each_other_are_proven_alone_and_together() -> None:
    result = search("a = 111\nb = 222\n", Table())
    combined = [diff for diff in accepted(result) if "+b = 22\n" in diff and "+a = " in diff]
    assert len(combined) == 1
    assert accepted(result)[0] == combined[0]
    assert len(accepted(result)) >= 3


def test_a_repair_that_another_makes_needless_is_no_part_of_the_best_patch() -> None:
    best = accepted(search("a = 555\nb = 666\n", Table()))[0]
    assert "+b = 66\n" in best and "+a = " not in best


def _told_apart(source: Source) -> float:
    return float(source.text.count("8"))


def test_of_rules_that_explain_a_crash_in_different_ways_none_is_accepted() -> None:
    result = search("a = 777\n", Table(("777",), loss=_told_apart))
    assert not accepted(result)
    choices = [patch for patch in result.patches if patch.verdict is PatchVerdict.CHOICE]
    assert {re.findall(r"^\+(a = .*)$", patch.diff, re.MULTILINE)[0] for patch in choices} == {"a = 77", "a = 78"}


def test_a_number_in_place_of_a_name_is_not_accepted() -> None:
    result = search("a = width\n", Table(("width",)))
    assert not accepted(result)
    assert [patch.verdict for patch in result.patches] == [PatchVerdict.CHOICE]


def test_rules_that_come_to_the_same_are_no_rivals() -> None:
    assert len(accepted(search("a = 777\n", Table(("777",))))) == 2


def test_a_patch_that_does_more_than_another_is_no_rival_of_it() -> None:
    assert len(accepted(search("a = 888\nb = 1\n", Table(("888",), loss=_told_apart)))) == 2


@pytest.mark.parametrize(
    ("family", "score", "rules"),
    [
        (Family.LAYER_DIMENSION, 0.0, 0),
        (Family.LAYER_DIMENSION, RIVALLING - 0.1, 1),
        (Family.VERSIONING, 0.0, 1),
    ],
    ids=["likely", "unlikely", "a rule of versions"],
)
def test_a_likely_small_edit_rivals_a_rule(
    family: Family, score: float, rules: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_edit(start: Variant, *given: object, depth: int) -> Found:
        finding = Finding(
            "DNF901", "unexplained-crash", Family.OPINIONATED, Site(1, 1, 1, 8), "it crashes", Symptom.CRASH
        )
        edit = Candidate("DNF901", "write 8", FixPattern.LAYER_DIMENSION, (Replace(Site(1, 5, 1, 8), "8"),), (finding,))
        return Found((finding,), (Choice(apply(start, edit), score),))

    monkeypatch.setattr("dnnfix.synthesize.rivals.search_at_crash", other_edit)
    monkeypatch.setattr(Two, "family", family)
    result = search("a = 222\n", Table(("222",), loss=_told_apart))
    assert len(accepted(result)) == rules
    assert sum(patch.verdict is PatchVerdict.CHOICE for patch in result.patches) == 2 * (not rules)


def test_a_patch_that_trains_worse_is_refused() -> None:
    def skill(source: Source, seed: int) -> float:
        return 0.9 if b"222" in source.raw else 0.1

    result = search("b = 222\n", Table(skill=skill))
    assert not accepted(result)
    assert result.results[0].outcome is FindingOutcome.REJECTED
    assert result.results[0].reason.startswith("learns:")


def test_a_declined_finding_keeps_its_reason() -> None:
    result = search("c = 333\n", Table())
    assert result.results[0].outcome is FindingOutcome.DECLINED
    assert result.results[0].reason == "nothing fits"


def test_nothing_is_accepted_when_the_time_is_used_up() -> None:
    result = search("a = 111\n", Table(("111",), time=1))
    assert not accepted(result)
    assert all(p.verdict is PatchVerdict.UNVALIDATED for p in result.patches)
    assert result.results[0].outcome is FindingOutcome.DECLINED


def test_the_same_program_and_seed_give_the_same_result() -> None:
    first, second = (search("a = 111\nb = 222\n", Table(("111", "999"))) for _ in range(2))
    assert [p.id for p in first.patches] == [p.id for p in second.patches]


def test_training_that_was_not_compared_for_want_of_time_is_told_as_that() -> None:
    class Slow(Table):
        def prepare(self, sources: Sequence[Source], seeds: Sequence[int]) -> None:
            self.runs += [b""] * spent

    for spent, said in ((0, "over 1 seeds; the time of this file was used up"), (2, "was used up before training")):
        result = search("a = 222\n", Slow(time=4))
        assert not accepted(result)
        assert said in result.results[0].reason


@pytest.mark.parametrize("written", ["keras.src.layers.Dense", "torch._six.inf", "tensorflow.python.ops.math_ops.add"])
def test_no_edit_writes_what_a_library_keeps_to_itself(written: str) -> None:
    source = Source.from_bytes(b"x = 1\n", "a.py")
    with pytest.raises(EditError, match="keeps to itself"):
        edited(source, [Replace(Site(1, 5, 1, 6), written)])
    there = Source.from_bytes(f"x = 1\ny = {written}\n".encode(), "a.py")
    assert edited(there, [Replace(Site(1, 5, 1, 6), "2")]).text == f"x = 2\ny = {written}\n"


def test_a_finding_that_took_two_steps_is_one_where_the_first_found_it() -> None:
    origin = Source.from_bytes(b"first = 1\nsecond = 2\n", "program.py")
    later = Source.from_bytes(b"import os\nfirst = 1\nsecond = 2\n", "program.py")
    found = Finding("DNF901", "unexplained-crash", Family.OPINIONATED, Site(2, 1, 2, 7), "it stops")
    next_one = replace(found, site=Site(3, 1, 3, 7), message="it stops there as well")
    steps = tuple(
        Candidate("DNF901", "change it", FixPattern.API_CONTRACT, (), (finding,))
        for finding in (found, found, next_one)
    )
    variant = Variant(later, steps, (origin, later, later))
    search = cast(Search, SimpleNamespace(origin=origin))
    assert [(one.site.line, one.message) for one in _settled(search, variant)] == [
        (2, "it stops"),
        (2, "it stops there as well"),
    ]
