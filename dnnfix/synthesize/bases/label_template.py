"""What the templates share that give labels another form than they are handed over in."""

from __future__ import annotations

from dnnfix.detect.tensors.targets import target_site
from dnnfix.detect.tensors.values import LossUse, loss_uses
from dnnfix.records import Family, Finding, FixPattern, Site
from dnnfix.subject import Subject
from dnnfix.synthesize.bases.fault_template import Faults, FaultTemplate


class LabelTemplate(FaultTemplate[LossUse]):
    """Base of the templates for labels of another form than their loss takes.

    A subclass says which uses of a loss were `misled`, and repairs them. Its `message` may have the words `loss`,
    `classes` and `shape`.
    """

    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    needs_run = True
    declined = "the labels are not handed over at one place"

    def misled(self, use: LossUse) -> bool:
        """Whether a loss whose labels were seen in a run gets them in the form that the template repairs."""
        raise NotImplementedError

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject) if subject.trace is not None else ():
            if self.misled(use):
                yield target_site(subject, use), use

    def report(self, site: Site, use: LossUse) -> Finding:
        labels = use.target.shape if use.target is not None else None
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.9,
            cause=use.cause,
            evidence={"prediction": list(use.prediction.shape or ()), "labels": list(labels or ())},
            loss=use.name,
            classes=use.width,
            shape=labels,
        )
