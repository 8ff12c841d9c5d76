"""The result of one attempt at a program: its reproduction, trace and repair. A second attempt may follow the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dnnfix.config import Settings
from dnnfix.records import Family, PatchVerdict, Reproduction, Trace
from dnnfix.synthesize.repairs import Repair
from dnnfix.template import FixTemplate


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a program: what it was put in, the run that showed its faults, its repair, and the budget it had."""

    reproduction: Reproduction
    trace: Trace
    repair: Repair
    settings: Settings
    note: str = ""
    crash_in_doubt: bool = False
    """Whether a crash may be that of things of a made-up form, in which the program was put."""

    @property
    def accepted(self) -> bool:
        """Whether a patch was proven."""
        return any(patch.verdict is PatchVerdict.ACCEPTED for patch in self.repair.patches)


def migrations(templates: Mapping[str, type[FixTemplate]]) -> dict[str, type[FixTemplate]]:
    """The templates that bring a program up to date, which is all that some second attempts try."""
    return {code: template for code, template in templates.items() if template.family is Family.VERSIONING}
