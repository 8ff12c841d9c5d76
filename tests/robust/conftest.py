"""A folder to work in and a guard on what calls leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robust.calls import adopt_orphans, children, left_running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder; the caches of calls lie beside it."""
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Whatever a test does, no process of it is there afterwards."""
    adopt_orphans()
    before = children(os.getpid())
    yield
    assert not left_running(before), "processes outlived the call that started them"
