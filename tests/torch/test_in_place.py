"""A method that changed its object and is gone: one that gives a new object is no repair where nothing takes that."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.records import FileReport, PatchVerdict
from dnnfix.source.program import Source

PROGRAM = """\
import torch

class Box:
    def __init__(self, items):
        self.items = items

    def flip(self):
        return Box(self.items[::-1])

box = Box([1, 2])
{}box.flip_()
print(torch.tensor(box.items))
"""


def suggested(folder: Path, before: str) -> FileReport:
    path = folder / "program.py"
    path.write_text(PROGRAM.format(before))
    settings = Settings(python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


def test_what_would_do_nothing_is_not_written(tmp_path: Path) -> None:
    report = suggested(tmp_path, "")
    assert report.findings and not any("box.flip()" in patch.diff for patch in report.patches)


def test_what_is_kept_may_be_meant(tmp_path: Path) -> None:
    (patch,) = (one for one in suggested(tmp_path, "box = ").patches if one.verdict is PatchVerdict.ACCEPTED)
    assert "+box = box.flip()" in patch.diff


@pytest.mark.parametrize(("text", "lying"), [("a.b()", True), ("c = a.b()", False), ("a.b", False), ("f(a.b)", False)])
def test_a_call_whose_result_is_left_lying(text: str, lying: bool) -> None:
    source = Source.from_bytes(text.encode(), "a.py")
    (attribute,) = source.nodes(ast.Attribute)
    assert source.is_called_in_vain(attribute) is lying
