"""`dnnfix bench show`: shows an instance, and its case where there is one."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from dnnfix.bench.cases import Case, case_ids
from dnnfix.bench.instances import Instance
from dnnfix.bench.ledger import counts
from dnnfix.cli.bench import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.cli.output import palette
from dnnfix.emit.text import diff_lines
from dnnfix.errors import InputError

EXAMPLES = """  dnnfix bench show so-37213388
  dnnfix bench show --program so-37213388   with the program too
"""

EXIT_CODES = "0, or 2 where an id is not known or its case is malformed"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    words: Annotated[list[str], Argument(metavar="ID", help="ids of instances")],
    place: choosing.Place,
    program: Annotated[bool, Option("--program", help="show the program of the case too")] = False,
) -> int:
    """What the study says of an instance, and the case that reconstructs it: its symptom, what it rests on, and
    the repair."""
    benchmark = place.opened(words)
    ids = benchmark.selection.words.get("id", frozenset())
    if others := [word for word in words if word not in ids]:
        raise InputError(f"{others[0]} is no id. `dnnfix bench list {others[0]}` lists the instances it stands for.")
    have = set(case_ids(benchmark.folder))
    for id in words:
        console.write(_instance(benchmark.index[id]))
        if id not in have:
            console.write("case       none yet\n\n")
            continue
        case = benchmark.case(id)
        state = "verified" if counts(case, benchmark.ledger) else "unproven: dnnfix bench verify proves it"
        console.write(_case(case, state))
        if program:
            console.write(f"\n{case.program.decode()}")
        for name, diff in case.repairs.items():
            console.write(f"\n{name}\n{''.join(diff_lines(diff, palette(console)))}")
        console.write("\n")
    return CLEAN


def _instance(instance: Instance) -> str:
    facts = {
        "id": instance.id,
        "source": instance.source,
        "address": instance.url,
        "library": instance.library,
        "pattern": instance.fix_pattern,
        "bug type": instance.bug_type,
        "change": instance.statement_change,
    }
    return "".join(f"{name:<11}{value}\n" for name, value in facts.items())


def _case(case: Case, state: str) -> str:
    symptom = case.symptom
    said = [symptom.exception, symptom.message and f"/{symptom.message}/"]
    if symptom.printed:
        said += [symptom.bound] if symptom.present is not None else [f"/{symptom.printed}/", symptom.bound]
    facts = {
        "case": state,
        "framework": case.framework,
        "family": case.family,
        "symptom": " ".join(filter(None, [symptom.kind, *said])),
        "fidelity": f"{case.fidelity}: {case.read}",
        "seeds": ", ".join(str(seed) for seed in case.seeds),
        "notes": case.notes.strip(),
    }
    return "".join(f"{name:<11}{value}\n" for name, value in facts.items() if value)
