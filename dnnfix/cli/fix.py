"""`dnnfix fix`: applies the patches that were proven."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from dnnfix.cli import options, suggest
from dnnfix.cli.command import command
from dnnfix.cli.console import Console
from dnnfix.cli.guard_tests import write_guard
from dnnfix.cli.output import palette
from dnnfix.cli.session import Session
from dnnfix.emit.choice import applicable, chosen, independent
from dnnfix.emit.diff import taken
from dnnfix.emit.hunks import apply, own_section, replacements, sections
from dnnfix.emit.view import printable, view
from dnnfix.errors import ConfigError
from dnnfix.programs import Program
from dnnfix.records import Applicability, FileReport, Patch, PatchVerdict
from dnnfix.rewrite import Rewrite, replace_files
from dnnfix.source.diff import module_path

EXAMPLES = """  dnnfix fix --diff train.py            show what would be applied, change nothing
  dnnfix fix --unsafe --diff train.py   the same, with patches that change what is trained
  dnnfix fix --interactive src/         decide patch by patch, with the evidence in view
  dnnfix fix --unsafe train.py
  dnnfix fix --unsafe --select DNF5 .   migrate a repository to the installed versions
  dnnfix fix --unsafe --guard train.py  and leave a test in tests/ that fails where the fault comes back
  cat train.py | dnnfix fix --unsafe - > repaired.py
"""

EXIT_CODES = "0 nothing left to repair, 1 findings left, 2 error, or nothing found and a program that could not be run"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    inputs: options.Inputs,
    rules: options.Selection,
    patches: options.Fixing,
    running: options.Running,
    long_run: options.LongRun,
    proposing: options.Proposing,
    configuration: options.Configuration,
    results: options.Results,
    diff: Annotated[bool, Option("--diff", help="print the diff of what would be applied; change nothing")] = False,
    interactive: Annotated[bool, Option("--interactive", help="ask for each patch: y(es), n(o) or q(uit)")] = False,
    unsafe_fixes: Annotated[
        bool,
        Option(
            "--unsafe", "--unsafe-fixes", help="also apply accepted and partial patches that change what is trained"
        ),
    ] = False,
    guard: Annotated[
        bool,
        Option(
            "--guard",
            help="leave a small test in the project's test folder that fails where a repaired fault comes back",
        ),
    ] = False,
    unproven: Annotated[
        bool,
        Option(
            "--unproven",
            help="also apply migrations (DNF5) that no run came to: of programs that could not be run, in lines that did not run",
        ),
    ] = False,
) -> int:
    """Find faults as `suggest` does and apply the patches that were proven. Without --unsafe only patches
    that keep the program's meaning are applied (a renamed argument); most repairs change what is trained, and need
    --unsafe or your yes to --interactive. Where no patch brings a program to its end, the one that gets it furthest is
    applied in the same way and said to be partial; the place where the program then stops is named, and counts as left.
    The best patch of a program is taken, and others only where they have nothing to do with it: run the command again for
    the rest. Modules beside a program are repaired along with it: all files of a patch are written, or none where one
    changed meanwhile. Line ends, encoding and mode are kept. What of an old program could not be migrated is listed at the
    end, with the place and the reason."""
    if diff and interactive:
        raise ConfigError("--diff changes nothing and --interactive asks what to change: give one of them.")
    if proposing.dry_run:
        raise ConfigError(
            "--dry-run asks no model, so that nothing of its would be applied: give it to dnnfix suggest."
        )
    if guard and diff:
        raise ConfigError("--diff changes nothing and --guard writes a test: give one of them.")
    if diff and results.output_format not in (None, "diff"):
        raise ConfigError(f"--diff is a format of its own. Received: --output-format {results.output_format}")
    if interactive and "-" in (inputs.paths or ()):
        raise ConfigError(
            "--interactive reads your answers from standard input, so the program cannot come from there."
        )
    given = options.overrides(rules, patches, running, proposing) | {"unsafe_fixes": unsafe_fixes or None}
    if diff:
        results = replace(results, output_format="diff")
    session = Session(console, inputs, configuration, results, given)
    session.output.unsafe = session.settings.unsafe
    session.output.unproven = unproven
    session.output.brief = interactive
    if interactive and session.settings.output_format != "text" and session.output.file is None:
        raise ConfigError(
            "--interactive shows patches as text on standard output; give other formats an --output-file. "
            f"Received: {session.settings.output_format}"
        )
    if "-" in (inputs.paths or ()) and not diff:
        session.output.console = replace(console, out=console.err)
    return session.work(_repaired(session, diff, interactive, long_run.log, guard))


def _repaired(
    session: Session, diff: bool, interactive: bool, log: str | None, guard: bool
) -> Iterator[tuple[Program, FileReport]]:
    """The report of each program, after what it allows was applied."""
    asking = interactive
    for program, report in suggest.reports(session, log):
        unsafe = session.output.unsafe = program.settings.unsafe
        patches: tuple[Patch, ...] = ()
        if not diff:
            if not interactive:
                patches = chosen(report, unsafe, unproven=session.output.unproven)
            elif asking:
                patches, asking = _asked(session.console, program, report)
            if program.file is None and _beside(program, patches):
                session.console.remark(
                    f"{program.path}: not applied: it changes modules beside the program; name the file"
                )
                patches = ()
            _apply(session, program, report, patches)
            if guard and patches and program.file is not None:
                with session.guarding(program):
                    said = write_guard(program.file, program.raw, report, patches, program.settings)
                    session.console.remark(f"{program.path}: {said}")
        else:
            patches = chosen(report, unsafe, unproven=session.output.unproven)
            _tell_left(session, program, report, patches, "left out of the diff", "with --unsafe it is in it")
        with session.guarding(program):
            _list_unmigrated(session, program, report, patches)
        yield program, report
        if not asking and interactive:
            return


def _apply(session: Session, program: Program, report: FileReport, patches: tuple[Patch, ...]) -> None:
    """Write the patched program; standard input goes to standard output, patched or not."""
    with session.guarding(program):
        after = taken(program.raw, program.path, patches)
        if program.file is None:
            session.console.write_bytes(after)
        elif patches:
            modules = [_module(program, report, name, section) for name, section in _beside(program, patches).items()]
            replace_files([Rewrite(program.file, program.raw, after), *modules])
            session.console.remark(f"{program.path}: applied {', '.join(map(_named, patches))}")
        done = {patch.id for patch in patches if not patch.remains}
        gone = [result.finding.id for result in report.findings if done & set(result.patches)]
        session.repaired += [f"{report.path}::{id}" for id in gone]
        session.output.applied = (session.output.applied or 0) + len(patches)
    _tell_left(session, program, report, patches, "not applied", "--unsafe or --interactive applies it")


def _tell_left(
    session: Session, program: Program, report: FileReport, patches: tuple[Patch, ...], done: str, how: str
) -> None:
    """Say which patch was not taken though it was proven, and what takes it."""
    left = _left(session, report, patches)
    if program.file is None:  # of the others it was said why they are not applied
        left = [patch for patch in left if not _beside(program, (patch,))]
    if left and not session.output.brief:
        kind = "another run proves and applies the rest" if patches else f"{_why(left[0])}: {how}"
        named = f"{left[0].candidate.title} ({_named(left[0])})"
        session.console.remark(f"{program.path}: {done}: {named}; {kind}")


def _left(session: Session, report: FileReport, patches: tuple[Patch, ...]) -> list[Patch]:
    """The patches that may be applied beside those that were taken."""
    possible = applicable(report, unproven=session.output.unproven)
    return [patch for patch in possible if patch not in patches and independent(report, patch, list(patches))]


def _why(patch: Patch) -> str:
    """Why a patch is not taken without being asked for."""
    return "it changes what is trained" if patch.candidate.applicability is not Applicability.SAFE else "it is a draft"


def _named(patch: Patch) -> str:
    """A patch's name, with what remains where it is partial."""
    return f"{patch.id} (partial: {patch.remains})" if patch.remains else patch.id


def _beside(program: Program, patches: tuple[Patch, ...]) -> dict[str, str]:
    """The diffs of the modules beside the program that the patches change, by their paths as the diff has them."""
    own = own_section(program.path)
    return {name: section for patch in patches for name, section in sections(patch.diff).items() if name != own}


def _module(program: Program, report: FileReport, name: str, section: str) -> Rewrite:
    """What the patch makes of a module beside the program, as it was when the patch was proven. Raises `InputError`."""
    place = next(one for one in report.modules if own_section(module_path(program.path, one)) == name)
    before = report.modules[place]
    file = os.path.normpath(Path(program.path).resolve().parent / place)
    return Rewrite(Path(file), before, apply(before, replacements(section)))


def _list_unmigrated(session: Session, program: Program, report: FileReport, patches: tuple[Patch, ...]) -> None:
    """Note what of an old program, or of a module beside it, is still as it was once the patches are applied."""
    from dnnfix import pipeline

    withheld = {finding.code for patch in _left(session, report, patches) for finding in patch.candidate.findings}
    accepted = (patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED)
    proven = {finding.code for patch in accepted for finding in patch.candidate.findings}
    changed = _beside(program, patches)
    after = {program.path: taken(program.raw, program.path, patches)}
    for place, before in report.modules.items():
        path = module_path(program.path, place)
        section = changed.get(own_section(path), "")
        after[path] = apply(before, replacements(section))
    for path, raw in after.items():
        seen = view(raw, path)
        for finding, reason in pipeline.unmigrated(raw, path, program.settings):
            cell, line = seen.locate(finding.site.line)
            where = f"{path}:{line}" if cell is None else f"{path}, cell {seen.number(cell)}, line {line}"
            if not reason and finding.code in withheld:
                reason = "its patch is not taken without --unsafe"
            elif not reason and finding.code in proven:
                reason = "its patch was proven, but not along with what is applied: run it again"
            entry = f"{where}: {finding.code} {finding.message}: {reason or 'its patch was not proven'}"
            if entry not in session.output.unmigrated:  # a module of two programs, or one that is repaired itself
                session.output.unmigrated.append(entry)


def _asked(console: Console, program: Program, report: FileReport) -> tuple[tuple[Patch, ...], bool]:
    """The patches that the user said yes to, and whether to go on asking. Rivals of a taken patch are not offered."""
    from dnnfix.emit.text import file_text

    offered = list(applicable(report, choices=True))
    if not offered:
        console.write(file_text(report, view(program.raw, program.path), palette(console)))
        return (), True
    accepted: list[Patch] = []
    for patch in offered:
        if not independent(report, patch, accepted):
            continue
        console.write(_shown(console, program, report, patch))
        if accepted:
            console.write("  This patch was proven alone, not together with those that you took.\n")
        answer = _answer(console, patch)
        if answer == "y":
            accepted.append(patch)
        elif answer == "q":
            return tuple(accepted), False
    return tuple(accepted), True


def _shown(console: Console, program: Program, report: FileReport, patch: Patch) -> str:
    """The findings that a patch settles, with the patch and its verdicts as the one repair."""
    from dnnfix.emit.text import file_text, hanging

    own = tuple(replace(r, patches=(patch.id,)) for r in report.findings if patch.id in r.patches)
    shown = palette(console)
    text = file_text(replace(report, findings=own, notes=()), view(program.raw, program.path), shown)
    lines = [
        hanging(f"  {v.status:<14} ", 17, f"{v.rung}: {v.validator}: {printable(v.reason)}", shown)
        for v in patch.verdicts
    ]
    return "".join(f"{line}\n" for line in (text.rstrip("\n"), *lines))


def _answer(console: Console, patch: Patch) -> str:
    """`y`, `n` or `q`; the end of the input means `q`."""
    kind = str(patch.candidate.applicability)
    kind += ", partial" if patch.remains else ", a choice" if patch.verdict is PatchVerdict.CHOICE else ""
    while True:
        console.clear()
        console.err.write(f"Apply {patch.id} ({kind})? [y/n/q] ")
        console.err.flush()
        line = sys.stdin.readline()
        word = line.strip().lower()[:1]
        if not line or word in ("y", "n", "q"):
            return word or "q"
        console.err.write(
            "y takes this patch, n goes on to the next, q takes no more. Nothing is written before the last answer.\n"
        )
