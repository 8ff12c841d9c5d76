"""A claimed gain is not reached just as well on permuted labels: then the score would have nothing to do with the
labels.

Where the labels carry no signal in the first place (random data in a snippet), both scores are equal without any
cheating; the check then says nothing, and says so. It is asked only where a gain in training was claimed, since only
there can a gain have been faked.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from dnnfix.api import Evidence, Trace, Verdict, learning

NAME = "labels-matter"
RUNG = "honest"

SHUFFLED = "shuffle-targets"
"""The probe that tells whether any targets were permuted."""

LEARNED = 0.2
"""Score from which a program counts as having learned something; guessing scores about 0."""


def judge(evidence: Evidence) -> Verdict:
    """Fail when a claimed gain is reached on permuted labels just as well."""
    if not evidence.wants_improvement:
        return Verdict.not_applicable("no gain was claimed")
    shuffled = _scores(trace for trace in evidence.shuffled if trace.probes.get(SHUFFLED) is not False)
    after = _scores(pair.after for pair in evidence.pairs) or _scores([evidence.after])
    if not shuffled or not after:
        return Verdict.not_applicable("no training with labels was seen")
    real, faked = statistics.fmean(after), statistics.fmean(shuffled)
    measured = {"real": round(real, 4), "shuffled": round(faked, 4)}
    if real < LEARNED:
        return Verdict.not_applicable("too little was learned to tell", measured)
    if faked < real / 2:
        return Verdict.passes("permuted labels are learned worse", measured)
    return Verdict.fails(f"permuted labels are learned as well ({faked:.2f} of {real:.2f})", measured)


def _scores(traces: Iterable[Trace]) -> list[float]:
    found = [learning.score(trace) for trace in traces]
    return [s.value for s in found if s is not None and s.yardstick == "skill"]
