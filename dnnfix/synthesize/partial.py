"""Which patch is offered as partial where none is accepted: the one whose run gets furthest, with what remains.

An old program has many faults, and the first hides the others. A patch that removes one and meets the next is a step
that the user needs anyway. It is offered only where it has not caused the next stop. For a migration, whose
replacements come from tables, it is enough that the run did not stop at what it wrote. For any other repair,
moreover, nothing on the way to the new stop may read what it changed, unless that is a name that nothing had ever
defined, and no rival explanation may have got past the crash as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dnnfix.detect.crashes.undefined import undefined_names
from dnnfix.records import PROGRESS, Applicability, Crash, Family, Json, RunOutcome, Status, Symptom, Trace, Verdict
from dnnfix.source.program import Source
from dnnfix.synthesize.candidates import Variant
from dnnfix.synthesize.influence import may_have_caused, written_by_patch
from dnnfix.synthesize.lines import line_map
from dnnfix.synthesize.progress import LACKING, gets_past, original_line, reached
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.ladder import BLOCKING, Climb, Laboratory

_OF_NAMES = re.compile(
    r"argument|parameter|keyword|positional|no attribute|not defined|not callable|cannot import|no module",
    re.IGNORECASE,
)
"""What exceptions speak of that another name may bring about."""

_NAME = re.compile(r"name '(\w+)' is not defined")

_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")

_OF_IMPORTS = frozenset({"ModuleNotFoundError", "ImportError"})
"""Exceptions of an import, whatever the values are that a program computed before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """A variant that was run, its result, and the program that it was made from with its own run."""

    variant: Variant
    climb: Climb
    parent: Source
    seen: Trace

    @property
    def gets_past(self) -> bool:
        """Whether the run came further than that of the original and than that of the program it was made from."""
        evidence, after = self.climb.evidence, self.climb.evidence.after
        return gets_past(evidence.source_before, evidence.before, evidence.source_after, after) and gets_past(
            self.parent, self.seen, evidence.source_after, after
        )

    @property
    def removes(self) -> bool:
        """Whether the program does not crash any more, whatever else the validators found."""
        after = self.climb.evidence.after
        return self.climb.fell != "not run" and after.outcome.says_something and after.crash is None

    def is_beside(self, other: Attempt) -> bool:
        """Whether neither of two attempts is a step on the way to the other."""
        steps = min(len(self.variant.applied), len(other.variant.applied))
        return self.variant.applied[:steps] != other.variant.applied[:steps]


def partial(attempts: Sequence[Attempt], laboratory: Laboratory) -> tuple[Variant, Climb] | None:
    """The attempt to offer where none came up the ladder, with the verdict that says what remains."""
    past = [attempt for attempt in attempts if attempt.gets_past]
    for attempt in sorted(past, key=_rank):
        rivals = [other for other in attempts if (other.removes or other in past) and attempt.is_beside(other)]
        evidence = attempt.climb.evidence
        crash = evidence.after.crash
        if crash is not None and _is_sound(attempt.climb, crash, rivals) and _is_gone(attempt, laboratory):
            verdicts = (*evidence.verdicts, *_unseen(evidence, laboratory), _remains(evidence, crash))
            seen = laboratory.findings(evidence.source_after, evidence.after)
            return attempt.variant, replace(
                attempt.climb, evidence=replace(evidence, verdicts=verdicts, remaining=seen)
            )
    return None


def furthest_of(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt whose run came furthest."""
    return min(attempts, key=_rank)


def _rank(attempt: Attempt) -> tuple[object, ...]:
    """Furthest first; of those that stop at one place the ones that only rename, then the ones that change least."""
    evidence = attempt.climb.evidence
    lines = line_map(evidence.source_before.text, evidence.source_after.text)
    steps, calls, own = reached(evidence.after, lines)
    backwards = tuple(-line for line in own)
    return (-steps, -calls, backwards, not evidence.renames, len(attempt.variant.applied))


def _is_sound(result: Climb, crash: Crash, rivals: Sequence[Attempt]) -> bool:
    """Whether nothing but the next stop was held against a patch, and the patch has no part in that stop."""
    evidence, after = result.evidence, result.evidence.after
    before, patched = evidence.source_before, evidence.source_after
    others = [verdict for verdict in evidence.verdicts if verdict.validator != "runs"]
    if result.fell != "run" or any(verdict.status in BLOCKING for verdict in others):
        return False
    if any(a.applicability is Applicability.DISPLAY_ONLY for a in evidence.applied):
        return False
    migrates = all(finding.family is Family.VERSIONING for finding in evidence.findings)
    by_names = not migrates or _OF_NAMES.search(crash.message) is not None  # tables say what is called otherwise
    if not crash.frames or written_by_patch(before, patched, crash, by_names):
        return False
    if migrates:
        stopped = after.outcome is RunOutcome.CRASHED or after.outcome in LACKING
        exact = all(candidate.exact for candidate in evidence.applied)
        free = evidence.renames or exact or crash.kind.rpartition(".")[2] in _OF_IMPORTS or _is_lacking(before, crash)
        return stopped and (free or not may_have_caused(before, patched, crash, by_imports=False, by_names=by_names))
    explained = all(f.symptom is Symptom.CRASH or f.family is Family.VERSIONING for f in evidence.findings)
    alone = explained and not rivals and after.outcome is RunOutcome.CRASHED
    return alone and (_is_undefined(before, crash) or not may_have_caused(before, patched, crash, by_imports=True))


def _is_undefined(before: Source, crash: Crash) -> bool:
    """Whether a program stops at a name that nothing in it had defined before the patch either."""
    said = _NAME.search(crash.message) if crash.kind == "NameError" and crash.site is not None else None
    file = before.files.get(crash.site.path) if said is not None and crash.site is not None else None
    return said is not None and file is not None and said[1] in {each.name for each in undefined_names(file)}


def _is_lacking(before: Source, crash: Crash) -> bool:
    """Whether a program asks an object of a class of its own for an attribute that nothing in it ever sets or defines."""
    said = _ATTRIBUTE.search(crash.message) if crash.kind == "AttributeError" else None
    if said is None or not any(
        node.name == said[1] for file in before.files.values() for node in file.nodes(ast.ClassDef)
    ):
        return False
    words = {word for file in before.files.values() for word in _given(file)}
    return said[2] not in words


def _given(file: Source) -> Iterator[str]:
    """The names of functions, of attributes that are set, and texts, by which an attribute can be set as well."""
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_gone(attempt: Attempt, laboratory: Laboratory) -> bool:
    """Whether the faults are gone where they were, nothing is hidden, and no old era, where one can be asked, objects."""
    evidence = attempt.climb.evidence
    seen = laboratory.findings(evidence.source_after, evidence.after)
    for candidate, made_from in zip(attempt.variant.applied, attempt.variant.made_from, strict=True):
        meant = {(f.code, f.message, f.site.path, f.site.line) for f in candidate.findings}
        maps = {
            path: line_map(file.text, evidence.source_after.files[path].text) for path, file in made_from.files.items()
        }
        for finding in seen:
            path, line = finding.site.path, finding.site.line
            if (finding.code, finding.message, path, maps.get(path, {}).get(line, line)) in meant:
                return False
    if _fails(v.judge(evidence) for v in laboratory.validators if v.name == "nothing-suppressed"):
        return False
    if laboratory.out_of_time() or not any(f.family is Family.VERSIONING for f in evidence.findings):
        return True
    compared = laboratory.as_before(evidence.source_before, evidence.source_after, evidence.before.seed)
    return compared is None or not _fails([compared])


def _unseen(evidence: Evidence, laboratory: Laboratory) -> list[Verdict]:
    """What is said of parts of the patch that its run did not come to."""
    told = (v.judge(evidence) for v in laboratory.validators if v.name in ("edits-reached", "twins-repaired"))
    return [verdict for verdict in told if verdict.status is Status.PASS]


def _fails(verdicts: Iterable[Verdict]) -> bool:
    return any(verdict.status is Status.FAIL for verdict in verdicts)


def _remains(evidence: Evidence, crash: Crash) -> Verdict:
    """What the program does now instead, at the line of the original."""
    frame, after = crash.frames[-1], evidence.after
    line = original_line(evidence.source_before, evidence.source_after, frame)
    place = evidence.source_before.line_in_words(line, frame.site.path)
    said = ": ".join([crash.kind, *crash.message.strip().splitlines()[:1]])[:300]
    if after.outcome is not RunOutcome.CRASHED:
        said = f"{after.outcome.value}: {after.detail}"[:300]
    why = ", after its loops were cut to the budget, which may be why" if after.cut and after.steps else ""
    measured: dict[str, Json] = {"line": line, "exception": crash.kind, "message": crash.message[:300]}
    return Verdict(PROGRESS, "run", Status.PASS, f"the program then stops at {place}: {said}{why}", measured)
