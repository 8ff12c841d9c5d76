"""What the templates share that need more for a repair than a finding records: what was seen once is seen again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, TypeAlias, TypeVar

from dnnfix.records import Candidate, Decline, Edit, Finding, Site
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

T = TypeVar("T")

Faults: TypeAlias = Iterator[tuple[Site | None, T]]
"""Faults with their places; those at no known place are passed over."""

Repairs: TypeAlias = Iterator[tuple[str, tuple[Edit, ...] | None, float] | Decline]
"""Ways to repair a fault: a title, edits (`None` where they cannot be made) and a prior each, the likeliest first.

A `Decline` among them is the reason that is given where none of the edits can be made.
"""


class FaultTemplate(FixTemplate, Generic[T]):
    """Base of the templates that read a fault to report it, and read it again to repair it.

    A finding holds what people need to know; the calls, nodes and uses of losses that it was read from are of type `T`.
    A subclass says where its faults are (`faults`), what is told of one (`report`) and how it is mended (`repairs`).
    """

    declined: ClassVar[str]
    """Why there is no candidate, where `repairs` gives no other reason."""
    elsewhere: ClassVar[bool] = False
    """Whether faults in modules that the program imports are reported, too; nothing can be edited there."""

    def faults(self, subject: Subject) -> Faults[T]:
        """The faults of the pattern in the program."""
        raise NotImplementedError

    def report(self, site: Site, fault: T) -> Finding:
        """The finding for a fault."""
        raise NotImplementedError

    def repairs(self, subject: Subject, fault: T) -> Repairs:
        """The ways to repair a fault."""
        raise NotImplementedError

    def is_at_either_end(self, fault: T) -> bool:
        """Whether the repairs change one of two things that do not fit (`Candidate.at_either_end`)."""
        return self.at_either_end

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for site, fault in self._placed(subject):
            yield self.report(site, fault)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        made, reason = False, self.declined
        for fault in [fault for site, fault in self._placed(subject) if self.report(site, fault).id == finding.id][:1]:
            for repair in self.repairs(subject, fault):
                if isinstance(repair, Decline):
                    reason = repair.reason
                elif repair[1] is not None:
                    made = True
                    either = self.is_at_either_end(fault)
                    yield self.candidate(finding, repair[0], *repair[1], prior=repair[2], at_either_end=either)
        if not made:
            yield Decline(reason)

    def _placed(self, subject: Subject) -> Iterator[tuple[Site, T]]:
        for site, fault in self.faults(subject):
            if site is not None and (self.elsewhere or not site.path):
                yield site, fault
