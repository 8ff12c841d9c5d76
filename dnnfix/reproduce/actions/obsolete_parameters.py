"""Edit action: obsolete parameter removal. Arguments that the installed versions do not take are renamed or dropped.

In a scaffold nothing of the text is changed, so this action has no steps of its own there. `versions.migrated` changes the
text where a report's symptom lies elsewhere, and asks here which of its changes are those of arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.migration import Hit
from dnnfix.records import EditAction, EditStep
from dnnfix.reproduce.case import Case, Gap
from dnnfix.source.program import Source

ACTION = EditAction.OBSOLETE_PARAMETERS


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """None: an argument that is gone may be the fault, and what runs in a scaffold keeps it."""
    yield from ()


def is_own(source: Source, hit: Hit) -> bool:
    """Whether an outdated use is an argument that was renamed or taken away."""
    if hit.within is None:
        return False
    around = source.node_at(hit.within)
    while around is not None and not isinstance(around, ast.Call):
        above = source.parent(around)
        around = above if isinstance(above, (ast.expr, ast.stmt)) else None
    if not isinstance(around, ast.Call):
        return False
    places = [source.site(keyword) for keyword in around.keywords]
    places += [source.site(keyword.value) for keyword in around.keywords]
    return hit.site in places or any(
        place.line == hit.site.line and place.column == hit.site.column for place in places
    )
