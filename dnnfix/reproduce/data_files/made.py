"""What makes a file, as the modules beside this one tell it."""

from __future__ import annotations

Made = tuple[str, str, str]
"""The code that makes a file, what it makes in words, and the evidence."""
