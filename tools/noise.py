"""How often each rule that reads the source fires in a folder of public files, and a draw of its findings to be read.

    python tools/noise.py FOLDER                        count, and print a line for each rule
    python tools/noise.py FOLDER --record               and write the table, keeping what was read before
    python tools/noise.py FOLDER --draw DNF746 --many 20    show findings of a rule with the lines around them
    python tools/noise.py FOLDER --read DNF746 20 19    write down that 20 were read, of which 19 were true

At most two findings of one repository are drawn (files are named OWNER__REPOSITORY__PATH), since code is copied within one. Each rule is
selected, also those that are off by default.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "dnnfix" / "emit" / "noise.json"
OF_ONE = 2
"""Findings of one repository that are drawn."""
ABOVE, BELOW = 12, 3
"""Lines that are shown around a finding."""


def findings(folder: Path, selected: str) -> list[dict[str, Any]]:
    """What `dnnfix check` finds in the files of a folder."""
    command = [
        sys.executable,
        "-m",
        "dnnfix",
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        selected,
        "--output-format",
        "json",
    ]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.stderr.write(done.stderr)
        raise SystemExit(2)
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


def counted(found: list[dict[str, Any]], files: int, kept: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The table: files by rule, with what was read of it so far."""
    by_rule: dict[str, set[str]] = defaultdict(set)
    for one in found:
        by_rule[one["code"]].add(one["path"])
    made = {"all": {"files": files, "read": 0, "true": 0}}
    for code in sorted(by_rule | {code: set() for code in kept if code != "all" and kept[code]["read"]}):
        before = kept.get(code, {})
        made[code] = {"files": len(by_rule[code]), "read": before.get("read", 0), "true": before.get("true", 0)}
    return made


def drawn(found: list[dict[str, Any]], many: int, seed: int) -> list[dict[str, Any]]:
    """Findings drawn at random, of each repository a few."""
    shuffled = sorted(found, key=lambda one: (one["path"], one["line"]))
    random.Random(seed).shuffle(shuffled)
    of_repository: Counter[str] = Counter()
    chosen = []
    for one in shuffled:
        repository = "__".join(Path(one["path"]).name.split("__")[:2])
        if of_repository[repository] < OF_ONE:
            of_repository[repository] += 1
            chosen.append(one)
    return chosen[:many]


def show(one: dict[str, Any]) -> None:
    """Print a finding with the lines around it."""
    lines = Path(one["path"]).read_text(encoding="utf-8", errors="replace").split("\n")
    print(f"== {Path(one['path']).name}:{one['line']}: {one['message']}")
    for number in range(max(0, one["line"] - 1 - ABOVE), min(len(lines), one["line"] + BELOW)):
        print(f"{number + 1:5}{'>' if number + 1 == one['line'] else ' '} {lines[number][:130]}")


def write(table: dict[str, dict[str, int]]) -> None:
    """Write the table, a line for each rule."""
    rows = ",\n".join(f"  {json.dumps(code)}: {json.dumps(counts)}" for code, counts in table.items())
    TABLE.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--record", action="store_true", help="write the table")
    parser.add_argument("--draw", metavar="CODE", help="show findings of this rule")
    parser.add_argument("--many", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--read", nargs=3, metavar=("CODE", "READ", "TRUE"), help="write down what was read")
    given = parser.parse_args()
    kept = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    if given.read:
        code, read, true = given.read
        kept.setdefault(code, {"files": 0})
        kept[code] |= {"read": int(read), "true": int(true)}
        write(kept)
        return 0
    found = findings(given.folder, given.draw or "ALL")
    if given.draw:
        for one in drawn(found, given.many, given.seed):
            show(one)
        return 0
    files = sum(1 for path in given.folder.rglob("*.py"))
    table = counted(found, files, kept)
    for code, counts in table.items():
        print(
            f"{code:8} {counts['files']:6} files, {1000 * counts['files'] / files:6.1f} of 1,000; {counts['true']} of {counts['read']} read were true"
        )
    if given.record:
        write(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
