"""The worked example of a rule outside the catalogue works as `docs/writing-templates.md` says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.robust.calls import ROOT, dnnfix

EXAMPLE = ROOT / "examples" / "local_template"
RULE = Path("rules/learning_rate_without_minus.py")


@pytest.fixture
def place(folder: Path) -> Path:
    """A copy of the example, outside of the repository."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_it_is_found_like_a_rule_of_the_catalogue(place: Path) -> None:
    said = dnnfix("check", "train.py", folder=place)
    assert said.code == 1 and re.search(r"train\.py:10:\d+: LAB001 learning-rate-without-minus", said.text)
    assert dnnfix("check", "train.py", "--ignore", "LAB", folder=place).code == 0
    assert dnnfix("check", "train.py", "--isolated", folder=place).code == 0
    listed = json.loads(dnnfix("templates", "--output-format", "json", folder=place).out)
    assert "LAB001" in [rule["code"] for rule in listed]
    assert "the minus" in dnnfix("explain", "LAB001", folder=place).text
    (place / "train.py").write_text((place / "train.py").read_text().replace("lr=1e1)", "lr=1e1)  # noqa: LAB001"))
    assert dnnfix("check", "train.py", folder=place).code == 0


@pytest.mark.slow
def test_its_patch_is_proven(place: Path) -> None:
    said = dnnfix("suggest", "train.py", "--output-format", "json", folder=place)
    finding = next(finding for finding in said.document["findings"] if finding["code"] == "LAB001")
    patch = next(patch for patch in said.document["patches"] if patch["id"] in finding["patches"])
    assert (finding["outcome"], patch["verdict"], patch["template"]) == ("repaired", "accepted", "LAB001")
    assert "+optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)\n" in patch["diff"]


@pytest.mark.slow
def test_its_own_test_passes_and_can_fail(place: Path) -> None:
    def tested() -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(argv, cwd=place, env=variables, capture_output=True, text=True, check=False)

    assert tested().returncode == 0
    (place / RULE).write_text((place / RULE).read_text().replace("LEAST = 10.0", "LEAST = 1.0"))
    failed = tested()
    assert failed.returncode == 1 and "reject 'rates as people use them'" in failed.stdout


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('code = "LAB001"', 'code = "DNF301"', "both claim DNF301"),
        ('code = "LAB001"', 'code = "DNF901"', "is what dnnfix itself reports"),
        ('    message = "', '    massage = "', "lacks message"),
        ("import ast", "import no_such_module", "cannot be imported"),
        ("class Learning", "class Learning(", "cannot be imported"),
    ],
)
def test_a_rule_that_is_wrong_ends_the_run(place: Path, old: str, new: str, words: str) -> None:
    (place / RULE).write_text((place / RULE).read_text().replace(old, new))
    said = dnnfix("check", "train.py", folder=place)
    assert said.code == 2 and words in said.err and "learning_rate_without_minus" in said.err, said.err


def test_the_page_tells_what_the_example_is(place: Path) -> None:
    page = (ROOT / "docs" / "writing-templates.md").read_text()
    rule = (EXAMPLE / RULE).read_text()
    for line in re.findall(
        r"^        ((?:code|name|family|fix_pattern|message|triggers) = .*?)(?:  +.*)?$", page, re.MULTILINE
    ):
        assert line in rule, line
    assert "docs/writing-templates.md" in (ROOT / "CONTRIBUTING.md").read_text()


def test_a_rule_may_have_records_of_its_own(place: Path) -> None:
    text = (place / RULE).read_text().replace("import re\n", "import re\nfrom dataclasses import dataclass\n")
    (place / RULE).write_text(text + "\n\n@dataclass(frozen=True)\nclass Rate:\n    value: float\n    power: int = 3\n")
    assert dnnfix("check", "train.py", folder=place).code == 1
