"""The record of a possible cause: a setting of training, and the edits that change it."""

from __future__ import annotations

from dnnfix.records import Edit, FixPattern
from dnnfix.records.record import record


@record
class Cause:
    """A setting that may be at fault, and the edits that set it otherwise.

    `setting` is the module that says so. `prior` is how likely it is to be what the person would have changed, from 0 to 1.
    """

    setting: str
    title: str
    pattern: FixPattern
    edits: tuple[Edit, ...]
    prior: float
