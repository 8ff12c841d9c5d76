"""The index of the catalogue: it says what the rules say, and spares a check the import of most of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnnfix import index, registry

COUNTED = """
import sys
from dnnfix.cli.main import run
code = run(["check", "--isolated", "--no-cache", sys.argv[1]])
print(code, sum(name.startswith("dnnfix.fix_templates.") for name in sys.modules))
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An index of the test's own; the one of the process is asked anew afterwards."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cache"))
    index.builtin.cache_clear()
    yield
    index.builtin.cache_clear()


def again() -> tuple[index.Listed, ...]:
    index.builtin.cache_clear()
    return index.builtin()


def test_the_index_says_what_the_templates_say() -> None:
    made = index.builtin()
    assert index.kept_at().exists() and again() == made
    for one in made:
        template = one.load()
        assert (template.code, template.name, tuple(template.triggers)) == (one.code, one.name, one.triggers)
        assert (template.needs_run, template.default, template.family) == (one.needs_run, one.default, one.family)
    assert len(registry.templates()) == len(made) > 150


def test_nothing_is_imported_while_the_index_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = index.builtin()
    monkeypatch.setattr(index, "_modules", lambda: pytest.fail("the catalogue was imported"))
    assert again() == made


@pytest.mark.parametrize("ending", ["changed", "cut short", "other words"])
def test_an_index_that_does_not_hold_is_made_anew(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, place = index.builtin(), index.kept_at()
    if ending == "changed":
        monkeypatch.setattr(index, "_stamp", lambda: "another")
    else:
        text = place.read_text()
        place.write_text(text[: len(text) // 2] if ending == "cut short" else json.dumps([1, 2]))
    assert again() == made
    assert json.loads(place.read_text())["stamp"] == index._stamp()


def test_a_changed_file_changes_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = tmp_path / "fix_templates" / "data_type" / "rule.py"
    rule.parent.mkdir(parents=True)
    rule.write_text("code = 1")
    monkeypatch.setattr(index, "PACKAGE", tmp_path)
    before = index._stamp()
    os.utime(rule, ns=(1, 1))
    assert index._stamp() != before
    (rule.parent / "more.toml").touch()
    with_more = index._stamp()
    assert with_more != before and index._stamp() == with_more


def test_where_it_cannot_be_kept_the_rules_are_there_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "kept_at", lambda: Path("/proc/none/index.json"))
    assert len(index.builtin()) > 150


def test_a_check_imports_only_what_a_program_may_have_to_do_with(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\n\nnet = torch.nn.Linear(2, 1)\nprint(net(torch.ones(1, 2)).data[0])\n")
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    counts = []
    for _ in range(2):
        done = subprocess.run(
            (sys.executable, "-c", COUNTED, str(program)), env=environment, capture_output=True, text=True, check=True
        )
        counts.append(int(done.stdout.split()[-1]))
    assert counts[0] > 150 and counts[1] < 120
