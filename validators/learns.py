"""The patched program trains better where training was the symptom, and not worse elsewhere, by a sequential test.

Identical training runs differ over seeds, so no verdict comes from one run: both programs are trained on the same
seeds, and the signs of the differences are put to a sequential test whose error is bounded however early it stops.
Renames that tables prove need no training: that there was no time for it is not held against them, a loss of skill is.
"""

from __future__ import annotations

import statistics

from dnnfix.api import Evidence, Family, Json, RunOutcome, Trace, Verdict, code_changes, learning, symptoms

NAME = "learns"
RUNG = "learn"

RUNAWAY = frozenset({"non-finite", "diverging"})
"""Symptoms of a training that is worse than one that stands still."""

BOTTOM = 100.0
"""By what factor of its start, or of one, a cross entropy is below zero that has no least value."""

ENTROPIES = ("entropy", "bceloss", "bcewithlogits", "nll")
"""Parts of the names of losses that are never negative."""


def judge(evidence: Evidence) -> Verdict:
    """Pass by a settled sequential test; inconclusive while it is open."""
    improvement = evidence.wants_improvement
    if evidence.before.outcome is RunOutcome.CRASHED:
        return Verdict.not_applicable("the original crashes, so there is no training to compare with")
    if learning.score(evidence.before) is None or learning.score(evidence.after) is None:
        if improvement:
            return Verdict.inconclusive("no training could be scored")
        return Verdict.not_applicable("the program does not train")
    differences = [
        d for d in (learning.difference(pair.before, pair.after) for pair in evidence.pairs) if d is not None
    ]
    if evidence.renames and (
        not differences
        or (evidence.cut_short and not learning.decide(differences, learning.threshold(improvement)).settled)
    ):
        return Verdict.not_applicable("not compared; the patch keeps what is computed")
    if not differences and evidence.cut_short:
        return Verdict.inconclusive("the time of this file was used up before training was compared")
    if not differences:
        return Verdict.inconclusive("the trials could not be compared")
    decision = learning.decide(differences, learning.threshold(improvement))
    scores = [(learning.score(pair.before), learning.score(pair.after)) for pair in evidence.pairs]
    known = [(b, a) for b, a in scores if b is not None and a is not None]
    before, after = statistics.fmean(b.value for b, _ in known), statistics.fmean(a.value for _, a in known)
    measured: dict[str, Json] = {
        "seeds": len(differences),
        "before": round(before, 4),
        "after": round(after, 4),
        "wins": decision.wins,
        "evidence": round(decision.evidence_for, 2),
        "yardstick": known[0][1].yardstick,
    }
    goal = "better" if improvement else "not worse"
    said = f"{known[0][1].yardstick} {before:z.2f} before, {after:z.2f} after over {len(differences)} seeds"
    if decision.settled == "yes":
        if learning.decide(differences, learning.threshold(True)).settled == "yes":
            goal = "better"
        worse = _worse_than_its_score(evidence) or _as_little(evidence, known[0][1].yardstick, after)
        if worse:
            return Verdict.fails(f"with the patch {worse}", measured)
        return Verdict.passes(f"trains {goal}: {said}", measured)
    if decision.settled == "no":
        return Verdict.fails(f"does not train {goal}: {said}", measured)
    cut = "; the time of this file was used up" if evidence.cut_short else ""
    return Verdict.inconclusive(f"not shown to train {goal}: {said}{cut}", measured)


def _worse_than_its_score(evidence: Evidence) -> str:
    """What every patched trial shows that no score makes good; empty where there is no such thing."""
    away = [reading for pair in evidence.pairs for reading in _runs_away_anew(pair.before, pair.after)]
    if len(away) == len(evidence.pairs):
        return f"training does not learn: {away[0]}"
    if _has_no_bottom(evidence):
        return "the cross entropy falls below any bound: the targets are none of its range"
    return ""


def _as_little(evidence: Evidence, yardstick: str, after: float) -> str:
    """What is said of a patch of what only hinders, with which the network is no better than a guess still."""
    if (
        yardstick != "skill"
        or after > symptoms.CHANCE
        or not any(candidate.only_hinders for candidate in evidence.applied)
    ):
        return ""
    return f"the network is no better than a guess still, at a skill of {after:.2f}"


def _has_no_bottom(evidence: Evidence) -> bool:
    """Whether a cross entropy, which a patch of the loss or its output left, runs to ever more negative values.

    Of targets that it is made for none is negative, so that a score says nothing there.
    """
    network = evidence.after.network
    if network is None or not any(finding.family is Family.LOSS_ACTIVATION for finding in evidence.findings):
        return False
    names = {call.name.lower() for call in network.calls if code_changes.is_loss_call(network, call)}
    if not any(word in name for name in names for word in ENTROPIES):
        return False
    curves = [pair.after.losses for pair in evidence.pairs]
    return all(losses and losses[-1] < -BOTTOM * max(1.0, abs(losses[0])) for losses in curves)


def _runs_away_anew(before: Trace, after: Trace) -> tuple[str, ...]:
    """What is said of a patched trial whose loss runs away or is no number, where the original's does not.

    A score may be better all the same: that of a loss which falls without end can be any.
    """
    known = {reading.name for reading in symptoms.fails_to_learn(before)}
    return tuple(one.said for one in symptoms.fails_to_learn(after) if one.name in RUNAWAY - known)
