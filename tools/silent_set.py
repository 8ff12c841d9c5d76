"""What `dnnfix check --select silent` finds in a set of labelled fragments: recall and precision of each of the 14 silent patterns.

    python tools/silent_set.py FOLDER --labels benchmarks/silent/second.tsv [--half odd|even] [--each]

A table in `benchmarks/silent/` has the labels and where each fragment comes from, and no texts: FOLDER holds these under the names of the table. A text
that is not the one that was labelled, by its digest, is left out and said. Fragments with an odd number are those that were seen while rules were written, those
with an even one were looked at once, afterwards. A fragment is judged where a rule of its own pattern fires or not; what fires on fragments of another pattern, and is not
among what its label says besides, is listed beside it.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Fragment:
    """A labelled fragment: `line` is where a person would point, `also` the other patterns that it shows."""

    file: str
    pattern: int
    is_faulty: bool
    line: int
    parses: bool
    also: frozenset[int]
    digest: str


def labels(path: Path) -> Iterator[Fragment]:
    """The fragments of the table."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            also = frozenset(map(int, row["also"].split()))
            yield Fragment(
                row["file"],
                int(row["pattern"]),
                row["label"] == "faulty",
                int(row["line"] or 0),
                row["parses"] == "yes",
                also,
                row["sha256"],
            )


def is_there(fragment: Fragment, folder: Path) -> bool:
    """Whether the folder has the text that was labelled."""
    path = folder / fragment.file
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest().startswith(fragment.digest)


def asked(*arguments: str, folder: Path) -> Any:
    """What a command of dnnfix answers as JSON, in a folder."""
    command = [sys.executable, "-m", "dnnfix", *arguments, "--isolated", "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if not done.stdout:
        sys.stderr.write(done.stderr)
        raise SystemExit(2)
    if done.returncode == 2:  # what could not be read at all, file by file
        print(done.stderr, end="")
    return json.loads(done.stdout)


@dataclass
class Count:
    """Of one pattern: faulty fragments that were found and missed, sound ones that were reported and not."""

    found: int = 0
    missed: int = 0
    wrong: int = 0
    silent: int = 0

    def add(self, is_faulty: bool, is_found: bool) -> None:
        """Count one fragment."""
        name = ("found" if is_found else "missed") if is_faulty else ("wrong" if is_found else "silent")
        setattr(self, name, getattr(self, name) + 1)

    def __str__(self) -> str:
        recall = self.found / max(self.found + self.missed, 1)
        precision = self.found / max(self.found + self.wrong, 1)
        return f"{self.found}/{self.found + self.missed} found ({recall:.0%}), {self.wrong}/{self.wrong + self.silent} sound ones reported; precision {precision:.0%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=Path, required=True, help="a table of benchmarks/silent")
    parser.add_argument("--half", choices=("odd", "even"), help="only those that were seen, or those that were not")
    parser.add_argument("--each", action="store_true", help="name each fragment that was misjudged")
    given = parser.parse_args()
    every = [one for one in labels(given.labels) if given.half in (None, "odd" if int(one.file[3:5]) % 2 else "even")]
    known = [one for one in every if is_there(one, given.folder)]
    if len(known) < len(every):
        print(f"{len(every) - len(known)} of {len(every)} texts are not there, or are not those that were labelled")
    patterns: Mapping[str, int] = {rule["code"]: rule["silent"] for rule in asked("templates", folder=given.folder)}
    report = asked("check", "--no-cache", "--select", "silent", *(one.file for one in known), folder=given.folder)
    said: defaultdict[str, set[str]] = defaultdict(set)
    for finding in report["findings"]:
        said[finding["path"]].add(finding["code"])
    counts: defaultdict[int, Count] = defaultdict(Count)
    elsewhere: Counter[str] = Counter()
    for one in known:
        own = any(patterns.get(code) == one.pattern for code in said[one.file])
        counts[one.pattern].add(one.is_faulty, own)
        counts[0].add(one.is_faulty, own)
        elsewhere.update(code for code in said[one.file] if patterns.get(code, 0) not in {0, one.pattern, *one.also})
        if given.each and own is not one.is_faulty:
            print(f"  {one.file}: {'missed' if one.is_faulty else 'reported and sound'}")
    for pattern in sorted(counts):
        print(f"{f'pattern {pattern:2}' if pattern else 'all patterns'}: {counts[pattern]}")
    unread = [one for one in known if not one.parses]
    judged = [
        one for one in unread if any(patterns.get(code) == one.pattern for code in said[one.file]) is one.is_faulty
    ]
    print(f"of {len(unread)} fragments that Python does not read, {len(judged)} were judged rightly")
    for code, times in elsewhere.most_common():
        others = sum(one.pattern != patterns[code] for one in known)
        print(
            f"{code} (pattern {patterns[code]}) also fires on {times} of {others} fragments of other patterns ({times / others:.1%})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
