"""`dnnfix bench stats`: counts the instances and the cases by library and fix pattern."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Literal

from typer import Option

from dnnfix.bench.instances import Instance, Library
from dnnfix.bench.ledger import counts
from dnnfix.bench.spread import cells, stratified
from dnnfix.cli.bench import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.errors import InputError
from dnnfix.records import FixPattern

EXAMPLES = """  dnnfix bench stats
  dnnfix bench stats --sample 200    how 200 cases have to be spread to stand for all instances
"""

EXIT_CODES = "0, or 2 where a word is not known or a case is malformed"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    chosen: choosing.Words,
    sample: Annotated[
        int | None, Option(metavar="N", help="beside each count, how many of N cases it should have (each cell one)")
    ] = None,
    output_format: Annotated[Literal["text", "json"], Option(help="how to show them (text)")] = "text",
) -> int:
    """How the instances are spread over libraries, fix patterns, sources and bug types, and how many of each have a
    verified case."""
    benchmark = chosen.opened()
    problems: list[str] = []
    cases = benchmark.cases(problems.append)
    for problem in problems:
        console.problem(problem)
    instances = [i for i in benchmark.index.values() if benchmark.selection.may_take(i)]
    proven = [case.instance for case in cases if counts(case, benchmark.ledger)]
    fidelities = Counter(case.fidelity.value for case in cases if counts(case, benchmark.ledger))
    try:
        wanted = stratified(cells(instances), sample) if sample else {}
    except ValueError as error:
        raise InputError(f"--sample: {error}") from None
    have, whole = cells(proven), cells(instances)
    if output_format == "json":
        listed = [
            {"library": c[0], "fix_pattern": c[1], "instances": n, "verified": have[c], "wanted": wanted.get(c)}
            for c, n in sorted(whole.items())
        ]
        console.write(json.dumps({"cells": listed, "fidelity": dict(fidelities)}, indent=1) + "\n")
        return ERROR if problems else CLEAN
    console.write(_table(instances, proven, wanted))
    for title, name in (("source", "source"), ("bug type", "bug_type"), ("change", "statement_change")):
        everything = Counter(str(getattr(i, name)) for i in instances)
        ready = Counter(str(getattr(i, name)) for i in proven)
        console.write(f"\n{title}\n")
        console.write("".join(f"  {word:<44}{ready[word]:>4} of {n}\n" for word, n in everything.most_common()))
    if fidelities:
        console.write("\nfidelity of the verified cases\n")
        console.write("".join(f"  {word:<44}{n:>4}\n" for word, n in fidelities.most_common()))
    return ERROR if problems else CLEAN


def _table(instances: list[Instance], proven: list[Instance], wanted: dict[tuple[Library, FixPattern], int]) -> str:
    """Libraries across, patterns down; each cell is verified cases / wanted ones / instances."""
    whole, have = cells(instances), cells(proven)
    libraries = [library for library in Library if any(cell[0] is library for cell in whole)]

    def shown(verified: int, sample: int, count: int) -> str:
        parts = [verified, sample, count] if wanted else [verified, count]
        return "/".join(str(part) for part in parts) if count else "·"

    def row(name: str, patterns: list[FixPattern]) -> str:
        texts = []
        for column in [*([library] for library in libraries), libraries]:
            chosen = [(library, pattern) for library in column for pattern in patterns]
            sums = [sum(counted.get(cell, 0) for cell in chosen) for counted in (have, wanted, whole)]
            texts.append(shown(*sums))
        return f"{name:<28}" + "".join(f"{text:>13}" for text in texts) + "\n"

    head = "verified / wanted / instances" if wanted else "verified / instances"
    lines = [f"{head}\n", f"{'':<28}" + "".join(f"{name:>13}" for name in [*libraries, "all"]) + "\n"]
    lines += [row(pattern, [pattern]) for pattern in FixPattern if any(cell[1] is pattern for cell in whole)]
    return "".join([*lines, row("all", list(FixPattern))])
