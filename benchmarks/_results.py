"""What was measured, as `benchmarks/results.json` keeps it: every number with the commit, the day and the machine that gave it.

A benchmark writes its numbers when it is called with `--record`, and `tools/bench_page.py` makes the tables of the page of them.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
ENGINE = ("dnnfix", "fix_templates", "validators", "legacy")
"""The folders that a number may depend on, beside the benchmark itself."""
WRITTEN = (":!benchmarks/results.json", ":!benchmarks/README.md")
"""What recording changes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One number. `of` says what it was measured over; numbers of before there were records are text."""

    of: str
    what: str
    measured: float | str
    target: float | str | None = None
    met: bool | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of one call of a benchmark. `commit` and `engine` are empty where nobody wrote them down."""

    command: str
    commit: str
    engine: str
    date: str
    """In UTC, as in ISO 8601."""
    machine: str
    rows: tuple[Row, ...] = ()

    @property
    def program(self) -> str:
        """The benchmark that was called."""
        return self.command.partition(" ")[0]


def begun(command: Sequence[str], root: Path = ROOT) -> Run:
    """A run of this command line (paths are shortened to their last part) at the commit that is checked out.

    Ends the benchmark where the engine or the benchmarks are not as in that commit: the number would be no one's.
    """
    changed = _git(
        root, "status", "--porcelain", "--", *(f for f in (*ENGINE, "benchmarks") if (root / f).exists()), *WRITTEN
    )
    if changed:
        raise SystemExit(f"--record is for numbers of a commit. Commit these first, or undo them:\n{changed}")
    words = [os.path.basename(word.rstrip("/")) if "/" in word else word for word in command]
    trees = [_git(root, "rev-parse", f"HEAD:{folder}") for folder in ENGINE if (root / folder).exists()]
    return Run(
        " ".join(word for word in words if word != "--record"),
        _git(root, "rev-parse", "--short=8", "HEAD"),
        sha256(" ".join(trees).encode()).hexdigest()[:12],
        datetime.now(UTC).strftime("%Y-%m-%dT%H:%M"),
        _machine(),
    )


def kept(run: Run, rows: Sequence[Row], results: Path = RESULTS) -> None:
    """Keep a run in place of the last one of the same command, and of what is left from before there were records."""
    others = [one for one in load(results) if one.command != run.command and (one.engine or one.program != run.program)]
    save([*others, replace(run, rows=tuple(rows))], results)


def load(results: Path = RESULTS) -> list[Run]:
    """The runs that are kept."""
    if not results.exists():
        return []
    return [
        Run(**{**run, "rows": tuple(Row(**row) for row in run["rows"])}) for run in json.loads(results.read_bytes())
    ]


def save(runs: Sequence[Run], results: Path = RESULTS) -> None:
    """Write the runs, in the order of their commands."""
    ordered = sorted(runs, key=lambda run: (run.command, run.date))
    results.write_text(json.dumps([asdict(run) for run in ordered], indent=1) + "\n", encoding="utf-8")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"--record needs a checkout of dnnfix: git {words[0]} said {done.stderr.strip()}")
    return done.stdout.strip()


def _machine() -> str:
    import platform
    from importlib import metadata

    found = [f"{os.cpu_count()} cores of {platform.machine()}", f"Python {platform.python_version()}"]
    for package in ("torch", "keras"):
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
