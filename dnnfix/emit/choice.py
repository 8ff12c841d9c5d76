"""Which patches of a report are applied together: never two that share a finding, a line or a module."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.emit.hunks import own_section, replacements, sections
from dnnfix.records import Applicability, Family, FileReport, Patch, PatchVerdict


def chosen(file: FileReport, unsafe: bool, drafts: bool = False, unproven: bool = False) -> tuple[Patch, ...]:
    """The patches to apply without asking: the best allowed one, and the safe ones that have nothing to do with it.

    Two patches that change what is trained are proven one by one, and their sum only where the pipeline proved it as a
    patch of its own; so at most one of them is taken. `display-only` patches never are. `drafts` are safe patches that nothing was run for, and `unproven` migrations that
    no run came to.
    """
    taken: list[Patch] = []
    for patch in applicable(file, drafts, unproven):
        safe = patch.candidate.applicability is Applicability.SAFE
        if (safe or (unsafe and not taken)) and independent(file, patch, taken):
            taken.append(patch)
    return tuple(taken)


def applicable(
    file: FileReport, drafts: bool = False, unproven: bool = False, choices: bool = False
) -> Iterator[Patch]:
    """Accepted patches that may ever be applied, best first; where there is none, the partial one.

    With `drafts` also safe ones that were not run, with `unproven` also migrations that no run came to, with `choices` also
    those of which a person has to say whether they are meant.
    """
    for patch in sorted(file.patches, key=lambda patch: patch.rank):
        if patch.candidate.applicability is Applicability.DISPLAY_ONLY or not patch.diff:
            continue
        safe = patch.candidate.applicability is Applicability.SAFE
        migration = all(finding.family is Family.VERSIONING for finding in patch.candidate.findings)
        draft = patch.verdict is PatchVerdict.UNVALIDATED and (drafts and safe or unproven and migration)
        choice = choices and patch.verdict is PatchVerdict.CHOICE
        if patch.verdict in (PatchVerdict.ACCEPTED, PatchVerdict.PARTIAL) or draft or choice:
            yield patch


def independent(file: FileReport, patch: Patch, taken: list[Patch]) -> bool:
    """Whether a patch shares no finding, no cause, no line and no module with the patches taken so far."""
    return not any(_share(file, patch, other) for other in taken)


def _share(file: FileReport, one: Patch, other: Patch) -> bool:
    if _concerns(file, one) & _concerns(file, other):
        return True
    mine, theirs = sections(one.diff), sections(other.diff)
    both = mine.keys() & theirs.keys()
    own = own_section(file.path)
    return bool(both - {own}) or any(
        a.touches(b) for a in replacements(mine.get(own, "")) for b in replacements(theirs.get(own, ""))
    )


def _concerns(file: FileReport, patch: Patch) -> set[str]:
    named = [result.finding for result in file.findings if patch.id in result.patches]
    return {finding.cause or finding.id for finding in (*named, *patch.candidate.findings)}
