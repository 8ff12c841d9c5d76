"""What was done to read a text is told, and what a report of a syntax error is about is not mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dnnfix.records import EditStep, Trace
from dnnfix.reproduce.actions.compile_errors import steps
from dnnfix.reproduce.case import Case, Gap
from dnnfix.reproduce.plan import joined
from dnnfix.source.program import Source


def case(text: str, said: str = "") -> Case:
    return Case(Source.from_bytes(text.encode(), "program.py"), (), lambda name: True, Path("/nowhere"), said)


def test_every_recovery_is_a_step() -> None:
    found = list(steps(case("%matplotlib inline\nprint 'a'\nx = 1\n")))
    assert [step.what.split(" (")[0] for step in found if isinstance(step, EditStep)] == [
        "notebook magics and shell commands were left out",
        "Python 2 syntax was read as its Python 3 form",
    ]
    assert isinstance(found[0], EditStep)
    assert found[0].line == 1
    assert not any(step.invented for step in found if isinstance(step, EditStep))


def test_text_that_parses_needs_nothing() -> None:
    assert not list(steps(case("import torch\nprint(torch.zeros(3))\n")))


def test_a_reported_syntax_error_is_not_mended() -> None:
    found = list(steps(case("import torch\ndef f(x)\n    return x\n", "SyntaxError: invalid syntax")))
    assert [type(one) for one in found] == [Gap]


def test_names_of_the_notebook_get_a_meaning() -> None:
    found = list(steps(case("import pandas as pd\nframe = pd.DataFrame()\ndisplay(frame)\n")))
    assert isinstance(found[0], EditStep)
    assert found[0].scaffold.start == "made_shell(globals())"


def test_a_program_that_defines_them_itself_keeps_its_own() -> None:
    assert not list(steps(case("def display(x):\n    print(x)\ndisplay(3)\n")))


def test_a_comment_that_speaks_of_display_needs_no_shell() -> None:
    assert not list(steps(case("x = 1  # display it\nprint(x)\n")))


def test_a_shell_that_is_imported_is_there_outside_of_a_notebook(run_in: Callable[..., Trace]) -> None:
    text = "from IPython import get_ipython\nget_ipython().run_line_magic('matplotlib', 'inline')\nprint('on')\n"
    found = [step for step in steps(case(text)) if isinstance(step, EditStep)]
    assert [step.line for step in found] == [2]
    package = "import sys, types\nsys.modules['IPython'] = types.ModuleType('IPython')\nsys.modules['IPython'].get_ipython = lambda: None\n"
    scaffold = joined(found)
    trace = run_in(text, replace(scaffold, start=package + scaffold.start))
    assert trace.printed == "on\n", trace.detail
