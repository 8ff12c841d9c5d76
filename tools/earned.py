"""Counts what each rule has earned, and writes the table that the catalogue's page and SARIF show.

    python tools/earned.py REPLAY … [--sound TRIALS …]

REPLAY is the output of `dnnfix bench replay --arms repair,healthy`, TRIALS that of `tools/field_trials.py` on sound programs. A patch that
is neither right nor wrong by the oracle counts as accepted alone.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from dnnfix.bench.store import Store
from dnnfix.emit.earned import ALL, TABLE, Earned
from dnnfix.index import today


def counted(replays: list[Path], trials: list[Path]) -> dict[str, Earned]:
    """By code, what was found and accepted; all programs under `ALL`."""
    counts: Counter[tuple[str, str]] = Counter()
    for folder in replays:
        with Store(folder / "results.sqlite") as store:
            for one in store.results():
                if one.failed or one.arm.value not in ("repair", "healthy"):
                    continue
                kind = "faulty" if one.arm.value == "repair" else "sound"
                counts.update((code, kind) for code in {ALL, *(today(found.partition(":")[0]) for found in one.found)})
                if kind == "faulty" and one.accepted and one.template:
                    held = {"accepted": True, "right": one.correct, "wrong": one.wrong}
                    for code in (today(one.template), ALL):
                        counts.update((code, name) for name, holds in held.items() if holds)
    for folder in trials:
        for report in sorted(folder.glob("*.json")):
            findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
            counts.update((code, "sound") for code in {ALL, *(today(finding["code"]) for finding in findings)})
    codes = sorted({code for code, _ in counts})
    return {code: Earned(**{name: counts[code, name] for name in Earned.__dataclass_fields__}) for code in codes}


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replays", nargs="+", type=Path, metavar="REPLAY")
    parser.add_argument("--sound", nargs="*", type=Path, default=[], metavar="TRIALS")
    options = parser.parse_args()
    rows = [f'  "{code}": {json.dumps(asdict(one))}' for code, one in counted(options.replays, options.sound).items()]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
