"""Programs run under the probe in a process that is warm with Keras on torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observing import Observe, Zygote

_WARM = """
from dnnfix_probe.process import warm
missing = warm.up("keras", ["numpy", "pandas"])["missing"]
if missing:
    sys.exit(str(missing))
"""


@pytest.fixture(scope="session")
def _zygote() -> Iterator[Zygote]:
    zygote = Zygote(_WARM, evaluation_batches=2, KERAS_BACKEND="torch")
    yield zygote
    zygote.close()


@pytest.fixture
def observe(_zygote: Zygote, tmp_path: Path) -> Observe:
    """Runs a program under the probe and gives its trace."""
    return _zygote.observer(tmp_path)
