"""Notebooks: cells joined, magics out of the way, edits that leave every other byte alone."""

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest

from dnnfix.errors import EditError, InputError
from dnnfix.records import AddImport, Delete, InsertAfter, InsertBefore, RenameArgument, Replace, Site
from dnnfix.source.diff import unified_diff
from dnnfix.source.edits import apply_edits
from tests.source.helpers import place, read

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "m", "source": ["# not code\n", "x = ("]},
    {
        "cell_type": "code",
        "id": "first",
        "outputs": [{"text": ["<b>é</b> \\u00e9\n"]}],
        "source": ["%matplotlib inline\n", "import torch\n", "x = f(3, a=None)"],
    },
    {"cell_type": "code", "outputs": [], "source": "y = x.g(b=1)\nz = 'é\"\\n'\nif y:\n    w = 1"},
    {"cell_type": "code", "id": "empty", "outputs": [], "source": []},
    {"cell_type": "code", "id": "shell", "outputs": [], "source": ["%%bash\n", "ls -l it's\n"]},
    {"cell_type": "code", "id": "last", "outputs": [], "source": ["print w\n"]},
]


def notebook(cells: list[dict[str, Any]] | None = None, **how: Any) -> bytes:
    document = {"cells": CELLS if cells is None else cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, **how).encode()


WAYS: list[dict[str, Any]] = [
    {"indent": 1, "ensure_ascii": False},
    {"indent": 1, "ensure_ascii": True},
    {"indent": 4, "ensure_ascii": False, "sort_keys": True},
    {"ensure_ascii": True},
    {"separators": (",", ":"), "ensure_ascii": False},
]


@pytest.mark.parametrize("how", WAYS)
def test_code_cells_are_joined_and_located(how: dict[str, Any]) -> None:
    source = read(notebook(**how), "n.ipynb")
    assert source.text == (
        "pass\nimport torch\nx = f(3, a=None)\ny = x.g(b=1)\nz = 'é\"\\n'\nif y:\n    w = 1\n\n\n\n\nprint(w)\n"
    )
    located = [source.locate(n) for n in (1, 3, 4, 7, 8, 9, 12)]
    assert located == [("first", 1), ("first", 3), ("2", 1), ("2", 4), ("empty", 1), ("shell", 1), ("last", 1)]
    assert any(note.startswith("cell 2: ") and "magics" in note for note in source.recoveries)


@pytest.mark.parametrize("how", WAYS)
def test_only_the_touched_cells_change(how: dict[str, Any]) -> None:
    raw = notebook(**how)
    source = read(raw, "n.ipynb")
    after = apply_edits(
        source,
        [
            RenameArgument(place(source, "f(3, a=None)"), "a", "ä"),
            InsertAfter(place(source, "f(3, a=None)"), "n('\"')\nm()"),
            RenameArgument(place(source, "x.g(b=1)"), "b", "c"),
            Delete(place(source, "if y:\n    w = 1")),
        ],
    )
    cells = json.loads(after)["cells"]
    assert cells[1]["source"] == ["%matplotlib inline\n", "import torch\n", "x = f(3, ä=None)\n", "n('\"')\n", "m()"]
    assert cells[2]["source"] == "y = x.g(c=1)\nz = 'é\"\\n'"
    expected = [dict(cell) for cell in CELLS]
    expected[1]["source"], expected[2]["source"] = cells[1]["source"], cells[2]["source"]
    if not how.get("ensure_ascii"):
        # The notebook is written in one way throughout, so all of it can be foretold.
        assert after == notebook(expected, **how)
    assert cells == expected
    for kept in (b"<b>", b"# not code", b"%%bash", b"nbformat_minor"):
        assert after.count(kept) == raw.count(kept)


def test_an_edit_of_one_line_shows_as_one_line() -> None:
    raw = notebook(indent=1, ensure_ascii=False)
    source = read(raw, "n.ipynb")
    diff = unified_diff(raw, apply_edits(source, [Replace(place(source, "f(3, a=None)"), "f(4)")]), "n.ipynb")
    changed = [line for line in diff.splitlines()[4:] if line[:1] in "+-"]
    assert changed == ['-    "x = f(3, a=None)"', '+    "x = f(4)"']


def test_escapes_and_spacing_of_untouched_lines_stay() -> None:
    raw = (
        b'{"nbformat":4,"cells":[ {"source" : [ "a = \'\\u00e9\\/\'\\n" ,\t"b = f(1)" ], "cell_type":"code" } ],'
        b'\r\n "metadata":{}, "big": 1e400}\n'
    )
    source = read(raw, "n.ipynb")
    assert source.text == "a = 'é/'\nb = f(1)"
    after = apply_edits(source, [Replace(place(source, "f(1)"), "g(2)")])
    assert after == raw.replace(b"f(1)", b"g(2)")
    raw = raw.replace(b'[ "a', b'"a').replace(b'\\n" ,\t"', b"\\n").replace(b'(1)" ]', b'(1)"')
    source = read(raw, "n.ipynb")
    after = apply_edits(source, [Replace(place(source, "f(1)"), "g(2)")])
    assert after == raw.replace(b"f(1)", b"g(2)")


def test_a_cell_that_is_emptied_or_filled() -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": "a", "source": ["x = 1"]},
        {"cell_type": "code", "id": "b", "source": ["y = 2"]},
    ]
    source = read(notebook(cells), "n.ipynb")
    after = apply_edits(source, [Delete(Site(1, 1, 1, 6))])
    assert [cell["source"] for cell in json.loads(after)["cells"]] == [[], ["y = 2"]]
    after = apply_edits(source, [InsertBefore(Site(2, 1, 2, 6), "z = 3")])
    assert [cell["source"] for cell in json.loads(after)["cells"]] == [["x = 1"], ["z = 3\n", "y = 2"]]
    after = apply_edits(source, [InsertAfter(Site(1, 1, 1, 6), "z = 3"), AddImport("import a")])
    assert [cell["source"] for cell in json.loads(after)["cells"]] == [["import a\n", "x = 1\n", "z = 3"], ["y = 2"]]


def test_a_version_3_notebook() -> None:
    cells: list[dict[str, Any]] = [{"cell_type": "code", "input": ["x = f(1)"], "language": "python"}]
    raw = json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}).encode()
    source = read(raw, "n.ipynb")
    assert source.text == "x = f(1)"
    assert apply_edits(source, [Replace(place(source, "f(1)"), "2")]) == raw.replace(b"f(1)", b"2")


def test_a_cell_that_is_not_python_is_left_out_and_told() -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": "a", "source": ["what is this thing\n", "and that one too"]},
        {"cell_type": "code", "id": "b", "source": ["%%backend tensorflow\n", "y = f(2)"]},
        {"cell_type": "code", "id": "c", "source": "z = '\ud800'"},
    ]
    raw = notebook(cells)
    source = read(raw, "n.ipynb")
    assert source.text == "\n\n\ny = f(2)\nz = '\ufffd'"
    assert any("cell 1 was left out" in note for note in source.recoveries)
    assert apply_edits(source, [Replace(place(source, "f(2)"), "3")]) == raw.replace(b"f(2)", b"3")


def test_a_byte_order_mark_and_windows_line_ends_stay() -> None:
    cells: list[dict[str, Any]] = [{"cell_type": "code", "id": "a", "source": ["x = 1\r\n", "y = f(2)\r\n"]}]
    raw = codecs.BOM_UTF8 + notebook(cells, indent=1).replace(b"\n", b"\r\n")
    source = read(raw, "n.ipynb")
    after = apply_edits(source, [InsertAfter(place(source, "x = 1"), "z = 3")])
    assert json.loads(after[3:])["cells"][0]["source"] == ["x = 1\r\n", "z = 3\r\n", "y = f(2)\r\n"]
    assert after.startswith(codecs.BOM_UTF8) and after.count(b"\r\n") == raw.count(b"\r\n") + 1


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"x = 1\n", "not JSON at line 1, column 1"),
        (b"", "not JSON"),
        (b"[]", "not JSON"),
        (b'{"cells": 3}', "not JSON"),
        (b'{"nbformat": 4}', "no cells"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 is not text"),
        (b'{"cells": [{"cell_type": "code", "source": "x = 1"}]', "not JSON"),
        (b'{"cells": [], "x": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"metadata": {"language_info": {"name": "R"}}, "cells": []}', "notebook in r"),
        (b'{"cells": "\xff"}', "UTF-8"),
        (
            notebook([{"cell_type": "code", "source": "this is no python\nnor was this thing"}]),
            "no code cell is Python",
        ),
        (notebook([{"cell_type": "code", "source": "x = 1\n" * 400_000}]), "2 MiB"),
    ],
)
def test_what_is_no_notebook_gets_a_message(raw: bytes, told: str) -> None:
    with pytest.raises(InputError, match=r"n\.ipynb") as caught:
        read(raw, "n.ipynb")
    assert told in str(caught.value)


def test_a_notebook_without_code_is_an_empty_program() -> None:
    source = read(notebook([{"cell_type": "markdown", "source": "hi"}]), "n.ipynb")
    assert (source.text, source.tree.body, source.locate(1)) == ("", [], (None, 1))
    with pytest.raises(EditError):
        apply_edits(source, [AddImport("import a")])
