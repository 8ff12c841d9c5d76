"""What is told of a refusal by the program's own objects and functions: near names, and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dnnfix.run.probe import sites
from dnnfix.run.probe.crash import refusals


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    sites.configure("", "")


def refusal_of(text: str) -> dict[str, Any]:
    """What is told of the exception that ends a program."""
    sites.configure("/nowhere", "/nowhere/program.py")
    sites.add_source("/nowhere/program.py", text)
    try:
        exec(compile(text, "/nowhere/program.py", "exec"), {"__name__": "__main__"})  # noqa: S102
    except Exception as error:  # noqa: BLE001
        told = refusals.asked_for(error)
        assert told is not None
        return told
    raise AssertionError("the program ended")


def test_near_names() -> None:
    told = refusal_of("class Net:\n    def forward_once(self):\n        pass\nNet().forward()\n")
    assert told["own"] and told["near"] == [{"name": "forward_once"}]


def test_parameters_of_what_is_called() -> None:
    told = refusal_of(
        "class Net:\n    def run(self, x, *, steps=1):\n        pass\nnet = [Net()]\nnet[0].run(1, step=2)\n"
    )
    assert told["own"] and [list(each.values()) for each in told["parameters"]] == [["x", 1, False], ["steps", 3, True]]


def test_a_method_of_the_class_itself_keeps_its_first_parameter() -> None:
    told = refusal_of("class Net:\n    def run(self, x):\n        pass\nNet.run(1)\n")
    assert [each["name"] for each in told["parameters"]] == ["self", "x"]


def test_an_object_that_can_be_called_says_what_it_takes() -> None:
    told = refusal_of("class Scale:\n    def __call__(self, x, by=1):\n        pass\nscale = Scale()\nscale(1, to=2)\n")
    assert told["name"] == "Scale" and [each["name"] for each in told["parameters"]] == ["x", "by"]
