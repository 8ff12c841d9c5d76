"""A second attempt at a program that swallowed an exception and ended before it trained: the hidden crash is repaired.

`except Exception as e: print(e)` around a whole program leaves nothing to observe: no crash, and no step of training. The
handler that swallowed the last exception is opened for all runs from then on, so that the program stops where it fails.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from dnnfix.pipeline.attempt import Attempt
from dnnfix.pipeline.remarks import searchable
from dnnfix.pipeline.runs import Progress
from dnnfix.records import Caught, EditAction, EditStep, Reproduction, RunOutcome, Trace
from dnnfix.reproduce.harness.unused import TRAINING
from dnnfix.source.program import Source
from dnnfix.synthesize.search import repair
from dnnfix.template import FixTemplate
from dnnfix.validate.laboratory import TrialLaboratory

_ENDS = frozenset({RunOutcome.FINISHED, RunOutcome.EXITED, RunOutcome.NEEDS_DATA})
"""How a run may end that an exception kept from training: a handler may read what training would have written."""


def with_swallowed_crash(
    first: Attempt,
    source: Source,
    laboratory: TrialLaboratory,
    templates: Mapping[str, type[FixTemplate]],
    progress: Progress,
) -> Attempt:
    """The repair of the crash that a program swallowed before it trained, where there is one, else the first try."""
    caught = first.trace.caught
    if first.accepted or caught is None or not _kept_from_training(source, first.trace) or laboratory.out_of_time():
        return first
    progress("opening the handler that swallowed an exception")
    as_it_was = laboratory.reproduction
    laboratory.reproduced(_opening(first, source, caught))
    trace = laboratory.observe(source, first.settings.seed)
    if trace.outcome is not RunOutcome.CRASHED or trace.crash is None or trace.crash.message != caught.message:
        laboratory.reproduced(as_it_was)
        return first
    own = not as_it_was.invents_form and searchable(source, trace, first.settings)
    found = repair(source, trace, laboratory, templates, first.settings, progress, at_crash=own)
    return replace(first, reproduction=laboratory.reproduction, trace=trace, repair=found)


def _kept_from_training(source: Source, trace: Trace) -> bool:
    """Whether a program that says how to train ended without a step of training: by itself, or for want of a file of its own."""
    ended = trace.outcome in _ENDS and not trace.steps
    calls = (call.func for file in source.files.values() for call in file.all_calls)
    return ended and any(isinstance(func, ast.Attribute) and func.attr in TRAINING for func in calls)


def _opening(first: Attempt, source: Source, caught: Caught) -> Reproduction:
    """What the program was run in so far, with the handler opened."""
    handler = (caught.site.path, caught.number)
    said = ": ".join([caught.kind, *caught.message.splitlines()[:1]])
    step = EditStep(
        EditAction.LOGGING,
        f"the `except` at {source.line_in_words(caught.site.line, caught.site.path)} lets through what it swallows",
        f"it caught {said}, and nothing was trained",
        invented=False,
    )
    known = first.reproduction
    scaffold = replace(known.scaffold, opened=(*known.scaffold.opened, handler))
    return replace(known, steps=(*known.steps, step), scaffold=scaffold)
