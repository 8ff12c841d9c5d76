"""Asks the rules for candidates for a finding, and applies candidates to a program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dnnfix.errors import EditError, InputError, failure
from dnnfix.records import Candidate, Decline, Edit, Finding
from dnnfix.source.edits import edit
from dnnfix.source.program import Source, once
from dnnfix.source.viewpoint import from_module, from_program, seen_from
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate, yielded

_PRIVATE = re.compile(r"\b(?:(?:tf_)?keras\.src(?!\.legacy)|tensorflow\.python|tensorflow\._api|torch\._\w+)[\w.]*")
"""Names in libraries that no patch writes: they are nobody's to use, and go away without notice.

`keras.src.legacy` is left out: old generators of pictures are nowhere else.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program with candidates applied to it, in the order in which they were applied.

    `made_from` has for each of them the program that it was applied to, whose places its finding speaks of.
    """

    source: Source
    applied: tuple[Candidate, ...] = ()
    made_from: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposals:
    """The candidates for one finding, or why there are none."""

    finding: Finding
    candidates: tuple[Candidate, ...]
    declined: str = ""
    failed: str = ""


def propose(finding: Finding, subject: Subject, template: type[FixTemplate]) -> Proposals:
    """Ask a template for candidates; its reasons for declining and its failures are recorded.

    A template that edits nothing in a module beside the program is asked once more as if the module were the program.
    """
    proposals = _proposed(finding, subject, template)
    path = finding.site.path
    if proposals.candidates or not path or path not in subject.files:
        return proposals
    program = subject.source.path
    from_there = _proposed(seen_from(finding, from_module(path, program)), subject.files[path], template)
    if not from_there.candidates:
        return proposals
    return Proposals(finding, tuple(seen_from(one, from_program(path, program)) for one in from_there.candidates))


def _proposed(finding: Finding, subject: Subject, template: type[FixTemplate]) -> Proposals:
    candidates: list[Candidate] = []
    declined = ""
    try:
        for proposal in yielded(template().propose(finding, subject), f"{template.__name__}.propose"):
            if isinstance(proposal, Decline):
                declined = declined or proposal.reason
            else:
                candidates.append(proposal)
    except Exception as error:  # noqa: BLE001 - a template is third-party code: its failure is reported and never ends the run
        return Proposals(finding, tuple(candidates), failed=f"{template.code}: {failure(error, template.__module__)}")
    if not candidates and not declined:
        declined = "the template proposes no edit here"
    return Proposals(finding, tuple(candidates), declined)


def apply(variant: Variant, *candidates: Candidate) -> Variant:
    """The variant with more candidates applied, all in one pass.

    Raises `EditError` where the edits cannot be carried out; as `NestedSitesError` where two touch the same text.
    """
    source = edited(variant.source, [edit for candidate in candidates for edit in candidate.edits])
    made_from = (*variant.made_from, *(variant.source for _ in candidates))
    return Variant(source, (*variant.applied, *candidates), made_from)


def edited(program: Source, edits: Sequence[Edit]) -> Source:
    """The program with the edits carried out, in its file and in the modules beside it.

    Raises `EditError` as `apply` does.
    """
    source = _edited(program, [one for one in edits if not one.site.path])
    beside = {module.path: module for module in program.beside}
    for path in dict.fromkeys(one.site.path for one in edits if one.site.path):
        if path not in beside:
            raise EditError(f"The edit is for {path}, which does not lie beside {source.path}.")
        own = [seen_from(one, {path: ""}) for one in edits if one.site.path == path]
        beside[path] = _edited(beside[path], own)
    return source.along_with(beside.values())


@once
def _private_names(source: Source) -> Counter[str]:
    return Counter(_PRIVATE.findall(source.text))


def _edited(source: Source, edits: list[Edit]) -> Source:
    """One file with the edits carried out."""
    changed = edit(source, edits)
    try:
        made = Source.from_bytes(changed.raw, source.path, python=changed.text)
    except InputError as error:
        raise EditError(f"the edited program cannot be read: {error}") from error
    written = Counter(_PRIVATE.findall(made.text)) - _private_names(source)
    if written:
        raise EditError(f"the edit writes {min(written)}, which its library keeps to itself")
    return made
