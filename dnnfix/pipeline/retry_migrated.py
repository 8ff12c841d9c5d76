"""A second attempt at old programs whose migration ran into what the program as written never reached.

What is made for a program is planned from its runs, and an outdated program stops early: the files, data sets and metrics
that it asks for later are not made. So what the migrated program needs is made, and the migration is tried within that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dnnfix.pipeline.attempt import Attempt, migrations
from dnnfix.pipeline.runs import Progress, made_runnable, seconds_of_a_run
from dnnfix.records import Reproduction
from dnnfix.source.program import Source
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from dnnfix.validate.laboratory import TrialLaboratory


def retried_as_migrated(
    first: Attempt,
    source: Source,
    laboratory: TrialLaboratory,
    templates: Mapping[str, type[FixTemplate]],
    progress: Progress,
) -> Attempt:
    """The second attempt if it proves a patch that the first did not, else the first."""
    migrated = first.repair.migrated
    if first.accepted or migrated is None:
        return first
    progress("making what the migrated program needs")
    before, settings = laboratory.reproduction, first.settings
    laboratory.begin_again(settings.budget, seconds_of_a_run(settings))
    laboratory.reproduced(Reproduction())
    stood = laboratory.observe(migrated, settings.seed)
    needed = made_runnable(migrated, stood, laboratory, settings, progress)
    if needed.scaffold != before.scaffold:
        trace = laboratory.observe(source, settings.seed)
        found = repair(source, trace, laboratory, migrations(templates), settings, progress, at_crash=False)
        second = replace(first, reproduction=needed, trace=trace, repair=found, crash_in_doubt=False)
        if second.accepted:
            return second
    laboratory.reproduced(before)
    return first
