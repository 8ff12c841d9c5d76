"""Real processes in real sandboxes: a tier that does not work on this machine is skipped, with its reason."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dnnfix.records import Trace
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.runner import Runner
from dnnfix.run.sandbox import probe_tiers

PYTHON = Path(sys.executable)
Run = Callable[..., Trace]


@pytest.fixture(scope="session", params=[Tier.BUBBLEWRAP, Tier.LIMITS], ids=str)
def tier(request: pytest.FixtureRequest) -> Tier:
    """Each tier that keeps anything out."""
    chosen: Tier = request.param
    why = probe_tiers(PYTHON)[chosen]
    if why is not None:
        pytest.skip(f"{chosen} does not work here: {why}")
    return chosen


@pytest.fixture(scope="session")
def runner(tier: Tier) -> Iterator[Runner]:
    """One runner per tier, for programs that import no framework."""
    with Runner(PYTHON, tier=tier) as one:
        yield one


@pytest.fixture(scope="session")
def run(runner: Runner) -> Run:
    """Run a program's text in the tier, with parts of the budget by name."""

    def _run(
        text: str, *, path: str = "program.py", seed: int = 0, arguments: tuple[str, ...] = (), **budget: float
    ) -> Trace:
        allowed: dict[str, float] = {"seconds": 10.0, **budget}
        return runner.run(Job(path, text.encode(), seed, Budget(**allowed), arguments=arguments))  # type: ignore[arg-type]

    return _run


@pytest.fixture(scope="session")
def torch_runner(tier: Tier) -> Iterator[Runner]:
    """One runner per tier whose warm process has torch."""
    with Runner(PYTHON, tier=tier, framework="torch") as one:
        yield one
