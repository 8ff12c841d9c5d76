"""A pull request to be made: one fault, or the same at several places, with an identity that does not depend on line
numbers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dnnfix.bot.report import Analysis, Proven
from dnnfix.emit.hunks import Replacement

_MARK = re.compile(r"<!-- dnnfix:([0-9a-f]{12}(?: [0-9a-f]{12})*) -->")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Patches of one rule, whose changes do not touch one another."""

    patches: tuple[Proven, ...]

    @property
    def members(self) -> frozenset[str]:
        """The identities of the faults that it is about."""
        return frozenset(fault.identity for patch in self.patches for fault in patch.faults)

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return self.patches[0].faults[0].rule

    @property
    def key(self) -> str:
        """The key that distinguishes it from other proposals."""
        said = "\0".join(sorted(self.members))
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def branch(self) -> str:
        """The name of its branch."""
        return f"dnnfix/{self.rule}-{self.key}"

    @property
    def mark(self) -> str:
        """The line of the text of a pull request that says what it is about."""
        return mark(self.members)

    @property
    def changes(self) -> dict[str, tuple[Replacement, ...]]:
        """What is replaced in each file."""
        found: dict[str, tuple[Replacement, ...]] = {}
        for patch in self.patches:
            for path, changes in patch.changes.items():
                found[path] = (*found.get(path, ()), *changes)
        return found

    @property
    def blobs(self) -> dict[str, str]:
        """The objects of git that the files were when it was proven."""
        return {path: blob for patch in self.patches for path, blob in patch.blobs.items()}


def mark(members: Iterable[str]) -> str:
    """The line of a text that says which faults it is about."""
    return f"<!-- dnnfix:{' '.join(sorted(members))} -->"


def members_of(body: str) -> frozenset[str]:
    """The identities of the faults that a pull request or a comment is about, as the last mark in its text tells them; empty where there is none.

    What stands above the last one may be the words of a program.
    """
    found = _MARK.findall(body)
    return frozenset(found[-1].split()) if found else frozenset()


def proposals(analysis: Analysis, refused: Iterable[str] = (), *, partial: bool, unsafe: bool) -> Iterator[Proposal]:
    """What may be proposed, the likeliest to be welcome first: patches that keep the meaning, then those that change training.

    Patches of one rule go together. None is about a `refused` fault, or about one that an earlier patch settles; and where two
    touch the same lines the first one stands.
    """
    never, done = set(refused), set[tuple[str, int]]()
    groups: dict[str, list[Proven]] = {}
    taken: dict[str, list[Replacement]] = {}
    for patch in sorted(analysis.patches, key=lambda patch: (not patch.is_safe, patch.verdict == "partial")):
        faults = {fault.identity for fault in patch.faults}
        places = {(fault.identity, fault.line) for fault in patch.faults}
        is_wanted = (partial or patch.verdict == "accepted") and (unsafe or patch.is_safe)
        if not is_wanted or faults & never or places & done:
            continue
        if any(
            one.touches(other) for path, own in patch.changes.items() for one in own for other in taken.get(path, ())
        ):
            continue
        done |= places
        for path, changes in patch.changes.items():
            taken.setdefault(path, []).extend(changes)
        groups.setdefault(patch.faults[0].code, []).append(patch)
    yield from (Proposal(tuple(group)) for group in groups.values())
