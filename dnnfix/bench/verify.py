"""Proves a case: its program shows the symptom, the repaired one does not, and no line of the repair is superfluous."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from hashlib import blake2b

from dnnfix.bench.cases import PROGRAM, REPAIR, Case
from dnnfix.bench.oracle import MOST_SHOWING, SECONDS, Trial, passes, trials
from dnnfix.bench.symptoms import Predicate, Shown
from dnnfix.emit.hunks import Replacement, apply, replacements
from dnnfix.errors import InputError
from dnnfix.run.runner import Runner
from dnnfix.source.diff import git_diff

LEAST_SHOWING = 4
"""Of the five seeds, how many have to show the symptom in the program with the fault."""

SHORTEST, LONGEST = 30, 120
"""Lines of a program: long enough to look like someone's, short enough to be read."""

ALIKE = 0.8
"""Similarity of two programs' tokens from which one is a near copy of the other."""

_TELLTALE = re.compile(
    r"\b(bugs?|buggy|fix(ed|es|me)?|wrong(ly)?|broken|faulty?|incorrect(ly)?|mistakes?|repair(ed|s)?|todo|symptoms?)\b",
    re.IGNORECASE,
)
"""Words in a program that point at its fault."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was seen of a case: `problems` says why it does not count, and is empty where it does."""

    id: str
    problems: tuple[str, ...]
    shown: tuple[Shown, ...] = ()
    """What each run of the program with the fault said, in the order of the seeds."""
    repaired: tuple[Shown, ...] = ()
    seconds: float = 0.0
    """The longest run."""

    @property
    def showing(self) -> int:
        """On how many seeds the symptom showed."""
        return sum(said is Shown.YES for said in self.shown)

    @property
    def left(self) -> int:
        """On how many it still showed once repaired."""
        return sum(said is Shown.YES for said in self.repaired)

    @property
    def holds(self) -> bool:
        """Whether the case counts."""
        return not self.problems


def verify(case: Case, others: Mapping[str, bytes], runner: Runner, parallel: int = 1) -> Proof:
    """Prove a case. `others` are the programs of the benchmark by their ids, this one perhaps among them."""
    try:
        problems = [*form_problems(case), *_copies(case, others)]
        repaired = {name: case.after(name) for name in case.repairs}
    except (InputError, SyntaxError) as error:
        return Proof(case.id, (str(error),))
    before = trials(case, case.program, case.seeds, runner, parallel)
    showing = sum(trial.shown is Shown.YES for trial in before)
    if showing < LEAST_SHOWING:
        problems.append(
            f"{PROGRAM} shows the symptom on {showing} of {len(before)} seeds: {_said(case, before, Shown.YES)}"
        )
    first: tuple[Trial, ...] = ()
    longest = [trial.trace.seconds for trial in before]
    for name, program in repaired.items():
        after = trials(case, program, case.seeds, runner, parallel)
        first = first or after
        longest += [trial.trace.seconds for trial in after]
        if not passes(trial.shown for trial in after):
            clean = sum(trial.shown is Shown.NO for trial in after)
            needed = len(after) - MOST_SHOWING
            problems.append(
                f"with {name} {clean} of {len(after)} seeds end well without the symptom, {needed} are needed: "
                f"{_said(case, after, Shown.NO)}"
            )
    if max(longest) > SECONDS:
        problems.append(f"a run took {max(longest):.1f} s; {SECONDS:g} s are allowed")
    if not problems:
        problems += _superfluous(case, runner)
    shown, clean_runs = tuple(t.shown for t in before), tuple(t.shown for t in first)
    return Proof(case.id, tuple(problems), shown, clean_runs, round(max(longest), 2))


def fingerprint(case: Case) -> str:
    """A hash of everything that a proof rests on: the program, the repairs, the symptom and the seeds."""
    parts = (case.program, repr(sorted(case.repairs.items())), _written(case.symptom), repr(case.seeds))
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _written(symptom: Predicate) -> str:
    """A predicate as the first proofs were entered, which had `absent` for what is present nowhere: they count on."""
    keys = ("kind", "exception", "message", "printed", "below", "above")
    words = [f"{key}={getattr(symptom, key)!r}" for key in keys] + [f"absent={symptom.present is False}"]
    return f"Predicate({', '.join(words + ['present=True'] * (symptom.present is True))})"


def form_problems(case: Case) -> Iterator[str]:
    """What can be said against a case without running it. Raises `SyntaxError` for a program that does not parse."""
    text = case.program.decode()
    ast.parse(text, PROGRAM)
    lines = len(text.splitlines())
    if not SHORTEST <= lines <= LONGEST:
        yield f"{PROGRAM} has {lines} lines; {SHORTEST} to {LONGEST} are wanted"
    for number, line in enumerate(text.splitlines(), 1):
        if telling := _TELLTALE.search(line):
            yield f"{PROGRAM}:{number}: {telling[0]!r} gives the fault away"
    for name, diff in case.repairs.items():
        after = case.after(name)
        ast.parse(after, name)
        if git_diff(case.program, after, PROGRAM) != diff:
            yield f"{name} is not what `git diff` writes for this change: file names, context or line numbers differ"


def _copies(case: Case, others: Mapping[str, bytes]) -> Iterator[str]:
    own = _tokens(case.program)
    for id, program in others.items():
        if id == case.id:
            continue
        matcher = SequenceMatcher(None, own, _tokens(program), autojunk=False)
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= ALIKE and (alike := matcher.ratio()) >= ALIKE:
            yield f"{PROGRAM} is a near copy of case {id}: similarity {alike:.2f}"


@lru_cache(maxsize=1024)
def _tokens(program: bytes) -> tuple[str, ...]:
    """The words of a program without comments and line ends."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER}
    try:
        found = list(tokenize.tokenize(io.BytesIO(program).readline))
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        return tuple(program.decode("utf-8", "replace").split())
    return tuple(token.string for token in found if token.type not in layout)


def _superfluous(case: Case, runner: Runner) -> Iterator[str]:
    """Lines of the repair without which it repairs as well, as far as two seeds tell."""
    changes = replacements(case.repairs[REPAIR])
    parts = [part for change in changes for part in _lines(change)]
    if len(parts) < 2:
        return
    for dropped in parts:
        program = apply(case.program, [part for part in parts if part is not dropped])
        runs = trials(case, program, case.seeds[:2], runner) if _parses(program) else ()
        if runs and all(trial.shown is Shown.NO for trial in runs):
            yield f"{REPAIR} is not minimal: it repairs as well without its change of line {dropped.first}"


def _lines(change: Replacement) -> list[Replacement]:
    """A change of as many lines as it replaces, line by line; any other as it is."""
    if len(change.old) != len(change.new):
        return [change]
    pairs = zip(change.old, change.new, strict=True)
    return [Replacement(change.first + n, (old,), (new,)) for n, (old, new) in enumerate(pairs) if old != new]


def _parses(program: bytes) -> bool:
    try:
        ast.parse(program)
    except SyntaxError:
        return False
    return True


def _said(case: Case, runs: tuple[Trial, ...], wanted: Shown) -> str:
    """How the first run ended that is not as it should be, and what all of them printed."""
    for trial in runs:
        if trial.shown is not wanted:
            crash = trial.trace.crash
            how = f"{crash.kind}: {crash.message[:200]}" if crash is not None else trial.trace.detail[:200]
            ended = f"seed {trial.seed}: {trial.shown}, {trial.trace.outcome}{', ' + how if how else ''}"
            return ended + _readings(case, runs)
    return "all others"


def _readings(case: Case, runs: tuple[Trial, ...]) -> str:
    """What every run printed where the symptom looks, against its bound; empty where it looks at something else."""
    found = [case.symptom.printed_by(trial.trace) for trial in runs]
    if not any(found):
        return ""
    return f"; by seed: {', '.join(found)}; the symptom is: {case.symptom.bound}"
