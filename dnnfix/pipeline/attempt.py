"""One attempt at a program: its reproduction, its run inside of that, and its repair. A second attempt may follow the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dnnfix.config import Settings
from dnnfix.pipeline.remarks import heard_of_training, searchable, whatever_the_data
from dnnfix.pipeline.runs import Progress
from dnnfix.records import Family, PatchVerdict, Reproduction, Trace
from dnnfix.source.program import Source
from dnnfix.synthesize.progress import same_crash
from dnnfix.synthesize.repairs import Repair
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from dnnfix.validate.laboratory import TrialLaboratory
from dnnfix.validate.reading import Reading


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


def attempted(
    source: Source,
    as_written: Trace,
    reproduction: Reproduction,
    laboratory: TrialLaboratory,
    templates: Mapping[str, type[FixTemplate]],
    settings: Settings,
    progress: Progress,
    logged: tuple[Reading, ...] = (),
) -> Attempt:
    """The short run of a program inside a reproduction, and the repair of what that shows. `as_written` is its run without one."""
    trace = laboratory.observe(source, settings.seed) if reproduction.steps else as_written
    # The crash of a program that ran on things of a made-up form may be theirs, unless it had crashed so without them.
    in_doubt = reproduction.invents_form and not same_crash(as_written, trace, {})
    own = (not in_doubt or whatever_the_data(source, trace)) and searchable(source, trace, settings)
    heard = heard_of_training(source, settings) if not reproduction.invents else None
    found = repair(
        source, trace, laboratory, templates, settings, progress, at_crash=own, at_training=heard, logged=logged
    )
    return Attempt(reproduction, trace, found, settings, crash_in_doubt=in_doubt)


def migrations(templates: Mapping[str, type[FixTemplate]]) -> dict[str, type[FixTemplate]]:
    """The templates that bring a program up to date, which is all that some second attempts try."""
    return {code: template for code, template in templates.items() if template.family is Family.VERSIONING}
