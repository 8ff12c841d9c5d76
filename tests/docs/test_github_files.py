"""The files that GitHub reads are what GitHub takes; what runs with a right to publish runs nothing of a stranger."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from dnnfix import __version__
from tests.docs.blocks import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [form for form in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if form.name != "config.yml"]
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": FORMS,
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "dependabot": [GITHUB / "dependabot.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}
PINNED = re.compile(r"@(v\d+|release/v\d+|[0-9a-f]{40})$")


def _read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_follows_its_schema(schema: str) -> None:
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema, which has GitHub's schemas, is not installed")
    words = ("-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, SCHEMAS[schema]))
    done = subprocess.run((sys.executable, *words), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_has_few_rights_and_pinned_actions(workflow: Path) -> None:
    read = _read(workflow)
    assert read["permissions"] in ({}, {"contents": "read"})
    for job in read["jobs"].values():
        assert job["timeout-minutes"]
        used = [step["uses"] for step in job["steps"] if "uses" in step]
        assert [action for action in used if not PINNED.search(action)] == []


def test_what_publishes_runs_nothing_of_its_own() -> None:
    jobs = _read(GITHUB / "workflows" / "release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    publish = jobs["publish"]
    assert publish["permissions"] == {"id-token": "write"} and publish["environment"] == "pypi"
    assert not any("run" in step or "checkout" in step["uses"] for step in publish["steps"])


def test_workflows_call_what_a_person_calls() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {word for file in WORKFLOWS for word in re.findall(r"\bmake ([\w-]+)", file.read_text())}
    assert called and called <= targets


def test_the_citation_is_of_this_version() -> None:
    assert str(_read(ROOT / "CITATION.cff")["version"]) == __version__


def test_hooks_of_our_own_are_programs_that_are_there() -> None:
    (local,) = _read(ROOT / ".pre-commit-config.yaml")["repos"]
    tools = re.findall(r"tools/\S+\.py", " ".join(hook["entry"] for hook in local["hooks"]))
    assert local["repo"] == "local" and tools and all((ROOT / tool).is_file() for tool in tools)
