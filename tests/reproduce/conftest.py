"""Real runs in a sandbox, which all tests of the reproduction stage share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dnnfix.records import Scaffold, Trace
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner

Run = Callable[..., Trace]


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Runner]:
    """One runner for programs of every framework."""
    with Runner(Path(sys.executable)) as one:
        yield one


@pytest.fixture(scope="session")
def torch_runner() -> Iterator[Runner]:
    """A warm process with torch."""
    with Runner(Path(sys.executable), framework="torch") as one:
        yield one


@pytest.fixture(scope="session")
def keras_runner() -> Iterator[Runner]:
    """A warm process with Keras."""
    with Runner(Path(sys.executable), framework="keras") as one:
        yield one


@pytest.fixture
def run_in(sandbox: Runner) -> Run:
    """Run a program's text inside a scaffold, within a small budget."""

    def run(program: str, scaffold: Scaffold | None = None, steps: int = 12) -> Trace:
        words = scaffold.arguments if scaffold else ()
        return sandbox.run(
            Job(
                "program.py",
                program.encode(),
                budget=Budget(steps=steps, seconds=30),
                arguments=words,
                scaffold=scaffold,
            )
        )

    return run
