"""`dnnfix bench replay`: repairs every case and reports how many repairs are right."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from dnnfix import config
from dnnfix.bench.assessment import USUAL, Arm, Assessed
from dnnfix.bench.cases import Case
from dnnfix.bench.executors import Executor
from dnnfix.bench.executors.local import LocalExecutor
from dnnfix.bench.ledger import counts
from dnnfix.bench.replay import machine, planned, read_shard, replay, surroundings
from dnnfix.bench.store import Store
from dnnfix.cli import options
from dnnfix.cli.bench import choosing
from dnnfix.cli.bench.on_originals import replay_originals
from dnnfix.cli.bench.writing import RESULTS, write_report
from dnnfix.cli.console import CLEAN, ERROR, FOUND, Console
from dnnfix.config import Settings
from dnnfix.errors import ConfigError, InputError
from dnnfix.run.runner import Runner

OPERANDS = ""

DESCRIPTION = """Repair every verified case, blind to everything but its program, and judge what comes out with the case's own
oracle on fresh seeds and with the repairs that people made. Beside the repairs, in the same run: the repaired programs,
where every accepted patch is a false one; an empty patch; and a random edit, through the same ladder. Results are written as
they come: --resume goes on where a replay was stopped. Unchanged cases are taken from the cache."""

EXAMPLES = """  dnnfix bench replay --jobs 2
  dnnfix bench replay --select keras,loss-function
  dnnfix bench replay --arms search --select open     what the search for small edits does alone
  dnnfix bench replay --shard 1/4 --output part1      one of four machines
  dnnfix bench replay --executor ray --address auto   on the cluster that this machine belongs to
"""

EXIT_CODES = "0 done, 1 done with wrong or false patches, 2 a case is malformed or has no result"

OUTPUT = Path("replay")
BUDGET = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bench replay`."""
    what = "ids or words of the index, separated by commas; see `dnnfix bench list --help`"
    parser.add_argument("--select", dest="words", action=options.Codes, metavar="WORDS", help=what)
    parser.add_argument(
        "--sample", type=int, metavar="N", help="N of the cases only, spread over patterns and libraries"
    )
    parser.add_argument(
        "--shard", metavar="i/n", default="1/1", help="the i-th of n parts; `report` puts them together"
    )
    parser.add_argument(
        "--unverified", action="store_true", help="cases too that verified.csv does not know as they are"
    )
    which = f"only these of {','.join(Arm)} ({','.join(USUAL)}); search: every rule off, on programs that crash"
    parser.add_argument("--arms", action=options.Codes, metavar="ARMS", help=which)
    parser.add_argument("--on", choices=("cases", "originals"), default="cases", help="what to replay (cases)")
    group = parser.add_argument_group("results")
    where = f"the folder for {RESULTS}, RESULTS.md, report.html and report.json ({OUTPUT})"
    group.add_argument("--output", metavar="FOLDER", default=str(OUTPUT), help=where)
    group.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    group.add_argument("--no-cache", action="store_true", help="make every result again")
    group = options.add_programs(parser)
    group.add_argument("--executor", choices=("local", "ray"), default="local", help="where to run (local processes)")
    group.add_argument("--address", metavar="ADDRESS", help="the Ray cluster (auto; by default one of its own)")
    group.add_argument("--budget", type=float, metavar="SECONDS", help=f"time for one repair ({BUDGET:g})")
    options.add_cache(group)
    choosing.add_place(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Replay, write the report, and say in one line how it went."""
    settings = config.load(Path.cwd(), options.overrides(arguments), isolated=True)
    benchmark = choosing.opened(arguments)
    if arguments.on == "originals":
        chosen = [i for i in benchmark.index.values() if benchmark.selection.may_take(i)]
        return replay_originals(chosen, settings, Path(arguments.output), console)
    problems: list[str] = []
    cases = benchmark.cases(problems.append)
    for problem in problems:
        console.problem(problem)
    try:
        shard = read_shard(arguments.shard)
        arms = [Arm(word) for word in arguments.arms or USUAL]
    except ValueError as error:
        raise ConfigError(str(error)) from None
    cases, left_out = _chosen(arguments, settings, benchmark, cases, console)
    cases = [case for case in cases if shard.holds(case.id)]
    if not cases:
        raise InputError("no verified case was chosen. `dnnfix bench list --state verified` shows which there are.")
    with Runner(Path(settings.python), settings.tier, settings.trust, device=settings.asked_device) as runner:
        around = surroundings(settings, runner.tier)
    budget = arguments.budget or BUDGET
    wanted = list(planned(cases, budget, arms))
    output = Path(arguments.output)
    started = time.monotonic()
    with Store(output / RESULTS) as store:
        if store.results() and not arguments.resume:
            raise InputError(f"{output}: there are results already. Give --resume to go on, or another --output.")
        about = {**around, **machine(), "executor": arguments.executor, "budget": f"{budget:g}"}
        if left_out:
            about["left out"] = f"{left_out} cases whose framework is not installed"
        store.describe({**about, "cases": " ".join(case.id for case in cases)})

        def progress(done: int, newest: Assessed | None) -> None:
            spent = time.monotonic() - started
            rest = f", about {spent / done * (len(wanted) - done) / 60:.0f} min left" if done and newest else ""
            console.progress(f"{done} of {len(wanted)}{rest}{': ' + newest.case if newest else ''}")

        if arguments.no_cache:
            replay(wanted, around, store, (), _executor(arguments, settings), progress)
        else:
            with Store(settings.cache / RESULTS) as cache:
                replay(wanted, around, store, (cache,), _executor(arguments, settings), progress)
        made = write_report(benchmark, cases, [store], output)
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
    arguments: argparse.Namespace,
    settings: Settings,
    benchmark: choosing.Benchmark,
    cases: list[Case],
    console: Console,
) -> tuple[list[Case], int]:
    """The cases that count and can run here, or the sample of them, and how many are left out."""
    if not arguments.unverified:
        cases = [case for case in cases if counts(case, benchmark.ledger)]
    here = choosing.runnable(cases, Path(settings.python), console.remark)
    return choosing.sampled(here, arguments.sample) if arguments.sample else here, len(cases) - len(here)


def _executor(arguments: argparse.Namespace, settings: Settings) -> Executor:
    if arguments.executor == "local":
        return LocalExecutor(settings, settings.workers)
    from dnnfix.bench.executors.cluster import RayExecutor

    return RayExecutor(settings, arguments.address, settings.jobs)
