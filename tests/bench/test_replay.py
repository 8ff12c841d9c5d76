"""Replays of the small benchmark: arms, results as they come, resuming, shards, the cache, reports, bad input."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from dnnfix.bench.assessment import Arm, Assessed, Assignment, assess
from dnnfix.bench.cases import Case, case_ids, read_case
from dnnfix.bench.comparison import compare
from dnnfix.bench.executors.local import LocalExecutor
from dnnfix.bench.instances import read_index
from dnnfix.bench.ledger import record
from dnnfix.bench.oracle import runner_for, whole_run
from dnnfix.bench.replay import Shard, planned, read_shard, replay, surroundings
from dnnfix.bench.results import as_markdown
from dnnfix.bench.store import Store, hash_of
from dnnfix.bench.symptoms import Shown
from dnnfix.bench.totals import Share, totals
from dnnfix.bench.verify import Proof
from dnnfix.config import Settings
from dnnfix.errors import InputError
from dnnfix.pipeline.check import selected
from dnnfix.records import (
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    Candidate,
    FileReport,
    FixPattern,
    Patch,
    PatchVerdict,
    RunOutcome,
    Trace,
)
from dnnfix.run.interpreter import Interpreter, describe
from dnnfix.run.job import Job, Tier
from dnnfix.run.runner import Runner
from dnnfix.source.diff import unified_diff
from tests.cli.programs import Call

PROVEN = (Shown.YES,) * 5


def cases_of(benchmark: Path) -> list[Case]:
    index = read_index(benchmark)
    return [read_case(benchmark, index, id) for id in case_ids(benchmark)]


@pytest.fixture
def verified(benchmark: Path) -> Path:
    """The small benchmark with every case entered as proven (tests of the proof are elsewhere)."""
    record(benchmark, [(case, Proof(case.id, (), PROVEN, (Shown.NO,) * 5, 0.1)) for case in cases_of(benchmark)])
    return benchmark


class Made:
    """An executor that makes up results, and counts what it was asked for."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.asked: list[tuple[str, Arm]] = []
        self._stop_after = stop_after

    def run(self, wanted: Iterable[Assignment]) -> Iterator[tuple[Assignment, Assessed]]:
        for number, assignment in enumerate(wanted):
            if number == self._stop_after:
                raise KeyboardInterrupt
            self.asked.append((assignment.case, assignment.arm))
            yield assignment, Assessed(assignment.case, assignment.arm, reason=f"number {number}")


def silent(done: int, newest: Assessed | None) -> None:
    """Say nothing."""


AROUND = {"engine": "e1"}


@pytest.mark.slow
def test_programs_of_keras_run_on_the_backend_they_were_verified_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own choice of a backend is for programs that are no cases."""

    def with_tensorflow(interpreter: Path) -> Interpreter:
        found = describe(interpreter)
        return replace(found, installed=found.installed | {"tensorflow"})

    monkeypatch.setattr("dnnfix.run.runner.describe", with_tensorflow)
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    with runner_for(Settings()) as runner:
        trace = runner.run(whole_run(b"import keras\nprint('on', keras.config.backend())\n", 0))
    assert "on torch" in trace.printed


def test_assignments_tell_the_engine_nothing_but_the_program(benchmark: Path) -> None:
    for assignment in planned(cases_of(benchmark), 60.0, list(Arm)):
        assert Assignment.from_json(json.loads(json.dumps(assignment.to_json()))) == assignment
        assert not set(assignment.fresh) & set(range(5)), "the oracle's seeds are fresh"


def test_an_interrupted_replay_goes_on_where_it_was(benchmark: Path, tmp_path: Path) -> None:
    wanted = list(planned(cases_of(benchmark), 60.0, list(Arm)))
    with Store(tmp_path / "r.sqlite") as store, pytest.raises(KeyboardInterrupt):
        replay(wanted, AROUND, store, (), Made(stop_after=5), silent)
    with Store(tmp_path / "r.sqlite") as store:
        assert len(store.results()) == 5
        rest = Made()
        replay(wanted, AROUND, store, (), rest, silent)
        assert len(rest.asked) == len(wanted) - 5 == len(set(rest.asked))
        assert {(r.case, r.arm) for r in store.results()} == {(a.case, a.arm) for a in wanted}
        assert len(store.results()) == len(wanted), "nothing twice"


def test_results_are_taken_from_the_cache_while_nothing_changed(benchmark: Path, tmp_path: Path) -> None:
    wanted = list(planned(cases_of(benchmark), 60.0, [Arm.REPAIR]))
    with Store(tmp_path / "cache.sqlite") as cache:
        for name, around, asked in (("a", AROUND, 3), ("b", AROUND, 0), ("c", {"engine": "e2"}, 3)):
            with Store(tmp_path / f"{name}.sqlite") as store:
                executor = Made()
                replay(wanted, around, store, (cache,), executor, silent)
                assert len(executor.asked) == asked and len(store.results()) == 3
        longer = [replace(one, budget=30.0) for one in wanted]
        with Store(tmp_path / "d.sqlite") as store:
            executor = Made()
            replay(longer, AROUND, store, (cache,), executor, silent)
            assert len(executor.asked) == 3


def test_results_depend_on_the_packages_that_have_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result of one set of rules must not be taken from the cache for another."""
    monkeypatch.setattr("dnnfix.index.entry_points", lambda: ("one.rules", "two.rules"))
    assert surroundings(Settings(), Tier.LIMITS)["rules of packages"] == "one.rules, two.rules"
    monkeypatch.setattr("dnnfix.index.entry_points", lambda: ())
    assert surroundings(Settings(), Tier.LIMITS)["rules of packages"] == "none"


def test_what_failed_is_made_again(benchmark: Path, tmp_path: Path) -> None:
    (first, *_) = wanted = list(planned(cases_of(benchmark), 60.0, [Arm.REPAIR]))
    with Store(tmp_path / "r.sqlite") as store:
        store.put(hash_of(first, AROUND), Assessed(first.case, first.arm, failed="its worker was lost"))
        executor = Made()
        replay(wanted, AROUND, store, (), executor, silent)
        assert len(executor.asked) == 3 and not any(result.failed for result in store.results())


def test_what_was_made_again_comes_last_whatever_its_hash(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        for key, reason in (("b", "of the case as it was"), ("a", "of the case as it is")):
            store.put(key, Assessed("so-1", Arm.REPAIR, reason=reason))
        assert [result.reason for result in store.results()] == ["of the case as it was", "of the case as it is"]


def test_shards_hold_every_case_once() -> None:
    ids = [f"so-{n}" for n in range(400)]
    parts = [[id for id in ids if Shard(n, 3).holds(id)] for n in (1, 2, 3)]
    assert sorted(id for part in parts for id in part) == sorted(ids)
    assert all(100 < len(part) < 170 for part in parts)
    assert read_shard("2/3") == Shard(2, 3)
    for text in ("0/3", "4/3", "3", "a/b", "1/0"):
        with pytest.raises(ValueError, match="a shard is i/n"):
            read_shard(text)


def test_a_store_that_is_none_and_a_full_disk_end_in_words(tmp_path: Path, benchmark: Path) -> None:
    (tmp_path / "r.sqlite").write_text("these are no results, and long enough to be read as a header of a database")
    with pytest.raises(InputError, match="no results can be kept here"):
        Store(tmp_path / "r.sqlite")
    wanted = list(planned(cases_of(benchmark), 60.0, list(Arm)))
    with Store(tmp_path / "s.sqlite") as store:
        replay(wanted[:4], AROUND, store, (), Made(), silent)
        pages = store._base.execute("PRAGMA page_count").fetchone()[0]
        store._base.execute(f"PRAGMA max_page_count = {pages}")
        big = Assessed("so-1", Arm.REPAIR, diff="x" * 100_000)
        with pytest.raises(InputError, match=r"cannot be written: .*full.*What is there stays readable"):
            store.put("key", big)
    with Store(tmp_path / "s.sqlite") as store:
        assert len(store.results()) == 4


# --- Totals -----------------------------------------------------------------------------------------------------------


def test_wilson_intervals() -> None:
    """Against values of Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for (count, of), (low, high) in {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }.items():
        assert Share(count, of).interval == pytest.approx((low, high), abs=5e-5)


def test_totals_by_group_and_the_reasons_of_misses(benchmark: Path) -> None:
    repaired = Assessed(
        "so-1", Arm.REPAIR, runnable=True, reproduced=True, detected=True, patched=True, accepted=True, correct=True
    )
    results = [
        repaired,
        replace(repaired, case="so-2", correct=False, wrong=True, reason="the symptom is not gone"),
        Assessed(
            "gh-someone-nets-abc1234",
            Arm.REPAIR,
            runnable=True,
            reproduced=True,
            reason="DNF110 fell at learn: no better",
        ),
        Assessed("so-1", Arm.HEALTHY, accepted=True, diff="d"),
        Assessed("so-2", Arm.HEALTHY, runnable=True),
        Assessed("so-1", Arm.NULL),
        Assessed("so-2", Arm.RANDOM, failed="its worker was lost"),
        Assessed("so-999", Arm.REPAIR, correct=True),
    ]
    made = totals(cases_of(benchmark), results)
    assert (made.whole.shares["correct"].count, made.whole.shares["correct"].of) == (1, 3)
    assert (made.whole.shares["healthy"].count, made.whole.shares["healthy"].of) == (1, 2)
    assert made.whole.shares["random"].of == 0, "what failed is not counted"
    torch = next(line for line in made.groups["library"] if line.name == "torch")
    assert torch.cases == 2 and str(torch.shares["correct"]).startswith("1 of 2 (50.0 %")
    assert dict(made.waterfall) == {
        "cases": 3, "runnable": 3, "reproduced": 3, "detected": 2, "patched": 2, "accepted": 2, "correct": 1,
    }  # fmt: skip
    assert dict(made.missed) == {
        "wrong: a patch was accepted and the symptom is still there": 1,
        "the patch of DNF110 fell at the rung learn": 1,
    }
    assert [r.case for r in made.wrong] == ["so-2"] and [r.case for r in made.false] == ["so-1"]
    assert [r.case for r in made.failed] == ["so-2"]
    page = as_markdown(made, {}, {})
    assert "| random arm accepted | 0 of 0 (0.0 %, 0.0–100.0) | at most 1 %: not measured |" in page
    assert "at most 1 %: met" in page and "at least 60 %: MISSED" in page


def test_the_search_arm_has_a_table_of_its_own_and_changes_nothing_else(benchmark: Path) -> None:
    usual = [Assessed("so-1", Arm.REPAIR, accepted=True, correct=True), Assessed("so-2", Arm.REPAIR)]
    searched = Assessed("so-1", Arm.SEARCH, accepted=True, wrong=True, diff="a\nb\nc\nd\n")
    failed = Assessed("so-2", Arm.SEARCH, failed="its worker was lost")
    before, after = (totals(cases_of(benchmark), results) for results in (usual, [*usual, searched, failed]))
    assert before.search == () and before.whole == after.whole and before.groups == after.groups
    half = read_index(benchmark)["so-1"].half
    assert [(line.name, line.cases) for line in after.search] == [
        ("all", 1), ("held-out", int(half == "held-out")), ("open", int(half == "open")),
    ]  # fmt: skip
    whole = after.search[0].shares
    assert {name: (share.count, share.of) for name, share in whole.items()} == {
        "accepted": (1, 1), "correct": (0, 1), "wrong": (1, 1),
    }  # fmt: skip
    assert after.wrong == (searched,) and after.failed == (failed,)
    title = "## The search alone: crashes, with every rule off\n"
    page = as_markdown(after, {}, {})
    assert title not in as_markdown(before, {}, {}) and "search" not in as_markdown(before, {}, {})
    head, rest = page.split(title)
    table, following = rest.split("## How far", 1)
    assert "| all | 1 of 1 (100.0 %, 20.7–100.0) | 0 of 1 (0.0 %, 0.0–79.3) | 1 of 1 (100.0 %, 20.7–100.0) |" in table
    assert "### so-1, search" in following and "- so-2 (search): its worker was lost" in following
    unmarred = as_markdown(totals(cases_of(benchmark), [*usual, replace(searched, wrong=False)]), {}, {})
    head, rest = unmarred.split(title)
    timeless = as_markdown(before, {}, {}).split("## Time")[0]
    assert (head + "## How far" + rest.split("## How far", 1)[1]).split("## Time")[0] == timeless


def test_two_replays_are_compared_case_by_case() -> None:
    before = [Assessed(f"so-{n}", Arm.REPAIR, correct=n < 6) for n in range(10)] + [Assessed("so-77", Arm.REPAIR)]
    after = [Assessed(f"so-{n}", Arm.REPAIR, correct=n >= 1) for n in range(10)]
    shared, changes = compare(before, after)
    correct = next(change for change in changes if change.what == "correct")
    assert (shared, correct.both) == (10, 5)
    assert (correct.lost, correct.won) == (("so-0",), ("so-6", "so-7", "so-8", "so-9"))
    assert correct.chance == pytest.approx(2 * (1 + 5) / 32)


def test_search_arms_are_compared_where_both_replays_have_one() -> None:
    before = [Assessed("so-1", Arm.SEARCH), Assessed("so-2", Arm.SEARCH, accepted=True, correct=True)]
    after = [Assessed("so-1", Arm.SEARCH, accepted=True, wrong=True), Assessed("so-2", Arm.SEARCH)]
    shared, changes = compare(before, after)
    found = {change.name: (change.lost, change.won, change.is_worse) for change in changes if change.lost or change.won}
    assert shared == 2 and found == {
        "accepted, search arm": (("so-2",), ("so-1",), False),
        "correct, search arm": (("so-2",), (), True),
        "wrong, search arm": ((), ("so-1",), True),
    }
    _, changes = compare([*before, Assessed("so-1", Arm.REPAIR)], [Assessed("so-1", Arm.REPAIR)])
    assert not any(change.arm is Arm.SEARCH for change in changes)


# --- Judging ----------------------------------------------------------------------------------------------------------


class Played:
    """Stands for the runner: what a program prints when its clocks run at a pace is what is said of it here."""

    def __init__(self, printed: Callable[[bytes, float], str]) -> None:
        self._printed = printed

    def run_many(self, jobs: Iterable[Job], parallel: int) -> Iterator[tuple[Job, Trace]]:
        for job in jobs:
            yield job, Trace(RunOutcome.FINISHED, printed=self._printed(job.program, job.pace))


def assessed(benchmark: Path, arm: Arm, runner: Played, monkeypatch: pytest.MonkeyPatch) -> tuple[Assessed, Settings]:
    """The arm of the crash with an engine that writes the repair with a further print, and the settings it was given."""
    (given,) = (one for one in planned(cases_of(benchmark), 60.0, [arm]) if one.case == "so-1")
    program, after = given.program.encode(), given.repairs["repair.diff"].encode() + b"print()\n"
    seen: list[Settings] = []

    def suggest(raw: bytes, path: str, settings: Settings, *others: object) -> FileReport:
        seen.append(settings)
        candidate = Candidate("DNF901", "an edit", FixPattern.LAYER_DIMENSION, (), ())
        diff = unified_diff(program, after, path)
        return FileReport(path, (), (Patch("patch-1", candidate, diff, PatchVerdict.ACCEPTED),))

    monkeypatch.setattr("dnnfix.bench.assessment.suggest_file", suggest)
    return assess(given, Settings(), cast("Runner", runner)), seen[0]


def test_the_search_arm_runs_with_every_rule_off_and_on_crashes_alone(
    benchmark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = list(planned(cases_of(benchmark), 60.0, [Arm.REPAIR, Arm.SEARCH]))
    assert [one.case for one in wanted if one.arm is Arm.SEARCH] == ["so-1"] and len(wanted) == 4
    runner = Played(lambda program, turn: "loss 0.5\n")
    found, settings = assessed(benchmark, Arm.SEARCH, runner, monkeypatch)
    assert (found.arm, found.failed, found.correct) == (Arm.SEARCH, "", True)
    assert selected(settings) == () and settings.enabled(UNEXPLAINED_CODE, UNEXPLAINED_RULE)
    found, settings = assessed(benchmark, Arm.REPAIR, runner, monkeypatch)
    assert found.correct and len(selected(settings)) > 100


@pytest.mark.parametrize(
    ("ours", "first", "second", "equals"),
    [
        ("loss 0.5", "loss 0.5", "loss 0.5", "behaviour: repair.diff"),
        ("0.5 in 3.1 s", "0.5 in 3.1 s", "0.5 in 3.2 s", "behaviour: repair.diff"),
        ("0.5 in 3.3 s", "0.5 in 3.1 s", "0.5 in 3.2 s", "behaviour, but for what differs by itself: repair.diff"),
        ("0.6 in 3.3 s", "0.5 in 3.1 s", "0.5 in 3.2 s", ""),
        ("0.5 in 3.3 s", "0.5 in 3.1 s", "0.5 in 3.1 s", ""),
    ],
)
def test_a_patch_equals_a_repair_but_for_what_that_does_otherwise_each_time(
    benchmark: Path, monkeypatch: pytest.MonkeyPatch, ours: str, first: str, second: str, equals: str
) -> None:
    def printed(program: bytes, pace: float) -> str:
        return ours if program.endswith(b"print()\n") else first if pace == 1 else second

    found, _ = assessed(benchmark, Arm.REPAIR, Played(printed), monkeypatch)
    assert (found.equals, found.correct, found.failed) == (equals, bool(equals), "")


# --- Real runs --------------------------------------------------------------------------------------------------------


def started(verified: Path, output: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dnnfix", "bench", "replay", "--benchmark", str(verified), "--output", str(output)]
    return subprocess.Popen(
        [*command, "--no-cache", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=verified
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def rows(output: Path) -> dict[tuple[str, str], str]:
    path = output / "results.sqlite"
    if not path.exists():
        return {}
    base = sqlite3.connect(path, timeout=10.0)
    try:
        return {(id, arm): text for id, arm, text in base.execute("SELECT id, arm, record FROM results")}
    except sqlite3.OperationalError:  # not made yet
        return {}
    finally:
        base.close()


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def wait_for(reached: object, process: subprocess.Popen[str], seconds: float = 600.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():  # type: ignore[operator]
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)


def plain(text: str) -> dict[str, object]:
    """A result without its times."""
    return {name: value for name, value in json.loads(text).items() if "seconds" not in name}


@pytest.mark.slow
def test_a_killed_replay_resumes_and_gives_what_an_unbroken_one_gives(verified: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    output = tmp_path / "killed"
    process = started(verified, output)
    wait_for(lambda: len(rows(output)) >= 3, process)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = rows(output)
    assert 3 <= len(before) < 12
    code, _, err = ended(started(verified, output))
    assert code == 2 and "there are results already. Give --resume" in err
    code, out, err = ended(started(verified, output, "--resume"))
    assert code == 0, err + out
    after = rows(output)
    assert len(after) == 12 and all(after[key] == text for key, text in before.items()), "what was done stands"
    assert "correct 1 of 3" in out
    for name in ("RESULTS.md", "report.html", "report.json"):
        assert (output / name).stat().st_size > 1000
    wait = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in workers) and time.monotonic() < wait:
        time.sleep(0.1)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers), "workers end with the replay"
    code, _, err = ended(started(verified, tmp_path / "whole"))
    assert code == 0, err + out
    assert {key: plain(text) for key, text in rows(tmp_path / "whole").items()} == {
        key: plain(text) for key, text in after.items()
    }
    report = json.loads((output / "report.json").read_text())
    assert report["totals"]["all"]["wrong"]["count"] == report["totals"]["all"]["healthy"]["count"] == 0
    assert report["totals"]["all"]["null"] == {"count": 0, "of": 3, "interval": [0.0, 0.5615]}


@pytest.mark.slow
def test_a_killed_worker_costs_one_assignment_again_and_no_other(verified: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    output = tmp_path / "out"
    process = started(verified, output, "--select", "so-1", "--jobs", "1")
    wait_for(lambda: children(process.pid), process)
    time.sleep(1.0)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    code, _, err = ended(process)
    assert code == 0, err
    assert len(rows(output)) == 4 and not any(json.loads(text)["failed"] for text in rows(output).values())


@pytest.mark.slow
def test_an_assignment_that_kills_its_workers_fails_alone(
    verified: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The worker is replaced by one that dies of one case."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, sys\nsys.stdin.readline()\nfor line in sys.stdin:\n    given = json.loads(line)\n"
        "    if given['case'] == 'so-1':\n        os.kill(os.getpid(), 9)\n"
        "    from dnnfix.bench.assessment import Assessed, Arm\n"
        "    print(json.dumps(Assessed(given['case'], Arm(given['arm'])).to_json()), flush=True)\n"
    )
    real = subprocess.Popen

    def fake(words: list[str], **options: object) -> object:
        return real([sys.executable, str(worker)], **options)  # type: ignore[call-overload]

    monkeypatch.setattr("dnnfix.bench.executors.local.subprocess.Popen", fake)
    wanted = list(planned(cases_of(verified), 60.0, [Arm.REPAIR]))
    found = {one.case: result for one, result in LocalExecutor(Settings(), 2).run(wanted)}
    assert found["so-1"].failed == "its worker was lost 3 times: killed by signal 9"
    assert not found["so-2"].failed and not found["gh-someone-nets-abc1234"].failed


# --- The commands -----------------------------------------------------------------------------------------------------


def test_lists_shows_and_counts(call: Call, verified: Path) -> None:
    place = ("--benchmark", str(verified))
    listed = call("bench", "list", *place)
    assert listed.code == 0 and len(listed.out.splitlines()) == 4
    assert listed.out.splitlines()[3].endswith("  -") and "verified" in listed.out.splitlines()[0]
    (row,) = json.loads(call("bench", "list", "--output-format", "json", "--state", "missing", *place).out)
    assert row["id"] == "gh-nobody-else-7654321" and row["case"] == "missing"
    shown = call("bench", "show", "so-1", "--program", *place).out
    assert "symptom    crash RuntimeError /shapes cannot be multiplied/" in shown
    assert "class Digits(nn.Module):" in shown and "+        self.scores = nn.Linear(4 * 3 * 3, 3)" in shown
    assert call("bench", "show", "torch", *place).code == 2
    table = call("bench", "stats", *place).out
    assert "verified / instances" in table and "1/1" in table
    assert call("bench", "stats", "--sample", "3", *place).code == 2


def test_shards_are_put_together_and_compared(
    call: Call, verified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executors: list[Made] = []

    def made(settings: Settings, workers: int) -> Made:
        executors.append(Made())
        return executors[-1]

    monkeypatch.setattr("dnnfix.cli.bench.replay.LocalExecutor", made)
    place = ("--benchmark", str(verified), "--no-cache")
    parts = []
    for number in (1, 2):
        output = tmp_path / f"part{number}"
        said = call("bench", "replay", "--shard", f"{number}/2", "--output", str(output), *place)
        if said.code == 0:
            parts.append(str(output))
        else:
            assert "no verified case was chosen" in said.err, "a small benchmark can leave a part empty"
    asked = [key for executor in executors for key in executor.asked]
    assert len(asked) == 12 == len(set(asked))
    whole = tmp_path / "whole"
    said = call("bench", "report", *parts, "--output", str(whole), "--benchmark", str(verified))
    assert said.code == 0 and "correct 0 of 3" in said.out
    assert json.loads((whole / "report.json").read_text())["totals"]["all"]["cases"] == 3
    assert call("bench", "compare", parts[0], parts[0]).code == 0
    assert "there are no results here" in call("bench", "compare", parts[0], str(tmp_path)).err


def test_arms_are_named_and_the_search_is_none_of_the_usual_ones(
    call: Call, verified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dnnfix.cli.bench.replay.LocalExecutor", lambda settings, workers: Made())
    place = ("--benchmark", str(verified), "--no-cache")
    done = call("bench", "replay", *place, "--select", "crash", "--output", str(tmp_path / "usual"))
    assert {arm for _, arm in rows(tmp_path / "usual")} == {"repair", "healthy", "null", "random"}
    assert {id for id, _ in rows(tmp_path / "usual")} == {"so-1"} and "search" not in done.out
    done = call("bench", "replay", *place, "--arms", "search", "--output", str(tmp_path / "search"))
    assert set(rows(tmp_path / "search")) == {("so-1", "search")}
    assert done.code == 0 and "the search alone: correct 0 of 1" in done.out
    for name in ("RESULTS.md", "report.html"):
        assert "The search alone: crashes, with every rule off" in (tmp_path / "search" / name).read_text()
    assert json.loads((tmp_path / "search" / "report.json").read_text())["search"]["all"]["wrong"]["of"] == 1
    folder = str(tmp_path / "search")
    compared = call("bench", "compare", folder, folder)
    assert compared.code == 0 and "1 cases in both" in compared.out and "wrong, search arm" in compared.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shard", "3/2"), "a shard is i/n"),
        (("--arms", "magic"), "'magic' is not a valid Arm"),
        (("--select", "nothing"), "nothing in the benchmark is called 'nothing'"),
        (("--select", "gh-some_one-nets.py-1"), "nothing in the benchmark is called 'gh-some_one-nets.py-1'"),
        (("--sample", "9"), "1 to 3 cases can be chosen"),
        (("--python", "/nowhere/python"), "/nowhere/python"),
    ],
)
def test_bad_flags_end_in_words(call: Call, verified: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = call("bench", "replay", "--benchmark", str(verified), "--output", str(tmp_path / "o"), *words)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_one_malformed_case_is_named_and_the_others_go_on(
    call: Call, verified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dnnfix.cli.bench.replay.LocalExecutor", lambda settings, workers: Made())
    (verified / "cases" / "so-2" / "case.toml").write_text("seeds = [")
    done = call("bench", "replay", "--benchmark", str(verified), "--output", str(tmp_path / "o"), "--no-cache")
    assert done.code == 2 and "so-2/case.toml" in done.err
    assert {id for id, _ in rows(tmp_path / "o")} == {"so-1", "gh-someone-nets-abc1234"}
    assert call("bench", "list", "--benchmark", str(verified)).code == 2


def test_ray_that_is_missing_is_asked_for(call: Call, verified: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = call("bench", "replay", "--benchmark", str(verified), "--executor", "ray", "--output", "o", "--no-cache")
    assert done.code == 2 and "pip install 'dnnfix[ray]'" in done.err


def test_cases_without_their_framework_are_left_out_and_named(call: Call, verified: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    words = ("--benchmark", str(verified), "--python", str(bare / "bin" / "python"))
    done = call("bench", "replay", *words, "--output", str(tmp_path / "o"), "--no-cache")
    assert done.code == 2
    assert "3 of 3 cases are left out" in done.err
    assert "has no torch" in done.err
    assert "has no torch" in call("bench", "verify", *words).err
