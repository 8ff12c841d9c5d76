"""`dnnfix bench prompts`: what a language model would be asked about each case."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument

from dnnfix import config, pipeline
from dnnfix.bench.assessment import NAME
from dnnfix.bench.cases import Case
from dnnfix.bench.oracle import runner_for
from dnnfix.cli import options
from dnnfix.cli.bench import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.config import Settings
from dnnfix.errors import InputError
from dnnfix.run.runner import Runner

EXAMPLES = """  dnnfix bench prompts ~/prompts --select open --sample 30
"""

EXIT_CODES = "0 done, 2 a case is malformed, or the folder cannot be written"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    folder: Annotated[Path, Argument(metavar="FOLDER", help="a new or empty folder of yours")],
    place: choosing.Sample,
    programs: options.Programs,
    cache: options.Cache,
) -> int:
    """Write the first prompt of each case into a folder, as ID.txt: what a model would be told where rules and search
    propose nothing. No model is asked. A case of which nothing is found has no prompt."""
    settings = config.load(Path.cwd(), options.overrides(programs, cache), isolated=True)
    settings = replace(settings, unfixable=("ALL",), proposer="model", dry_run=True)
    benchmark = place.opened()
    problems: list[str] = []
    cases = benchmark.cases(problems.append)
    for problem in problems:
        console.problem(problem)
    cases = choosing.runnable(cases, Path(settings.python), console.remark)
    if place.sample:
        cases = choosing.sampled(cases, place.sample)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty. Give a new folder.")
        with runner_for(settings) as runner:
            for number, case in enumerate(cases, 1):
                console.progress(f"{number} of {len(cases)}: {case.id}")
                prompt = _prompt(case, settings, runner)
                if prompt:
                    (folder / f"{case.id}.txt").write_text(prompt, encoding="utf-8")
                else:
                    console.remark(f"{case.id}: nothing would be asked")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}). Give another folder.") from None
    return ERROR if problems else CLEAN


def _prompt(case: Case, settings: Settings, runner: Runner) -> str:
    """What a model would be asked about a case; empty where it would not be."""
    with tempfile.TemporaryDirectory(prefix="dnnfix-prompts-") as scratch:
        path = Path(scratch, NAME)
        path.write_bytes(case.program)
        own = replace(settings, cache_dir=Path(scratch, "cache"))
        report = pipeline.suggest_file(case.program, str(path), own, lambda words: None, runner)
    return report.model.prompt if report.model is not None else ""
