"""The path of `dnnfix reproduce`: makes a program run, and checks whether it shows the symptom that was reported."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dnnfix.config import Settings
from dnnfix.pipeline.runs import Progress, case_of, laboratory_for, with_modules, within
from dnnfix.records import Reproduction, Symptom, Trace
from dnnfix.source.program import Source

if TYPE_CHECKING:
    from dnnfix.reproduce.reports.result import Reproduced


def reproduce_report(raw: bytes, path: str, settings: Settings, progress: Progress) -> Reproduced:
    """Reproduce the program of a bug report in Markdown, and see whether it shows what the report says.

    Raises `InputError` where the report holds no code or code that cannot be analysed.
    """
    from dnnfix.reproduce.reports import report

    written = report.read(raw.decode("utf-8", "replace"), path)
    program = os.path.join(os.path.dirname(path), f"{Path(path).stem}.py")
    return _reproduce(
        Source.from_bytes(written.program.encode(), program), settings, progress, written.said, written.logs
    )


def reproduce_file(raw: bytes, path: str, settings: Settings, progress: Progress) -> Reproduced:
    """Make one program run, as far as that can be done without touching its fault. Raises `InputError`."""
    return _reproduce(Source.from_bytes(raw, path), settings, progress)


def _reproduce(source: Source, settings: Settings, progress: Progress, said: str = "", logs: str = "") -> Reproduced:
    from dnnfix.reproduce.actions.versions import migrated
    from dnnfix.reproduce.reports.kinds import missing_information, type_of
    from dnnfix.reproduce.reports.result import Reproduced
    from dnnfix.reproduce.reports.symptoms import reported_symptom, shown
    from dnnfix.reproduce.rounds import attempt, broke, needed

    program = source = with_modules(source)
    reported = reported_symptom(said)
    with laboratory_for(source, settings, []) as laboratory:
        progress("running the program as it stands")
        first = laboratory.observe(source, settings.seed)

        reproduction = Reproduction()
        traces: tuple[Trace, ...] = (first,)
        if needed(first) and not (reported and shown(reported, first)[0]):
            program, moved = migrated(source, said) if said else (source, ())
            run = within(laboratory, program, settings, progress)
            reproduction, more = attempt(case_of(program, traces, settings, said), run)
            if moved and not more:
                more = (run(reproduction),)
            traces += tuple(trace for trace in more if not broke(trace))
            reproduction = replace(reproduction, steps=(*moved, *reproduction.steps))
        if reported is not None and reported.symptom is not Symptom.CRASH and traces[-1].steps:
            progress("training, to see the symptom")
            traces += (laboratory.train(program, settings.seed),)
    shows, saw = shown(reported, traces[-1]) if reported is not None else (None, "")
    typed = type_of(said, traces[-1])
    asked = tuple(missing_information(typed.kind, said, logs, source, reproduction.invents_data)) if said else ()
    return Reproduced(source, program, typed, traces, reproduction, asked, reported, shows, saw)
