"""The workflow that repositories call, and the hook: what their jobs may do, and that they call what there is."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dnnfix.cli.main import run
from dnnfix.forge.git import Git

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "bot.yml"
VALIDATOR = ROOT / "tests" / "forge" / "node_modules" / ".bin" / "action-validator"


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    return found


def scripts() -> list[str]:
    return [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]


def test_the_job_that_runs_programs_can_only_read_and_has_no_token() -> None:
    analyse = jobs()["analyse"]
    assert analyse["permissions"] == {"contents": "read"}
    assert not re.search(r"secrets\.|github\.token|GITHUB_TOKEN", str(analyse))
    (checkout,) = [step for step in analyse["steps"] if "checkout" in step.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False and checkout["with"]["submodules"] is False


def test_the_job_that_can_write_checks_nothing_out_and_is_not_for_pull_requests() -> None:
    publish = jobs()["publish"]
    assert publish["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert not any("checkout" in step.get("uses", "") for step in publish["steps"])
    assert "github.event_name != 'pull_request'" in publish["if"] and "pull_request_target" in publish["if"]
    assert yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["permissions"] == {}


def test_the_job_that_reviews_may_comment_and_is_for_pull_requests_of_the_repository_itself() -> None:
    review = jobs()["review"]
    assert review["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert not any("checkout" in step.get("uses", "") for step in review["steps"])
    assert "github.event_name == 'pull_request'" in review["if"] and "pull_request_target" not in review["if"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in review["if"]


@pytest.mark.parametrize("base", ["", "main"])
def test_a_pull_request_is_analysed_from_where_it_parted(tmp_path: Path, base: str) -> None:
    git = Git(tmp_path).run
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("checkout", "-q", "-b", "work")
    git("commit", "-q", "--allow-empty", "-m", "second")
    git("checkout", "-q", "main")
    git("commit", "-q", "--allow-empty", "-m", "third")
    git("checkout", "-q", "work")
    (step,) = [step for step in jobs()["analyse"]["steps"] if step.get("name") == "Analyse"]
    program = tmp_path / "dnnfix" / "bin" / "dnnfix"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    given = {
        "PATH": os.environ["PATH"],
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_REPOSITORY": "a/b",
        "BUDGET": "60",
        "WHOLE": "600",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env={**given, "BASE": base},
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.split()
    assert "" not in words and words[:3] == ["bot", "analyse", "."]
    if base:
        assert git("log", "-1", "--format=%s", words[words.index("--since") + 1]).strip() == "first"
    else:
        assert "--since" not in words


def test_code_of_a_pull_request_is_checked_out_for_its_own_event_alone() -> None:
    checkout, *_ = jobs()["analyse"]["steps"]
    (analyse,) = [step for step in jobs()["analyse"]["steps"] if step.get("name") == "Analyse"]
    for value in (checkout["with"]["ref"], checkout["with"]["fetch-depth"], analyse["env"]["BASE"]):
        assert value.startswith("${{ github.event_name == 'pull_request' && ")


def test_actions_are_pinned_by_hash() -> None:
    used = [step["uses"] for job in jobs().values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used)


def test_nothing_of_a_repository_or_an_event_is_put_into_a_script() -> None:
    assert not any("${{" in script for script in scripts())


def test_the_commands_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    calls = [
        shlex.split(found[1])
        for script in scripts()
        for found in re.finditer(r"dnnfix\"? (bot .*?)$", script.replace("\\\n", " "), re.MULTILINE)
    ]
    assert {call[1] for call in calls} == {"analyse", "publish", "review"}
    for call in calls:
        assert run([*call[:2], "--help"]) == 0
        told = capsys.readouterr().out
        assert all(word in told for word in call if word.startswith("--"))


def test_the_hook_is_of_a_command_that_takes_files(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nfrom torch.autograd import Variable\nx = Variable(torch.ones(2), volatile=True)\nprint(x)\n"
    )
    assert hook["language"] == "python" and run([*shlex.split(hook["entry"])[1:], str(program)]) == 1


@pytest.mark.skipif(
    not (shutil.which("node") and VALIDATOR.exists()), reason="needs action-validator: npm install --prefix tests/forge"
)
def test_the_workflow_is_one_by_githubs_own_schema() -> None:
    done = subprocess.run([VALIDATOR, str(WORKFLOW)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
