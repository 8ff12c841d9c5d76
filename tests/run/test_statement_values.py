"""What is told of the failing statement: the values that it held; nothing is called for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dnnfix.records import Crash
from dnnfix.run.probe import sites
from dnnfix.run.probe.crash import statement_values
from dnnfix.run.trace import record


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    sites.configure("", "")


def crash_of(text: str) -> Crash:
    """The record of the exception that ends a program."""
    sites.configure("/nowhere", "/nowhere/program.py")
    sites.add_source("/nowhere/program.py", text)
    try:
        exec(compile(text, "/nowhere/program.py", "exec"), {"__name__": "program"})  # noqa: S102
    except Exception as error:  # noqa: BLE001
        fields: dict[str, Any] = {
            "kind": type(error).__name__,
            "message": str(error),
            "frames": sites.frames_of(error.__traceback__),
        }
        fields["held"] = statement_values.held_at(error)
        crash: Crash = record(Crash, fields)
        return crash
    raise AssertionError("the program ended")


def kinds(crash: Crash) -> dict[tuple[int, int], str]:
    return {(one.site.line, one.site.column): one.kind for one in crash.held}


def test_values_of_the_failing_statement() -> None:
    crash = crash_of("size = '3'\nrows = [1.5, 2]\nprint(len(rows),\n      rows * size)\n")
    assert kinds(crash)[4, 7] == "list"
    text = next(one for one in crash.held if one.kind == "str")
    assert text.text == "3"
    assert next(one for one in crash.held if one.kind == "list").of == "float"


def test_properties_are_not_called() -> None:
    crash = crash_of(
        "called = []\n"
        "class Net:\n"
        "    @property\n"
        "    def size(self):\n"
        "        called.append(1)\n"
        "        raise ValueError('asked')\n"
        "net = Net()\n"
        "print(net.size + 1)\n"
    )
    assert crash.message == "asked"
    crash = crash_of(
        "class Net:\n"
        "    times = 0\n"
        "    @property\n"
        "    def size(self):\n"
        "        Net.times += 1\n"
        "        return 1\n"
        "net = Net()\n"
        "net.size + ''\n"
    )
    assert (8, 1) in kinds(crash)
    assert all((one.site.column, one.site.end_column) != (1, 9) for one in crash.held)
