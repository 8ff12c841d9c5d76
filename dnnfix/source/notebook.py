"""Notebooks."""

from __future__ import annotations

from dnnfix.errors import InputError
from dnnfix.source.document import Document


def read_notebook(raw: bytes, path: str) -> Document:
    """The document in a notebook's bytes. Raises `InputError`."""
    raise InputError(f"{path}: notebooks are not read yet.")
