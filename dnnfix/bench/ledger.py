"""The ledger of proven cases: `verified.csv` of the benchmark, written by `bench verify --record`.

A case counts as long as the files that its proof rests on are the ones that were proven.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from dnnfix.bench.cases import Case
from dnnfix.bench.verify import Proof, fingerprint
from dnnfix.errors import InputError

FILE = "verified.csv"


@dataclass(frozen=True, slots=True)
class Entry:
    """A proven case: the hash of its files, on how many seeds the symptom showed before and after, and the longest run."""

    id: str
    fingerprint: str
    shown: int
    repaired: int
    seconds: float


def read_ledger(folder: Path) -> Mapping[str, Entry]:
    """The proven cases of a benchmark by id. Raises `InputError` where the file cannot be read."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        entries = [
            Entry(r["id"], r["fingerprint"], int(r["shown"]), int(r["repaired"]), float(r["seconds"])) for r in rows
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read: {error!r}. Make it anew: dnnfix bench verify --record") from None
    return {entry.id: entry for entry in entries}


def counts(case: Case, ledger: Mapping[str, Entry]) -> bool:
    """Whether the case was proven as it is now."""
    entry = ledger.get(case.id)
    return entry is not None and entry.fingerprint == fingerprint(case)


def record(folder: Path, proofs: Iterable[tuple[Case, Proof]]) -> None:
    """Enter what was proven, and strike out what was not; what was not looked at stays."""
    entries = dict(read_ledger(folder))
    for case, proof in proofs:
        entries.pop(case.id, None)
        if proof.holds:
            entries[case.id] = Entry(case.id, fingerprint(case), proof.showing, proof.left, proof.seconds)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Entry)]
    writer.writerow(names)
    writer.writerows([getattr(entries[id], name) for name in names] for id in sorted(entries))
    made = folder / f".{FILE}.new"
    made.write_text(text.getvalue(), encoding="utf-8")
    os.replace(made, folder / FILE)
