"""Programs on a GPU: every test here is skipped where there is none, or the torch of these tests cannot use it."""

from __future__ import annotations

import pytest

from dnnfix.run import gpu


@pytest.fixture(autouse=True, scope="session")
def with_gpu() -> None:
    """Skips without a GPU."""
    if not gpu.present():
        pytest.skip("there is no NVIDIA GPU here")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip(f"torch {torch.__version__} cannot use the GPU here")
