"""Files and folders that a program reads and nobody has: what each must hold, and the step that makes it."""

from __future__ import annotations

Made = tuple[str, str, str]
"""The code that makes a file, what it makes in words, and the evidence."""
