"""Automated repair of deep-learning programs: find the fault, write the patch, prove it by running."""

from __future__ import annotations

__version__ = "0.1.0"
