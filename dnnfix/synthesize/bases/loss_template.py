"""Base of the rules about a loss and arguments that do not fit it, each a table of such disagreements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from dnnfix.detect.tensors.values import LossUse, loss_uses
from dnnfix.records import Json, Site, Symptom
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Fault, ReadTemplate, Repairs


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One way in which a loss and what it is given do not fit: a row of a `LossTemplate`.

    `holds` says whether a use of a loss is such, `says` is the message, and `repairs` are the ways to fix it.
    `needs_run` rows are seen in runs only. The symptom is that of the use (a crash where the program ended in it)
    unless one is given.
    """

    holds: Callable[[Subject, LossUse], bool]
    says: Callable[[LossUse], str]
    repairs: Callable[[Subject, LossUse], Repairs]
    confidence: Callable[[LossUse], float] | float = 0.9
    place: Callable[[Subject, LossUse], Site | None] = lambda _, use: use.site
    symptom: Symptom | None = None
    needs_run: bool = False


class LossTemplate(ReadTemplate):
    """Base of the templates that compare what a loss takes with what it is given, each with a table of `disagreements`."""

    disagreements: ClassVar[tuple[Disagreement, ...]]

    def read(self, subject: Subject) -> Iterator[Fault]:
        for use in loss_uses(subject):
            for row in self.disagreements:
                if (subject.trace is not None or not (self.needs_run or row.needs_run)) and row.holds(subject, use):
                    yield self._fault(subject, row, use)

    def _fault(self, subject: Subject, row: Disagreement, use: LossUse) -> Fault:
        evidence: dict[str, Json] = {"activation": use.activation_name, "loss": use.name}
        if use.crashed:
            target = use.target.shape if use.target is not None else None
            evidence |= {"output": list(use.prediction.shape or ()), "labels": list(target or ())}
        return Fault(
            row.place(subject, use),
            row.says(use),
            tuple(row.repairs(subject, use)),
            {name: value for name, value in evidence.items() if value},
            row.confidence if isinstance(row.confidence, float) else row.confidence(use),
            row.symptom or use.symptom,
            row.holds.__name__.strip("_"),
        )
