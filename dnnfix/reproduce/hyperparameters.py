"""Edit action: to be written."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.records import EditAction, EditStep
from dnnfix.reproduce.case import Case, Gap

ACTION = EditAction.HYPERPARAMETERS


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """What the action does for the case."""
    yield from ()
