"""Where a program is run: the laboratory for it, the modules it imports, and the scaffold that makes it runnable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix import registry
from dnnfix.config import Settings
from dnnfix.detect.run_rules import detect
from dnnfix.pipeline.check import selected
from dnnfix.records import Finding, Reproduction, Trace
from dnnfix.source.diff import module_path
from dnnfix.source.program import Source
from dnnfix.source.viewpoint import seen_from
from dnnfix.subject import Subject
from dnnfix.suppress import split

if TYPE_CHECKING:
    from dnnfix.reproduce.case import Case
    from dnnfix.reproduce.rounds import Run
    from dnnfix.run.runner import Runner
    from dnnfix.validate.laboratory import TrialLaboratory

RUN_SECONDS = 20.0
"""Seconds that a run may take at least, within the budget of its file; of a larger budget each may take a third."""

Progress = Callable[[str], None]
"""Is told, in words, what is under way."""


@contextmanager
def laboratory_for(
    source: Source, settings: Settings, failures: list[str], runner: Runner | None = None, said: str = ""
) -> Iterator[TrialLaboratory]:
    """A laboratory for one program, whose clock starts now; failures of templates are added to `failures`.

    `runner` serves several programs in turn, with its warm processes; without it the program has one of its own. `said` is the text of a report.
    """
    from dnnfix.reproduce.harness.made_losses import rests_on_made_loss
    from dnnfix.validate.deadline import Deadline
    from dnnfix.validate.laboratory import TrialLaboratory

    deadline = Deadline(settings.budget)
    templates = selected(settings)

    def findings_of(program: Source, trace: Trace | None) -> tuple[Finding, ...]:
        detection = detect(Subject(program, trace), templates)
        failures.extend(detection.failures)
        heard = _heard(detection.findings, program, settings)
        scaffold = laboratory.reproduction.scaffold
        return tuple(finding for finding in heard if not rests_on_made_loss(finding, program, scaffold))

    with nullcontext(runner) if runner is not None else _runner_for(source, settings) as lent:
        laboratory = TrialLaboratory(
            lent,
            source.path,
            findings_of,
            deadline,
            registry.validators(),
            settings.test_command,
            settings.workers,
            settings.arguments,
            seconds=seconds_of_a_run(settings),
            baseline=settings.baseline_python,
            python=settings.python,
            said=said,
        )
        yield laboratory


def seconds_of_a_run(settings: Settings) -> float:
    """Seconds that one run of a program may take."""
    return max(RUN_SECONDS, settings.budget / 3)


def _runner_for(source: Source, settings: Settings) -> Runner:
    from dnnfix.run.runner import Runner
    from dnnfix.run.visible import repository_of

    return Runner(
        interpreter=Path(settings.python),
        tier=settings.tier,
        trust=settings.trust,
        companions=repository_of(Path(source.path).resolve().parent),
        framework=_framework(source),
        baseline=Path(settings.baseline_python) if settings.baseline_python else None,
        device=settings.asked_device,
    )


def _heard(findings: Sequence[Finding], program: Source, settings: Settings) -> tuple[Finding, ...]:
    """The findings that nothing silences: no comment in the file that they are in, no setting for it."""
    beside = {module.path: module for module in program.beside}
    kept = list(split([f for f in findings if f.site.path not in beside], program.text, program.path, settings).kept)
    for place, module in beside.items():
        own = [seen_from(finding, {place: ""}) for finding in findings if finding.site.path == place]
        path = module_path(program.path, place)
        kept += [seen_from(finding, {"": place}) for finding in split(own, module.text, path, settings).kept]
    return tuple(kept)


def with_modules(source: Source) -> Source:
    """The program with the modules of its repository that it imports."""
    from dnnfix.reproduce.beside import modules_beside
    from dnnfix.run.visible import repository_of

    folder = Path(source.path).resolve().parent
    return source.along_with(modules_beside(source, folder, repository_of(folder)))


def _framework(source: Source) -> str | None:
    for name in ("tensorflow", "keras", "torch"):
        if name in source.frameworks:
            return name
    return None


def made_runnable(
    source: Source,
    trace: Trace,
    laboratory: TrialLaboratory,
    settings: Settings,
    progress: Progress,
    little_data: bool = False,
    further_on: bool = False,
) -> Reproduction:
    """The reproduction that makes a program run; the laboratory uses it for every run from then on.

    With `little_data`, with as little data and as small sizes as can be, also where it was slow and nothing else. Its time is not taken from the file's: a program that needed it has as much
    for its repair as any other.
    """
    from dnnfix.reproduce.rounds import RUNS, RUNS_FURTHER_ON, attempt, needed

    if not needed(trace) and not little_data:
        return Reproduction()

    with laboratory.deadline.extended():
        case = replace(case_of(source, (trace,), settings, laboratory.said), little_data=little_data)
        run, most = within(laboratory, source, settings, progress), RUNS_FURTHER_ON if further_on else RUNS
        reproduction, _ = attempt(case, run, most)
        if reproduction.scaffold != laboratory.reproduction.scaffold:  # else the last run was within it, and is kept
            laboratory.reproduced(reproduction)
    return reproduction


def within(laboratory: TrialLaboratory, program: Source, settings: Settings, progress: Progress) -> Run:
    """Runs a program inside the scaffold of a reproduction, in which the laboratory stays from then on."""

    def run(reproduction: Reproduction) -> Trace:
        progress(f"making it runnable: {len(reproduction.steps)} steps")
        laboratory.reproduced(reproduction)
        return laboratory.observe(program, settings.seed)

    return run


def case_of(source: Source, traces: tuple[Trace, ...], settings: Settings, said: str = "") -> Case:
    """The input of the edit actions of reproduction; `said` is the text of a bug report."""
    from dnnfix.reproduce.case import Case
    from dnnfix.run import gpu
    from dnnfix.run.interpreter import modules

    path = Path(source.path)
    return Case(
        source,
        traces,
        lambda name: name in modules(Path(settings.python)),
        path.resolve().parent,
        said,
        gpu=gpu.runs_on_it(source.raw, settings.asked_device),
        arguments=settings.arguments,
    )
