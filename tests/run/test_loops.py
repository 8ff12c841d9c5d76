"""Loops are cut to the budget of steps and nothing else about them changes."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnnfix.run.probe import budget, sites
from dnnfix.run.probe.program import loops


@pytest.fixture(autouse=True)
def _guards(tmp_path: Any) -> Iterator[None]:
    loops.install()
    sites.configure(str(tmp_path), str(tmp_path / "program.py"))
    yield
    budget.start({})


def outcome_of(text: str, steps: int) -> dict[str, Any]:
    """The names that a program binds, run with `step()` as its optimizer step."""
    budget.start({"budget": {"steps": steps}})
    names: dict[str, Any] = {"step": budget.count_step, "__name__": "__main__"}
    exec(loops.compile_source(textwrap.dedent(text), "program.py"), names)  # noqa: S102 - that is what is tested
    return names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n = 0\nfor i in range(100):\n    step(); n += 1\nafter = True", {"n": 3, "after": True}),
        ("n = 0\nwhile n < 100:\n    step(); n += 1\nafter = True", {"n": 3, "after": True}),
        ("n = 0\nwhile True:\n    step(); n += 1\nafter = True", {"n": 3, "after": True}),
        ("e = n = 0\nfor e in range(9):\n    for i in range(2):\n        step(); n += 1", {"e": 1, "n": 3}),
        ("e = n = 0\nfor e in range(9):\n    i = 0\n    while i < 2:\n        i += 1; step(); n += 1", {"e": 1, "n": 3}),
        ("m = 0\nfor i in range(9): step()\nfor i in range(50): m += 1", {"m": 50}),
        ("m = 0\nfor i in range(9): step()\nwhile m < 50: m += 1", {"m": 50}),
        ("m = 0\nfor i in range(9): step()\nfor j in range(9):\n    step(); m += 1", {"m": 1}),
        ("def f():\n    for i in range(9):\n        step(); yield i\nx = list(f())", {"x": [0, 1, 2]}),
        ("class A:\n    def f(self):\n        n = 0\n        while True:\n            step(); n += 1\n        return n\nx = A().f()", {"x": 3}),
        ("x = [step() for _ in range(10)]", {"x": list(range(1, 11))}),
        ("n = 0\nfor i in range(9):\n    if i % 2: continue\n    step(); n += 1\n    if i > 90: break\nelse:\n    done = 1", {"n": 3, "done": 1}),
        ("'''doc'''\nfrom __future__ import annotations\nn = 0\nwhile n < 5: n += 1\nx = __doc__", {"n": 5, "x": "doc"}),
        ("i = 5\nwhile (i := i - 1) > 0: pass", {"i": 0}),
        ("async def g():\n    for i in range(5):\n        yield i\nasync def f():\n    s = 0\n    async for i in g(): s += i\n    return s\nimport asyncio\nx = asyncio.run(f())", {"x": 10}),
    ],
)  # fmt: skip
def test_what_a_loop_does(text: str, expected: dict[str, Any]) -> None:
    names = outcome_of(text, 3)
    assert {name: names[name] for name in expected} == expected


def test_an_exception_of_an_iterator_reaches_the_program() -> None:
    names = outcome_of(
        """
        def broken():
            yield 1
            raise KeyError("k")
        try:
            for i in broken(): pass
        except KeyError: caught = True
        try:
            for i in 3: pass
        except TypeError as error: said = str(error)
    """,
        3,
    )
    assert names["caught"] and "not iterable" in names["said"]


STATEMENTS = [
    "x = f(1)",
    "for i in g(\n    y): z",
    "while a.b():\n    pass",
    "def f():\n  for a, b in c:\n    d(a)",
    "while t: u\nelse: v",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5))
def test_no_node_of_the_program_changes_its_position(statements: list[str]) -> None:
    text = "\n".join(statements)
    before = ast.parse(text)
    places = {
        (type(n), n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
        for n in ast.walk(before)
        if isinstance(n, ast.expr | ast.stmt)
    }
    tree = loops.rewrite(ast.parse(text), "program.py")
    after = {
        (type(n), n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
        for n in ast.walk(tree)
        if isinstance(n, ast.expr | ast.stmt)
    }
    assert places <= after
    compile(tree, "program.py", "exec")


def test_later_cells_of_a_notebook_may_import_from_the_future() -> None:
    text = "'''doc'''\nimport ast\nfrom __future__ import annotations\ndef f(x: nowhere): pass\ndone = ast and __doc__"
    names: dict[str, Any] = {}
    exec(loops.compile_source(text, "n.ipynb"), names)  # noqa: S102 - that is what is tested
    assert names["done"] == "doc"
    with pytest.raises(SyntaxError):
        loops.compile_source(text, "n.py")
