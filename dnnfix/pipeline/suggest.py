"""The whole path (`dnnfix suggest`): runs a program, finds its faults, and proves patches for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dnnfix.config import Settings
from dnnfix.pipeline.check import selected
from dnnfix.pipeline.logged import with_log
from dnnfix.pipeline.old_world import elsewhere
from dnnfix.pipeline.proofs import certified
from dnnfix.pipeline.remarks import (
    doubt,
    misread,
    unchecked,
    unexplained,
    unreadable,
    unrun,
    wanted,
)
from dnnfix.pipeline.runs import Progress, laboratory_for, made_runnable, with_modules
from dnnfix.pipeline.shown import layer_curves, slice_of
from dnnfix.records import FileReport
from dnnfix.source.program import Source

if TYPE_CHECKING:
    from dnnfix.pipeline.attempt import Attempt
    from dnnfix.records import FindingResult
    from dnnfix.run.runner import Runner
    from dnnfix.validate.laboratory import TrialLaboratory
    from dnnfix.watching.log import SymptomLog


def suggest_file(
    raw: bytes,
    path: str,
    settings: Settings,
    progress: Progress,
    runner: Runner | None = None,
    log: SymptomLog | None = None,
    said: str = "",
) -> FileReport:
    """The whole pipeline on one program: run it, find its faults, and prove patches for them.

    `runner` may serve several programs in turn; by default the program has one of its own. `log` has the symptoms of a long
    run of the program: they are looked for, and are evidence for what is found. `said` is the text of a bug report about it, without its code: what it tells of
    command lines, sizes and settings is what the program is run with.
    Raises `InputError` where the bytes cannot be analysed or the log is of another program, `SandboxError` and `InterpreterError` where nothing can run.
    """
    from dnnfix.pipeline.attempt import attempted
    from dnnfix.pipeline.by_model import with_model
    from dnnfix.pipeline.long_run import after_long_run
    from dnnfix.pipeline.retry_further import retried_further_on
    from dnnfix.pipeline.retry_small import retried_with_less_data
    from dnnfix.pipeline.swallowed import with_swallowed_crash

    if log is not None:
        log.verify(raw, path)
    logged = tuple(seen.reading for seen in log.seen) if log is not None else ()
    source = with_modules(Source.from_bytes(raw, path))
    templates = {template.code: template for template in selected(settings)}
    failures: list[str] = []
    progress("starting the interpreter")
    with laboratory_for(source, settings, failures, runner, said) as laboratory:
        progress("running the program")
        as_written = laboratory.observe(source, settings.seed)
        reproduction = made_runnable(source, as_written, laboratory, settings, progress)
        attempt = attempted(source, as_written, reproduction, laboratory, templates, settings, progress, logged)
        attempt = retried_with_less_data(attempt, source, as_written, laboratory, templates, progress)
        attempt = retried_further_on(attempt, source, as_written, laboratory, templates, progress)
        attempt = after_long_run(attempt, source, laboratory, templates, progress)
        attempt = with_swallowed_crash(attempt, source, laboratory, templates, progress)
        attempt, use = with_model(attempt, source, laboratory)
        report = replace(_report(attempt, source, laboratory, settings, failures), model=use)
        return report if log is None else with_log(report, log, source, attempt.trace, settings)


def _report(
    attempt: Attempt, source: Source, laboratory: TrialLaboratory, settings: Settings, failures: list[str]
) -> FileReport:
    """What is said of a program after its last attempt."""
    from dnnfix.run import gpu

    trace, outcome, reproduction = attempt.trace, attempt.repair, attempt.reproduction
    tier, device = laboratory.runner.tier, gpu.device_of(source.raw, settings.asked_device)
    unread = tuple(result for result in unreadable(source) if wanted(result.finding, source, settings))
    crash = tuple(unexplained(source, trace, outcome))
    doubted: tuple[FindingResult, ...] = crash if attempt.crash_in_doubt else ()
    heard = tuple(result for result in crash if not doubted and wanted(result.finding, source, settings))
    silenced = () if doubted else crash[len(heard) :]
    return FileReport(
        source.path,
        findings=(*outcome.results, *unread, *heard),
        patches=tuple(
            certified(patch, outcome, tier, device, attempt.settings, reproduction, laboratory.observed_steps)
            for patch in outcome.patches
        ),
        runs=tuple(laboratory.records),
        unchecked=(
            *elsewhere(source),
            *misread(source),
            *(f"{result.finding.message}, which the settings or a comment silence" for result in silenced),
            *(doubt(result.finding, source) for result in doubted),
            *laboratory.uncompared,
            *unchecked(source, trace, outcome, failures),
            *filter(None, [gpu.remark(source.raw, settings.asked_device)]),
        ),
        sandbox=tier.value,
        device=device,
        notes=(*trace.notes, *outcome.notes, *filter(None, [attempt.note])),
        reproduction=reproduction,
        unrun=bool(doubted) or unrun(trace),
        modules={module.path: module.raw for module in source.beside},
        trace=trace,
        slice=slice_of(source, trace),
        layers=layer_curves(laboratory.looked.get(source.contents)),
    )
