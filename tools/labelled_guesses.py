"""Broken programs with what the search guesses at their crash, each guess labelled by whether it is the repair.

Makes the data that `fit_prior.py` fits on: a fault is put into a healthy program (`inverse_edits.py`), the broken program is
run in the sandbox, and where it crashes, what the operators offer is tried where it stopped, as in any search. What holds
there gets a whole run, and is right where the program then does what the healthy one does.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import inverse_edits

from dnnfix.config import Settings
from dnnfix.errors import EditError
from dnnfix.pipeline.runs import laboratory_for
from dnnfix.records import Site, Trace
from dnnfix.run.job import Speculation
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.at_crash import unexplained_crash
from dnnfix.synthesize.candidates import edited
from dnnfix.synthesize.scene import scenes_of
from dnnfix.synthesize.small_edits import Came, Guess, Tried, guesses, outcomes, tryings
from dnnfix.validate.behaviour import Behaviour, behaviour
from dnnfix.validate.laboratory import TrialLaboratory

DRAWS = 8
"""Faults that are put into a program for one that makes it crash."""

SECONDS = 7.0
"""Seconds that the guesses at one crash are tried for."""

WITHIN = 5.0
"""How much less likely than the likeliest that holds, by the weights so far, a guess may be to be tried still."""

RUNS = 24
"""Guesses at one crash that get a whole run, of those that came to different values."""

BUDGET = 120.0
"""Seconds for one program, or one crash."""


class Healthy:
    """A program that runs to its end and does the same each time, with faults to be put into it."""

    def __init__(self, source: Source, doing: Behaviour, seed: int) -> None:
        self.source = source
        self.doing = doing
        self.tree = ast.dump(source.tree)
        self.faults = inverse_edits.draws(source, seed)


def healthy(path: Path, runner: Runner, seed: int) -> Healthy | None:
    """The program in a file, where two runs of it are alike and tell something."""
    source = Source.from_bytes(path.read_bytes(), str(path))
    with _laboratory(source, runner) as laboratory:
        first = laboratory.observe(source, 0)
        if first.crash is not None or not first.outcome.says_something:
            return None
        again = laboratory.observe(Source.from_bytes(source.raw + b"\n", str(path)), 0)
    doing = behaviour(first)
    return Healthy(source, doing, seed) if doing.tells and doing.same_as(behaviour(again)) else None


def labelled(folder: Path, rounds: int, seed: int) -> Iterator[dict[str, Any]]:
    """Crashes with their labelled guesses: in each round one of every program that still gives one."""
    programs: dict[Path, Healthy | None] = {}
    with Runner(Path(sys.executable)) as runner:
        for _ in range(rounds):
            for number, path in enumerate(sorted(folder.glob("*.py"))):
                if path not in programs:
                    programs[path] = healthy(path, runner, 1000 * seed + number)
                program = programs[path]
                pair = _next_pair(program, runner) if program is not None else None
                if pair is not None:
                    yield {"program": path.stem, **pair}


def _next_pair(program: Healthy, runner: Runner) -> dict[str, Any] | None:
    """The next fault of a program that makes it crash, and what is guessed there."""
    for fault, broken in islice(program.faults, DRAWS):
        pair = _pair(program, broken, runner)
        if pair is not None:
            return {"family": fault.family, "form": fault.form, **pair}
    return None


def _laboratory(source: Source, runner: Runner) -> Any:
    return laboratory_for(source, Settings(python=sys.executable, budget=BUDGET), [], runner)


def _pair(healthy: Healthy, broken: Source, runner: Runner) -> dict[str, Any] | None:
    """What is guessed at the crash of a broken program; `None` where it does not crash, or nothing is seen there."""
    with _laboratory(broken, runner) as laboratory:
        trace = laboratory.observe(broken, 0)
        finding = unexplained_crash(trace)
        if finding is None or finding.site.path:
            return None
        seen = laboratory.speculate(broken, 0, Speculation()).probes.get("survey")
        crash = trace.crash
        able, written = tryings(broken, guesses(scenes_of(Subject(broken, trace), seen)))
        if not able or crash is None:
            return None
        told = laboratory.speculate(broken, 0, Speculation(written, SECONDS, WITHIN)).probes.get("speculation")
        held = [one for one in outcomes(able, told, crash) if one.came is Came.HELD]
        return {
            "crash": crash.kind.rpartition(".")[2],
            "message": crash.message[:300],
            "offered": len(able),
            "repair_offered": any(_is_repair(guess, healthy, broken) for guess in _near(able, healthy, broken)),
            "guesses": list(_labelled(held, healthy, broken, trace, laboratory)),
        }


def _labelled(
    held: Sequence[Tried], healthy: Healthy, broken: Source, trace: Trace, laboratory: TrialLaboratory
) -> Iterator[dict[str, Any]]:
    """Guesses that hold with their label; those that came to the same values share the run of one of them."""
    classes: dict[str, list[Tried]] = {}
    for number, one in enumerate(held):
        classes.setdefault(one.print or str(number), []).append(one)
    labels: dict[str, tuple[str, int]] = {}
    doings: list[Behaviour] = [healthy.doing]
    for name, members in list(classes.items())[:RUNS]:
        labels[name] = _label(members, healthy, broken, trace, laboratory, doings)
    for name, members in classes.items():
        label, kind = labels.get(name, ("not run", -1))
        for one in members:
            same = _is_repair(one.guess, healthy, broken)
            yield {"label": "right" if same else label, "class": 0 if same else kind, "title": one.guess.change.title,
                   "typed": round(one.guess.score, 4), **asdict(one.guess.traits)}  # fmt: skip


def _label(
    members: Sequence[Tried],
    healthy: Healthy,
    broken: Source,
    trace: Trace,
    laboratory: TrialLaboratory,
    doings: list[Behaviour],
) -> tuple[str, int]:
    """`right`, `other` or `crash`, and the number of the class of equal behaviour: 0 is that of the healthy program."""
    if any(_is_repair(one.guess, healthy, broken) for one in members):
        return "right", 0
    try:
        after = laboratory.observe(edited(broken, members[0].guess.edits), trace.seed)
    except EditError:
        return "crash", -1
    if after.crash is not None or not after.outcome.says_something:
        return "crash", -1
    doing = behaviour(after)
    for number, known in enumerate(doings):
        if known.same_as(doing):
            return "other" if number else "right", number
    doings.append(doing)
    return "other", len(doings) - 1


def _is_repair(guess: Guess, healthy: Healthy, broken: Source) -> bool:
    try:
        return ast.dump(edited(broken, guess.edits).tree) == healthy.tree
    except EditError:
        return False


def _near(able: Sequence[Guess], healthy: Healthy, broken: Source) -> Iterator[Guess]:
    """The guesses that edit a line which the fault changed."""
    before, after = healthy.source.text.splitlines(), broken.text.splitlines()
    short = min(len(before), len(after))
    start = next((n for n in range(short) if before[n] != after[n]), short)
    end = next((n for n in range(short - start) if before[-1 - n] != after[-1 - n]), short - start)
    lines = range(start, len(after) - end + 2)
    for guess in able:
        sites: list[Site] = [edit.site for edit in guess.edits]
        if all(site.line in lines or site.end_line in lines or site.line == 1 for site in sites):
            yield guess
