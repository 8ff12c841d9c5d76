"""A second attempt that runs the whole training, where its first steps showed nothing.

A run is cut after a few optimizer steps, and what comes later is not seen: the smaller last batch, the second epoch, the
next network of a comparison, an iterator that runs out, a loss that leaves the finite numbers. Where no patch was proven,
the program is run once more with the clock alone to end its training; where that shows a crash or such a loss, it is repaired
as in any other run, and every trial is as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from dnnfix.pipeline.attempt import Attempt
from dnnfix.pipeline.remarks import heard_of_training, searchable
from dnnfix.pipeline.runs import Progress
from dnnfix.records import RunOutcome, Trace
from dnnfix.source.program import Source
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from dnnfix.validate.laboratory import TrialLaboratory


def after_long_run(
    first: Attempt,
    source: Source,
    laboratory: TrialLaboratory,
    templates: Mapping[str, type[FixTemplate]],
    progress: Progress,
) -> Attempt:
    """What whole training shows of a program, where it shows more than its first steps did, else the first try."""
    if first.accepted or not _worthwhile(first) or laboratory.out_of_time():
        return first
    progress("looking further into training")
    laboratory.observe_further()
    trace = laboratory.observe(source, first.settings.seed)
    if _shows_more(first.trace, trace):
        own = searchable(source, trace, first.settings)
        heard = heard_of_training(source, first.settings) if first.trace.crashed_after_cut else None
        found = repair(source, trace, laboratory, templates, first.settings, progress, own, heard)
        if found.results or trace.crash is not None or not first.repair.results:
            return replace(first, trace=trace, repair=found)
    return replace(first, trace=trace) if trace.outcome is RunOutcome.FINISHED and not trace.cut else first


def _worthwhile(first: Attempt) -> bool:
    """Whether training was cut by the number of its steps, on data that are the program's own."""
    trace = first.trace
    ended = trace.outcome is RunOutcome.FINISHED or trace.crashed_after_cut
    return ended and bool(trace.cut) and bool(trace.steps) and not trace.hurried and not first.reproduction.invents


def _shows_more(first: Trace, whole: Trace) -> bool:
    """Whether whole training ends in a crash of the program's own, in none where the cut made one, or in another kind of loss."""
    if first.crashed_after_cut and whole.outcome is RunOutcome.FINISHED and not whole.cut:
        return True
    if whole.crash is not None and whole.outcome is RunOutcome.CRASHED and not whole.crashed_after_cut:
        return True
    return not _finite(whole) and _finite(first)


def _finite(trace: Trace) -> bool:
    return all(step.loss is None or math.isfinite(step.loss) for step in trace.steps)
