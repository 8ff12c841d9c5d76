"""`dnnfix bench verify`: proves that cases show their symptom and that their repairs remove it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from typer import Option

from dnnfix import config
from dnnfix.bench.cases import Case, programs
from dnnfix.bench.ledger import counts, record
from dnnfix.bench.oracle import runner_for
from dnnfix.bench.verify import Proof, verify
from dnnfix.cli import options
from dnnfix.cli.bench import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, FOUND, Console
from dnnfix.errors import InputError

EXAMPLES = """  dnnfix bench verify so-37213388
  dnnfix bench verify keras --jobs 2
  dnnfix bench verify --record       all of them, and write down which hold in verified.csv
"""

EXIT_CODES = "0 all hold, 1 some do not, 2 a case is malformed or nothing could be run"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    chosen: choosing.Words,
    programs_in: options.Programs,
    record_them: Annotated[bool, Option("--record", help="write down in verified.csv which cases hold")] = False,
    unproven: Annotated[
        bool, Option("--unproven", help="only cases that verified.csv does not know as they are")
    ] = False,
) -> int:
    """Prove cases: the program shows its symptom on at least four of five seeds and the repaired one on at most one;
    the diffs apply, are as `git diff` writes them, and are minimal; no line gives the fault away; no other case is a near copy; and
    every run keeps to 20 s. Without words, every case. Programs run in the sandbox."""
    settings = config.load(Path.cwd(), options.overrides(programs_in), isolated=True)
    benchmark = chosen.opened()
    problems: list[str] = []
    cases = benchmark.cases(problems.append)
    if unproven:
        cases = [case for case in cases if not counts(case, benchmark.ledger)]
    cases = choosing.runnable(cases, Path(settings.python), problems.append)
    for problem in problems:
        console.problem(problem)
    if not cases and not problems:
        raise InputError("no case was chosen. `dnnfix bench list` shows which instances have one.")
    others = programs(benchmark.folder)
    proofs: list[tuple[Case, Proof]] = []
    started = time.monotonic()
    with runner_for(settings) as runner:
        for number, case in enumerate(cases, 1):
            console.progress(f"{case.id} ({number} of {len(cases)})")
            proof = verify(case, others, runner, settings.workers)
            proofs.append((case, proof))
            console.write(_line(proof))
            if record_them:  # as they come, so that stopping loses one case at most
                record(benchmark.folder, [(case, proof)])
    held = sum(proof.holds for _, proof in proofs)
    console.remark(f"{held} of {len(proofs)} cases hold ({time.monotonic() - started:.0f} s)")
    if problems:
        return ERROR
    return CLEAN if held == len(proofs) else FOUND


def _line(proof: Proof) -> str:
    if proof.holds:
        seen = f"symptom on {proof.showing} of 5 seeds, {proof.left} once repaired"
        return f"{proof.id}: holds ({seen}; at most {proof.seconds:.1f} s)\n"
    return f"{proof.id}: does NOT hold\n" + "".join(f"  {problem}\n" for problem in proof.problems)
