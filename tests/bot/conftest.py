"""A repository of people on a forge in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bot.people import Repository, repository_in


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository that asks for the bot, with one program."""
    return repository_in(tmp_path)
