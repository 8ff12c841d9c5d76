"""Partial patches: what counts as getting further, whose doing a stop may be, and what is never offered as a step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from dnnfix.detect.run_rules import detect
from dnnfix.records import (
    PROGRESS,
    Applicability,
    Candidate,
    Crash,
    Decline,
    Delete,
    Family,
    Finding,
    FindingOutcome,
    FixPattern,
    Frame,
    InsertBefore,
    Patch,
    PatchVerdict,
    Replace,
    RunOutcome,
    Site,
    Status,
    Step,
    Symptom,
    Trace,
    Verdict,
)
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.influence import may_have_caused, written_by_patch
from dnnfix.synthesize.progress import gets_past
from dnnfix.synthesize.repairs import Repair
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from tests.validate.test_search import Table, Wishes


class _Word(FixTemplate):
    """Replaces a word where the program crashes at it."""

    fix_pattern = FixPattern.VERSIONING
    message = "{old} is wrong"
    old: ClassVar[str]
    options: ClassVar[tuple[str, ...]]
    applicability: ClassVar[Applicability] = Applicability.UNSAFE

    def detect(self, subject: Subject) -> Iterator[Finding]:
        place = subject.crash.site if subject.crash is not None else None
        for number, line in enumerate(subject.source.text.splitlines(), 1):
            found = re.search(rf"\b{self.old}\b", line)
            if found and place is not None and place.line == number:
                site = Site(number, found.start() + 1, number, found.end() + 1)
                yield self.finding(site, symptom=Symptom.CRASH, old=self.old)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for option in self.options:
            edit = Replace(finding.site, option)
            yield self.candidate(finding, f"write {option}", edit, applicability=self.applicability, prior=0.9)


class Moved(_Word):
    code, name, family, old, options = "DNF501", "moved", Family.VERSIONING, "moved", ("new",)
    applicability = Applicability.SAFE


class Reshaped(_Word):
    code, name, family, old, options = "DNF502", "reshaped", Family.VERSIONING, "reshaped", ("other",)


class Exact(_Word):
    """Does what the older version did, in a program that may mean something else today."""

    code, name, family, old, options = "DNF505", "exact", Family.VERSIONING, "exactly", ("same",)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield from (replace(one, exact=True) for one in super().propose(finding, subject) if isinstance(one, Candidate))


class Sized(_Word):
    code, name, family, old, options = "DNF201", "sized", Family.LAYER_DIMENSION, "wide", ("narrow",)


class Either(_Word):
    code, name, family, old, options = "DNF202", "either", Family.LAYER_DIMENSION, "either", ("left", "right")


class Migrated(_Word):
    """Writes all places anew, those behind the crash too."""

    code, name, family, old, options = "DNF504", "migrated", Family.VERSIONING, "old", ("new",)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        lines = enumerate(subject.source.text.splitlines(), 1)
        places = [(n, m.start() + 1, m.end() + 1) for n, line in lines for m in re.finditer(r"\bold\b", line)]
        edits = (Replace(Site(n, start, n, end), "new") for n, start, end in places)
        yield self.candidate(finding, "migrate", *edits, applicability=Applicability.SAFE)


class Hidden(_Word):
    """Hides its fault behind a handler."""

    code, name, family, old, options = "DNF503", "hidden", Family.VERSIONING, "hidden", ()

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        line = subject.source.text.splitlines()[finding.site.line - 1]
        site = Site(finding.site.line, 1, finding.site.line, len(line) + 1)
        hiding = InsertBefore(site, "try:\n    import this\nexcept ImportError:\n    pass")
        yield self.candidate(finding, "hide", hiding, Delete(site), applicability=Applicability.SAFE)


TEMPLATES: dict[str, type[FixTemplate]] = {t.code: t for t in (Moved, Reshaped, Exact, Migrated, Sized, Either, Hidden)}
BAD = ("moved", "old", "reshaped", "exactly", "wide", "either", "hidden", "BAD")


class Laboratory(Table):
    """Crashes at the lines that have a word of `BAD`."""

    lacks: str = ""

    def findings(self, source: Source, trace: Trace | None) -> tuple[Finding, ...]:
        return detect(Subject(source, trace), TEMPLATES.values()).findings

    def _trace(self, source: Source, seed: int) -> Trace:
        trace = super()._trace(source, seed)
        if self.lacks and trace.crash is not None and self.lacks in trace.crash.message:
            return Trace(RunOutcome.NEEDS_DATA, seed, detail="a.csv", crash=trace.crash)
        return trace


def search(text: str, laboratory: Table | None = None) -> Repair:
    laboratory = laboratory or Laboratory(BAD)
    source = Source.from_bytes(text.encode(), "a.py")
    trace = laboratory.observe(source, 0)
    return repair(source, trace, laboratory, TEMPLATES, Wishes(), lambda said: None)


def step(result: Repair) -> Patch | None:
    assert not result.proofs and not any(p.verdict is PatchVerdict.ACCEPTED for p in result.patches)
    found = [patch for patch in result.patches if patch.verdict is PatchVerdict.PARTIAL]
    assert len(found) <= 1
    return found[0] if found else None


def test_a_move_that_meets_an_unknown_fault_is_partial_and_names_it() -> None:
    result = search("a = moved\nb = 1\nc = BAD\n")
    patch = step(result)
    assert patch is not None and patch.rank == 0 and "+a = new\n" in patch.diff
    assert patch.remains == "the program then stops at line 3: Error: c = BAD"
    assert [(r.outcome, r.reason) for r in result.results] == [
        (FindingOutcome.PARTIAL, f"removes this fault; {patch.remains}")
    ]
    (said,) = [verdict for verdict in patch.verdicts if verdict.validator == PROGRESS]
    assert said.measured == {"line": 3, "exception": "Error", "message": "c = BAD"}


def test_steps_are_one_patch_and_those_on_the_way_are_not_shown() -> None:
    result = search("a = moved\nb = moved\nc = BAD\n")
    patch = step(result)
    assert patch is not None and "+a = new\n" in patch.diff and "+b = new\n" in patch.diff
    assert patch.remains.startswith("the program then stops at line 3:")
    assert len(result.patches) == 1
    assert {r.outcome for r in result.results} == {FindingOutcome.PARTIAL}


def test_the_last_step_may_be_missing_because_it_is_not_right() -> None:
    result = search("a = moved\nb = either, BAD\n")
    patch = step(result)
    assert patch is not None and "+a = new\n" in patch.diff and "either" in patch.remains
    assert {p.verdict for p in result.patches[1:]} == {PatchVerdict.REJECTED}


def test_nothing_is_partial_where_a_patch_reaches_the_top() -> None:
    result = search("a = moved\nb = wide\n")
    assert {p.verdict for p in result.patches} == {PatchVerdict.ACCEPTED, PatchVerdict.REJECTED}


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("a = old\nb = old + BAD\n", "it stops in another patched line"),
        ("a = moved, BAD\n", "it stops in the patched line"),
        ("a = [\n    moved,\n    BAD,\n]\n", "it stops in the patched statement"),
        ("if x:\n    a = moved\nelse:\n    b = BAD\n", "the other branch is not further"),
        ("hidden = 1\nc = BAD\n", "the fault is hidden, not removed"),
        ("a = reshaped\nc = a.BAD\n", "what an unsafe migration wrote is read there"),
        ("def f():\n    a = reshaped\n    return a\nb = BAD + f()\n", "it comes back from the function"),
        ("a = wide\nb = a + 1\nc = b + BAD\n", "what a repair wrote is read there by way of another name"),
        ("class N:\n    def f(self):\n        self.fc = wide\nn = N()\nBAD(n)\n", "the object holds what was written"),
        ("m.add(wide)\nm.fit(BAD)\n", "the object was changed"),
        ("a = either\nc = BAD\n", "two explanations get past it"),
    ],
)
def test_never_partial(program: str, why: str) -> None:
    assert step(search(program)) is None, why


@pytest.mark.parametrize(
    "program",
    [
        "a = reshaped\nb = 1\nc = b + BAD\n",
        "a = exactly\nc = a.BAD\n",
        "a = wide\nb = 1\nc = b + BAD\n",
        "def f():\n    a = wide\n    print(a)\n    BAD()\nf()\n".replace("print(a)", "pass"),
        "a = old\nb = BAD\nc = old\n",
        "for i in x:\n    a = moved\n    b = BAD\n",
        "with x:\n    a = moved\nb = BAD\n",
        "import numpy as np\na = np.zeros(wide)\nb = np.ones(BAD)\n",
    ],
)
def test_partial(program: str) -> None:
    patch = step(search(program))
    assert patch is not None and "BAD" in patch.remains


class Absent(Laboratory):
    """A run that stops for `BAD` stops at the import of it."""

    def _trace(self, source: Source, seed: int) -> Trace:
        trace = super()._trace(source, seed)
        if trace.crash is None or "BAD" not in trace.crash.message:
            return trace
        return replace(trace, crash=replace(trace.crash, kind="ModuleNotFoundError"))


def test_an_import_that_fails_owes_nothing_to_what_a_migration_wrote() -> None:
    program = "a = reshaped\nc = a.BAD\n"
    assert step(search(program)) is None
    assert step(search(program, Absent(BAD))) is not None


class Undefined(Laboratory):
    """A run that stops for `BAD` stops at a name that nothing defines."""

    def _trace(self, source: Source, seed: int) -> Trace:
        trace = super()._trace(source, seed)
        if trace.crash is None or "BAD" not in trace.crash.message:
            return trace
        return replace(trace, crash=replace(trace.crash, kind="NameError", message="name 'BAD' is not defined"))


@pytest.mark.parametrize(
    ("program", "free"), [("a = wide\nb = a + BAD\n", True), ("if x:\n    BAD = 1\na = wide\nb = a + BAD\n", False)]
)
def test_a_name_that_nothing_had_defined_owes_nothing_to_what_a_repair_wrote(program: str, free: bool) -> None:
    assert step(search("a = wide\nb = a + BAD\n")) is None
    assert (step(search(program, Undefined(BAD))) is not None) is free


class Unset(Laboratory):
    """A run that stops for `BAD` asks an object of the program for `decoder`."""

    def _trace(self, source: Source, seed: int) -> Trace:
        trace = super()._trace(source, seed)
        if trace.crash is not None and "BAD" in trace.crash.message:
            said = "'Net' object has no attribute 'decoder'"
            return replace(trace, crash=replace(trace.crash, kind="AttributeError", message=said))
        return trace


@pytest.mark.parametrize(
    ("defined", "free"),
    [
        ("class Net:\n    pass\n", True),
        ("class Net:\n    def f(self):\n        self.decoder = 1\n", False),
        ("class Net:\n    def decoder(self):\n        pass\n", False),
        ("class Net:\n    def f(self):\n        setattr(self, 'decoder', 1)\n", False),
        ("class Other:\n    pass\n", False),
    ],
)
def test_an_attribute_that_nothing_ever_sets_owes_nothing_to_a_migration(defined: str, free: bool) -> None:
    program = f"{defined}a = reshaped\nc = a.BAD\n"
    assert (step(search(program, Unset(BAD))) is not None) is free


def test_a_run_that_then_lacks_data_got_further_too() -> None:
    laboratory = Laboratory(BAD)
    laboratory.lacks = "BAD"
    patch = step(search("a = moved\nb = 1\nc = BAD\n", laboratory))
    assert patch is not None and patch.remains == "the program then stops at line 3: needs-data: a.csv"
    assert step(search("a = wide\nb = 1\nc = BAD\n", laboratory)) is None


def test_a_comparison_with_the_old_era_that_fails_leaves_no_step() -> None:
    class Differs(Laboratory):
        def as_before(self, before: Source, after: Source, seed: int) -> Verdict | None:
            return Verdict("same-as-before", "run", Status.FAIL, "another loss")

    assert step(search("a = moved\nb = 1\nc = BAD\n", Differs(BAD))) is None


@pytest.mark.parametrize(("how", "accepted"), [(Applicability.SAFE, True), (Applicability.UNSAFE, False)])
def test_renames_come_up_the_ladder_without_the_time_to_train(how: Applicability, accepted: bool) -> None:
    class Slow(Laboratory):
        def prepare(self, sources: Sequence[Source], seeds: Sequence[int]) -> None:
            self.runs += [b""] * 100

        def findings(self, source: Source, trace: Trace | None) -> tuple[Finding, ...]:
            found = re.search("moved", source.text)
            return (finding,) if found else ()

    class Renamed(Moved):
        applicability = how

    finding = Renamed().finding(Site(1, 5, 1, 10), old="moved")
    source = Source.from_bytes(b"a = moved\n", "a.py")
    laboratory = Slow(time=50)
    trace = laboratory.observe(source, 0)
    result = repair(source, trace, laboratory, {Renamed.code: Renamed}, Wishes(), lambda said: None)
    assert [patch.verdict is PatchVerdict.ACCEPTED for patch in result.patches] == [accepted]


def crashed(*lines: int, steps: int = 0, message: str = "wrong") -> Trace:
    frames = tuple(Frame(Site(line, 1, line, 5), "<module>" if not i else "f") for i, line in enumerate(lines))
    taken = tuple(Step(i, 1.0) for i in range(steps))
    return Trace(RunOutcome.CRASHED, crash=Crash("Error", message, frames), steps=taken)


FUNCTIONS = """\
def g():
    a = 1
    if a:
        b = 2
        c = 3
    else:
        d = 4
    try:
        e = 5
    except E:
        f = 6


g()
for i in x:
    h = 7
"""


@pytest.mark.parametrize(
    ("first", "second", "further"),
    [
        ([14], [15], True),
        ([15], [14], False),
        ([14, 2], [14, 4], True),
        ([14, 4], [14, 5], True),
        ([14, 5], [14, 4], False),
        ([14, 4], [14, 7], False),
        ([14, 5], [14, 9], True),
        ([14, 9], [14, 11], False),
        ([14, 3], [14, 4], True),
        ([14, 3], [14, 7], False),
        ([14, 11], [15], True),
        ([15], [16], True),
        ([16], [15], False),
        ([14], [14, 2], False),
        ([14, 2], [14], False),
        ([], [15], False),
    ],
)
def test_gets_past(first: Sequence[int], second: Sequence[int], further: bool) -> None:
    source = Source.from_bytes(FUNCTIONS.encode(), "a.py")
    assert gets_past(source, crashed(*first), source, crashed(*second, message="another")) is further


def test_more_steps_are_further_and_fewer_never_are() -> None:
    source = Source.from_bytes(FUNCTIONS.encode(), "a.py")
    assert gets_past(source, crashed(16), source, crashed(16, steps=1, message="another"))
    assert not gets_past(source, crashed(16), source, crashed(16, steps=1))
    assert not gets_past(source, crashed(14, steps=2), source, crashed(15, steps=1))
    assert not gets_past(source, Trace(RunOutcome.FINISHED), source, crashed(15))


def test_lines_are_those_of_the_program_before() -> None:
    before = Source.from_bytes(b"a = 1\nb = 2\nc = 3\n", "a.py")
    after = Source.from_bytes(b"import x\nimport y\na = 1\nb = 2\nc = 3\n", "a.py")
    assert not gets_past(before, crashed(3), after, crashed(4, message="another"))
    assert gets_past(before, crashed(1), after, crashed(4, message="another"))


def at_part(text: str, part: str) -> tuple[Source, Trace]:
    """A program of one statement that stops at the last of its parts that reads so."""
    start = text.rindex(part) + 1
    frames = (Frame(Site(1, start, 1, start + len(part)), "<module>"),)
    return Source.from_bytes(text.encode(), "a.py"), Trace(RunOutcome.CRASHED, crash=Crash("Error", part, frames))


@pytest.mark.parametrize(
    ("old", "failed", "new", "then", "further"),
    [
        ("a = g(f(x), h(y))\n", "f(x)", "a = g(k(x), h(y))\n", "h(y)", True),
        ("a = g(f(x), h(y))\n", "f(x)", "a = g(k(x), h(y))\n", "g(k(x), h(y))", True),
        ("a = g(f(x), h(y))\n", "h(y)", "a = g(f(x, 1), h(y))\n", "f(x, 1)", False),
        ("a = g(f(x), h(y))\n", "f(x)", "a = g(f(x, 1), h(y))\n", "f(x, 1)", False),
    ],
)
def test_a_later_part_of_a_statement_is_further(old: str, failed: str, new: str, then: str, further: bool) -> None:
    assert gets_past(*at_part(old, failed), *at_part(new, then)) is further


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        ("import k\na = k.fit(x, n=1)\n", "import l\na = l.fit(x, m=1)\n", False),
        ("import k\na = k.fit(x, n=1)\n", "import l\na = l.fit(x, n=2)\n", True),
        ("import k\na = x.f(k.float)\n", "import k\na = x.g(float)\n", False),
        ("import k\na = x.f(1)\n", "import k\na = y.f(1)\n", True),
    ],
)
def test_statements_that_only_call_things_otherwise_are_told_from_others(old: str, new: str, written: bool) -> None:
    before, after = (Source.from_bytes(text.encode(), "a.py") for text in (old, new))
    crash = crashed(2).crash
    assert crash is not None and written_by_patch(before, after, crash)
    assert written_by_patch(before, after, crash, by_names=False) is written
    assert may_have_caused(before, after, crash, by_imports=False, by_names=False) is written


@pytest.mark.parametrize(
    ("old", "new", "line", "written"),
    [
        ("a = 1\nb = 2\n", "a = 3\nb = 2\n", 1, True),
        ("a = 1\nb = 2\n", "a = 3\nb = 2\n", 2, False),
        ("a = f(\n    1,\n    2)\nb = 3\n", "a = f(\n    1)\nb = 3\n", 1, True),
        ("for i in f(1):\n    a = 1\n", "for i in f(2):\n    a = 1\n", 2, False),
        ("for i in f(1):\n    a = 1\n", "for i in f(2):\n    a = 1\n", 1, True),
        ("a = 1\n", "def f():\n    return 2\n\n\na = 1\n", 2, True),
    ],
)
def test_what_the_patch_wrote_is_whole_statements(old: str, new: str, line: int, written: bool) -> None:
    before, after = (Source.from_bytes(text.encode(), "a.py") for text in (old, new))
    crash = crashed(line).crash
    assert crash is not None
    assert written_by_patch(before, after, crash) is written


@pytest.mark.parametrize(
    ("old", "new", "line", "by_imports", "caused"),
    [
        ("from a import f\nb = f()\nb.x\n", "from c import f\nb = f()\nb.x\n", 3, False, False),
        ("from a import f\nb = f()\nb.x\n", "from c import f\nb = f()\nb.x\n", 2, False, True),
        ("from a import f\nb = f()\nb.x\n", "from c import f\nb = f()\nb.x\n", 3, True, True),
        ("from a import *\nb = f()\nb.x\n", "from c import *\nb = f()\nb.x\n", 3, False, True),
        ("a = 1\nb = 2\n", "b = 2\n", 1, False, False),
        ("a = 1\nb = a\n", "b = a\n", 1, False, True),
        ("i(a)\nb = a\n", "j(a)\nb = a\n", 2, False, True),
        ("for i in f(1):\n    a = i\nb = a\n", "for i in f(2):\n    a = i\nb = a\n", 3, False, True),
        ("x = 1\nx.y = 2\n", "x = 1\nx.y = 3\n", 1, False, True),
    ],
)
def test_what_reads_what_the_patch_wrote(old: str, new: str, line: int, by_imports: bool, caused: bool) -> None:
    before, after = (Source.from_bytes(text.encode(), "a.py") for text in (old, new))
    crash = crashed(line).crash
    assert crash is not None
    assert may_have_caused(before, after, crash, by_imports) is caused


def test_a_place_that_is_not_known_may_be_of_the_patchs_making() -> None:
    before, after = Source.from_bytes(b"a = 1\n", "a.py"), Source.from_bytes(b"a = 2\n", "a.py")
    assert may_have_caused(before, after, Crash("Error", "", ()), by_imports=False)
    elsewhere = Crash("Error", "", (Frame(Site(1, 1, 1, 2, "other.py"), "f"),))
    assert may_have_caused(before, after, elsewhere, by_imports=False)
