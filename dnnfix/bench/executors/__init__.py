"""Executors of assignments: processes of this machine, or a Ray cluster. Both give the same results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from dnnfix.bench.assessment import Assessed, Assignment

RETRIES = 2
"""How often an assignment is given to another worker when the one that had it is lost."""


class Executor(Protocol):
    """Carries out assignments."""

    def run(self, assignments: Iterable[Assignment]) -> Iterator[tuple[Assignment, Assessed]]:
        """Each assignment with its result, as they are done; one whose worker was lost too often has `failed`."""
        ...
