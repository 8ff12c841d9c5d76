"""The fixture of the old era's interpreter, shared with the tests of dnnfix itself."""

from __future__ import annotations

from tests.baseline.conftest import baseline

__all__ = ["baseline"]
