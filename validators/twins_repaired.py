"""What the patch replaces stands nowhere else; where it does, in code that the run did not come to, that is said.

It holds nothing against a patch: whether the same words are a fault there, too, no run has shown.
"""

from __future__ import annotations

from dnnfix.api import LEFT, Evidence, Verdict, twins

NAME = "twins-repaired"
RUNG = "property"
MEASURES = ("lines",)

SHOWN = 4
"""Places that are named."""


def judge(evidence: Evidence) -> Verdict:
    """Pass, and name the places where the fault may still be."""
    source = evidence.source_after
    found = twins(evidence.source_before, source, evidence.after)
    if not found:
        return Verdict.passes("what it replaces stands nowhere else that was not run")
    said = [f"{text} at {source.line_in_words(line, path)}" for (path, line), text in sorted(found.items())]
    more = f", and at {len(said) - SHOWN} more places" if len(said) > SHOWN else ""
    listed = tuple(f"{path}:{line}" if path else str(line) for path, line in sorted(found))
    reason = f"not changed, and not run, is what the patch replaces elsewhere: {', '.join(said[:SHOWN])}{more}"
    return Verdict.passes(reason, {LEFT: listed})
