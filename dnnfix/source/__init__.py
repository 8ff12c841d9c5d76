"""Reads a program's bytes into a syntax tree with resolved names, and writes edits back into the bytes."""

from __future__ import annotations
