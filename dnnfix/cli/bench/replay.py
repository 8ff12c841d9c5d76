"""`dnnfix bench replay`: repairs every case and reports how many repairs are right."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from dnnfix import config, pipeline
from dnnfix.bench.assessment import USUAL, Arm, Assessed
from dnnfix.bench.cases import Case
from dnnfix.bench.executors import Executor
from dnnfix.bench.executors.local import LocalExecutor
from dnnfix.bench.ledger import counts
from dnnfix.bench.oracle import runner_for
from dnnfix.bench.replay import machine, planned, read_shard, replay, surroundings
from dnnfix.bench.store import Store
from dnnfix.cli import options
from dnnfix.cli.bench import choosing
from dnnfix.cli.bench.on_originals import replay_originals
from dnnfix.cli.bench.writing import RESULTS, write_report
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, FOUND, Console
from dnnfix.config import Settings
from dnnfix.errors import ConfigError, InputError

EXAMPLES = """  dnnfix bench replay --jobs 2
  dnnfix bench replay --select keras,loss-function
  dnnfix bench replay --arms search --select open     what the search for small edits does alone
  dnnfix bench replay --arms model --select open      what the language model of [tool.dnnfix.model] does alone
  dnnfix bench replay --shard 1/4 --output part1      one of four machines
  dnnfix bench replay --executor ray --address auto   on the cluster that this machine belongs to
"""

EXIT_CODES = "0 done, 1 done with wrong or false patches, 2 a case is malformed or has no result"

OUTPUT = Path("replay")
BUDGET = 60.0
RESULTS_PANEL = "Results"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    place: choosing.Sample,
    programs: options.Programs,
    cache: options.Cache,
    proposing: options.Proposing,
    shard: Annotated[str, Option(metavar="i/n", help="the i-th of n parts; `report` puts them together")] = "1/1",
    unverified: Annotated[
        bool, Option("--unverified", help="cases too that verified.csv does not know as they are")
    ] = False,
    arms: Annotated[
        list[str] | None,
        Option(
            metavar="ARMS",
            help=f"only these of {','.join(Arm)} ({','.join(USUAL)}); search: every rule off, on programs that crash; model: a language model alone",
            callback=options.separated,
        ),
    ] = None,
    on: Annotated[Literal["cases", "originals"], Option(help="what to replay (cases)")] = "cases",
    output: Annotated[
        Path,
        Option(
            metavar="FOLDER",
            help=f"the folder for {RESULTS}, RESULTS.md, report.html and report.json ({OUTPUT})",
            rich_help_panel=RESULTS_PANEL,
        ),
    ] = OUTPUT,
    resume: Annotated[
        bool, Option("--resume", help="go on with what is in the folder", rich_help_panel=RESULTS_PANEL)
    ] = False,
    no_cache: Annotated[
        bool, Option("--no-cache", help="make every result again", rich_help_panel=RESULTS_PANEL)
    ] = False,
    executor: Annotated[
        Literal["local", "ray"],
        Option(help="where to run (local processes)", rich_help_panel=options.RUNS),
    ] = "local",
    address: Annotated[
        str | None,
        Option(
            metavar="ADDRESS", help="the Ray cluster (auto; by default one of its own)", rich_help_panel=options.RUNS
        ),
    ] = None,
    budget: Annotated[
        float | None,
        Option(metavar="SECONDS", help=f"time for one repair ({BUDGET:g})", rich_help_panel=options.RUNS),
    ] = None,
) -> int:
    """Repair every verified case, blind to everything but its program, and judge what comes out with the case's own
    oracle on fresh seeds and with the repairs that people made. Beside the repairs, in the same run: the repaired programs,
    where every accepted patch is a false one; an empty patch; and a random edit, through the same ladder. Results are written as
    they come: --resume goes on where a replay was stopped. Unchanged cases are taken from the cache."""
    if proposing.dry_run:
        raise ConfigError(
            "--dry-run asks no model, so that nothing can be judged: dnnfix bench prompts writes the prompts."
        )
    settings = config.load(Path.cwd(), options.overrides(programs, cache, proposing), isolated=True)
    benchmark = place.opened()
    if on == "originals":
        chosen = [i for i in benchmark.index.values() if benchmark.selection.may_take(i)]
        return replay_originals(chosen, settings, output, console)
    problems: list[str] = []
    cases = benchmark.cases(problems.append)
    for problem in problems:
        console.problem(problem)
    try:
        part = read_shard(shard)
        chosen_arms = [Arm(word) for word in arms or USUAL]
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if Arm.MODEL in chosen_arms or settings.proposer:
        settings = replace(settings, model=config.load(Path.cwd(), {}).model)
        pipeline.verify_proposer(replace(settings, proposer="model"))
    cases, left_out = _chosen(cases, settings, benchmark, console, place.sample, unverified)
    cases = [case for case in cases if part.holds(case.id)]
    if not cases:
        raise InputError("no verified case was chosen. `dnnfix bench list --state verified` shows which there are.")
    with runner_for(settings) as runner:
        around = surroundings(settings, runner.tier)
    seconds = budget or BUDGET
    wanted = list(planned(cases, seconds, chosen_arms, settings.model.named))
    started = time.monotonic()
    with Store(output / RESULTS) as store:
        if store.results() and not resume:
            raise InputError(f"{output}: there are results already. Give --resume to go on, or another --output.")
        about = {**around, **machine(), "executor": executor, "budget": f"{seconds:g}"}
        if left_out:
            about["left out"] = f"{left_out} cases whose framework is not installed"
        store.describe({**about, "cases": " ".join(case.id for case in cases)})

        def progress(done: int, newest: Assessed | None) -> None:
            spent = time.monotonic() - started
            rest = f", about {spent / done * (len(wanted) - done) / 60:.0f} min left" if done and newest else ""
            console.progress(f"{done} of {len(wanted)}{rest}{': ' + newest.case if newest else ''}")

        if no_cache:
            replay(wanted, around, store, (), _executor(executor, address, settings), progress)
        else:
            with Store(settings.cache / RESULTS) as kept:
                replay(wanted, around, store, (kept,), _executor(executor, address, settings), progress)
        made = write_report(benchmark, cases, [store], output, console)
    for own in made.model[:1]:
        console.write(f"{own.model} alone: correct {own.correct}, wrong {own.wrong}\n")
    whole = made.whole.shares
    for line in made.search[:1]:
        console.write(f"the search alone: correct {line.shares['correct']}, wrong {line.shares['wrong']}\n")
    console.write(
        f"correct {whole['correct']}\nwrong {whole['wrong']}\nfalse {whole['healthy']}\n{output / 'RESULTS.md'}\n"
    )
    if problems or made.failed:
        return ERROR
    return FOUND if made.wrong or made.false else CLEAN


def _chosen(
    cases: list[Case],
    settings: Settings,
    benchmark: choosing.Benchmark,
    console: Console,
    sample: int | None,
    unverified: bool,
) -> tuple[list[Case], int]:
    """The cases that count and can run here, or the sample of them, and how many are left out."""
    if not unverified:
        cases = [case for case in cases if counts(case, benchmark.ledger)]
    here = choosing.runnable(cases, Path(settings.python), console.remark)
    return choosing.sampled(here, sample) if sample else here, len(cases) - len(here)


def _executor(kind: str, address: str | None, settings: Settings) -> Executor:
    if kind == "local":
        return LocalExecutor(settings, settings.workers)
    from dnnfix.bench.executors.cluster import RayExecutor

    return RayExecutor(settings, address, settings.jobs)
