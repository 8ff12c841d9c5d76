"""The whole way: `dnnfix suggest --baseline-python` on old programs, each run in both environments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.config import Settings
from dnnfix.records import FileReport, Patch, PatchVerdict, Status, Verdict
from tests.baseline.programs import ADADELTA, CONVOLUTION, DENSE, MERGED, RECURRENT


def suggest(text: str, folder: Path, baseline: str | None) -> FileReport:
    """The report on a program, which lies in `folder`."""
    path = folder / "train.py"
    path.write_text(text)
    settings = Settings(select=("DNF5",), budget=180.0, baseline_python=baseline, cache_dir=folder / "cache")
    return pipeline.suggest_file(path.read_bytes(), str(path), settings, lambda _text: None)


def accepted(report: FileReport) -> list[Patch]:
    return [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]


def compared(patch: Patch) -> Verdict | None:
    return next((verdict for verdict in patch.verdicts if verdict.validator == "same-as-before"), None)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CONVOLUTION, id="convolutional"),
        pytest.param(RECURRENT, id="recurrent", marks=pytest.mark.slow),
        pytest.param(MERGED, id="merged", marks=pytest.mark.slow),
    ],
)
def test_a_migrated_program_does_what_it_did(text: str, baseline: str, tmp_path: Path) -> None:
    report = suggest(text, tmp_path, baseline)
    assert accepted(report), [patch.refusal for patch in report.patches]
    for patch in accepted(report):
        verdict = compared(patch)
        assert verdict is not None and verdict.status is Status.PASS
        assert verdict.measured["parameters"]["before"] == verdict.measured["parameters"]["after"]  # type: ignore[index,call-overload]


def test_a_default_that_changed_in_silence_refuses_the_patch(baseline: str, tmp_path: Path) -> None:
    report = suggest(ADADELTA, tmp_path, baseline)
    refused = [verdict.reason for verdict in map(compared, report.patches) if verdict and verdict.status is Status.FAIL]
    assert "Adadelta has the learning rate 0.001, had 1" in refused
    assert all("learning_rate=1.0" in patch.diff for patch in accepted(report))


@pytest.mark.slow
def test_a_certificate_is_proven_again_in_both_environments(baseline: str, tmp_path: Path) -> None:
    report = suggest(DENSE, tmp_path, baseline)
    path = accepted(report)[0].certificate
    assert path is not None
    verdicts = {v["validator"]: v for v in json.loads(Path(path).read_text())["verdicts"]}
    assert "keras 2." in verdicts["same-as-before"]["measured"]["old"]
    settings = Settings(select=("DNF5",), budget=180.0, baseline_python=baseline, cache_dir=tmp_path / "cache")
    assert pipeline.verify_certificate(path, settings) == (True, ())


@pytest.mark.slow
def test_what_crashes_in_both_eras_goes_the_usual_way(baseline: str, tmp_path: Path) -> None:
    """Where there is nothing to compare with, the rest of the ladder decides, and the report says so."""
    text = DENSE.replace(
        "import numpy as np\n", "import numpy as np\nimport sys\nassert sys.version_info >= (3, 9)\n", 1
    )
    report = suggest(text, tmp_path, baseline)
    assert accepted(report)
    assert any("no comparison with the old environment: the program crashes there" in said for said in report.unchecked)
