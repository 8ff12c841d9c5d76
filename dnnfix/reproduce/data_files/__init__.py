"""Edit steps for missing files and folders that a program reads: what each must hold, and the code that makes it."""

from __future__ import annotations

Made = tuple[str, str, str]
"""The code that makes a file, what it makes in words, and the evidence."""
