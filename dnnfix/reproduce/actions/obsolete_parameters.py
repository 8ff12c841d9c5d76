"""Edit action: obsolete parameter removal. Renames or removes arguments that the installed versions do not accept.

A scaffold changes nothing in the program, so this action has no steps of its own there. `versions.migrated` changes the
source where a report's symptom lies elsewhere, and asks here which of its changes are about arguments.
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
    """No steps: a removed argument may be the fault, and a scaffold keeps it."""
    yield from ()


def is_own(source: Source, hit: Hit) -> bool:
    """Whether an outdated use is an argument that was renamed or removed."""
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
