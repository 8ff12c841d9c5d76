"""The replay of benchmark_667: a stratified sample of its verified cases, all four arms, with nothing from the cache.

    python benchmarks/replay.py [--sample 24 | --whole] [--jobs 2] [--python PYTHON] [--keep FOLDER]

The times are for two cores. The cost of a case is the time of every run that its arms and its oracle made, over the time of one
run of the program with the fault and one of the repaired program for each seed that was used.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from _measure import Table, arguments, run

from dnnfix.bench.results import GOALS
from dnnfix.bench.totals import COST

SAMPLE = 24
MOST_MINUTES = {True: 60.0, False: 6.0}
"""For the whole benchmark, and for the sample."""
MOST_COST = 3.0


def main() -> None:
    """Measure, and say by the exit code whether all targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="cases (%(default)s)")
    parser.add_argument("--whole", action="store_true", help="all of them")
    parser.add_argument("--jobs", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the programs' packages")
    parser.add_argument("--keep", type=Path, help="leave the results and the report in this folder")
    options = parser.parse_args()
    table = Table.of(options)
    with tempfile.TemporaryDirectory() as name:
        output = options.keep or Path(name)
        chosen = () if options.whole else ("--sample", str(options.sample))
        command = (sys.executable, "-m", "dnnfix", "bench", "replay", "--no-cache", "--quiet", *chosen)
        spent = run((*command, "--jobs", str(options.jobs), "--python", options.python, "--output", str(output)))
        report = json.loads((output / "report.json").read_bytes())
    whole = report["totals"]["all"]
    table.title(f"replay: {whole['cases']} cases on {options.jobs} cores")
    table.row("minutes", spent.wall / 60, MOST_MINUTES[options.whole], wall=True)
    table.row(COST, report["seconds"][COST], MOST_COST, "median")
    for name, bound, least in GOALS:
        share = whole[name]["count"] / (whole[name]["of"] or 1)
        told = f"{whole[name]['count']} of {whole[name]['of']}; goal {'>=' if least else '<='} {bound:g}"
        table.row(name, share, None, told)
    table.end()


if __name__ == "__main__":
    main()
