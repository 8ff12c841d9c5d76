"""Says which public names and arguments, gone from packages in the last two years, no table of API changes knows.

    python tools/unknown_removals.py [PACKAGE…] [--since 2024-11-28] [--python PYTHON]… [--wheels FOLDER] [--all]

Without a package it looks at all that have a table. The last release before that day and the last one of every minor version since are read as `api_history.py` reads them, and what one has and
the newest lacks is looked up in the tables, those written by hand and those made. What no table has to know is in
`unknown_removals.toml`, with the reason. A line is printed for each package and, with `--all`, for each name that nothing knows. The exit
status is 0 where there is none, 1 where there is one, and 2 where a package could not be read.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from api_history import BY_HAND, DATA, PACKAGES, Installed, Known, history, reasons, table
from releases import INDEX, ReleaseError

TWO_YEARS = datetime.timedelta(days=730)


def removals(made: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Kind, name, what it is of and the release of everything in a table."""
    for kind in ("module", "name"):
        for release, names in made[kind].items():
            yield from ((kind, name, "", release) for name in names)
    for kind in ("argument", "method"):
        for release, names in made[kind].items():
            for name, successors in names.items():
                yield from ((kind, name, of, release) for every in successors.values() for of in every)


def is_known(known: Known, kind: str, name: str, of: str) -> bool:
    """Whether a table has it, or a module that it is in."""
    if kind == "argument":
        return known.knows_keyword(of, name)
    if kind == "method":
        return known.knows_method(of, name)
    parts = name.split(".")
    return known.knows(name) or any(known.knows(".".join(parts[:count])) for count in range(1, len(parts)))


def is_listed(patterns: Iterable[str], name: str) -> bool:
    """Whether no table has to know something."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print, and say by the exit status whether the tables are up to date."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="as the index calls it (all that have a table)")
    parser.add_argument(
        "--since", default=str(datetime.date.today() - TWO_YEARS), help="the day to begin with (%(default)s)"
    )
    parser.add_argument(
        "--python",
        type=Path,
        action="append",
        default=[],
        help="an interpreter that has the newest releases, or a part",
    )
    parser.add_argument("--wheels", type=Path, default=Path.home() / ".cache" / "dnnfix-wheels", help="(%(default)s)")
    parser.add_argument("--index", default=INDEX, help="another index (%(default)s)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the tables that are made (%(default)s)")
    parser.add_argument("--all", action="store_true", help="print every name that no table knows")
    given = parser.parse_args(arguments)
    known = Known([*BY_HAND.glob("*.toml"), *given.data.glob("*.json")])
    status = 0
    for package in given.packages or PACKAGES:
        try:
            found = history(package, given.wheels, given.index, given.since)
        except ReleaseError as error:
            print(f"unknown_removals: {error}", file=sys.stderr)
            return 2
        installed = Installed(given.python, found)
        listed = reasons(package)
        every = list(removals(table(found, installed, Known(()))))
        missed = [one for one in every if not is_known(known, *one[:3])]
        unknown = [one for one in missed if not is_listed(listed, f"{one[2]}.{one[1]}" if one[2] else one[1])]
        first, last = found.found[0], found.found[-1]
        print(
            f"{package} {first.version} to {last.version} ({first.day} to {last.day}): {len(every)} removed, "
            f"{len(every) - len(missed)} known, {len(missed) - len(unknown)} listed with a reason, {len(unknown)} unknown"
            f"{', by its sources alone' if installed.number < 0 else ''}"
        )
        for kind, name, of, release in unknown if given.all else ():
            print(f"  {kind} {name}{f' of {of}' if of else ''}, gone in {release}")
        status = 1 if unknown else status
    return status


if __name__ == "__main__":
    sys.exit(main())
