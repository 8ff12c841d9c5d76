"""Splits text and identifiers into the words that are indexed and looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+[A-Za-z]?(?![a-z])")
LONGEST = 60
"""Characters of an identifier beyond which it is a hash or an encoded picture, not a name."""


@lru_cache(maxsize=200_000)
def parts(identifier: str) -> tuple[str, ...]:
    """An identifier in lower case and without underscores, then its parts: `LoadImage` is loadimage, load and image."""
    split = [part.lower() for part in _PART.findall(identifier)]
    whole = identifier.replace("_", "").lower()
    if not whole or len(whole) > LONGEST:
        return ()
    return (whole,) if len(split) < 2 else (whole, *split)


def words(text: str) -> Iterator[str]:
    """The words of a text, in order, identifiers split."""
    for identifier in IDENTIFIER.findall(text):
        yield from parts(identifier)


@lru_cache(maxsize=200_000)
def _joined(identifier: str) -> str:
    return " ".join(parts(identifier))


def text_of(text: str) -> str:
    """The words of a text as one text that the index takes."""
    return " ".join([_joined(identifier) for identifier in IDENTIFIER.findall(text)])
