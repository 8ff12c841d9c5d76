"""Patches that are applied: by a button or a command, to a cell at its next run, and to the notebook's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dnnfix.notebook.cells import Cell
from dnnfix.notebook.changes import Change, rewrite
from tests.notebook.conftest import Kernel

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")

OLD = "if False:\n    from keras.layers import Dense\n    layer = Dense(output_dim=3)  # 层"
NEW = OLD.replace("output_dim", "units")


def saved(folder: Path, *sources: str, file: str = "Übung 1.ipynb") -> Path:
    """A notebook as people have it: text, attachments, raw cells, outputs, and metadata of others."""
    code = [
        {
            "cell_type": "code",
            "execution_count": 7,
            "id": f"code-{number}",
            "metadata": {"tags": ["a"], "vscode": {"languageId": "python"}},
            "outputs": [
                {"name": "stdout", "output_type": "stream", "text": ["π ≈ 3\n", "\u001b[31mred\u001b[0m"]},
                {
                    "data": {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure>"]},
                    "execution_count": 7,
                    "metadata": {"image/png": {"height": 2.50, "width": 1e3}},
                    "output_type": "execute_result",
                },
            ],
            "source": source.splitlines(keepends=True),
        }
        for number, source in enumerate(sources)
    ]
    other: list[dict[str, Any]] = [
        {
            "attachments": {"a.png": {"image/png": "iVBORw0KGgo="}},
            "cell_type": "markdown",
            "id": "text",
            "metadata": {},
            "source": ["# Übung\n", "![a](attachment:a.png)"],
        },
        {"cell_type": "raw", "id": "raw", "metadata": {"raw_mimetype": "text/latex"}, "source": ["\\LaTeX"]},
    ]
    kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernelspec, "language_info": {"name": "python"}, "toc": {"x": 1.0}}
    notebook = {"cells": [*other, *code], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path = folder / file
    path.write_text(json.dumps(notebook, indent=3, ensure_ascii=False), newline="\r\n")
    nbformat.validate(nbformat.read(path, 4))
    return path


def test_the_whole_notebook_is_checked_and_its_file_changed_to_the_byte(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ("%load_ext dnnfix\n!pip --version", "%dnnfix check", "%dnnfix apply patch-", OLD)
    path = saved(folder, *cells)
    before = path.read_bytes()
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    _, _, _, checked, applied, _ = notebook.cells
    shown = checked.outputs[0].data
    assert "cell 6 (In [7]), line 3: DNF501" in shown["text/plain"] and "<section" in shown["text/html"]
    assert "Übung 1.ipynb has it in cell 6 (In [7]): reload the notebook" in applied.outputs[0].data["text/plain"]
    assert path.read_bytes() == before.replace(b"output_dim", b"units")
    nbformat.validate(nbformat.read(path, 4))


def test_a_cell_takes_its_repaired_source_when_it_is_run_again(kernel: Kernel) -> None:
    cell = f"%%dnnfix\ndone = 'ran'\n{OLD}\ndone"
    repaired = cell.replace("output_dim", "units")
    checked = kernel.run(cell, "a")
    assert "In [2], line 5: DNF501" in checked.text
    assert (
        "%dnnfix apply" in kernel.run("%dnnfix check").text
    )  # another report with the patch: the button is of the first
    said = kernel.click(checked.button())
    values = [state.get("value", "") for state in said.widgets.values()]
    assert any("Run In [2] again" in value for value in values) and {"disabled": True} in said.widgets.values()
    assert kernel.run("1").reply["payload"] == []
    again = kernel.run(cell, "a")
    assert again.ok and again.outputs == [{"text/plain": "'ran'"}]
    assert again.reply["payload"] == [{"source": "set_next_input", "text": repaired, "replace": True}]
    assert "No problems found" in kernel.run("%dnnfix check").text
    assert kernel.run(cell, "a").reply["payload"] == []  # once


def test_earlier_cells_are_changed_in_the_file(folder: Path, kernels: Callable[..., Kernel]) -> None:
    asks = "%%dnnfix --suggest --no-run\nimport torch"
    path = saved(folder, "import sys", OLD, asks)
    before = path.read_bytes()
    kernel = kernels(JPY_SESSION_NAME=str(path))
    kernel.run(OLD, "code-1")
    shown = kernel.run(asks, "code-2")
    assert "In [2], line 3: DNF501" in shown.text
    assert "%dnnfix apply" in shown.text, shown.text
    patch = next(word for word in shown.text.split() if word.startswith("patch-"))
    said = kernel.run(f"%dnnfix apply {patch.removeprefix('patch-')[:6]}").text
    assert "has it in In [2]" in said and "Run In [2] again" in said
    assert path.read_bytes() == before.replace(b"output_dim", b"units")
    assert "as it was saved: cell 4 (In [7]) was run in another version" in kernel.run("%dnnfix check").text
    assert kernel.run(OLD, "code-1").reply["payload"][0]["text"] == NEW
    assert "as it was saved" not in kernel.run("%dnnfix check").text


TRAINING = """%%dnnfix --suggest --budget 300 --select DNF602
for step in range(30):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
step"""


@pytest.mark.slow
def test_a_proven_patch_of_a_training_goes_by_a_button_into_its_cell(kernel: Kernel) -> None:
    kernel.run("import torch\nfrom torch import nn\ntorch.manual_seed(0)\nnet = nn.Linear(4, 3)", "a")
    kernel.run("opt = torch.optim.SGD(net.parameters(), lr=0.1)", "b")
    kernel.run("x, y = torch.randn(64, 4), torch.randint(0, 3, (64,)).float()", "c")
    proven = kernel.run(TRAINING, "d")
    assert proven.reply["ename"] == "RuntimeError" and "In [5], line 3: DNF602" in proven.text
    assert "repaired" in proven.text and "RuntimeError is gone" in proven.html and len(proven.told) > 3
    kernel.click(proven.button())
    again = kernel.run(TRAINING, "d")
    assert again.ok and again.outputs == [{"text/plain": "29"}]
    assert "cross_entropy(net(x), y.long())" in again.reply["payload"][0]["text"]


CELL = Cell(3, OLD)
CHANGE = Change("3", OLD, NEW)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_what_is_not_changed_keeps_its_bytes(folder: Path, mark: bytes) -> None:
    path = saved(folder, "x = 1", OLD, "y = 2")
    path.write_bytes(mark + path.read_bytes())
    made, written = rewrite(path, [(CELL, CHANGE)])
    assert made is not None and written == (CHANGE,)
    assert made.after == made.before.replace(b"output_dim", b"units") and made.before.startswith(mark)


def test_a_file_that_does_not_hold_the_cell_as_it_was_run_is_left_alone(folder: Path) -> None:
    assert rewrite(saved(folder, OLD + "\n"), [(CELL, CHANGE)]) == (None, ())  # edited, and not saved
    assert rewrite(saved(folder, OLD, OLD), [(CELL, CHANGE)]) == (None, ())  # which of the two?
    path = saved(folder, OLD, OLD)
    made, _ = rewrite(path, [(Cell(3, OLD, "code-1"), CHANGE)])
    assert made is not None
    sources = ["".join(cell["source"]) for cell in json.loads(made.after)["cells"][2:]]
    assert sources == [OLD, NEW]
    (folder / "broken.ipynb").write_bytes(b"\xff{")
    assert rewrite(folder / "broken.ipynb", [(CELL, CHANGE)]) == (None, ())
    assert rewrite(folder / "gone.ipynb", [(CELL, CHANGE)]) == (None, ())
