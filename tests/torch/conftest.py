"""Programs run under the probe in a process that has imported torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observing import Observe, Zygote

_WARM = """
import torch
torch.set_num_threads(1)
net = torch.nn.Linear(2, 2)
torch.optim.Adam(net.parameters()).zero_grad()
from dnnfix_probe.torch import hooks
hooks.warm()
"""


@pytest.fixture(scope="session")
def _zygote() -> Iterator[Zygote]:
    zygote = Zygote(_WARM, evaluation_batches=4)
    yield zygote
    zygote.close()


@pytest.fixture
def observe(_zygote: Zygote, tmp_path: Path) -> Observe:
    """Runs a program under the probe and gives its trace."""
    return _zygote.observer(tmp_path)
