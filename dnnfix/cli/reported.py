"""Bug reports as commands take them: from a file, standard input or a forge; and the programs that one is about."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dnnfix.cli.console import Console
from dnnfix.errors import InputError
from dnnfix.programs import Finder, Program, is_about_models, read

MOST_BYTES = 64 * 2**20
"""Bytes of a report; more is not text that anybody wrote, and not read."""
TRIED = 3
"""Files about models, the most suspect first, that are taken for the programs of a report."""
AMONG = 10
"""Suspect files that these are among."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A report: what it is called, its text, and when it was written (seconds since 1970) where that is known."""

    name: str
    text: str
    written: float | None = None


def report_of(path: str) -> Reported:
    """The report in a file, or on standard input (`-`). Raises `InputError`."""
    if path == "-":
        raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        try:
            with Path(path).open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}. Give a file with the text of the report.") from None
    if len(raw) > MOST_BYTES:
        raise InputError(f"{path}: larger than {MOST_BYTES} bytes; that is data, not a report.")
    if b"\0" in raw[:8192]:
        raise InputError(f"{path}: is not text. A picture of a traceback cannot be read: give its text.")
    return Reported(path, raw.decode("utf-8", "replace"))


def issue_of(console: Console, issue: str, where: str) -> Reported:
    """The report that is an issue (`owner/name#12`) of a forge. Raises `InputError` and `ForgeError`."""
    slug, _, number = issue.partition("#")
    if slug.count("/") != 1 or not number.isdigit():
        raise InputError(f"--issue: has to be OWNER/NAME#N. Received: {issue}")
    from dnnfix.cli.bot.choosing import Target

    found = Target(where).forge(console).issue(slug, int(number))
    return Reported(issue, f"# {found.title}\n\n{found.body}", found.written)


def programs_of(report: Reported, repository: Path | None, finder: Finder, console: Console) -> Iterator[Program]:
    """The programs that show what a report says: the one in its text, as if it lay in the repository, then the most suspect
    files of that. With a repository at hand, code that is a part of a program is left out. Raises `InputError` where there is neither.
    """
    from dnnfix.reproduce.reports.fragments import lacking_names
    from dnnfix.reproduce.reports.report import parsed

    of_report = parsed(report.text)
    program = of_report.program.strip()
    lacking = lacking_names(program) if program and repository is not None else ()
    if lacking is None or lacking:  # what a part of a program lacks is no fault of it
        why = f"nothing in it defines {lacking[0]}" if lacking else "it is not Python as it stands"
        console.remark(f"{report.name}: its code is not run by itself, since it is a part of a program: {why}")
    elif program:
        name = f"{Path(report.name).stem if report.name != '-' else 'report'}.py"
        own = finder.of_text(program.encode() + b"\n", os.path.join(repository, name) if repository else name)
        yield replace(own, said=of_report.said)
    if repository is not None:
        for suspect in _suspect(report, repository, finder, console):
            yield replace(suspect, said=of_report.said)
    elif not program:
        raise InputError(
            f"{report.name}: the report holds no Python code. Name the folder of the repository that it is about."
        )


def _suspect(report: Reported, repository: Path, finder: Finder, console: Console) -> Iterator[Program]:
    from dnnfix.locate.locate import locate

    settings = finder.settings.of(repository.absolute())
    with console.working(report.name) as progress:
        located = locate(
            report.text,
            report.name,
            repository,
            cache=settings.cache,
            written=report.written,
            top=AMONG,
            progress=progress,
        )
    suspects = {os.path.join(repository, suspect.path): suspect for suspect in located.files}
    about_models = [path for path in suspects if _may_show_it(path)]
    paths = tuple(about_models[:TRIED])
    for path in paths:
        suspect = suspects[path]
        console.remark(f"{path}: suspect ({100 * suspect.share:.0f} %): {'; '.join(suspect.reasons[:2])}")
        yield from (replace(one, suspected_with=paths) for one in finder.programs([path], ""))


def _may_show_it(path: str) -> bool:
    """Whether a file is about models, and no script that installs them."""
    try:
        return os.path.basename(path) != "setup.py" and is_about_models(read(path)[0])
    except InputError:  # an empty file
        return False
