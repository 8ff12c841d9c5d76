"""The memory of `check`: used for unchanged files only, and never trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dnnfix import pipeline
from tests.cli.programs import FAULTY, Call


@pytest.fixture
def looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that the pipeline was asked about."""
    (folder / "a.py").write_text(FAULTY)
    (folder / "b.py").write_text("import torch\n")
    asked: list[str] = []
    real = pipeline.check_file

    def watched(raw: bytes, path: str, *rest: Any) -> Any:
        asked.append(path)
        return real(raw, path, *rest)

    monkeypatch.setattr(pipeline, "check_file", watched)
    return asked


@pytest.mark.parametrize("format", ["text", "json", "sarif", "github", "diff"])
def test_unchanged_files_are_remembered(call: Call, looked_at: list[str], format: str) -> None:
    first = call("check", ".", "--output-format", format)
    assert looked_at == ["a.py", "b.py"]
    assert call("check", ".", "--output-format", format) == first
    assert looked_at == ["a.py", "b.py"]


def test_what_matters_is_looked_at_again(call: Call, looked_at: list[str], folder: Path) -> None:
    call("check", ".")
    (folder / "b.py").write_text("import torch  # changed\n")
    call("check", ".")
    assert looked_at[2:] == ["b.py"]
    call("check", ".", "--ignore", "DNF4")
    assert looked_at[3:] == ["a.py", "b.py"]
    call("check", ".", "--ignore", "DNF4", "--no-cache")
    assert looked_at[5:] == ["a.py", "b.py"]


def test_a_new_baseline_counts(call: Call, looked_at: list[str], folder: Path) -> None:
    call("check", "a.py", "--write-baseline", "known.json")
    assert call("check", "a.py", "--baseline", "known.json").code == 0
    (folder / "known.json").write_text('{"schema": "dnnfix-baseline/1", "files": {}}')
    assert call("check", "a.py", "--baseline", "known.json").code == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 2, "entries": {"a.py": 3}, "reports": []}',
        '{"format": 2, "entries": {"a.py": ["x", 7]}, "reports": [1]}',
        '{"format": 2}',
    ],
)
def test_a_broken_cache_is_an_empty_one(call: Call, looked_at: list[str], tmp_path: Path, text: str) -> None:
    first = call("check", ".")
    (file,) = (tmp_path / "cache" / "dnnfix").glob("check-*.json")
    file.write_text(text)
    assert call("check", ".") == first
    assert looked_at == ["a.py", "b.py"] * 2


def test_a_forged_entry_is_no_error(call: Call, looked_at: list[str], tmp_path: Path) -> None:
    import json

    first = call("check", ".")
    (file,) = (tmp_path / "cache" / "dnnfix").glob("check-*.json")
    document = json.loads(file.read_text())
    document["reports"] = [{"unchecked": [], "findings": [[{}]]} for _ in document["reports"]]
    file.write_text(json.dumps(document))
    assert call("check", ".") == first


def test_no_place_for_a_cache(call: Call, looked_at: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert call("check", "a.py", "--cache-dir", str(tmp_path / "file" / "x")).code == 1
