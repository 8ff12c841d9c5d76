"""`dnnfix fix --guard`: a test beside a repaired program that fails where the fault comes back."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dnnfix.config import Settings
from dnnfix.emit import guard
from dnnfix.pipeline import check_file
from dnnfix.records import FileReport, Patch

FOLDERS = ("tests", "test")
"""Where tests lie that no setting of pytest names."""


def write_guard(file: Path, before: bytes, report: FileReport, patches: Sequence[Patch], settings: Settings) -> str:
    """Write the guard test of a program that was just repaired, and say in words what was done.

    Only patches that were proven to bring a program to its end are guarded. A fault that the source shows is looked for in the source; any
    other in a run. Nothing is written over, and no test that does not tell the program before from the program after.
    """
    settled = {patch.id for patch in patches if not patch.remains}
    found = [
        result.finding for result in report.findings if settled & set(result.patches) and not result.finding.site.path
    ]
    rules = tuple(dict.fromkeys((finding.code, finding.rule) for finding in found))
    if not rules:
        return "no guard test: no patch that was applied settles a finding in this file"
    codes = {code for code, _ in rules}
    reads_only = codes <= _read(before, file, settings)
    if reads_only and codes & _read(file.read_bytes(), file, settings):
        return "no guard test: the source still shows what was repaired"
    top = _top(file)
    folder = _folder(top)
    path = folder / guard.name_of(file.stem, sorted(codes))
    if path.exists():
        return f"{path}: is there already; no guard test is written over it"
    program = file.absolute().relative_to(top).as_posix()
    text = guard.text(program, len(folder.relative_to(top).parts), rules, reads_only, _uses_unittest(folder))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return f"{path}: a test that fails where {' or '.join(sorted(codes))} comes back"


def _read(raw: bytes, file: Path, settings: Settings) -> set[str]:
    """The codes of what the source alone shows."""
    return {result.finding.code for result in check_file(raw, str(file), settings, patches=False).findings}


def _top(file: Path) -> Path:
    """The folder of the repository or project that a file is in, else the file's own."""
    folder = file.absolute().parent
    marks = (".git", "pyproject.toml", "setup.py", "setup.cfg")
    return next(
        (above for above in (folder, *folder.parents) if any((above / mark).exists() for mark in marks)), folder
    )


def _folder(top: Path) -> Path:
    """Where tests lie: what pytest is told, a folder that is there, else `tests`."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        told = tomllib.loads((top / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["testpaths"]
        first = Path(told if isinstance(told, str) else told[0])
        if not first.is_absolute() and ".." not in first.parts:
            return top / first
    return next((top / name for name in FOLDERS if (top / name).is_dir()), top / FOLDERS[0])


def _uses_unittest(folder: Path) -> bool:
    """Whether the tests that are there are those of `unittest` alone."""
    texts = [path.read_text("utf-8", "replace") for path in sorted(folder.glob("test*.py"))] if folder.is_dir() else []
    return any("unittest.TestCase" in text for text in texts) and not any("import pytest" in text for text in texts)
