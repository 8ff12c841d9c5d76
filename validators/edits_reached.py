"""The run came to what the patch changes; of lines that it did not come to it shows nothing.

A patch none of whose statements ran is not proven, whatever its run did. Of one that ran in part the lines that did not are
named. Where lines are not recorded, as TensorFlow compiles functions from their text, it is asked of networks and layers alone,
and not of what follows the versions of libraries.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import NOT_RUN, Evidence, Family, Json, Reach, Site, Source, Trace, Verdict, code_changes, reach

NAME = "edits-reached"
RUNG = "property"
MEASURES = ("lines",)

CALLED = frozenset({"forward", "call"})
"""Methods that make a class with a base a network or a layer."""

SHOWN = 6
"""Lines that are named."""


def judge(evidence: Evidence) -> Verdict:
    """Inconclusive where no statement of the patch ran, or none of its last step, unless that only follows the versions of libraries."""
    before, after = evidence.source_before, evidence.source_after
    whole = reach(before, after, evidence.after)
    if whole is None:
        return _of_networks(evidence)
    step = reach(evidence.made_from or before, after, evidence.after) or whole
    migrates = all(finding.family is Family.VERSIONING for finding in evidence.applied[-1].findings)
    if step.is_none and len(evidence.applied) > 1 and not migrates:
        return Verdict.inconclusive(*_missed(after, step))
    if whole.is_none and evidence.before.crash is None:
        return Verdict.inconclusive(*_missed(after, whole))
    return Verdict.passes(*_missed(after, whole)) if whole.missed else Verdict.passes("the run came to all of it")


def _missed(source: Source, found: Reach) -> tuple[str, dict[str, Json]]:
    """What is said of the statements that did not run."""
    places = sorted(found.missed)
    shown = [source.line_in_words(line, path) for path, line in places[:SHOWN]]
    shown += [f"{len(places) - SHOWN} more lines"] if len(places) > SHOWN else []
    said = " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    listed = tuple(f"{path}:{line}" if path else str(line) for path, line in places)
    return f"the run did not come to what the patch writes at {said}", {NOT_RUN: listed}


def _of_networks(evidence: Evidence) -> Verdict:
    """Inconclusive where all changes are in networks and layers none of whose code ran."""
    network = evidence.after.network
    follows = all(finding.family is Family.VERSIONING for finding in evidence.findings)
    if evidence.before.crash is not None or network is None or not network.calls or follows:
        return Verdict.not_applicable("the run itself shows what the patch does")
    lines = code_changes.changed_lines(evidence.source_before, evidence.source_after)
    owners = list(_owners(evidence.source_after, lines))
    if not owners or len(owners) < len(lines):
        return Verdict.not_applicable("not only networks and layers are changed")
    met = [site for site in _sites(evidence.after) if any(owner.encloses(site) for owner in owners)]
    if met:
        return Verdict.passes(f"the run came there, at line {met[0].line}")
    return Verdict.inconclusive("the run makes no network or layer of what the patch changes")


def _owners(source: Source, lines: frozenset[tuple[str, int]]) -> Iterator[Site]:
    """The network or layer class around each changed line that stands in one."""
    for path, line in lines:
        classes = (node for node in ast.walk(source.files[path].tree) if isinstance(node, ast.ClassDef))
        spans = [
            Site(node.lineno, 1, (node.end_lineno or node.lineno) + 1, 1, path) for node in classes if _is_called(node)
        ]
        yield from [span for span in spans if span.line <= line < span.end_line][:1]


def _is_called(owner: ast.ClassDef) -> bool:
    return bool(owner.bases) and any(isinstance(each, ast.FunctionDef) and each.name in CALLED for each in owner.body)


def _sites(trace: Trace) -> Iterator[Site]:
    """Where the run called something of the network, or made a part of it."""
    if trace.network is not None:
        for call in trace.network.calls:
            yield from (site for site in (call.site, call.made_at) if site is not None)
        yield from (part.site for part in trace.network.components if part.site is not None)
