"""A pull request as the bot means it: one fault, or the same at several places, with an identity that later lines do not change."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnnfix.bot.report import Analysis, Proven
from dnnfix.emit import hunks
from dnnfix.emit.hunks import Replacement

_MARK = re.compile(r"<!-- dnnfix:([0-9a-f]{12}(?: [0-9a-f]{12})*) -->")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Patches of one rule, whose changes do not touch one another."""

    patches: tuple[Proven, ...]
    members: tuple[str, ...]
    """The identity of each patch."""

    @property
    def identity(self) -> str:
        """What tells it from every other: its rule and its members."""
        return _digest([self.rule, *sorted(self.members)])

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return self.patches[0].faults[0].rule

    @property
    def branch(self) -> str:
        """The name of its branch."""
        return f"dnnfix/{self.rule}-{self.identity}"

    @property
    def mark(self) -> str:
        """The line of the text of a pull request that says what it is about."""
        return f"<!-- dnnfix:{' '.join(sorted(self.members))} -->"

    @property
    def changes(self) -> dict[str, tuple[Replacement, ...]]:
        """What is replaced in each file."""
        found: dict[str, tuple[Replacement, ...]] = {}
        for patch in self.patches:
            for path, section in patch.sections.items():
                found[path] = (*found.get(path, ()), *hunks.replacements(section))
        return found


def members_of(body: str) -> frozenset[str]:
    """The identities of the patches that a pull request is about, as the last mark in its text tells them; empty where there is none.

    What stands above the last one may be the words of a program.
    """
    found = _MARK.findall(body)
    return frozenset(found[-1].split()) if found else frozenset()


def proposals(analysis: Analysis, refused: Iterable[str] = (), *, partial: bool, unsafe: bool) -> Iterator[Proposal]:
    """What may be proposed, the likeliest to be welcome first: patches that keep the meaning, then those that change training.

    Patches of one rule go together, but for `refused` members. Where two patches touch the same lines the first one stands.
    """
    never = set(refused)
    groups: dict[str, list[tuple[str, Proven]]] = {}
    taken: dict[str, list[Replacement]] = {}
    ordered = sorted(analysis.patches, key=lambda patch: (not patch.is_safe, patch.verdict == "partial"))
    for patch in ordered:
        member = _identity(patch)
        is_wanted = (partial or patch.verdict == "accepted") and (unsafe or patch.is_safe)
        if not is_wanted or member in never:
            continue
        made = {path: hunks.replacements(section) for path, section in patch.sections.items()}
        if any(_touch(one, other) for path in made for one in made[path] for other in taken.get(path, ())):
            continue
        for path, changes in made.items():
            taken.setdefault(path, []).extend(changes)
        groups.setdefault(patch.faults[0].code, []).append((member, patch))
    for group in groups.values():
        distinct: Mapping[str, Proven] = dict(group)
        yield Proposal(tuple(distinct.values()), tuple(distinct))


def _identity(patch: Proven) -> str:
    """The rule, the files and the text that is taken away and put there: not where, which later commits move."""
    said: list[str] = [patch.faults[0].code]
    for path, section in sorted(patch.sections.items()):
        said.append(path)
        for change in hunks.replacements(section):
            said += [line.strip().decode("utf-8", "replace") for line in (*change.old, b"->", *change.new)]
    return _digest(said)


def _digest(words: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _touch(one: Replacement, other: Replacement) -> bool:
    if one.first == other.first:
        return True
    return one.first < other.end and other.first < one.end
