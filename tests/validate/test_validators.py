"""Each validator over tables of traces: healthy, empty, constant, non-finite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnnfix import registry
from dnnfix.records import (
    RUNGS,
    Applicability,
    Call,
    Candidate,
    CodeWarning,
    Component,
    Crash,
    Family,
    Finding,
    FixPattern,
    Frame,
    Network,
    Parameter,
    RunOutcome,
    Site,
    Status,
    Step,
    Symptom,
    Trace,
    Value,
)
from dnnfix.source.program import Source
from dnnfix.validate.evidence import OWN_FAULT, Evidence, Pair

SITE = Site(1, 1, 1, 5)
FINISHED = Trace(RunOutcome.FINISHED)
CRASHED = Trace(RunOutcome.CRASHED, crash=Crash("RuntimeError", "sizes differ"))


def finding(code: str = "DNF301", symptom: Symptom = Symptom.VIOLATION, line: int = 1) -> Finding:
    return Finding(code, "rule", Family.LOSS_ACTIVATION, Site(line, 1, line, 5), "message", symptom)


def evidence(
    before: Trace = FINISHED,
    after: Trace = FINISHED,
    old: str = "x = 1\n",
    new: str = "x = 2\n",
    symptom: Symptom = Symptom.VIOLATION,
) -> Evidence:
    found = finding(symptom=symptom)
    candidate = Candidate("DNF301", "title", FixPattern.ACTIVATION, (), (found,), Applicability.UNSAFE)
    return Evidence(
        (candidate,),
        Source.from_bytes(old.encode(), "a.py"),
        Source.from_bytes(new.encode(), "a.py"),
        before,
        after,
        original=(found,),
    )


def renaming(given: Evidence) -> Evidence:
    """The evidence of a patch that puts today's names for yesterday's and provably does no more."""
    moved = replace(given.applied[0].findings[0], family=Family.VERSIONING)
    return replace(given, applied=(replace(given.applied[0], findings=(moved,), applicability=Applicability.SAFE),))


def judge(name: str, given: Evidence) -> Status:
    return next(v for v in registry.validators() if v.name == name).judge(given).status


def training(*skills: float, loss: float = 1.0) -> Trace:
    return Trace(RunOutcome.FINISHED, steps=tuple(Step(i, loss, skill) for i, skill in enumerate(skills)))


def ended(*skills: float) -> Trace:
    """Training of a run whose time was over before it had come to its end."""
    return replace(training(*skills), outcome=RunOutcome.BUDGET)


def test_every_rung_has_a_validator() -> None:
    assert {validator.rung for validator in registry.validators()} == set(RUNGS)


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("x = 1\n", "x = 2\n", Status.PASS),
        ("x = 1\n", "x = 1\n", Status.FAIL),
        ("x = 1\n", "return 1\n", Status.FAIL),
        ("return 1\n", "return 2\n", Status.PASS),
    ],
)
def test_parses(old: str, new: str, status: Status) -> None:
    assert judge("parses", evidence(old=old, new=new)) is status


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (CRASHED, FINISHED, Status.PASS),
        (CRASHED, CRASHED, Status.FAIL),
        (CRASHED, Trace(RunOutcome.TIMEOUT), Status.INCONCLUSIVE),
        (CRASHED, Trace(RunOutcome.NEEDS_DATA), Status.INCONCLUSIVE),
        (CRASHED, Trace(RunOutcome.EXITED), Status.FAIL),
        (FINISHED, FINISHED, Status.PASS),
        (training(0.1, 0.2), training(0.1), Status.FAIL),
        (training(0.1, 0.2), replace(training(0.1), hurried=True), Status.INCONCLUSIVE),
        (replace(training(0.1, 0.2), hurried=True), training(0.1), Status.FAIL),
        (replace(training(0.1, 0.2), hurried=True), replace(training(0.1), hurried=True), Status.PASS),
        (CRASHED, ended(0.1), Status.PASS),
        (replace(CRASHED, steps=training(0.1).steps), ended(0.1, 0.2), Status.PASS),
        (replace(CRASHED, steps=training(0.1, 0.2).steps), ended(0.1, 0.2), Status.INCONCLUSIVE),
        (replace(CRASHED, steps=training(0.1).steps, hurried=True), ended(0.1, 0.2), Status.INCONCLUSIVE),
        (training(0.1), ended(0.1), Status.INCONCLUSIVE),
        (ended(0.1), ended(0.1), Status.PASS),
    ],
)
def test_runs(before: Trace, after: Trace, status: Status) -> None:
    assert judge("runs", evidence(before, after)) is status


@pytest.mark.parametrize(
    ("inside", "after", "status"),
    [
        ("optimizer.step()", FINISHED, Status.FAIL),
        ("optimizer.step()", training(0.5), Status.PASS),
        ("print(net(batch))", FINISHED, Status.PASS),
        ("state, reward = world.step(batch)", FINISHED, Status.PASS),
    ],
)
def test_training_that_does_not_take_place_any_more_is_no_repair(inside: str, after: Trace, status: Status) -> None:
    old = f"for batch in range(3):\n    crash(batch)\n    {inside}\n"
    before = Trace(
        RunOutcome.CRASHED, crash=Crash("RuntimeError", "sizes", frames=(Frame(Site(2, 5, 2, 17), "<module>"),))
    )
    assert judge("runs", evidence(before, after, old, old.replace("3", "0"))) is status


def test_a_new_warning_is_refused_and_an_old_one_with_other_numbers_is_not() -> None:
    warned = replace(FINISHED, warnings=(CodeWarning("UserWarning", "target size (8) differs"),))
    other = replace(FINISHED, warnings=(CodeWarning("UserWarning", "target size (16) differs"),))
    assert judge("nothing-new-in-run", evidence(FINISHED, warned)) is Status.FAIL
    assert judge("nothing-new-in-run", evidence(warned, other)) is Status.PASS


def test_a_loss_that_becomes_non_finite_is_refused() -> None:
    assert judge("nothing-new-in-run", evidence(training(0.1), training(0.1, loss=float("nan")))) is Status.FAIL


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ({}, {}, Status.NOT_APPLICABLE),
        ({}, {"1": "ok", "3": "ok"}, Status.PASS),
        ({}, {"1": "ok", "3": "shape '[32, 10]' is invalid"}, Status.FAIL),
        ({"3": "invalid"}, {"3": "invalid"}, Status.NOT_APPLICABLE),
        ({"3": "ok"}, {"3": "invalid"}, Status.FAIL),
    ],
)
def test_shapes_agree(before: dict[str, str], after: dict[str, str], status: Status) -> None:
    given = evidence(
        replace(FINISHED, probes={"batch-sizes": before}), replace(FINISHED, probes={"batch-sizes": after})
    )
    assert judge("shapes-agree", given) is status


@pytest.mark.parametrize(
    ("new", "status"),
    [("y = x.view(32, 10)\n", Status.FAIL), ("y = x.view(-1, 10)\n", Status.NOT_APPLICABLE)],
)
def test_after_a_crash_the_patch_must_not_write_the_batch_size(new: str, status: Status) -> None:
    data = Call(1, "torch.nn.Linear", None, inputs=(Value(1, (32, 5), origin="data"),))
    after = replace(
        FINISHED, probes={"batch-sizes": {"3": "invalid"}}, network=Network("torch", "trace", calls=(data,))
    )
    assert judge("shapes-agree", evidence(CRASHED, after, old="y = x.view(8, 10)\n", new=new)) is status

    beside = evidence(CRASHED, after)
    files = [Source.from_bytes(b"y = x.view(8, 10)\n", "model.py"), Source.from_bytes(new.encode(), "model.py")]
    before, patched = beside.source_before.along_with(files[:1]), beside.source_before.along_with(files[1:])
    assert judge("shapes-agree", replace(beside, source_before=before, source_after=patched)) is status


def test_a_finding_that_is_still_there_is_refused() -> None:
    given = evidence(after=training(0.1))
    assert judge("violation-gone", replace(given, remaining=(finding(),))) is Status.FAIL
    assert judge("violation-gone", given) is Status.PASS


def test_one_of_two_equal_findings_may_stay() -> None:
    given = replace(evidence(after=training(0.1)), original=(finding(), finding(line=7)), remaining=(finding(line=7),))
    assert judge("violation-gone", given) is Status.PASS


def test_a_finding_of_another_kind_is_refused_unless_a_crash_hid_it() -> None:
    given = replace(evidence(after=training(0.1)), remaining=(finding("DNF401"),))
    assert judge("violation-gone", given) is Status.FAIL
    assert judge("violation-gone", replace(given, before=CRASHED)) is Status.PASS


@pytest.mark.parametrize(("column", "status"), [(1, Status.INCONCLUSIVE), (9, Status.PASS)])
def test_a_call_that_means_something_else_today_is_mended_first(column: int, status: Status) -> None:
    outdated = replace(finding("DNF505"), family=Family.VERSIONING, site=Site(1, column, 1, 30))
    given = replace(evidence(CRASHED, after=training(0.1)), original=(finding(), outdated), remaining=(outdated,))
    assert judge("violation-gone", given) is status
    assert judge("violation-gone", replace(given, remaining=())) is Status.PASS
    mended = replace(given.applied[0], findings=(finding(), outdated))
    assert judge("violation-gone", replace(given, applied=(mended,), remaining=())) is Status.PASS


@pytest.mark.parametrize(("phase", "status"), [("symbolic", Status.INCONCLUSIVE), ("train", Status.PASS)])
def test_a_loss_that_no_run_computed_proves_nothing(phase: str, status: Status) -> None:
    called = Call(1, "keras.layers.Dense", None, inputs=(Value(1, (4, 5)),), phase=phase)
    after = replace(FINISHED, network=Network("keras", "trace", calls=(called,)))
    assert judge("violation-gone", evidence(CRASHED, after)) is status
    assert judge("violation-gone", evidence(CRASHED, FINISHED)) is Status.INCONCLUSIVE


def pairs(before: float, after: float, count: int) -> tuple[Pair, ...]:
    return tuple(Pair(training(*[before] * 4), training(*[after] * 4)) for _ in range(count))


@pytest.mark.parametrize(
    ("symptom", "before", "after", "count", "status"),
    [
        (Symptom.NOT_LEARNING, 0.0, 0.6, 5, Status.PASS),
        (Symptom.NOT_LEARNING, 0.0, 0.6, 4, Status.INCONCLUSIVE),
        (Symptom.NOT_LEARNING, 0.3, 0.3, 5, Status.FAIL),
        (Symptom.VIOLATION, 0.3, 0.3, 5, Status.PASS),
        (Symptom.VIOLATION, 0.6, 0.1, 5, Status.FAIL),
        (Symptom.VIOLATION, 0.6, 0.6, 2, Status.INCONCLUSIVE),
    ],
)
def test_learns(symptom: Symptom, before: float, after: float, count: int, status: Status) -> None:
    given = evidence(training(before), training(after), symptom=symptom)
    assert judge("learns", replace(given, pairs=pairs(before, after, count))) is status


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (0.9, 0.9, Status.FAIL),
        (0.9, 1.0, Status.PASS),
        (0.5, 0.5, Status.PASS),
        (0.5, 0.4, Status.FAIL),
        (0.01, 0.02, Status.FAIL),
        (-1.0, 0.02, Status.FAIL),
        (-1.0, 0.4, Status.PASS),
    ],
)
def test_what_only_hinders_training_is_no_fault_of_a_program_that_learns(
    before: float, after: float, status: Status
) -> None:
    given = evidence(training(before), training(after), symptom=Symptom.VIOLATION)
    hindering = tuple(replace(candidate, only_hinders=True) for candidate in given.applied)
    assert judge("learns", replace(given, applied=hindering, pairs=pairs(before, after, 5))) is status


def test_a_patch_with_which_the_loss_runs_away_does_not_learn() -> None:
    given = evidence(training(-1.0), training(0.0), symptom=Symptom.VIOLATION)
    steps = tuple(Step(place, loss=2.0 * 10**place, skill=0.0) for place in range(12))
    away = tuple(Pair(training(*[-1.0] * 12), replace(FINISHED, steps=steps)) for _ in range(5))
    assert judge("learns", replace(given, pairs=away)) is Status.FAIL
    both = tuple(replace(pair, before=pair.after) for pair in away)
    assert judge("learns", replace(given, pairs=both)) is Status.PASS


@pytest.mark.parametrize(
    ("loss", "status"),
    [("keras.losses.BinaryCrossentropy", Status.FAIL), ("torch.nn.MSELoss", Status.PASS)],
)
def test_a_cross_entropy_that_falls_below_any_bound_proves_nothing(loss: str, status: Status) -> None:
    made = Component(1, "loss", loss)
    called = Call(1, loss, None, component=1, inputs=(Value(1, (4, 5)), Value(2, (4, 5))))
    network = Network("keras", "trace", components=(made,), calls=(called,))
    after = replace(training(-1.0), network=network)
    steps = tuple(Step(place, loss=-(10.0**place), skill=-1.0) for place in range(6))
    fallen = tuple(Pair(training(*[-1.0] * 6), replace(FINISHED, steps=steps)) for _ in range(5))
    given = evidence(training(-1.0), after, symptom=Symptom.VIOLATION)
    assert judge("learns", replace(given, pairs=fallen)) is status


def test_learning_says_nothing_of_a_program_that_crashed() -> None:
    assert judge("learns", evidence(CRASHED, training(0.5))) is Status.NOT_APPLICABLE


def test_a_training_symptom_without_scores_is_inconclusive() -> None:
    assert judge("learns", evidence(symptom=Symptom.NOT_LEARNING)) is Status.INCONCLUSIVE


def updating(optimizer: bool = True, **updates: float) -> Trace:
    network = Network(
        "torch",
        "trace",
        components=(Component(1, "optimizer", "torch.optim.SGD"),) if optimizer else (),
        parameters=tuple(Parameter(n, (2, 2), update=u) for n, u in updates.items()),
    )
    return Trace(RunOutcome.FINISHED, steps=(Step(0, 1.0),), network=network)


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (updating(w=0.1, v=0.1), updating(w=0.1, v=0.1), Status.PASS),
        (updating(w=0.1, v=0.1), updating(w=0.1, v=0.0), Status.FAIL),
        (updating(w=0.1, v=0.1), updating(w=0.1), Status.PASS),
        (updating(w=0.0), updating(w=0.1), Status.PASS),
        (CRASHED, updating(w=0.0), Status.FAIL),
        (CRASHED, updating(optimizer=False, w=0.0), Status.NOT_APPLICABLE),
        (updating(w=0.1), updating(w=0.0), Status.FAIL),
        (FINISHED, FINISHED, Status.NOT_APPLICABLE),
    ],
)
def test_parameters_update(before: Trace, after: Trace, status: Status) -> None:
    assert judge("parameters-update", evidence(before, after)) is status


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        (0.5, 0.5, Status.PASS),
        (0.5, 0.0, Status.FAIL),
        (0.0, 0.0, Status.NOT_APPLICABLE),
        (None, None, Status.NOT_APPLICABLE),
    ],
)
def test_output_depends_on_input(before: float | None, after: float | None, status: Status) -> None:
    def probed(value: float | None) -> Trace:
        return replace(FINISHED, probes={} if value is None else {"input-dependence": value})

    assert judge("output-depends-on-input", evidence(probed(before), probed(after))) is status


@pytest.mark.parametrize(
    ("symptom", "real", "shuffled", "status"),
    [
        (Symptom.NOT_LEARNING, 0.8, 0.05, Status.PASS),
        (Symptom.NOT_LEARNING, 0.8, 0.8, Status.FAIL),
        (Symptom.VIOLATION, 0.8, 0.8, Status.NOT_APPLICABLE),
        (Symptom.NOT_LEARNING, 0.1, 0.1, Status.NOT_APPLICABLE),
    ],
)
def test_labels_matter(symptom: Symptom, real: float, shuffled: float, status: Status) -> None:
    given = replace(evidence(symptom=symptom), pairs=pairs(0.0, real, 1), shuffled=(training(*[shuffled] * 4),))
    assert judge("labels-matter", given) is status


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("f(x)\n", "try:\n    f(x)\nexcept ValueError:\n    pass\n", Status.FAIL),
        ("loss.backward()\n", "loss\n", Status.FAIL),
        ("a.backward()\nb.backward()\n", "(a + b).backward()\n", Status.PASS),
        ("a.backward()\nb.backward()\n", "a.backward()\n", Status.FAIL),
        ("(a + b).backward()\n", "a.backward()\n", Status.FAIL),
        ("model.fit_generator(g)\n", "model.fit(g)\n", Status.PASS),
        ("w = 1\n", "w.requires_grad = False\n", Status.FAIL),
        ("w = 1\n", "warnings.filterwarnings('ignore')\n", Status.FAIL),
        ("w = 1\n", "exit()\n", Status.FAIL),
        ("w = 1\n", "raise SystemExit(0)\n", Status.FAIL),
        ("f(x)\n", "with suppress(ValueError):\n    f(x)\n", Status.FAIL),
        ("x = a(b)\n", "x = b\n", Status.PASS),
    ],
)
def test_nothing_suppressed(old: str, new: str, status: Status) -> None:
    assert judge("nothing-suppressed", evidence(old=old, new=new)) is status


@pytest.mark.parametrize(
    ("tests", "status"),
    [
        (None, Status.NOT_APPLICABLE),
        (((0, ""), (0, "")), Status.PASS),
        (((1, ""), (0, "")), Status.PASS),
        (((0, ""), (1, "1 failed")), Status.FAIL),
        (((1, ""), (1, "")), Status.NOT_APPLICABLE),
        (((0, ""), (124, "")), Status.INCONCLUSIVE),
        (((124, ""), (124, "")), Status.INCONCLUSIVE),
    ],
)
def test_user_tests_pass(tests: tuple[tuple[int, str], tuple[int, str]] | None, status: Status) -> None:
    assert judge("user-tests-pass", replace(evidence(), tests=tests)) is status


STILL = Trace(RunOutcome.FINISHED, network=Network("torch", "trace", parameters=(Parameter("w", (1,), update=0.0),)))


@pytest.mark.parametrize(
    ("validator", "after", "before"),
    [
        ("output-depends-on-input", replace(FINISHED, probes={"input-dependence": 0.0}), None),
        (
            "parameters-update",
            replace(
                STILL,
                steps=training(0.1).steps,
                network=Network(
                    "torch", "trace", (Component(1, "optimizer", "SGD"),), (), (Parameter("w", (1,), update=0.0),)
                ),
            ),
            replace(
                STILL,
                steps=training(0.1).steps,
                network=Network("torch", "trace", parameters=(Parameter("w", (1,), update=0.1),)),
            ),
        ),
        ("nothing-new-in-run", training(0.1, loss=float("nan")), training(0.1)),
    ],
)
def test_what_a_crash_hid_is_not_held_against_a_rename_and_is_told(
    validator: str, after: Trace, before: Trace | None
) -> None:
    judge_of = next(v for v in registry.validators() if v.name == validator).judge
    given = evidence(CRASHED, after)
    assert judge_of(given).status is Status.FAIL, "any other patch"
    verdict = judge_of(renaming(given))
    assert verdict.status is Status.NOT_APPLICABLE and verdict.measured[OWN_FAULT] is True
    if before is not None:
        assert judge_of(renaming(evidence(before, after))).status is Status.FAIL, "the original could be asked"


@pytest.mark.parametrize("cut_short", [True, False])
def test_renames_need_no_training(cut_short: bool) -> None:
    given = replace(evidence(training(0.5), training(0.5)), cut_short=cut_short)
    assert judge("learns", given) is Status.INCONCLUSIVE
    assert judge("learns", renaming(given)) is Status.NOT_APPLICABLE
    worse = replace(renaming(given), pairs=(Pair(training(0.9), training(0.1)),) * 20)
    assert judge("learns", worse) is Status.FAIL
