"""The numbers of the benchmarks: how they are judged, kept with their commit, and told on the page."""

from __future__ import annotations

import importlib
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tools")]

# Scripts beside each other, in no package that mypy could follow.
_measure: Any = importlib.import_module("_measure")
_results: Any = importlib.import_module("_results")
bench_page: Any = importlib.import_module("bench_page")

ROW = _results.Row("ten files", "check / peer, CPU", 0.5, 1.0, True, "1 s / 2 s")
OLD = _results.Run("scan.py", "aaaaaaa", "engine-1", "2026-01-01T10:00", "2 cores", (ROW,))
NEW = _results.Run(
    "one_file.py", "bbbbbbb", "engine-2", "2026-01-02T09:00", "2 cores", (replace(ROW, measured=2.0, met=False),)
)


def test_met_alone_is_said_of_the_engine_that_was_measured_last() -> None:
    said = bench_page.tables([OLD, NEW])
    assert "bbbbbbb (2026-01-02)" in said
    assert "| check / peer, CPU | 1 | 0.5 (1 s / 2 s) | met by an older engine |" in said
    assert "| check / peer, CPU | 1 | 2 (1 s / 2 s) | **missed** |" in said


def test_a_number_of_no_known_commit_is_never_of_the_last_engine() -> None:
    said = bench_page.tables([replace(OLD, commit="", engine="", date="")])
    assert "a commit that was not written down" in said
    assert "met by an older engine" in said


def test_every_number_stands_under_its_commit_and_day() -> None:
    assert "| **`scan.py`** at aaaaaaa, 2026-01-01; 2 cores |" in bench_page.tables([OLD])


def test_the_page_keeps_what_people_wrote() -> None:
    before = "# Words\n<!-- numbers -->\nold\n<!-- end of numbers -->\nmore\n"
    after = bench_page.page(before, [OLD])
    assert after.startswith("# Words\n<!-- numbers -->\n")
    assert after.endswith("<!-- end of numbers -->\nmore\n")
    assert "old\n" not in after
    assert bench_page.page(after, [OLD]) == after


def test_the_page_shows_the_numbers_that_are_kept() -> None:
    done = subprocess.run((sys.executable, str(ROOT / "tools" / "bench_page.py"), "--check"), check=False)
    assert done.returncode == 0, "run make docs"


def test_a_run_takes_the_place_of_the_last_of_its_command_and_of_numbers_without_an_engine(tmp_path: Path) -> None:
    kept = tmp_path / "results.json"
    unknown = replace(OLD, command="scan.py --full", engine="")
    other = replace(OLD, command="scan.py --rounds 2")
    _results.save([OLD, unknown, other, NEW], kept)
    again = replace(OLD, commit="ccccccc", engine="engine-3")
    _results.kept(again, [ROW], kept)
    assert _results.load(kept) == [NEW, again, other]


def committed(folder: Path) -> None:
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")):
        subprocess.run(("git", *words), cwd=folder, check=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("dnnfix", "benchmarks"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("x = 1\n")
    committed(tmp_path)
    return tmp_path


def test_numbers_of_changes_that_are_not_committed_are_refused(checkout: Path) -> None:
    (checkout / "dnnfix" / "a.py").write_text("x = 2\n")
    with pytest.raises(SystemExit, match=r"(?s)Commit these first.*dnnfix/a\.py"):
        _results.begun(("scan.py",), checkout)


def test_what_recording_writes_does_not_hinder_the_next_recording(checkout: Path) -> None:
    (checkout / "benchmarks" / "results.json").write_text("[]")
    (checkout / "benchmarks" / "README.md").write_text("numbers")
    assert _results.begun(("scan.py",), checkout).commit


def test_an_engine_is_the_same_until_its_sources_change(checkout: Path) -> None:
    first = _results.begun(("scan.py",), checkout)
    (checkout / "README.md").write_text("words")
    committed(checkout)
    second = _results.begun(("scan.py",), checkout)
    (checkout / "dnnfix" / "a.py").write_text("x = 2\n")
    committed(checkout)
    third = _results.begun(("scan.py",), checkout)
    assert first.commit != second.commit
    assert first.engine == second.engine != third.engine


def test_a_command_is_kept_without_the_folders_of_a_machine(checkout: Path) -> None:
    command = ("scan.py", "--record", "--corpus", "/home/someone/programs/", "--full")
    assert _results.begun(command, checkout).command == "scan.py --corpus programs --full"


def judged(value: float, *, wall: bool = False, shared: bool = False, guard: float | None = None) -> int:
    table = _measure.Table.of(Namespace(record=False, shared_machine=shared))
    table.row("a number", value, 1.0, wall=wall, guard=guard)
    with pytest.raises(SystemExit) as ended:
        table.end()
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    ("value", "wall", "shared", "code"),
    [
        (1.0, False, False, 0),
        (1.1, False, False, 1),
        (1.1, True, False, 1),
        (1.1, False, True, 0),
        (1.3, False, True, 1),
        (9.0, True, True, 0),
    ],
)
def test_a_shared_machine_misses_a_target_by_a_quarter_and_by_no_wall_time(
    value: float, wall: bool, shared: bool, code: int
) -> None:
    assert judged(value, wall=wall, shared=shared) == code


def test_a_target_that_is_missed_today_has_a_guard_on_a_shared_machine_alone() -> None:
    assert judged(1.3, shared=True, guard=1.4) == 0
    assert judged(1.5, shared=True, guard=1.4) == 1
    assert judged(1.3, guard=1.4) == 1
