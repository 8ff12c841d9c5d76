"""What `docs/first-steps.md` tells newcomers to write works: a rule, an operator, a setting and a validator, each in one file."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from dnnfix import api
from dnnfix.records import Edit

ROOT = Path(__file__).parents[1]
FILES = re.compile(r"^`(?P<path>[\w/]+\.py)`\n\n```python\n(?P<code>.*?)```$", re.MULTILINE | re.DOTALL)
WRITTEN = {match["path"]: match["code"] for match in FILES.finditer((ROOT / "docs" / "first-steps.md").read_text())}
RULE, CRASH_RULE, OPERATOR, CAUSE, VALIDATOR = (
    "fix_templates/training/dropout_in_percent.py",
    "fix_templates/data_dimension/padding_index_past_the_end.py",
    "dnnfix/synthesize/operators/percentages.py",
    "dnnfix/synthesize/causes/noise.py",
    "validators/steps_stay_fast.py",
)

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs Python beside a copy of the project in which the page's files are."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("fix_templates", "validators"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "dnnfix", copy / "dnnfix", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for path, code in WRITTEN.items():
        (copy / path).write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(copy), "XDG_CACHE_HOME": str(copy / "cache")}

    def _run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (sys.executable, *words), check=False, cwd=copy, env=environment, capture_output=True, text=True
        )

    return _run


def report(run: Run, *words: str) -> dict[str, Any]:
    done = run("-m", "dnnfix", *words, "--isolated", "--output-format", "json", "program.py")
    assert done.returncode == 1, done.stderr
    return dict(json.loads(done.stdout))


def test_the_page_has_the_program_and_the_files() -> None:
    assert set(WRITTEN) == {"program.py", RULE, CRASH_RULE, OPERATOR, CAUSE, VALIDATOR}


def test_the_page_calls_the_edits_as_they_are_called() -> None:
    page = (ROOT / "docs" / "first-steps.md").read_text()
    table = page[page.index("| edit |") : page.index("- **`confidence`**")]
    told = {name: words.split(", ") for name, words in re.findall(r"`(\w+)\(([\w, ]+)\)`", table)}
    edits = {
        kind.__name__: list(inspect.signature(kind).parameters)
        for kind in get_args(Edit)
        if hasattr(api, kind.__name__)
    }
    assert told == edits


def test_the_rule_keeps_its_promises_and_is_found_and_repaired_with_the_validator_asked(run: Run) -> None:
    promised = "from dnnfix import registry, testing; testing.check_template(registry.template('DNF798'))"
    done = run("-c", promised)
    assert done.returncode == 0, done.stderr
    assert [finding["rule"] for finding in report(run, "check", "--no-cache")["findings"]] == ["dropout-in-percent"]
    found = report(run, "suggest")
    (patch,) = [patch for patch in found["patches"] if patch["verdict"] == "accepted"]
    assert patch["template"] == "DNF798" and "torch.nn.Dropout(0.5)" in patch["diff"]
    assert "steps-stay-fast" in {verdict["validator"] for verdict in patch["verdicts"]}


def test_the_rule_about_a_crash_keeps_its_promises(run: Run) -> None:
    done = run("-c", "from dnnfix import registry, testing; testing.check_template(registry.template('DNF198'))")
    assert done.returncode == 0, done.stderr


def test_the_setting_is_asked_with_the_others(run: Run) -> None:
    asked = (
        "from dnnfix.source.program import Source; from dnnfix.subject import Subject; from dnnfix.synthesize.causes import causes;"
        "program = b'from keras import layers\\nlayers.GaussianNoise(2.0)';"
        "print([one.title for one in causes(Subject(Source.from_bytes(program, 'x.py')), ()) if one.setting == 'noise'])"
    )
    done = run("-c", asked)
    assert done.stdout.strip() == "['Add noise of 0.1 rather than 2']", done.stderr


@pytest.mark.slow
def test_the_operator_makes_the_rule_needless(run: Run) -> None:
    found = report(run, "suggest", "--select", "DNF901")
    (patch,) = [patch for patch in found["patches"] if patch["verdict"] == "accepted"]
    assert "torch.nn.Dropout(0.5)" in patch["diff"]
