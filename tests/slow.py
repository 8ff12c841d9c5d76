"""The slow part of a test that has many cases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(number: int, names: Iterable[str]) -> list[Any]:
    """The names of the cases of a test, all but the first so many marked as slow."""
    return [pytest.param(name, marks=pytest.mark.slow) if place >= number else name for place, name in enumerate(names)]
