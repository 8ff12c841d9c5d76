"""Fits the weights of `dnnfix locate` (`dnnfix/locate/weights.json`) to the set of restated reports.

    python tools/fit_locate.py FOLDER

FOLDER holds clones, with history, of the repositories of the set (see `benchmarks/locate.py`, which tells how good weights are that were
fitted to other projects; those that are written here are fitted to all of them).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from _learning import fitted, with_files
from _reports import columns_of, reports, tables

WEIGHTS = ROOT / "dnnfix" / "locate" / "weights.json"


def main() -> None:
    """Write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    files, definitions = tables(parser.parse_args().folder, reports())
    kinds, kinds_of_definitions = columns_of()
    weights = fitted(files, range(len(kinds)), [name for _, name in kinds])
    chosen = with_files(definitions, [table.values @ weights for table in files])
    document = {
        "files": _named(kinds, weights),
        "definitions": _named(
            kinds_of_definitions,
            fitted(chosen, range(len(kinds_of_definitions)), [name for _, name in kinds_of_definitions]),
        ),
    }
    WEIGHTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _named(kinds: Sequence[tuple[str, str]], weights: Any) -> dict[str, float]:
    return {name: round(float(weight), 3) for (_, name), weight in zip(kinds, weights, strict=True)}


if __name__ == "__main__":
    main()
