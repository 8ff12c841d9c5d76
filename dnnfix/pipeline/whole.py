"""The whole path: run a program, find its faults, and prove patches for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnnfix.config import Settings
from dnnfix.pipeline.account import (
    doubt,
    heard_of_training,
    misread,
    searchable,
    unchecked,
    unexplained,
    unreadable,
    unrun,
    wanted,
    whatever_the_data,
)
from dnnfix.pipeline.old_world import elsewhere
from dnnfix.pipeline.proofs import certified
from dnnfix.pipeline.runs import Progress, laboratory_for, made_runnable, with_modules
from dnnfix.pipeline.static import selected
from dnnfix.records import FileReport
from dnnfix.source.program import Source

if TYPE_CHECKING:
    from dnnfix.run.runner import Runner


def suggest_file(
    raw: bytes, path: str, settings: Settings, progress: Progress, runner: Runner | None = None
) -> FileReport:
    """The whole pipeline on one program: run it, find its faults, and prove patches for them.

    `runner` is one that serves several programs in turn; by default the program has one of its own.
    Raises `InputError` where the bytes cannot be analysed, `SandboxError` and `InterpreterError` where nothing can run.
    """
    from dnnfix.pipeline.further import looked_further
    from dnnfix.pipeline.haste import again
    from dnnfix.pipeline.swallowed import with_its_crash
    from dnnfix.pipeline.tries import Try
    from dnnfix.run import card
    from dnnfix.synthesize.progress import same_crash
    from dnnfix.synthesize.search import repair

    source = with_modules(Source.from_bytes(raw, path))
    templates = {template.code: template for template in selected(settings)}
    failures: list[str] = []
    progress("starting the interpreter")
    with laboratory_for(source, settings, failures, runner) as laboratory:
        tier = laboratory.runner.tier
        device = card.device_of(raw, settings.asked_device)
        progress("running the program")
        trace = stood = laboratory.observe(source, settings.seed)
        reproduction = made_runnable(source, trace, laboratory, settings, progress)
        if reproduction.steps:
            trace = laboratory.observe(source, settings.seed)
        # The crash of a program that ran on things of a made-up form may be theirs, unless it had crashed so without them.
        invented = reproduction.invents_form and not same_crash(stood, trace, {})
        own = not invented or whatever_the_data(source, trace)
        own = own and searchable(source, trace, settings)
        found = repair(
            source,
            trace,
            laboratory,
            templates,
            settings,
            progress,
            at_crash=own,
            at_training=heard_of_training(source, settings) if not reproduction.invents else None,
        )
        made = again(Try(reproduction, trace, found, settings), source, stood, laboratory, templates, progress)
        made = looked_further(made, source, laboratory, templates, progress)
        made = with_its_crash(made, source, laboratory, templates, progress)
        trace, outcome, reproduction = made.trace, made.repair, made.reproduction
        steps = laboratory.observed_steps
        patches = tuple(
            certified(p, outcome, tier, device, made.settings, reproduction, steps) for p in outcome.patches
        )
        unread = tuple(r for r in unreadable(source) if wanted(r.finding, source, settings))
        crash = tuple(unexplained(source, trace, outcome))
        doubted = crash if invented else ()
        heard = tuple(r for r in crash if not doubted and wanted(r.finding, source, settings))
        silenced = tuple(
            f"{result.finding.message}, which the settings or a comment silence"
            for result in crash[len(heard) :]
            if not doubted
        )
        return FileReport(
            path,
            findings=(*outcome.results, *unread, *heard),
            patches=patches,
            runs=tuple(laboratory.records),
            unchecked=(
                *elsewhere(source),
                *misread(source),
                *silenced,
                *(doubt(result.finding, source) for result in doubted),
                *laboratory.uncompared,
                *unchecked(source, trace, outcome, failures),
                *filter(None, [card.remark(raw, settings.asked_device)]),
            ),
            sandbox=tier.value,
            device=device,
            notes=(*trace.notes, *outcome.notes, *filter(None, [made.note])),
            reproduction=reproduction,
            unrun=bool(doubted) or unrun(trace),
            modules={module.path: module.raw for module in source.beside},
        )
