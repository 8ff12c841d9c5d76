"""Runs old and incomplete programs through `dnnfix suggest` and tabulates whether they run and what was repaired.

    python tools/reproduction_trials.py FOLDER OUT [--python PYTHON] [--jobs 1] [--only PREFIX]

FOLDER holds one folder per program: `program.py` or `program.ipynb` as published, files that were published with it, and
`meta.toml` with `url`, `framework`, `family`, `symptom` and `human_fix`. The programs are other people's and stay where
they are. For each: how it ended as it stands, how it ended in its scaffold, and, with the accepted patches applied, how
that ended in its own scaffold. OUT receives the reports as JSON, the patches as diffs, and `table.tsv`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

COLUMNS = (
    "id",
    "framework",
    "family",
    "stood",
    "now",
    "patched",
    "steps",
    "made",
    "missing",
    "found",
    "accepted",
    "seconds",
)


def main() -> int:
    """Run the trials and write the table."""
    parser = argparse.ArgumentParser(description="field trials of old and incomplete programs", epilog=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the programs' packages")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    folders = [
        f for f in sorted(given.folder.iterdir()) if f.name.startswith(given.only) and (f / "meta.toml").exists()
    ]
    with ThreadPoolExecutor(given.jobs) as pool, open(given.out / "table.tsv", "a", encoding="utf-8") as table:
        for row in pool.map(lambda folder: trial(folder, given.out, given.python), folders):
            line = "\t".join(str(row.get(column, "")) for column in COLUMNS)
            table.write(line + "\n")
            table.flush()
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return 0


def trial(folder: Path, out: Path, python: str) -> dict[str, object]:
    """One program: its reports are kept, its row returned."""
    meta = tomllib.loads((folder / "meta.toml").read_text(encoding="utf-8"))
    row: dict[str, object] = {"id": folder.name, **{key: meta.get(key, "") for key in ("framework", "family")}}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dnnfix-trial-") as scratch:
        shutil.copytree(folder, scratch, dirs_exist_ok=True)
        name = next(n for n in ("program.py", "program.ipynb") if Path(scratch, n).exists())
        report = called(["suggest", name], scratch, python)
        (out / f"{folder.name}.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        if "error" in report:
            return {**row, "stood": report["error"], "seconds": round(time.monotonic() - started, 1)}
        runs = report["runs"]
        accepted = [patch for patch in report["patches"] if patch["verdict"] == "accepted"]
        scaffolded = next((run for run in reversed(runs[:3]) if run["reproduction"]), runs[0] if runs else {})
        row |= {
            "stood": runs[0]["outcome"] if runs else "-",
            "now": scaffolded.get("outcome", "-"),
            "made": len(scaffolded.get("reproduction", ())),
            "found": " ".join(f"{f['code']}:{f['line']}:{f['outcome']}" for f in report["findings"]),
            "accepted": " ".join(patch["template"] for patch in accepted),
        }
        if accepted:
            diff = accepted[0]["diff"]
            (out / f"{folder.name}.diff").write_text(diff, encoding="utf-8", errors="surrogateescape")
            subprocess.run(
                ["git", "apply", "-"], input=diff.encode("utf-8", "surrogateescape"), cwd=scratch, check=False
            )
        after = called(["reproduce", name], scratch, python)
        (out / f"{folder.name}.after.json").write_text(json.dumps(after, indent=1), encoding="utf-8")
        if "error" in after:
            row["patched"] = after["error"]
        else:
            row |= {
                "patched": after["outcome"][:160],
                "missing": len(after["missing"]),
                "steps": after["runs"][-1]["steps"],
            }
    return {**row, "seconds": round(time.monotonic() - started, 1)}


def called(arguments: list[str], folder: str, python: str) -> dict[str, Any]:
    """The JSON that a command of dnnfix writes; `error` where it writes none."""
    command = [sys.executable, "-m", "dnnfix", *arguments, "--isolated", "--python", python, "--output-format", "json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.fspath(Path(__file__).parents[1])}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": f"no report: {done.stderr.strip()[-160:]}"}
    return document


if __name__ == "__main__":
    sys.exit(main())
