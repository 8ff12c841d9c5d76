"""Whether programs come to the same on a GPU as on the CPU, and what a race of edits takes on both.

    python benchmarks/gpu.py [--device cuda] [--cases 20] [--python PYTHON]

The programs are the examples of this repository and open cases of the benchmark, all of torch, with a statement in front that puts what
they make on the device; one that does not get as far there as on the CPU without dnnfix, as NumPy cannot read the device's memory
or a generator is on the other one, is left out and counted. `suggest` has to give the same findings and verdicts. Left out whole where
there is no GPU; `--device cpu` tries the script itself.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _measure import ROOT, Table, arguments, suggested
from racing import FAULTS, PROGRAM, SOUND

sys.path.insert(0, str(ROOT))

from dnnfix.cli.bench.choosing import Place
from dnnfix.run import gpu
from dnnfix.run.job import Budget, Device, Job
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source

EXAMPLES = ROOT / "examples"


def main() -> None:
    """Compare, and say by the exit code whether all came to the same."""
    parser = arguments(__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="what to compare with (%(default)s)")
    parser.add_argument("--cases", type=int, default=20, help="open cases of the benchmark (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has torch")
    given = parser.parse_args()
    if given.device == "cuda" and not gpu.present():
        print("left out: there is no GPU here")
        return
    table = Table.of(given)
    same, others, out = 0, [], 0
    for name, program in programs(given.cases):
        there = put_on(program, given.device)
        if not gets_as_far(program, there, given.device, given.python):
            out += 1
            continue
        on_cpu, on_device = (
            said(text, which, given.python)[0] for text, which in ((program, "cpu"), (there, given.device))
        )
        same += on_cpu == on_device
        others += [] if on_cpu == on_device else [name]
        print(name, "the same" if on_cpu == on_device else f"{on_cpu} on the CPU, {on_device} there", file=sys.stderr)
    table.title(
        f"{same + len(others)} programs, {out} left out; otherwise on {given.device}: {', '.join(others) or 'none'}"
    )
    table.row("share of programs that come to something else", len(others) / max(1, same + len(others)), 0.0)
    for fault, changed in FAULTS.items():
        text = PROGRAM.format(**{**SOUND, **changed}).encode()
        seconds = [
            said(moved, which, given.python)[1]
            for moved, which in ((text, "cpu"), (carried(text, given.device), given.device))
        ]
        told = f"{seconds[1]:.0f} s / {seconds[0]:.0f} s"
        table.row(f"{fault}: suggest on {given.device} / on the CPU", seconds[1] / seconds[0], None, told)
    table.end()


def programs(cases: int) -> Iterator[tuple[str, bytes]]:
    """The examples of torch, then so many open cases of it, by name."""
    for path in sorted(EXAMPLES.glob("*.py")):
        if "torch" in Source.from_bytes(path.read_bytes(), path.name).frameworks:
            yield path.name, path.read_bytes()
    open_half = Place(str(ROOT / "benchmark_667")).opened(["open"]).cases(lambda problem: None)
    of_torch = [case for case in open_half if "torch" in Source.from_bytes(case.program, case.id).frameworks]
    for case in of_torch[:cases]:
        yield case.id, case.program


def put_on(program: bytes, device: str) -> bytes:
    """The program with everything that it makes on the device from its first import on."""
    lines = program.decode().splitlines(keepends=True)
    first = next(
        node.lineno
        for node in ast.parse(program).body
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__")
    )
    lines.insert(first - 1, f'import torch; torch.set_default_device("{device}")\n')
    return "".join(lines).encode()


def carried(program: bytes, device: str) -> bytes:
    """The program of the race with its network and each batch on the device."""
    text = program.decode().replace("measure = ", f'net.to("{device}")\nmeasure = ')
    return text.replace("in batches:\n", f'in batches:\n        x, y = x.to("{device}"), y.to("{device}")\n').encode()


def gets_as_far(program: bytes, moved: bytes, device: str, python: str) -> bool:
    """Whether a run ends alike on both: in the same way, and with the same exception and words where it crashes."""
    ends = []
    for text, which in ((program, Device.CPU), (moved, Device(device))):
        with Runner(Path(python), device=which) as runner:
            trace = runner.run(Job("program.py", text, budget=Budget(seconds=60.0)))
            ends.append((trace.outcome, (trace.crash.kind, trace.crash.message) if trace.crash is not None else None))
    return ends[0] == ends[1]


def said(program: bytes, device: str, python: str) -> tuple[Any, float]:
    """The codes of the findings with the verdicts of their patches, and the seconds that `suggest` took."""
    with tempfile.TemporaryDirectory(prefix="dnnfix-gpu-") as folder:
        Path(folder, "program.py").write_bytes(program)
        begun = time.monotonic()
        report = suggested(folder, python, "--device", device)
        seconds = time.monotonic() - begun
    codes = sorted(finding["code"] for finding in report["findings"])
    return (codes, sorted(patch["verdict"] for patch in report["patches"] if patch["verdict"] != "rejected")), seconds


if __name__ == "__main__":
    main()
