"""What each command takes before its work begins: a small call of each beside a Python that does nothing.

    python benchmarks/startup.py [--rounds 5]

The help of a command imports what the command line of that command needs, and nothing of its work; `check` reads one line
with every rule that is on. `import dnnfix` is what a program pays that only names it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from _measure import CHECK, DNNFIX, ROOT, Table, arguments, in_turn, run

sys.path.insert(0, str(ROOT))

from dnnfix.cli.main import COMMANDS

MOST = 20.0
"""What a check of one file may take as a multiple of a Python that does nothing; no start may take longer."""

CALLS = {
    "import dnnfix": (sys.executable, "-c", "import dnnfix"),
    "import typer, without dnnfix": (sys.executable, "-c", "import typer"),
    "--version": (*DNNFIX, "--version"),
    "--help": (*DNNFIX, "--help"),
    **{f"{command} --help": (*DNNFIX, command, "--help") for command in COMMANDS},
    "explain DNF302": (*DNNFIX, "explain", "DNF302"),
    "templates": (*DNNFIX, "templates", "--isolated"),
}


def main() -> None:
    """Measure, and say by the exit code whether no start takes longer than it may."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = Table.of(options)
    with TemporaryDirectory(prefix="dnnfix-benchmark-") as folder:
        program = Path(folder, "program.py")
        program.write_text("import torch\n")
        check = (*CHECK, "--no-cache", str(program))
        calls = {**CALLS, "check, one line": check}
        if script := shutil.which("script"):  # what boxes and colours add
            for name, command in (("--help", (*DNNFIX, "--help")), ("check, one line", check)):
                calls[f"{name}, on a terminal"] = (script, "-qec", shlex.join(command), os.devnull)
        sides = [partial(run, command) for command in ((sys.executable, "-c", "pass"), *calls.values())]
        nothing, *taken = in_turn(options.rounds, *sides)
    table.title("start-up by command, CPU time as a multiple of `python -c pass`")
    for name, cost in zip(calls, taken, strict=True):
        most = None if name == "templates" else MOST  # it reads every rule there is, and is read at leisure
        table.row(name, cost.cpu / nothing.cpu, most, f"{cost.cpu * 1e3:.0f} ms / {nothing.cpu * 1e3:.0f} ms")
    table.end()


if __name__ == "__main__":
    main()
