"""The spectrum of a run of tests: for each line, how many failing and passing tests execute it, and the usual formulas over these."""

from __future__ import annotations

import json
import math
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dnnfix.errors import InputError
from dnnfix.run.command import TIMED_OUT, run_in_copy

PLUGIN = Path(__file__).with_name("plugin")
MOST_BYTES = 2**28
"""Bytes of what the plugin wrote that are read."""

Line = tuple[str, int]
"""A path from the root of the repository and a line."""


@dataclass(frozen=True)
class Spectrum:
    """How many tests failed and passed, and how many of each executed a line."""

    failed: int
    passed: int
    failing: Mapping[Line, int]
    passing: Mapping[Line, int]

    def by(self, formula: Callable[[int, int, int, int], float]) -> Mapping[Line, float]:
        """The suspiciousness of each line that a failing test executes."""
        return {
            line: formula(count, self.passing.get(line, 0), self.failed, self.passed)
            for line, count in self.failing.items()
        }


def ochiai(failing: int, passing: int, failed: int, passed: int) -> float:
    """The cosine of executing a line and failing (Abreu et al. 2007)."""
    return failing / math.sqrt(failed * (failing + passing))


def tarantula(failing: int, passing: int, failed: int, passed: int) -> float:
    """The share of failing tests among the shares of failing and passing ones (Jones and Harrold 2005)."""
    share, other = failing / failed, passing / passed if passed else 0.0
    return share / (share + other)


def dstar(failing: int, passing: int, failed: int, passed: int) -> float:
    """The square of the failing tests over those that speak against the line (Wong et al. 2014); infinite where none does."""
    against = passing + failed - failing
    return failing**2 / against if against else math.inf


def spectrum(tests: Mapping[str, Mapping[str, object]]) -> Spectrum:
    """The spectrum of what the plugin wrote."""
    failing: Counter[Line] = Counter()
    passing: Counter[Line] = Counter()
    failed = 0
    for test in tests.values():
        lines = test["lines"]
        count = failing if test["failed"] else passing
        failed += bool(test["failed"])
        if isinstance(lines, dict):
            count.update((path, line) for path, own in lines.items() for line in own)
    return Spectrum(failed, len(tests) - failed, failing, passing)


def run(command: str, repository: Path, seconds: float) -> Spectrum:
    """Run a command that calls pytest on a copy of the repository, and give the spectrum of its tests.

    Raises `InputError` where no test was run, where none failed, or where time was over.
    """
    with tempfile.TemporaryDirectory(prefix="dnnfix-spectra-") as scratch:
        output = Path(scratch, "spectra.json")
        settings = {
            "DNNFIX_SPECTRA": str(output),
            "DNNFIX_SPECTRA_ROOT": ".",
            "PYTHONPATH": str(PLUGIN),
            "PYTEST_ADDOPTS": "-p dnnfix_spectra",
        }
        given = "".join(f"export {name}={shlex.quote(value)}; " for name, value in settings.items())
        status, said = run_in_copy(f"{given}{command}", repository.resolve(), {}, Path(scratch), seconds)
        if status == TIMED_OUT:
            raise InputError(f"{command}: ran longer than {seconds:g} seconds. Give fewer tests, or a larger --budget.")
        if not output.is_file() or output.stat().st_size > MOST_BYTES:
            last = said.strip().splitlines()[-1:] or [f"status {status}"]
            raise InputError(
                f"{command}: no pytest ran to its end ({last[0][:200]}). Give a command that calls pytest."
            )
        found = spectrum(json.loads(output.read_bytes()))
    if not found.failed:
        raise InputError(f"{command}: {found.passed} tests passed and none failed. Give one that shows the fault.")
    return found
