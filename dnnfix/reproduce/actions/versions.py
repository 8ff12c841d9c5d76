"""Edit action: version migration. Migrates outdated calls where they hide the symptom that a report is about.

A program that fails because a library changed shows a fault that dnnfix repairs, and is not migrated beforehand. Where
the report is of another symptom, outdated calls come before the fault, and are migrated first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dnnfix.detect.versioning.migration import Hit, edits_of, migration
from dnnfix.errors import EditError, InputError
from dnnfix.records import EditAction, EditStep
from dnnfix.reproduce.actions import obsolete_parameters
from dnnfix.reproduce.case import Case, Gap
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject

ACTION = EditAction.VERSIONS

_COMPLAINTS = re.compile(
    r"(?:has no attribute|unexpected keyword argument|cannot import name|No module named|takes no keyword)\s*[:]?\s*['\"`]?([\w.]+)"
    r"|name ['\"](\w+)['\"] is not defined"
    r"|(?:[Uu]nrecognized keyword arguments?|[Aa]rgument\(s\) not recognized)[^{\n]*\{([^}]*)\}"
)
"""What libraries say of a name or an argument that they do not have."""


def steps(case: Case) -> Iterator[EditStep | Gap]:
    """No steps: what a library removed is the program's fault, and a scaffold keeps it."""
    yield from ()


def migrated(source: Source, said: str) -> tuple[Source, tuple[EditStep, ...]]:
    """The program as the installed versions take it, and a step for each change; the source itself where none is due.

    `said` is the text of the report: a removed name or argument that its errors speak of is what was reported, and stays.
    What cannot be edited together is left out.
    """
    subject = Subject(source)
    reported = complaints(said)
    wanted = [hit for hit in migration(subject) if hit.edits and not _is_reported(source, hit, reported)]
    chosen, text = _applied(source, wanted)
    if not chosen or text is None:
        return source, ()
    try:
        after = Source.from_bytes(text, source.path).along_with(source.beside)
    except InputError:
        return source, ()
    return after, tuple(_step(source, hit) for hit in chosen)


def complaints(said: str) -> frozenset[str]:
    """The names that error messages in a text complain of, each also by its last part."""
    found: set[str] = set()
    for match in _COMPLAINTS.finditer(said):
        names = re.findall(r"[A-Za-z_][\w.]*", next(group for group in match.groups() if group is not None))
        found.update(name.strip(".") for name in names)
    return frozenset(found | {name.rpartition(".")[2] for name in found})


def _is_reported(source: Source, hit: Hit, reported: frozenset[str]) -> bool:
    """Whether a removal is the very one that the report complains of."""
    words = set(re.findall(r"\w+", source.segment(hit.site) + " " + hit.what))
    return bool(words & {name for name in reported if "." not in name})


def _applied(source: Source, hits: Iterable[Hit]) -> tuple[list[Hit], bytes | None]:
    """The hits that can be edited together, and the text after that."""
    every = list(hits)
    try:
        return every, apply_edits(source, edits_of(source, tuple(every))) if every else None
    except EditError:
        pass
    chosen: list[Hit] = []
    text: bytes | None = None
    for hit in every:
        try:
            text = apply_edits(source, edits_of(source, (*chosen, hit)))
        except EditError:
            continue
        chosen.append(hit)
    return chosen, text


def _step(source: Source, hit: Hit) -> EditStep:
    own = obsolete_parameters.is_own(source, hit)
    kept = "the meaning stays the same" if hit.safe else "what it does may differ a little"
    return EditStep(
        obsolete_parameters.ACTION if own else ACTION,
        hit.title or hit.what,
        f"{hit.what}; {kept}",
        hit.site.line,
        invented=False,
    )
