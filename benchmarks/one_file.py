"""One file of about a hundred lines: `check` beside a Python that does nothing and beside torchfix.

    python benchmarks/one_file.py [--file FILE] [--rounds 9]

This is what an editor or a hook waits for. The start decides, so bytecode is written and warm, and what `check` imports is
looked at: neither a framework, nor numpy, nor the library that carries out edits.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from _corpus import find
from _measure import CHECK, Table, arguments, environment, in_turn, run
from _peers import peers

FORBIDDEN = ("torch", "keras", "tensorflow", "numpy", "libcst", "rich", "pydantic")
PASS, TORCHFIX = 20.0, 1 / 3


def imported(file: Path) -> list[str]:
    """The forbidden packages that a check of the file imports."""
    code = (
        "import sys\nfrom dnnfix.cli.main import run\n"
        f"run(['check', '--isolated', '--quiet', '--no-cache', {str(file)!r}])\n"
        f"sys.stderr.write(','.join(name for name in {FORBIDDEN!r} if name in sys.modules))\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", code), check=True, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    return [name for name in done.stderr.decode().strip().split(",") if name]


def default() -> Path:
    """A file of the installed frameworks with 95 to 105 lines, the first by name that builds modules of torch."""
    for file, _ in find(None):
        raw = file.read_bytes()
        if 95 <= raw.count(b"\n") <= 105 and b"nn.Module)" in raw:
            return file
    raise SystemExit("no installed file has about 100 lines; name one with --file.")


def main() -> None:
    """Measure, and say by the exit code whether all targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("--file", type=Path, help="the program (one of the installed torch)")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    file = (options.file or default()).resolve()
    table = Table.of(options)
    table.title(f"one file: {file.name}, {file.read_bytes().count(10)} lines")
    found = imported(file)
    table.row("forbidden packages imported", len(found), 0, ", ".join(found))
    torchfix = peers().get("torchfix")
    sides = [
        lambda: run((sys.executable, "-c", "pass")),
        lambda: run((*CHECK, "--no-cache", str(file))),
    ]
    if torchfix is not None:
        sides.append(lambda: run((*torchfix, str(file))))
    nothing, own, *others = in_turn(options.rounds, *sides)
    table.row("check / python -c pass, wall", own.wall / nothing.wall, PASS, _ms(own.wall, nothing.wall), wall=True)
    table.row("check / python -c pass, CPU", own.cpu / nothing.cpu, PASS, _ms(own.cpu, nothing.cpu))
    for other in others:
        table.row("check / torchfix, wall", own.wall / other.wall, TORCHFIX, _ms(own.wall, other.wall), wall=True)
        table.row("check / torchfix, CPU", own.cpu / other.cpu, TORCHFIX, _ms(own.cpu, other.cpu))
    table.end()


def _ms(one: float, other: float) -> str:
    return f"{one * 1e3:.0f} ms / {other * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
