"""Reports on notebooks as text and as HTML, without a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dnnfix import library
from dnnfix.notebook import target
from dnnfix.notebook.cells import Cell
from dnnfix.notebook.report import NotebookReport
from dnnfix.notebook.target import Target

pytest.importorskip("jinja2", reason="Jinja2 is not installed")

LAYERS = "\n".join(f"layer_{n} = Dense(output_dim={n + 1}, init='uniform')  # 层 <b>" for n in range(10))
CELLS = (Cell(1, "from keras.layers import Dense"), Cell(4, LAYERS), Cell(7, "%%dnnfix\nDense(units=3)"))


def looked_at(looked: Target) -> NotebookReport:
    program = str(looked.file) if looked.is_file else looked.raw.decode()
    return NotebookReport(looked, library.check(program, name=looked.path, isolated=True), static=True)


def test_a_patch_of_many_findings_is_shown_and_offered_once() -> None:
    report = looked_at(target.of_cells(CELLS, None))
    text, page = repr(report), report._repr_html_()
    assert len(report.entries) == 20 and len(report.applicable) == 1
    assert text.count("+layer_9 = Dense(units=10, kernel_initializer='uniform')") == 1
    assert page.count("kernel_initializer=&#39;uniform&#39;)  # 层 &lt;b&gt;") == 10 and "<b>\n" not in page
    assert text.count("shown above") == page.count("shown above") == 19
    assert "In [4], line 10: DNF501" in text and "20 problems in the cells executed so far." in text


def test_a_cell_hears_of_itself_and_where_else_there_is_something() -> None:
    report = looked_at(target.of_cells(CELLS, None, "7"))
    assert report.entries == () and report.headline == "No problems found in this cell, as far as was checked."
    assert report.remarks[0].startswith("More in cells before it (In [4], line 1; In [4], line 2;")
    assert "In [4], line 5; and others" in report.remarks[0]
    assert report.unchecked[-1] == "magics and shell commands, which are left out: In [7]"


def test_cells_of_a_file_are_called_by_their_place_and_prompt(tmp_path: Path) -> None:
    file = tmp_path / "alt.ipynb"
    sources = ["from keras.layers import Dense", "Dense(output_dim=3)"]
    code = [{"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [], "source": s} for s in sources]
    cells = [{"cell_type": "markdown", "metadata": {}, "source": []}, *code]  # version 4.4: no ids
    file.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    report = looked_at(target.of_file(file, [Cell(3, "x", "1"), Cell(4, sources[1], "2")]))
    assert [entry.where for entry in report.entries] == ["cell 3 (In [3]), line 1"]
    assert report.remarks[0].startswith("Looked at as it was saved: cell 2 (In [3]) was run in another version.")
