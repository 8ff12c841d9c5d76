"""Faults of connection that the examples of their templates cannot show: those that only a TensorFlow run reveals."""

from __future__ import annotations

import ast

import pytest

from dnnfix import registry
from dnnfix.detect.crashes.raised import raised_at
from dnnfix.records import Crash, Decline, Frame, RunOutcome, Site, Trace
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject

TEMPLATES = {template.code: template for template in registry.templates()}


def crashed(text: str, kind: str, message: str, *marks: str) -> Subject:
    """The program after a run that ended with an exception, each mark a part of the line of one frame, outermost first."""
    source = Source.from_bytes(text.encode(), "program.py")
    frames = []
    for mark in marks:
        node = next(
            call for call in ast.walk(source.tree) if isinstance(call, ast.Call) and ast.unparse(call).startswith(mark)
        )
        frames.append(Frame(source.site(node), "function"))
    crash = Crash(kind, message, tuple(frames))
    return Subject(source, Trace(RunOutcome.CRASHED, crash=crash))


def repaired(code: str, subject: Subject) -> list[str]:
    """Every program that the template's candidates make, or the reasons for declining."""
    template = TEMPLATES[code]()
    made = []
    for finding in template.detect(subject):
        for proposal in template.propose(finding, subject):
            if isinstance(proposal, Decline):
                made.append(proposal.reason)
            else:
                made.append(apply_edits(subject.source, proposal.edits).decode())
    return made


def test_the_place_of_an_exception_is_the_innermost_of_the_program_itself() -> None:
    subject = crashed("outer(1)\ninner(2)\n", "TypeError", "no way", "outer", "inner")
    node = raised_at(subject, "ValueError TypeError", "no w.y")
    assert isinstance(node, ast.Call) and ast.unparse(node) == "inner(2)"
    assert raised_at(subject, "ValueError", "no way") is None
    assert raised_at(subject, "TypeError", "other") is None


def test_frames_of_other_files_are_passed_over() -> None:
    subject = crashed("outer(1)\n", "TypeError", "no way", "outer")
    assert subject.trace is not None and subject.crash is not None
    beside = Frame(Site(1, 1, 1, 4, "beside.py"), "function")
    crash = Crash("TypeError", "no way", (*subject.crash.frames, beside))
    node = raised_at(Subject(subject.source, Trace(RunOutcome.CRASHED, crash=crash)), "TypeError", "no way")
    assert isinstance(node, ast.Call) and ast.unparse(node) == "outer(1)"


@pytest.mark.parametrize(
    "loop",
    [
        "for _ in range(3):\n    loss = sess.run(loss)\n    break",
        "for batch in batches:\n    loss = model(batch)\n    loss = sess.run(loss)",
        "loss = sess.run(loss)",
    ],
)
def test_a_name_that_is_not_needed_again_may_be_overwritten(loop: str) -> None:
    text = f"import tensorflow as tf\nsess, loss = start()\n{loop}\n"
    assert repaired("DNF421", Subject(Source.from_bytes(text.encode(), "program.py"))) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("train_x = scale(raw_x)", "test_x = scale(raw_x)"),
        ("a_out = layer(a)", "b_out = layer(b)"),
        ("width = 3", "height = 3"),
    ],
)
def test_lines_that_are_alike_are_no_copies_without_an_idle_name(first: str, second: str) -> None:
    text = f"import torch\nraw_x, a, b = load()\n{first}\n{second}\nprint(a, b)\n"
    assert repaired("DNF422", Subject(Source.from_bytes(text.encode(), "program.py"))) == []
