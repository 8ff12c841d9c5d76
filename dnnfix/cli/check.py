"""`dnnfix check`: the static analysis of files, without running them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dnnfix.cli import options
from dnnfix.cli.cache import CheckCache
from dnnfix.cli.command import command
from dnnfix.cli.console import Console
from dnnfix.cli.session import Session
from dnnfix.programs import Program
from dnnfix.records import FileReport

if TYPE_CHECKING:
    from concurrent.futures import Future


EXAMPLES = """  dnnfix check model.py
  dnnfix check . --select DNF3,DNF5 --output-format github
  dnnfix check . --write-baseline known.json     accept what is there today
  dnnfix check . --baseline known.json           and hear only of what is new
  git show HEAD:model.py | dnnfix check - --stdin-filename model.py
"""

EXIT_CODES = "0 nothing found, 1 findings, 2 error"

AHEAD = 64
"""Files that are read before the first of them is done, for each process."""


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    inputs: options.Inputs,
    rules: options.Selection,
    configuration: options.Configuration,
    results: options.Results,
    write_baseline: Annotated[
        str | None,
        Option(
            metavar="FILE", help="record today's findings in this file and exit with 0", rich_help_panel=options.RULES
        ),
    ] = None,
    jobs: Annotated[int | None, Option(metavar="N", help="files side by side (1)")] = None,
    no_cache: Annotated[bool, Option("--no-cache", help="look at unchanged files again")] = False,
) -> int:
    """Look for faults in the source alone. Nothing is run and no framework is imported, so a file takes
    milliseconds; faults that show only in a run are named as not checked. In folders, only files that mention torch, keras
    or tensorflow are looked at. Unchanged files are remembered."""
    session = Session(
        console,
        inputs,
        configuration,
        results,
        options.overrides(rules) | {"jobs": jobs},
        static=True,
        write_baseline=write_baseline,
    )
    patches = session.output.format in ("json", "sarif", "diff", "html")
    cache = None
    if not no_cache:
        cache = CheckCache.open(session.settings.cache, "patches" if patches else "")
    try:
        return session.work(_reports(session, cache, patches))
    finally:
        if cache is not None:
            cache.save()


def _reports(session: Session, cache: CheckCache | None, patches: bool) -> Iterator[tuple[Program, FileReport]]:
    """The report of each program that can be analysed, in order."""
    jobs = session.settings.jobs or 1
    pool = _Pool(jobs, patches) if jobs > 1 else None
    waiting: deque[tuple[Program, str, FileReport | Future[FileReport] | None]] = deque()
    try:
        for program in session.programs():
            key = cache.key(program.raw, program.settings) if cache is not None and program.file is not None else ""
            known = cache.get(program.path, key) if cache is not None and key else None
            waiting.append((program, key, known or (pool.submit(program) if pool is not None else None)))
            if pool is None or len(waiting) >= AHEAD * jobs:
                yield from _done(session, cache, waiting.popleft(), patches)
        while waiting:
            yield from _done(session, cache, waiting.popleft(), patches)
    finally:
        if pool is not None:
            pool.close()


def _done(
    session: Session,
    cache: CheckCache | None,
    item: tuple[Program, str, FileReport | Future[FileReport] | None],
    patches: bool,
) -> Iterator[tuple[Program, FileReport]]:
    program, key, known = item
    if isinstance(known, FileReport):
        yield program, known
        return
    with session.guarding(program):
        report = analyse(program, patches) if known is None else known.result()
        if cache is not None and key:
            cache.put(program.path, key, report)
        yield program, report


def analyse(program: Program, patches: bool) -> FileReport:
    """The static report of one program. Raises `InputError` and `ConfigError`."""
    from dnnfix import pipeline
    from dnnfix.selectors import verify

    verify(program.settings)
    with pipeline.collecting_at_the_end():
        return pipeline.check_file(program.raw, program.path, program.settings, patches)


def _heed_nothing() -> None:
    """In a process of the pool: Ctrl-C reaches the whole group, and the first process ends the others."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class _Pool:
    """Processes that check files side by side; made when the first file needs one."""

    def __init__(self, jobs: int, patches: bool) -> None:
        from concurrent.futures import ProcessPoolExecutor

        self._executor = ProcessPoolExecutor(jobs, initializer=_heed_nothing)
        self._patches = patches

    def submit(self, program: Program) -> Future[FileReport]:
        """Have one program checked."""
        return self._executor.submit(analyse, program, self._patches)

    def close(self) -> None:
        """Wait for nothing and leave nothing running."""
        self._executor.shutdown(wait=True, cancel_futures=True)
