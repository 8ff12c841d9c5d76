"""The interpreter of the old era, where there is one: DNNFIX_BASELINE_PYTHON names it, or `make baseline` has made it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dnnfix.records import Trace, Verdict
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.validate.old_era import OldEra

MADE = Path(__file__).parents[2] / ".baseline" / "bin" / "python"
BUDGET = Budget(seconds=60.0)

Compare = Callable[[str, str], Verdict]


@pytest.fixture(scope="session")
def baseline() -> str:
    """The path of the interpreter."""
    named = os.environ.get("DNNFIX_BASELINE_PYTHON")
    if named:
        return named
    if MADE.exists():
        return str(MADE)
    pytest.skip("no interpreter of the old era: `make baseline` makes one, or set DNNFIX_BASELINE_PYTHON")


@pytest.fixture(scope="session")
def runner(baseline: str) -> Iterator[Runner]:
    """A runner that may start both interpreters."""
    with Runner(Path(sys.executable), baseline=Path(baseline)) as one:
        yield one


@pytest.fixture(scope="session")
def traces() -> list[Trace]:
    """The traces of all recordings so far."""
    return []


@pytest.fixture(scope="session")
def compare(runner: Runner, baseline: str, traces: list[Trace]) -> Compare:
    """The verdict on a new program as a migration of an old one."""
    era = OldEra(runner, sys.executable, baseline, lambda trace, _what: traces.append(trace))

    def made(old: str, new: str) -> Verdict:
        before, after = (Job("program.py", text.encode(), budget=BUDGET) for text in (old, new))
        return era.compare(before, after)

    return made
