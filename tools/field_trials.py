"""Runs `dnnfix suggest` over a folder of collected programs and tabulates what came of each.

    python tools/field_trials.py FOLDER OUT [--jobs 2] [--only PREFIX]

FOLDER holds one folder per program: `program.py` as published, `runnable.py` where glue was needed to run it, and
`meta.toml` with `url`, `framework`, `family`, `symptom` and `human_fix`. The programs are other people's and stay where
they are; OUT receives each report as JSON, each best patch as a diff, and `table.tsv`.
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

COLUMNS = ("id", "framework", "family", "run", "findings", "family_found", "accepted", "seconds", "url")


def main() -> int:
    """Run the trials and write the table."""
    parser = argparse.ArgumentParser(description="field trials of dnnfix", epilog=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    programs = [
        f for f in sorted(given.folder.iterdir()) if f.name.startswith(given.only) and (f / "meta.toml").exists()
    ]
    with ThreadPoolExecutor(given.jobs) as pool, open(given.out / "table.tsv", "a", encoding="utf-8") as table:
        for row in pool.map(lambda folder: trial(folder, given.out), programs):
            line = "\t".join(str(row.get(column, "")) for column in COLUMNS)
            table.write(line + "\n")
            table.flush()
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return 0


def trial(folder: Path, out: Path) -> dict[str, object]:
    """One program: its report is kept, its row returned."""
    meta = tomllib.loads((folder / "meta.toml").read_text(encoding="utf-8"))
    row: dict[str, object] = {"id": folder.name, **{key: meta.get(key, "") for key in ("framework", "family", "url")}}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dnnfix-trial-") as scratch:
        shutil.copytree(folder, scratch, dirs_exist_ok=True)
        name = "runnable.py" if (folder / "runnable.py").exists() else "program.py"
        command = [sys.executable, "-m", "dnnfix", "suggest", name, "--isolated", "--output-format", "json"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, env=environment, check=False)
    row["seconds"] = round(time.monotonic() - started, 1)
    (out / f"{folder.name}.json").write_text(done.stdout, encoding="utf-8")
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {**row, "run": f"no report: {done.stderr.strip()[-120:]}"}
    accepted = [patch for patch in report["patches"] if patch["verdict"] == "accepted"]
    if accepted:
        (out / f"{folder.name}.diff").write_text(accepted[0]["diff"], encoding="utf-8", errors="surrogateescape")
    families = {finding["family"] for finding in report["findings"]}
    return {
        **row,
        "run": report["runs"][0]["outcome"] if report["runs"] else "-",
        "findings": " ".join(f"{f['code']}:{f['line']}:{f['outcome']}" for f in report["findings"]),
        "family_found": meta.get("family") in families,
        "accepted": " ".join(patch["template"] for patch in accepted),
    }


if __name__ == "__main__":
    sys.exit(main())
