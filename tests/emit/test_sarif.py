"""SARIF: the fields that GitHub asks for, fixes that other viewers apply, and the limit on results."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest

from dnnfix.emit import sarif
from dnnfix.emit.rules import ENGINE_RULES, Rule
from dnnfix.emit.view import View
from dnnfix.records import FileReport, Report

RULE = Rule("DNF301", "output-unfit-for-loss", "loss-activation", "activation", "Twice.", "Twice.\n\n" + "why " * 400)


@pytest.fixture
def run(report: Report, views: dict[str, View]) -> Any:
    log: Any = json.loads(sarif.text(report, views, [RULE, ENGINE_RULES["DNF900"]]))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    return log["runs"][0]


def test_rules(run: Any) -> None:
    rule = run["tool"]["driver"]["rules"][0]
    assert run["tool"]["driver"]["name"] == "dnnfix"
    assert rule["id"] == "DNF301" and rule["shortDescription"]["text"] == "Twice."
    assert len(rule["fullDescription"]["text"]) == 1024
    assert rule["help"]["text"].startswith("Twice.")
    assert rule["properties"]["precision"] and rule["properties"]["problem.severity"]


def test_results(run: Any) -> None:
    first, crash = run["results"][0], run["results"][1]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("DNF301", 0, "error")
    assert "ruleIndex" not in crash
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "pkg/train.py"
    assert place["region"] == {"startLine": 3, "startColumn": 22, "endLine": 3, "endColumn": 32}
    assert len(first["locations"]) == 1


def test_uris_are_relative_and_quoted(run: Any) -> None:
    assert run["results"][-1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20notebook.ipynb"
    assert run["results"][-1]["locations"][0]["logicalLocations"][0]["name"] == "c-2"
    assert sarif.uri("/a b/c.py") == "file:///a%20b/c.py"
    assert sarif.uri("模型/a%b:c\n.py") == "%E6%A8%A1%E5%9E%8B/a%25b%3Ac%0A.py"
    assert sarif.uri("a\\b.py") == ("a/b.py" if os.sep == "\\" else "a%5Cb.py")


def test_fingerprint_survives_a_move(report: Report, views: dict[str, View], run: Any) -> None:
    moved_file = report.files[0]
    result = moved_file.findings[0]
    site = replace(result.finding.site, line=5, end_line=5)
    moved = replace(moved_file, findings=(replace(result, finding=replace(result.finding, site=site)),))
    lines = ("", "", *views["pkg/train.py"].lines)
    log: Any = sarif.log(Report((moved,)), {"pkg/train.py": View(lines)}, [])
    assert log["runs"][0]["results"][0]["partialFingerprints"] == run["results"][0]["partialFingerprints"]


def test_fixes_replace_whole_lines(run: Any) -> None:
    (fix,) = run["results"][0]["fixes"]
    (change,) = fix["artifactChanges"][0]["replacements"]
    assert change["deletedRegion"] == {"startLine": 3, "startColumn": 1, "endLine": 4, "endColumn": 1}
    assert change["insertedContent"]["text"] == 'über = "ü"; loss = f(x, y)\n'


def test_rejected_and_display_only_patches_are_no_fixes(run: Any) -> None:
    assert "fixes" not in run["results"][1]
    assert len(run["results"][0]["fixes"]) == 1


def test_a_partial_patch_is_a_fix_that_says_what_remains(partial: FileReport, views: dict[str, View]) -> None:
    log: Any = sarif.log(Report((partial,)), views, [])
    (result,) = log["runs"][0]["results"]
    assert (result["level"], result["properties"]["outcome"]) == ("error", "partial")
    said = result["fixes"][0]["description"]["text"]
    assert said.endswith("(unsafe, partial: the program then stops at line 3: KeyError: 'd')")


def test_errors_and_unchecked_are_notifications(run: Any) -> None:
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    levels = {n["message"]["text"]: n["level"] for n in invocation["toolExecutionNotifications"]}
    assert levels["missing.py: no such file"] == "error"
    assert levels["training beyond 20 steps"] == "note"
    assert run["properties"]["sandbox"] == "bubblewrap"


def test_at_most_25000_results(report: Report) -> None:
    file = report.files[0]
    many = replace(file, findings=file.findings[3:] * 25_001)
    log: Any = sarif.log(Report((many,)), {}, [])
    assert len(log["runs"][0]["results"]) == 25_000
    said = [n["message"]["text"] for n in log["runs"][0]["invocations"][0]["toolExecutionNotifications"]]
    assert any(text.startswith("1 more result") for text in said)
