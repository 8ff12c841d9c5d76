"""`dnnfix bench list`: lists the instances, with the state of their cases."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from typer import Option

from dnnfix.bench.cases import Case, case_ids
from dnnfix.bench.ledger import counts
from dnnfix.cli.bench import choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, Console
from dnnfix.cli.output import palette
from dnnfix.errors import InputError

EXAMPLES = """  dnnfix bench list keras loss-function
  dnnfix bench list --state verified
  dnnfix bench list --output-format json
"""

EXIT_CODES = "0, or 2 where a word is not known or a case is malformed"

State = Literal["verified", "unproven", "malformed", "missing"]


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    chosen: choosing.Words,
    state: Annotated[State | None, Option(help="only instances whose case is in this state")] = None,
    output_format: Annotated[Literal["text", "json"], Option(help="how to list them (text)")] = "text",
) -> int:
    """The instances of the benchmark, one a line: id, library, fix pattern, bug type, and the state of its case:
    verified (proven as it is now), unproven, malformed, or - where nobody has written one yet."""
    benchmark = chosen.opened()
    have = set(case_ids(benchmark.folder))
    code = CLEAN
    rows = []
    for instance in benchmark.index.values():
        if not benchmark.selection.may_take(instance):
            continue
        now = "missing"
        case: Case | None = None
        if instance.id in have:
            try:
                case = benchmark.case(instance.id)
                now = "verified" if counts(case, benchmark.ledger) else "unproven"
            except InputError as error:
                console.problem(str(error))
                now, code = "malformed", ERROR
        if benchmark.selection.takes(instance, case) and state in (None, now):
            rows.append((instance, now, case.fidelity.value if case is not None else None))
    if output_format == "json":
        listed = [
            {
                "id": i.id,
                "source": i.source,
                "url": i.url,
                "library": i.library,
                "fix_pattern": i.fix_pattern,
                "bug_type": i.bug_type,
                "statement_change": i.statement_change,
                "case": state,
                "fidelity": fidelity,
            }
            for i, state, fidelity in rows
        ]
        console.write(json.dumps(listed, indent=1) + "\n")
        return code
    width = max((len(i.id) for i, _, _ in rows), default=0)
    narrow = 0 < palette(console).width < width + 91
    for i, now, _ in rows:
        shown = "-" if now == "missing" else now
        if narrow:
            console.write(f"{i.id}\n    {i.library}, {i.fix_pattern}, {i.bug_type}: {shown}\n")
        else:
            console.write(f"{i.id:<{width}}  {i.library:<11}{i.fix_pattern:<28}{i.bug_type:<40}{shown}\n")
    console.remark(f"{len(rows)} of {len(benchmark.index)} instances")
    return code
