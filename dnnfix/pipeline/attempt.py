"""The result of one attempt at a program: its reproduction, trace and repair. A second attempt may follow the first."""

from __future__ import annotations

from dataclasses import dataclass

from dnnfix.config import Settings
from dnnfix.records import PatchVerdict, Reproduction, Trace
from dnnfix.synthesize.repairs import Repair


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
