"""What holds for any bytes, any program and any edit."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from unidiff import PatchSet

from dnnfix.errors import EditError, InputError
from dnnfix.records import (
    AddImport,
    Delete,
    DeleteElement,
    Edit,
    InsertAfter,
    InsertBefore,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    Replace,
    SetArgument,
    Wrap,
)
from dnnfix.source.decode import split_lines
from dnnfix.source.diff import unified_diff
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source

FAST = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

FRAGMENTS = [
    "import torch", "from torch import nn", "class Net(nn.Module):", "def f(self, x=1):", "    return g(x, 1)",
    "        self.fc = nn.Linear(10, 20)  # é", "if a: b; c", "else:", "try:", "except E, e:", "print 'x', y", ">>> x = f(1)",
    "... y", "In [3]: z", "%matplotlib inline", "!ls", "Here is prose, isn't it?", "x = (", ")", "y = f(a,", "   b=2)",
    "'''", '"""doc', "\tz = 3", "\x0c", "@deco", "lambda: 0", "x = `y`", "0777L", "print（“x”）", "[x for x in y]", "...",
    "Traceback (most recent call last):", "ValueError: no", "```python", "```", "\\", "#", "", "  ", "async def g(): await x",
    "match x:", "    case {'a': b}: pass", "global x", "x = y = f(*a, **k)", "s = f'{a!r:{b}}'", "m.fit(x, y, epochs=3)",
]  # fmt: skip
ENDS = ["\n", "\r\n", "\r"]

near_python = st.lists(st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from(ENDS)), max_size=14).map(
    lambda parts: "".join(text + end for text, end in parts)
)


def read_or_refused(raw: bytes, path: str) -> Source | None:
    """The program, or `None` where it is refused in the one way that is allowed."""
    try:
        source = Source.from_bytes(raw, path)
    except InputError as error:
        if not str(error).startswith(path):
            raise AssertionError(f"the message does not name the file: {error}") from error
        return None
    for call in source.all_calls:
        assert source.node_at(source.site(call)) is not None
        source.qualified(call.func)
        source.constructor(call.func)
    assert isinstance(source.frameworks, frozenset) and isinstance(source.words, frozenset)
    return source


@FAST
@given(st.binary(max_size=200), st.sampled_from(["a.py", "a.ipynb", "-"]))
@example(b"\xff\xfe", "a.py")
@example(b"# coding: \xff\n", "a.py")
@example(b"# coding: punycode\nx-y\n", "a.py")
@example(b"# coding: utf-7\n+AGE-\n", "a.py")
@example(b"# coding: undefined\n", "a.py")
@example(b"# coding: unicode_escape\nx = '\\u00e9'\n", "a.py")
@example(b"# coding: zlib\n", "a.py")
@example(b"\x00", "a.py")
@example(b"(" * 5000, "a.py")
@example(b"[" * 5000, "a.ipynb")
@example(b"x" + b".a" * 3000, "a.py")
@example(b"x = 1" + b"0" * 5000, "a.py")
@example(b"if x:\n" * 1, "a.py")
@example(b"".join(b" " * n + b"if x:\n" for n in range(120)), "a.py")
@example(b"\\", "a.py")
@example(b"'''", "a.py")
@example(b"f'{", "a.py")
@example(b">>> ", "a.py")
@example(b"%%", "a.py")
@example(b"try:", "a.py")
@example(b"\r\r\n\n", "a.py")
def test_any_bytes_are_read_or_refused(raw: bytes, path: str) -> None:
    read_or_refused(raw, path)


@FAST
@given(near_python)
def test_any_near_python_is_read_or_refused_with_its_lines_kept(text: str) -> None:
    raw = text.encode()
    source = read_or_refused(raw, "a.py")
    if source is not None:
        assert source.text.count("\n") == len(split_lines(text)[1]) - 1
        assert ast.dump(ast.parse(source.text)) == ast.dump(source.tree)
        ast.parse(source.runnable)


@FAST
@given(st.lists(near_python, max_size=4), st.booleans(), st.sampled_from([None, 1]))
@example(["x = 1", "if a:\n\tb\n        c\n"], False, 1)
def test_any_notebook_is_read_or_refused_and_other_cells_stay(
    cells: list[str], lines: bool, indent: int | None
) -> None:
    contents = [
        {"cell_type": "code", "id": f"c{n}", "source": text.splitlines(keepends=True) if lines else text}
        for n, text in enumerate(cells)
    ]
    raw = json.dumps({"cells": contents, "metadata": {}, "nbformat": 4}, indent=indent).encode()
    source = read_or_refused(raw, "a.ipynb")
    if source is None or not source.tree.body:
        return
    statement = source.tree.body[0]
    try:
        after = apply_edits(source, [InsertBefore(source.site(statement), "added = 1")])
    except EditError:
        return
    name, _ = source.locate(statement.lineno)
    before_cells, after_cells = json.loads(raw)["cells"], json.loads(after)["cells"]
    for old, new in zip(before_cells, after_cells, strict=True):
        assert (old == new) == (old["id"] != name)


def edits_for(source: Source, choose: random.Random) -> list[Edit]:
    """Some edits of a program, of every kind that its nodes allow."""
    calls = [call for call in source.all_calls if source.node_at(source.site(call)) is call]
    statements = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    found: list[Edit] = []
    for call in choose.sample(calls, min(3, len(calls))):
        site = source.site(call)
        kinds: list[Edit] = [
            SetArgument(site, "added", "1"),
            SetArgument(site, "first", "a + b", 0),
            RemoveArgument(site, "none", 0),
            InsertElement(site, 0, "added"),
            DeleteElement(site, max(len(call.args) - 1, 0)),
            Wrap(site, "(", " + 1)[0]"),
            Replace(site, "a if b else c"),
        ]
        found.append(choose.choice(kinds))
    for statement in choose.sample(statements, min(2, len(statements))):
        site = source.site(statement)
        around: list[Edit] = [InsertBefore(site, "added = 1\nmore()"), InsertAfter(site, "if a:\n    b"), Delete(site)]
        found.append(choose.choice(around))
    return found


def untouched_survive(source: Source, edits: list[Edit], after: bytes) -> None:
    """Every line that no edit's statement stands on is in the result, byte for byte, in order."""
    touched: set[int] = set()
    for edit in edits:
        if not isinstance(edit, AddImport):
            touched.update(range(edit.site.line - 1, edit.site.end_line))
            node = source.node_at(edit.site)
            if node is not None and isinstance(edit, (InsertBefore, InsertAfter, Delete)):
                statement = source.statement_of(node)
                parent = source.parent(statement)
                # A suite on its header's line is put on lines of its own, and decorators go with what they decorate.
                touched.update(range(getattr(parent, "lineno", 1) - 1, statement.end_lineno or 0))
                touched.update(d.lineno - 1 for d in getattr(statement, "decorator_list", ()))
    lines = source.raw.split(b"\n")
    rest = iter(after.split(b"\n"))
    for number, line in enumerate(lines):
        if number not in touched and not any(line.rstrip(b"\r") == other.rstrip(b"\r") for other in rest):
            raise AssertionError(f"line {number + 1} is gone: {line!r}\n{edits}\n{after!r}")


near_clean = st.lists(
    st.sampled_from(
        [
            "import torch", "x = f(1, a=2)  # é", "y = g(\n    1,  # one\n    b=2,\n)", "if a: f(1); g(2)", "z = [f(1), 2]",
            "def m(x):\n\n    # lead\n    return f(x)(2)", "class A:\n    @d(1)\n    def n(self): f(3)\n    x = 1",
            "for i in f(1):\n\tg(i)\nelse:\n\th()", "try:\n    f(1)\nfinally:\n    g()", "s = '''\n  é\n''' + f(2)", "f(*a, **k)",
            "if a:\n    f()\nelif b:\n    g()\nelse:\n    h()", "with f(1) as q: g(q)", "u = f(1) if g(2) else -h(3) ** 2",
        ]
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@FAST
@given(near_clean, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(0, 2**32))
def test_edits_leave_untouched_lines_alone_and_their_diff_applies(
    parts: list[str], end: str, final: bool, seed: int
) -> None:
    raw = ("\n".join(parts) + ("\n" if final else "")).replace("\n", end).encode()
    source = Source.from_bytes(raw, "a.py")
    edits = edits_for(source, random.Random(seed))
    try:
        after = apply_edits(source, edits)
    except EditError:
        return
    assert apply_edits(source, edits + edits) == after
    untouched_survive(source, edits, after)
    if raw.count(b"\r\n"):
        assert after.count(b"\n") == after.count(b"\r\n")
    Source.from_bytes(after, "a.py")
    diff = unified_diff(raw, after, "a.py")
    if after != raw:
        (file,) = PatchSet(diff)
        assert all(hunk.is_valid() for hunk in file)
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "a.py")
            target.write_bytes(raw)
            done = subprocess.run(
                ["git", "apply", "-"], cwd=folder, input=diff.encode(), capture_output=True, timeout=30, check=False
            )
            assert done.returncode == 0, done.stderr
            assert target.read_bytes() == after


@FAST
@given(near_clean, st.sampled_from(["import torch.nn as nn", "from torch import nn, optim", "import os.path"]))
def test_adding_an_import_twice_equals_once(parts: list[str], statement: str) -> None:
    raw = "\n".join(parts).encode()
    once = apply_edits(Source.from_bytes(raw, "a.py"), [AddImport(statement)])
    assert apply_edits(Source.from_bytes(once, "a.py"), [AddImport(statement)]) == once


@FAST
@given(near_python, st.integers(0, 2**32))
def test_edits_of_recovered_text_are_made_or_refused(text: str, seed: int) -> None:
    source = read_or_refused(text.encode(), "a.py")
    if source is None:
        return
    edits = edits_for(source, random.Random(seed))
    try:
        after = apply_edits(source, edits)
    except EditError:
        return
    Source.from_bytes(after, "a.py")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_argument_of_every_call_is_renamed_and_back(end: str) -> None:
    """The sources of this package themselves, with every keyword of every call renamed."""
    for path in sorted(Path(ast.__file__).parent.glob("[a-d]*.py"))[:12]:
        raw = path.read_bytes().replace(b"\n", end.encode())
        there = Source.from_bytes(raw, path.name)
        away = _renamed(there, "", "_away")
        assert away != raw or not any(call.keywords for call in there.all_calls)
        assert _renamed(Source.from_bytes(away, path.name), "_away", "") == raw


def _renamed(source: Source, old: str, new: str) -> bytes:
    edits: list[Edit] = []
    for call in source.all_calls:
        site = source.site(call)
        if source.node_at(site) is call and not source.enclosing(call, ast.JoinedStr):
            names = [keyword.arg for keyword in call.keywords if keyword.arg and keyword.arg.endswith(old)]
            edits += [RenameArgument(site, name, name.removesuffix(old) + new) for name in names]
    return apply_edits(source, edits)
