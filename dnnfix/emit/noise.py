"""How often each rule fires in files that nobody here wrote, and how many of its findings were true when they were read.

The table beside this module is written by `tools/noise.py`, which counts over a folder of public files; their addresses are in
`benchmarks/silent/public_files.tsv`. Findings were drawn at random and read by a person who knows PyTorch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("noise.json")
ALL = "all"
"""Under which name the table counts all files."""

ENOUGH = 20
"""Findings that have to be read before their share of true ones says something."""
PRECISE = 0.9
"""The share of true ones below which a rule is off by default."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Numbers of files in which a rule found something, and of findings that were read, and that were true."""

    files: int = 0
    read: int = 0
    true: int = 0

    @property
    def is_too_loud(self) -> bool:
        """Whether too many of its findings were wrong for a rule that nobody asked for."""
        return self.read >= ENOUGH and self.true < PRECISE * self.read


@cache
def table() -> Mapping[str, Noise]:
    """By code what was counted; rules that never fired are not in it."""
    return {code: Noise(**counts) for code, counts in json.loads(TABLE.read_text(encoding="utf-8")).items()}


def noise(code: str) -> Noise:
    """What was counted of a rule."""
    return table().get(code, Noise())


def in_words(code: str) -> str:
    """The same as a sentence; empty for rules outside the catalogue, which were not counted."""
    if not code.startswith("DNF"):
        return ""
    own, every = noise(code), table()[ALL]
    if not own.files:
        return f"In {every.files} public files: fires in none."
    share = 1000 * own.files / every.files
    read = f"; of {own.read} findings that were drawn and read, {own.true} were true" if own.read else ""
    return f"In {every.files} public files: fires in {own.files} ({share:.1f} of 1,000){read}."
