"""The record of one symptom that a training shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dnnfix.records import Json, Symptom
from dnnfix.records.record import record


@record
class Reading:
    """One symptom: its name in `docs/symptoms.md`, what a person reads, and the numbers."""

    name: str
    said: str
    symptom: Symptom
    numbers: Mapping[str, Json] = field(default_factory=dict)
