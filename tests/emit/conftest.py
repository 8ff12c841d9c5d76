"""A report by hand that has every outcome in it, a notebook, and values that are awkward to write down."""

from __future__ import annotations

import pytest

from dnnfix.emit.view import View
from dnnfix.records import (
    PROGRESS,
    Applicability,
    Candidate,
    Family,
    FileReport,
    Finding,
    FindingOutcome,
    FindingResult,
    FixPattern,
    Patch,
    PatchVerdict,
    Report,
    RunOutcome,
    RunRecord,
    Site,
    Status,
    Symptom,
    Verdict,
)

PROGRAM = 'import torch\nx = model(torch.zeros(3))\nüber = "ü"; loss = f(softmax(x), y)\n'
DIFF = """--- a/pkg/train.py
+++ b/pkg/train.py
@@ -1,3 +1,3 @@
 import torch
 x = model(torch.zeros(3))
-über = "ü"; loss = f(softmax(x), y)
+über = "ü"; loss = f(x, y)
"""


def finding(code: str = "DNF301", line: int = 3, **words: object) -> Finding:
    """A finding on the call of softmax in `PROGRAM`."""
    values: dict[str, object] = {
        "code": code,
        "rule": "output-unfit-for-loss",
        "family": Family.LOSS_ACTIVATION,
        "site": Site(line, 22, line, 32),
        "message": "softmax is applied twice: 100%, by you and by the loss",
        "symptom": Symptom.NOT_LEARNING,
        "confidence": 0.9,
        "evidence": {"row_sums": [1.0, float("nan")], "high": float("inf"), "shape": (3, None), "name": "a\ud800b"},
    }
    return Finding(**(values | words))  # type: ignore[arg-type]


def patch(found: Finding, id: str = "patch-1", **words: object) -> Patch:
    """An accepted patch for the finding."""
    candidate = Candidate("DNF301", "hand raw scores to the loss", FixPattern.ACTIVATION, (), (found,))
    verdicts = (
        Verdict("compiles", "parse", Status.PASS, "it compiles"),
        Verdict("learns", "learn", Status.PASS, "the loss falls", {"skill_before": 0.1, "skill_after": 0.87654321}),
        Verdict("export", "harmless", Status.NOT_APPLICABLE, "nothing is exported"),
    )
    values: dict[str, object] = {
        "id": id,
        "candidate": candidate,
        "diff": DIFF,
        "verdict": PatchVerdict.ACCEPTED,
        "verdicts": verdicts,
        "side_effects": {"seconds": float("nan"), "parameters": 0},
        "certificate": "/tmp/certificate.json",
    }
    return Patch(**(values | words))  # type: ignore[arg-type]


@pytest.fixture
def repaired() -> FileReport:
    """One repaired finding with a rejected rival, and one each that was rejected, declined and failed."""
    first = finding()
    crash = finding(
        "DNF201", 2, symptom=Symptom.CRASH, rule="size-mismatch", family=Family.LAYER_DIMENSION, evidence={}
    )
    refused = patch(
        crash,
        "patch-2",
        verdict=PatchVerdict.REJECTED,
        rank=1,
        verdicts=(Verdict("crash-gone", "run", Status.FAIL, "RuntimeError: still 12 features", {"features": 12}),),
    )
    unproven = patch(finding("DNF401", 1), "patch-3", verdict=PatchVerdict.UNVALIDATED, rank=2, verdicts=())
    display = Candidate("DNF301", "read", FixPattern.MONITOR, (), (first,), Applicability.DISPLAY_ONLY)
    rival = patch(first, "patch-4", candidate=display, rank=3)
    return FileReport(
        "pkg/train.py",
        findings=(
            FindingResult(first, FindingOutcome.REPAIRED, "hand raw scores to the loss", ("patch-1", "patch-4")),
            FindingResult(crash, FindingOutcome.REJECTED, "crash-gone: RuntimeError", ("patch-2",)),
            FindingResult(finding("DNF401", 1), FindingOutcome.DECLINED, "two names fit", ("patch-3",)),
            FindingResult(finding("DNF402", 1), FindingOutcome.FAILED, "synthesize: KeyError"),
        ),
        patches=(patch(first), refused, unproven, rival),
        runs=(
            RunRecord("run-1", RunOutcome.FINISHED, 0.51234, 0),
            RunRecord("run-2", RunOutcome.NEEDS_GPU, 0.1, 1, ("stub",)),
        ),
        unchecked=("training beyond 20 steps",),
        sandbox="bubblewrap",
        notes=("the data is synthetic",),
    )


@pytest.fixture
def report(repaired: FileReport) -> Report:
    """Two files and an input that failed."""
    cell = finding("DNF302", 5, site=Site(5, 1, 6, 4), evidence={})
    book = FileReport(
        "my notebook.ipynb",
        findings=(FindingResult(cell, FindingOutcome.DECLINED, "not sure"),),
        unchecked=("training beyond 20 steps", "code not reached"),
    )
    return Report((repaired, book), ("missing.py: no such file",), ("3 files that name no framework",))


@pytest.fixture
def views() -> dict[str, View]:
    """The texts of the two files; the notebook's fifth line is the second of its cell `c-2`."""
    lines = ("import torch", "", "", "a = (", "f(", "  1)")
    book = View(lines, lambda line: ("c-1", line) if line < 4 else ("c-2", line - 3), {"c-1": 1, "c-2": 2}.__getitem__)
    return {"pkg/train.py": View(tuple(PROGRAM.split("\n"))), "my notebook.ipynb": book}


@pytest.fixture
def partial() -> FileReport:
    """A program that a patch brings to its next fault."""
    moved = finding("DNF501", 1, symptom=Symptom.CRASH, rule="removed-name", family=Family.VERSIONING, evidence={})
    verdicts = (
        Verdict("runs", "run", Status.FAIL, "the patched program crashes at line 3: KeyError"),
        Verdict(PROGRESS, "run", Status.PASS, "the program then stops at line 3: KeyError: 'd'", {"line": 3}),
    )
    step = patch(moved, verdict=PatchVerdict.PARTIAL, verdicts=verdicts, certificate=None)
    result = FindingResult(moved, FindingOutcome.PARTIAL, f"removes this fault; {step.remains}", ("patch-1",))
    return FileReport("pkg/train.py", (result,), (step,), (RunRecord("run-1", RunOutcome.CRASHED, 0.5, 0),))


@pytest.fixture
def choices() -> FileReport:
    """A crash that either of two edits removes."""
    crash = finding("DNF901", 3, symptom=Symptom.CRASH, rule="unexplained-crash", evidence={})
    open_ = Verdict("unambiguous", "harmless", Status.INCONCLUSIVE, "the program does something else under each")
    two = tuple(
        patch(crash, f"patch-{n}", verdict=PatchVerdict.CHOICE, rank=n - 1, verdicts=(open_,), certificate=None)
        for n in (1, 2)
    )
    result = FindingResult(crash, FindingOutcome.UNDECIDED, open_.reason, ("patch-1", "patch-2"))
    return FileReport("pkg/train.py", (result,), two, (RunRecord("run-1", RunOutcome.CRASHED, 0.5, 0),))
