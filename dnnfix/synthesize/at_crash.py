"""The search for small edits at a crash that no rule repairs: try them where the program stopped, run the best, and
group those that behave alike.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dnnfix.errors import EditError
from dnnfix.records import (
    CRASH_CAUSE,
    UNEXPLAINED_CODE,
    UNEXPLAINED_RULE,
    Applicability,
    Candidate,
    Edit,
    Family,
    Finding,
    FixPattern,
    InsertAfter,
    InsertBefore,
    Json,
    Replace,
    ReplaceLines,
    RunOutcome,
    Site,
    Symptom,
    Trace,
    Wrap,
)
from dnnfix.run.job import Speculation
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import Variant, apply
from dnnfix.synthesize.crash_account import account
from dnnfix.synthesize.lines import line_map
from dnnfix.synthesize.progress import LACKING, gets_past
from dnnfix.synthesize.scene import Parameter, scenes_of
from dnnfix.synthesize.small_edits import Came, Tried, guesses, one_of_each, outcomes, tryings
from dnnfix.validate.behaviour import Behaviour, Mask, behaviour, differing
from dnnfix.validate.ladder import Laboratory

SPECULATING = 0.35
"""Share of the time left that edits are tried for in one crash."""

MOST_SPECULATING = 30.0
"""Seconds after which no more are tried, however much time is left."""

WITHIN = 2.0
"""Scores below that of the likeliest edit that holds down to which others are tried."""

RUNS = 12
"""Survivors that get a whole run, the likeliest."""

CHOICES = 5
"""Classes of equal behaviour whose likeliest member may be put to the ladder."""

FLOOR = -2.6
"""Score from which on an edit is put to the ladder: what is left are edits that rather take something away than mend it."""

STARTS = 2
"""Edits under which the program crashed later that the search goes on from."""

DEPTH = 2
"""Small edits of one patch."""

OF_DIMENSIONS = frozenset({FixPattern.DATA_DIMENSION, FixPattern.LAYER_DIMENSION})
"""Patterns of the edits of axes and sizes: where these do not fit, the run takes what fits, at whichever end it is put."""

OF_TWO_KINDS = -1.5
"""What two small edits in a row lose, in logarithms, that do not do the same at two places: the second may mend what the first broke."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One class of edits under which the program does the same: its likeliest member."""

    variant: Variant
    score: float
    last: float = 0.0
    """The score of its last edit by itself."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the search at a crash found: what it says of the crash, and choices, the likeliest first."""

    findings: tuple[Finding, ...] = ()
    choices: tuple[Choice, ...] = ()
    lacking: Source | None = None
    """Without choices the program of the likeliest edit that got past the crash, and then lacked what is no part of the program."""


@dataclass(frozen=True, slots=True)
class _Start:
    variant: Variant
    trace: Trace
    score: float


Onwards = Callable[[Variant, Trace, float, float], bool]
"""Goes on by other means from a step that moved the crash; its score, and how far it is ahead. Tells whether that ended it."""


def search_at_crash(
    variant: Variant,
    trace: Trace,
    laboratory: Laboratory,
    progress: Callable[[str], None],
    onwards: Onwards | None = None,
    depth: int = DEPTH,
) -> Found:
    """Edits, at most `depth`, after which a program that crashes runs to its end or its budget.

    `variant` is the program, or a step of its repair already, and `trace` its run. Where one edit moves the crash and none ends
    it, `onwards` is asked before a second edit is sought.
    """
    finding = unexplained_crash(variant.source, trace)
    if finding is None:
        return Found()
    starts = [_Start(variant, trace, 0.0)]
    lacking: list[_Start] = []
    for _ in range(depth):
        ends: list[tuple[Trace, Choice]] = []
        further: list[_Start] = []
        for start in starts:
            if laboratory.out_of_time():
                break
            here, beyond = _from(start, finding, laboratory, progress)
            ends += here
            further += beyond
        if starts and starts[0].variant is not variant:
            ends += _needed_alone(_Start(variant, trace, 0.0), ends, laboratory)
        likely = [choice for choice in one_of_each_class(ends, laboratory) if choice.score >= FLOOR]
        if likely:
            return Found((finding,), tuple(likely[:CHOICES]))
        further = _one_of_each_step(further)
        lacking += [start for start in further if start.trace.outcome in LACKING]
        further = [start for start in further if start.trace.outcome not in LACKING]
        starts = [start for start in further[:STARTS] if start.score >= FLOOR]
        scores = [start.score for start in further]
        for number, start in enumerate(starts):
            ahead = start.score - max([*scores[:number], *scores[number + 1 :]], default=FLOOR)
            if onwards is not None and onwards(start.variant, start.trace, start.score, ahead):
                return Found((finding,))
    best = max(lacking, key=lambda start: start.score, default=None)
    return Found((finding,), lacking=best.variant.source if best is not None else None)


def _from(
    start: _Start, finding: Finding, laboratory: Laboratory, progress: Callable[[str], None]
) -> tuple[list[tuple[Trace, Choice]], list[_Start]]:
    """The edits that end a crash, with the runs under them, and the edits after which another one comes later."""
    source, seed = start.variant.source, start.trace.seed
    progress("looking around at the crash")
    crash = start.trace.crash
    failed = ((crash.site.path, crash.site.line),) if crash is not None and crash.site is not None else ()
    seen = laboratory.speculate(source, seed, Speculation(watched=failed)).probes.get("survey")
    scenes = scenes_of(Subject(source, start.trace), seen)
    able, written = tryings(source, guesses(scenes))
    if not able or crash is None:
        return [], []
    progress(f"trying {len(able)} small edits at the crash")
    seconds = min(MOST_SPECULATING, SPECULATING * laboratory.time_left())
    told = laboratory.speculate(source, seed, Speculation(written, seconds, WITHIN)).probes.get("speculation")
    tried = one_of_each(outcomes(source, able, told, crash, scenes.values()))
    held = max((one.guess.score for one in tried if one.came is Came.HELD), default=FLOOR) - WITHIN
    tried = [one for one in tried if one.came <= Came.MOVED or one.guess.score >= held]
    if any(one.came is Came.HELD for one in tried):
        tried = [one for one in tried if one.came is not Came.SLOW]
    tried = [one for one in tried if start.score + one.guess.score >= FLOOR]
    made = [(variant, one) for one in tried[:RUNS] if (variant := _applied(start.variant, finding, one)) is not None]
    progress(f"running the {len(made)} likeliest of what is left")
    laboratory.observe_all([variant.source for variant, _ in made], seed)
    return _sorted(start, made, laboratory)


def _sorted(
    start: _Start, made: Sequence[tuple[Variant, Tried]], laboratory: Laboratory
) -> tuple[list[tuple[Trace, Choice]], list[_Start]]:
    ends: list[tuple[Trace, Choice]] = []
    further: list[_Start] = []
    for variant, one in made:
        if laboratory.out_of_time():
            break
        after = laboratory.observe(variant.source, start.trace.seed)
        score = start.score + one.guess.score + OF_TWO_KINDS * _is_another_kind(start, one)
        if after.crash is not None:
            if _goes_further(start, variant.source, after) or (
                one.came is Came.MOVED and _complains_of_more(start.trace, after)
            ):
                further.append(_Start(variant, after, score))
        elif after.outcome.says_something:
            ends.append((after, Choice(variant, score, one.guess.score)))
    return ends, further


def _is_another_kind(start: _Start, one: Tried) -> bool:
    """Whether an edit comes after another small one and does something else."""
    applied = start.variant.applied
    return bool(applied) and applied[-1].template == UNEXPLAINED_CODE and applied[-1].title != one.guess.change.title


def _needed_alone(
    start: _Start, ends: Sequence[tuple[Trace, Choice]], laboratory: Laboratory
) -> list[tuple[Trace, Choice]]:
    """Of the likeliest patches of two edits those whose second one ends the crash without the first."""
    found: list[tuple[Trace, Choice]] = []
    for _, choice in sorted(ends, key=lambda end: -end[1].score)[:CHOICES]:
        alone = _last_of(choice.variant, start.variant)
        if alone is not None and not laboratory.out_of_time():
            after = laboratory.observe(alone.source, start.trace.seed)
            if after.crash is None and after.outcome.says_something:
                found.append((after, Choice(alone, choice.last)))
    return found


def _last_of(variant: Variant, base: Variant) -> Variant | None:
    """The last edit of a variant on the program that the search began with; `None` where it has no place there."""
    made_from, candidate = variant.made_from[-1], variant.applied[-1]
    lines = line_map(base.source.text, made_from.text)
    edits: list[Edit] = []
    for edit in candidate.edits:
        path = edit.site.path
        if path and made_from.files[path].text != base.source.files[path].text:
            return None
        if not path and isinstance(edit, Replace | Wrap | InsertBefore | InsertAfter | ReplaceLines):
            edit = replace(edit, site=_at(edit.site, lines))
        edits.append(edit)
    try:
        return apply(base, replace(candidate, edits=tuple(edits)))
    except EditError:
        return None


def _at(site: Site, lines: Mapping[int, int]) -> Site:
    line = lines.get(site.line, site.line)
    return Site(line, site.column, line + site.end_line - site.line, site.end_column, site.path)


def one_of_each_class(ends: Sequence[tuple[Trace, Choice]], laboratory: Laboratory) -> list[Choice]:
    """Of the edits under which the program does the same the likeliest, the likeliest class first."""
    found: list[_Class] = []
    for trace, choice in sorted(ends, key=lambda end: -end[1].score):
        if not any(known.has(trace, laboratory) for known in found):
            found.append(_Class(trace, choice))
    return [known.choice for known in found]


@dataclass(slots=True)
class _Class:
    """Edits under which the program does the same, by their likeliest: the run under it, and what of that another run may differ in."""

    trace: Trace
    choice: Choice
    mask: Mask | None = None

    def has(self, trace: Trace, laboratory: Laboratory) -> bool:
        """Whether the program did the same in another run, but for what it does otherwise each time."""
        own, other = behaviour(self.trace), behaviour(trace)
        if own.same_as(other):
            return True
        if not own.same_but_for_numbers_printed(other) or laboratory.out_of_time():
            return False
        if self.mask is None:
            again = laboratory.observe_anew(self.choice.variant.source, self.trace.seed)
            self.mask = differing(self.trace, again)
        return behaviour(self.trace, self.mask).same_as(behaviour(trace, self.mask))


def _one_of_each_step(further: Sequence[_Start]) -> list[_Start]:
    """Of the edits that move the crash to one place, with the program doing the same until then, the likeliest; the likeliest first."""
    found: list[tuple[Behaviour, _Start]] = []
    for start in sorted(further, key=lambda start: -start.score):
        doing, message = behaviour(start.trace), start.trace.crash and start.trace.crash.message
        known = (one for before, one in found if before.same_as(doing))
        if not any(one.trace.crash and one.trace.crash.message == message for one in known):
            found.append((doing, start))
    return [start for _, start in found]


def _goes_further(start: _Start, source: Source, after: Trace) -> bool:
    """Whether a program that still crashes does so behind where it did: at a later statement, or in a later layer."""
    layers = [
        sum(call.component is not None for call in trace.network.calls) if trace.network is not None else 0
        for trace in (start.trace, after)
    ]
    deeper = layers[1] > layers[0] and len(after.steps) >= len(start.trace.steps)
    return deeper or gets_past(start.variant.source, start.trace, source, after)


def _complains_of_more(before: Trace, after: Trace) -> bool:
    """Whether a program still stops in the same place, and of something else: a call looks at one argument after the other."""
    one, other = before.crash, after.crash
    if one is None or other is None:
        return False
    return [f.site.line for f in one.frames] == [f.site.line for f in other.frames] and one.message != other.message


def _applied(variant: Variant, finding: Finding, one: Tried) -> Variant | None:
    guess = one.guess
    candidate = Candidate(
        template=UNEXPLAINED_CODE,
        title=guess.change.title,
        fix_pattern=guess.pattern,
        edits=guess.edits,
        findings=(finding,),
        applicability=Applicability.UNSAFE,
        prior=1 / (1 + math.exp(FLOOR - guess.score)),
        at_either_end=guess.pattern in OF_DIMENSIONS,
    )
    try:
        return apply(variant, candidate)
    except EditError:
        return None


def signatures_at_crash(source: Source, trace: Trace, laboratory: Laboratory) -> tuple[str, ...]:
    """What the functions take that the failing statements call, as code: `nll_loss(input, target, weight=None)`."""
    if trace.crash is None or laboratory.out_of_time():
        return ()
    seen = laboratory.speculate(source, trace.seed, Speculation()).probes.get("survey")
    found: dict[str, None] = {}
    for scene in scenes_of(Subject(source, trace), seen).values():
        for frame in (frame for frame in scene.frames if not frame.path):
            statement = scene.subject.source.places.node_at(frame.statement)
            for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)) if statement else ():
                if takes := scene.takes(call):
                    found[f"{ast.unparse(call.func)}({', '.join(map(_as_written, takes))})"] = None
    return tuple(found)


def _as_written(parameter: Parameter) -> str:
    stars = {"places": "*", "names": "**"}.get(parameter.how, "")
    return f"{stars}{parameter.name}" + (f"={parameter.default}" if parameter.default is not None else "")


def unexplained_crash(source: Source, trace: Trace) -> Finding | None:
    """What is said of a crash that no rule names; `None` where the program did not crash, or the cut of a loop may be to blame."""
    crash = trace.crash
    if crash is None or trace.outcome is not RunOutcome.CRASHED or trace.crashed_after_cut:
        return None
    said = ": ".join([crash.kind, *crash.message.strip().splitlines()[:1]])
    return unexplained_at(crash.site or Site(1, 1, 1, 1), f"the program crashes: {said[:300]}", account(source, crash))


def unexplained_at(site: Site, message: str, evidence: Mapping[str, Json] | None = None) -> Finding:
    """The finding for what stops a program and what no rule names."""
    return Finding(
        UNEXPLAINED_CODE,
        UNEXPLAINED_RULE,
        Family.OPINIONATED,
        site,
        message,
        Symptom.CRASH,
        evidence=evidence or {},
        confidence=1.0,
        cause=CRASH_CAUSE,
    )
