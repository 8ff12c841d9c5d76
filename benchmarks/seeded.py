"""Faults put into healthy trainings: which are diagnosed, which cause is named, and how much of the healthy skill comes back.

    python tools/seed_faults.py HEALTHY SEEDED
    python benchmarks/seeded.py HEALTHY SEEDED --keep FOLDER [--every 6 --from 0] [--jobs 2] [--python PYTHON]

Every program, the healthy one, the faulty one and the one with the first accepted patch, is trained to its end on two seeds, for a
minute each at most; its skill (`records.Step`) is the mean of its last quarter. A fault that leaves nine tenths of the healthy skill
does no harm and is not counted, nor is a program whose skill cannot be taken, or that is said to learn nothing when it is healthy:
some tutorials depend on a lucky start. `suggest` runs as a person would run it.

- diagnosed: a finding that the healthy program does not have;
- cause: the finding names the setting that is at fault, or stands, or the patch changes something, at a line that the fault changed;
- repaired: the program with the first accepted patch comes to nine tenths of the healthy skill.

`--monitors` has the checks of three published training monitors (`_monitors.py`) look at each program whose fault counts:

- diagnosed: a problem that the healthy program does not have;
- cause: the advice on such a problem is about the setting that is at fault;
- repaired, AutoTrainer alone: its remedies of all that it sees, new or not, bring nine tenths of the healthy skill back.

`--keep` holds what was measured, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _measure import ROOT, Table, arguments, copied, environment, suggested
from _monitors import Problem, remedied, watched

sys.path.insert(0, str(ROOT))

from dnnfix.emit import hunks
from dnnfix.records import UNLEARNED_CODE

SEEDS = (0, 1)
SECONDS = 60.0
ENOUGH = 0.9
"""Share of the healthy skill that counts as repaired, and that a fault has to go below to count as one."""

LEAST = 0.3
"""Skill of a healthy program from which on something was learned that a fault can take away."""

GOALS = {"diagnosed": 0.9, "cause": 0.8, "repaired": 0.75}
"""Shares that are wanted of all faults."""

SAID = {"diagnosed": "diagnosed", "cause": "named right", "repaired": "repaired"}

OF_TWO = 0.5
"""Share of the programs with two faults at once that is to be repaired."""

TWO = "two-faults"

MONITORS = ("AutoTrainer", "DeepLocalize", "UMLAUT")

SKILL = """
import json, math, sys
from pathlib import Path
from dnnfix.config import Settings
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.source.program import Source
from dnnfix.validate.learning import score
path, seconds = Path("program.py"), float(sys.argv[1])
source = Source.from_bytes(path.read_bytes(), str(path.resolve()))
found = []
with laboratory_for(source, Settings(python=sys.executable), []) as laboratory:
    laboratory.begin_again(math.inf, seconds)
    laboratory.allow_steps(10**6, 1)
    for seed in map(int, sys.argv[2:]):
        known = score(laboratory.train(source, seed))
        found.append(known.value if known is not None and known.yardstick == "skill" else None)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One faulty program: the skills, and what `suggest` made of it."""

    name: str
    kind: str
    healthy: float | None
    faulty: float | None
    patched: float | None
    codes: tuple[str, ...]
    cause: str
    sound: bool
    diagnosed: bool
    named: bool
    repaired: bool

    @property
    def counts(self) -> bool:
        """Whether the fault does harm that can be measured."""
        if self.healthy is None or self.faulty is None or self.healthy < LEAST or not self.sound:
            return False
        return self.faulty < ENOUGH * self.healthy


@dataclass(frozen=True, slots=True)
class Beside:
    """What one published monitor made of the same faulty program."""

    name: str
    monitor: str
    problems: tuple[str, ...]
    skill: float | None
    diagnosed: bool
    named: bool
    repaired: bool


def main() -> None:
    """Measure, and say by the exit code whether all targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("healthy", type=Path, nargs="?", help="folder with one folder per healthy program")
    parser.add_argument("seeded", type=Path, nargs="?", help="folder that tools/seed_faults.py filled from it")
    parser.add_argument("--keep", type=Path, default=Path("seeded-results"), help="what was measured (%(default)s)")
    parser.add_argument("--every", type=int, default=1, help="one program in so many (%(default)s)")
    parser.add_argument("--from", dest="first", type=int, default=0, help="beginning with this one (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="programs side by side (%(default)s)")
    parser.add_argument("--monitors", action="store_true", help="have published monitors look at the programs, too")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the programs' packages")
    given = parser.parse_args()
    if given.seeded is None:
        print("left out: the programs are not part of this repository; see --help for how to make them")
        return
    folders = sorted(f for f in given.seeded.iterdir() if (f / "meta.toml").is_file())[given.first :: given.every]
    if not folders:
        raise SystemExit(f"{given.seeded} has no folder with a meta.toml in it; make some with tools/seed_faults.py")
    table = Table.of(given)
    given.keep.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        rows = list(pool.map(lambda folder: _told(measured(folder, given.healthy, given.keep, given.python)), folders))
        others = []
        if given.monitors:
            counted = [(row, folder) for row, folder in zip(rows, folders, strict=True) if row.counts]
            others = list(
                pool.map(lambda each: monitored(each[0], each[1], given.healthy, given.keep, given.python), counted)
            )
    _report_monitors(others, table)
    _report(rows, table)


def measured(folder: Path, healthy: Path, keep: Path, python: str) -> Row:
    """One faulty program beside the healthy one that it was made from."""
    meta = tomllib.loads((folder / "meta.toml").read_text())
    origin = healthy / folder.name.rpartition("--")[0]
    program = (folder / "program.py").read_bytes()
    of_healthy = _skill(origin, (origin / "program.py").read_bytes(), keep, python)
    of_faulty = _skill(folder, program, keep, python)
    known = {finding["code"] for finding in _suggested(origin, keep, python)["findings"]}
    said = _suggested(folder, keep, python)
    new = [finding for finding in said["findings"] if finding["code"] not in known]
    accepted = next((patch for patch in said["patches"] if patch["verdict"] == "accepted"), None)
    of_patched = None
    if accepted is not None:
        patched = hunks.apply(program, hunks.replacements(accepted["diff"]))
        of_patched = _skill(folder, patched, keep, python)
    cause = next((str(f["evidence"]["cause"]) for f in new if f.get("evidence", {}).get("cause")), "")
    at_fault = _lines(hunks.replacements(meta["undo"]))
    touched = {finding["line"] for finding in new if "cause" not in finding.get("evidence", {})}
    if accepted is not None:
        touched |= _lines(hunks.replacements(accepted["diff"]))
    is_named = bool(set(cause.split(", ")) & set(meta["setting"].split(", "))) or bool(touched & at_fault)
    comes_back = of_patched is not None and of_healthy is not None and of_patched >= ENOUGH * of_healthy
    return Row(
        folder.name,
        meta["kind"],
        of_healthy,
        of_faulty,
        of_patched,
        tuple(finding["code"] for finding in new),
        cause,
        UNLEARNED_CODE not in known,
        bool(new),
        bool(new) and is_named,
        comes_back,
    )


def monitored(row: Row, folder: Path, healthy: Path, keep: Path, python: str) -> list[Beside]:
    """What each monitor says of a faulty program that it does not say of the healthy one."""
    settings = set(tomllib.loads((folder / "meta.toml").read_text())["setting"].split(", "))
    known = {
        (problem.monitor, problem.name) for problem in _watched(healthy / row.name.rpartition("--")[0], keep, python)
    }
    said = _watched(folder, keep, python)
    new = [problem for problem in said if (problem.monitor, problem.name) not in known]
    skill = _remedied(folder, said, keep, python)
    comes_back = skill is not None and row.healthy is not None and skill >= ENOUGH * row.healthy
    found = []
    for monitor in MONITORS:
        own = [problem for problem in new if problem.monitor == monitor]
        names = tuple(problem.name for problem in own)
        is_named = any(settings & set(problem.settings) for problem in own)
        repairs = monitor == "AutoTrainer"
        found.append(
            Beside(row.name, monitor, names, skill if repairs else None, bool(own), is_named, repairs and comes_back)
        )
        print(row.name, monitor, json.dumps(asdict(found[-1])), file=sys.stderr, flush=True)
    return found


def _watched(folder: Path, keep: Path, python: str) -> list[Problem]:
    """What the monitors say of the program of a folder."""
    program = (folder / "program.py").read_bytes()
    kept = keep / f"monitors-{_key(folder, program)}.json"
    if not kept.exists():
        kept.write_text(json.dumps([asdict(problem) for problem in watched(folder, program, python, SECONDS)]))
    return [Problem(**{**one, "settings": tuple(one["settings"])}) for one in json.loads(kept.read_text())]


def _remedied(folder: Path, problems: Sequence[Problem], keep: Path, python: str) -> float | None:
    """The skill of a folder's program after AutoTrainer's remedies of those of these problems that it saw."""
    program = (folder / "program.py").read_bytes()
    kept = keep / f"remedied-{_key(folder, program)}.json"
    if not kept.exists():
        skill = remedied(
            folder, program, python, problems, SECONDS, lambda changed: _skill(folder, changed, keep, python)
        )
        kept.write_text(json.dumps(skill))
    found: float | None = json.loads(kept.read_text())
    return found


def _lines(changes: Sequence[hunks.Replacement]) -> set[int]:
    return {line for one in changes for line in range(one.first, max(one.end, one.first + 1))}


def _skill(folder: Path, program: bytes, keep: Path, python: str) -> float | None:
    """The mean skill over the seeds of a program that lies in a folder with the files that it reads."""
    kept = keep / f"skill-{_key(folder, program)}.json"
    if not kept.exists():
        with copied(folder, program) as space:
            command = [python, "-c", SKILL, str(SECONDS), *map(str, SEEDS)]
            done = subprocess.run(command, cwd=space, env=environment(), capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        kept.write_text(lines[-1] if done.returncode == 0 and lines else "[null]")
    found = json.loads(kept.read_text())
    return None if None in found else statistics.fmean(found)


def _suggested(folder: Path, keep: Path, python: str) -> dict[str, Any]:
    """The report of `suggest` on the program of a folder."""
    program = (folder / "program.py").read_bytes()
    kept = keep / f"report-{_key(folder, program)}.json"
    if not kept.exists():
        with copied(folder, program) as space:
            kept.write_text(json.dumps(suggested(space, python)))
    found: dict[str, Any] = json.loads(kept.read_text())
    return found


def _key(folder: Path, program: bytes) -> str:
    return f"{folder.name}-{hashlib.sha256(program).hexdigest()[:16]}"


def _told(row: Row) -> Row:
    told = {name: value for name, value in asdict(row).items() if name not in ("name", "kind")}
    print(row.name, json.dumps(told), file=sys.stderr, flush=True)
    return row


def _report_monitors(others: Sequence[Sequence[Beside]], table: Table) -> None:
    for monitor in MONITORS if others else ():
        own = [one for found in others for one in found if one.monitor == monitor]
        shares = [sum(one.diagnosed for one in own), sum(one.named for one in own), sum(one.repaired for one in own)]
        last = str(shares[2]) if monitor == "AutoTrainer" else "none"
        table.title(f"{monitor}, {len(own)} faults: diagnosed {shares[0]}, cause named {shares[1]}, repaired {last}")


def _report(rows: Sequence[Row], table: Table) -> None:
    counted = [row for row in rows if row.counts]
    table.title(f"{len(counted)} of {len(rows)} seeded faults do harm that can be measured")
    for kind in sorted({row.kind for row in counted}):
        of_kind = [row for row in counted if row.kind == kind]
        shares = [f"{sum(getattr(row, name if name != 'cause' else 'named') for row in of_kind)}" for name in GOALS]
        table.title(f"      {kind}: {len(of_kind)}; diagnosed, cause named, repaired: {', '.join(shares)}")
    singles = [row for row in counted if row.kind != TWO]
    for name, goal in GOALS.items():
        found = [getattr(row, "named" if name == "cause" else name) for row in singles]
        if found:
            table.row(f"one fault of {len(found)}: share not {SAID[name]}", 1 - statistics.fmean(found), 1 - goal)
    both = [row.repaired for row in counted if row.kind == TWO]
    if both:
        table.row(f"two faults of {len(both)}: share not repaired", 1 - statistics.fmean(both), 1 - OF_TWO)
    table.end()


if __name__ == "__main__":
    main()
