"""Selects the Keras backend for all tests of the plug-in: torch, the only one sure to be installed."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
