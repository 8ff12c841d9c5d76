"""A second attempt at programs that ran out of time or memory: with as little synthetic data and as small sizes as possible, and twice
the time per run.

Data that reproduction makes have the size that the program counts on, and that can be more than a run gets through
before its first step; so can the network. Only the migration is tried here: so little can show that a program runs again, and
nothing of how well it learns. What the run shows is told also without a patch, where it takes steps and the first did not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from dnnfix.pipeline.attempt import Attempt, migrations
from dnnfix.pipeline.runs import Progress, made_runnable, seconds_of_a_run
from dnnfix.records import Trace
from dnnfix.source.program import Source
from dnnfix.synthesize.repairs import Repair
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from dnnfix.validate.laboratory import TrialLaboratory

SLOWER = 2
"""Times the budget of the file, and so the seconds of each run, that the second try has."""


def retried_with_less_data(
    first: Attempt,
    source: Source,
    stood: Trace,
    laboratory: TrialLaboratory,
    templates: Mapping[str, type[FixTemplate]],
    progress: Progress,
) -> Attempt:
    """The second attempt if it proves a patch, or trains, and the first ran out of time or memory without that, else the first.

    `stood` is the run of the program as it is, without a scaffold.
    """
    if first.accepted or not laboratory.stalled():
        return first
    progress("trying with less")
    settings = replace(first.settings, budget=SLOWER * first.settings.budget)
    laboratory.begin_again(settings.budget, seconds_of_a_run(settings))
    smaller = made_runnable(source, stood, laboratory, settings, progress, little_data=True)
    if not smaller.steps or smaller.scaffold == first.reproduction.scaffold:
        return first
    trace = laboratory.observe(source, settings.seed)
    found = repair(source, trace, laboratory, migrations(templates), settings, progress, at_crash=False)
    note = (
        "the time or the memory of a run was over before the first step: the program was tried again with as little as can be, "
        f"{seconds_of_a_run(settings):g} s for each run, and for its migration alone"
    )
    rest = _with_the_rest(found, first.repair, migrations(templates))
    second = replace(first, reproduction=smaller, trace=trace, repair=rest, settings=settings, note=note)
    trains = bool(trace.steps) and trace.crash is None and not first.trace.steps
    return second if second.accepted or trains else first


def _with_the_rest(found: Repair, first: Repair, tried: Collection[str]) -> Repair:
    """The second repair with what the first try said of the findings that the second was not for."""
    said = {result.finding.id: result for result in first.results}
    results = [
        result
        if result.finding.code in tried or result.finding.id not in said
        else replace(said[result.finding.id], patches=())
        for result in found.results
    ]
    return replace(found, results=tuple(results))
