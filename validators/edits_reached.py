"""The run executed the code that the patch changes; of a network that was never built it shows nothing.

Asked of repairs of silent faults in classes that are networks or layers. Code in functions of data or in scripts runs
without a trace of it in the network; and what follows the versions of libraries is proven by tables.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Evidence, Family, Site, Source, Trace, Verdict, code_changes

NAME = "edits-reached"
RUNG = "property"

CALLED = frozenset({"forward", "call"})
"""Methods that make a class with a base a network or a layer."""


def judge(evidence: Evidence) -> Verdict:
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
