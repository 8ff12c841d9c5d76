"""A second attempt at programs that ran into what the program as written never reached, once they were migrated or repaired at their crash.

What is made for a program is planned from its runs, and a program that stops early does not come to the files, data sets, metrics
and GPUs that it asks for later. So what it needs further on is made, and the repair is tried within that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dnnfix.pipeline.attempt import Attempt, attempted, migrations
from dnnfix.pipeline.runs import Progress, made_runnable, seconds_of_a_run
from dnnfix.records import Reproduction, Trace
from dnnfix.source.program import Source
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from dnnfix.validate.laboratory import TrialLaboratory


def retried_further_on(
    first: Attempt,
    source: Source,
    stood: Trace,
    laboratory: TrialLaboratory,
    templates: Mapping[str, type[FixTemplate]],
    progress: Progress,
) -> Attempt:
    """The second attempt if it proves a patch that the first did not, else the first. `stood` is the run of the program as it is."""
    further = first.repair.further or first.repair.migrated
    if first.accepted or further is None:
        return first
    progress("making what the program needs further on")
    before, settings = laboratory.reproduction, first.settings
    laboratory.begin_again(settings.budget, seconds_of_a_run(settings))
    laboratory.reproduced(Reproduction())
    ran = laboratory.observe(further, settings.seed)
    needed = made_runnable(further, ran, laboratory, settings, progress, further_on=True)
    if needed.scaffold != before.scaffold:
        if first.repair.further is not None:
            second = attempted(source, stood, needed, laboratory, templates, settings, progress)
        else:
            trace = laboratory.observe(source, settings.seed)
            found = repair(source, trace, laboratory, migrations(templates), settings, progress, at_crash=False)
            second = replace(first, reproduction=needed, trace=trace, repair=found, crash_in_doubt=False)
        if second.accepted:
            return second
    laboratory.reproduced(before)
    return first
