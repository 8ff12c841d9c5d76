"""The interpreter of the old era, as the tests of dnnfix itself find it."""

from __future__ import annotations

from tests.baseline.conftest import baseline

__all__ = ["baseline"]
