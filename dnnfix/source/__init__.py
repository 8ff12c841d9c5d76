"""A program's source: bytes in, a syntax tree with resolved names out, and edits carried back to the bytes."""

from __future__ import annotations
