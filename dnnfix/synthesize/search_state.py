"""The state of one search for patches: the program and its run, the variants tried, and their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from dnnfix.records import UNEXPLAINED_CODE, UNEXPLAINED_RULE, Family, Finding, Status, Trace, Verdict
from dnnfix.source.program import Source
from dnnfix.synthesize.candidates import Proposals, Variant
from dnnfix.synthesize.partial import Attempt
from dnnfix.template import FixTemplate
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.ladder import Climb, Laboratory, climb
from dnnfix.validate.reading import Reading


class Wishes(Protocol):
    """The settings that the search reads."""

    def may_fix(self, code: str, name: str) -> bool:
        """Whether patches of this template are wanted."""
        ...


@dataclass
class Search:
    """What one search knows and has tried."""

    origin: Source
    trace: Trace
    laboratory: Laboratory
    templates: Mapping[str, type[FixTemplate]]
    wishes: Wishes
    progress: Callable[[str], None]
    original: tuple[Finding, ...] = ()
    climbs: list[tuple[Variant, Climb]] = field(default_factory=list)
    accepted: list[tuple[Variant, Climb]] = field(default_factory=list)
    choices: list[tuple[Variant, Climb]] = field(default_factory=list)
    """Small edits that came up the ladder, of which none can be told to be the one that was meant."""
    attempts: list[Attempt] = field(default_factory=list)
    """What templates proposed and what came of it."""
    partial: tuple[Variant, Climb] | None = None
    """The furthest step towards a program that runs, where no patch reaches that."""
    lacking: Source | None = None
    """The program of a small edit that got past the crash, and then lacked what is no part of it."""
    proposals: dict[str, Proposals] = field(default_factory=dict)
    at_crash: bool = True
    """Whether edits may be sought at a crash: not where what was made for the run may be to blame."""
    seen: set[tuple[bytes, ...]] = field(default_factory=set)
    direct: set[tuple[bytes, ...]] = field(default_factory=set)
    """Programs whose edits all speak of the original's text, so that they can be joined."""
    may_race: bool = False
    """Whether settings race where training learns nothing."""
    left_to_race: list[Variant] = field(default_factory=list)
    logged: tuple[Reading, ...] = ()
    """The symptoms that a long run of the program showed."""
    edit_errors: dict[str, str] = field(default_factory=dict)
    unsure: str = ""
    """Why it cannot be told whether training learns, where that was looked at."""

    def may_search_at_crash(self) -> bool:
        """Whether the program crashes, and small edits are wanted."""
        return self.trace.crash is not None and self.wishes.may_fix(UNEXPLAINED_CODE, UNEXPLAINED_RULE)

    def climb(self, variant: Variant) -> Climb:
        """Take a variant up the ladder, and record the result."""
        self.progress(f"trying: {variant.applied[-1].title}")
        result = climb(self._evidence(variant), self.laboratory)
        self.climbs.append((variant, result))
        return result

    def unproven(self, variant: Variant) -> Climb:
        """The result recorded for a variant that there is no time to run."""
        return Climb(self._evidence(variant), fell="not run")

    def unreached_migrations(self) -> list[tuple[Variant, Climb]]:
        """The migrations against which nothing is held but that the run did not come to them, those of most places first."""
        found = [
            (variant, result)
            for variant, result in self.climbs
            if result.only_unreached and all(f.family is Family.VERSIONING for f in result.evidence.findings)
        ]
        return sorted(found, key=lambda item: -len(item[1].evidence.findings))

    def take_back(self, variant: Variant, result: Climb, reason: str) -> None:
        """Make a choice of a patch that came up the ladder."""
        verdict = Verdict("unambiguous", "harmless", Status.INCONCLUSIVE, reason)
        evidence = replace(result.evidence, verdicts=(*result.evidence.verdicts, verdict))
        taken_back = (variant, Climb(evidence, fell="harmless"))
        self.climbs[self.climbs.index((variant, result))] = taken_back
        self.choices.append(taken_back)

    def _evidence(self, variant: Variant) -> Evidence:
        """What is known of a variant before it is run: `after` is the original's trace until the `run` rung replaces it."""
        return Evidence(
            applied=variant.applied,
            source_before=self.origin,
            source_after=variant.source,
            before=self.trace,
            after=self.trace,
            original=self.original,
            made_from=variant.made_from[-1],
        )
