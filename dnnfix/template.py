"""The base class of fix templates: one class in one file that finds a bad pattern and proposes edits.

A template sees a program through a `Subject` and answers with records. It does no I/O, imports no framework and never
edits text itself: it describes edits, and `dnnfix.source.edits` carries them out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Generic, TypeVar

from dnnfix.errors import CatalogueError
from dnnfix.examples import Example, Finds, Reject, read_programs
from dnnfix.records import (
    Applicability,
    Candidate,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    Json,
    Nature,
    Site,
    Symptom,
)
from dnnfix.subject import Subject

REQUIRED = ("code", "name", "family", "fix_pattern", "message")
"""What every template says of itself."""

CODE = re.compile(r"DNF[1-9]\d\d|[A-Z]{2,}\d{3,}")

_Kind = TypeVar("_Kind", bound=Example | Finds | Reject)
_Item = TypeVar("_Item")


def yielded(values: Iterable[_Item] | None, by: str) -> Iterable[_Item]:
    """What a function of a rule or an operator offers. Raises `CatalogueError` where it is `None`: a function without a `yield`."""
    if values is None:
        raise CatalogueError(
            f"{by} returned None. Expected an iterator: `yield` what is found; yield nothing where nothing is"
        )
    return values


def each_of(kind: type[_Item], values: Iterable[object] | None, otherwise: str) -> Iterator[_Item]:
    """What an author's function offers, one after the other. Raises `CatalogueError` with `otherwise` for anything of another kind."""
    for value in (None,) if values is None else values:
        if not isinstance(value, kind):
            raise CatalogueError(f"{otherwise}. Received: {value!r}")
        yield value


class _Programs(Generic[_Kind]):
    """The programs of one kind that a template states: read when somebody asks for them, which a scan never does."""

    def __init__(self, kind: type[_Kind]) -> None:
        self._kind = kind

    def __get__(self, instance: FixTemplate | None, owner: type[FixTemplate]) -> tuple[_Kind, ...]:
        stated = read_programs(owner.programs, owner.code, owner.needs_run)
        return tuple(one for one in stated if isinstance(one, self._kind))


class FixTemplate:
    """Base of all fix templates.

    A subclass states its metadata as class attributes and defines `detect` and `propose`. Its docstring says what the
    pattern is, why it is bad, has one line that starts with `Fix safety:`, and ends with references.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    family: ClassVar[Family]
    fix_pattern: ClassVar[FixPattern]
    message: ClassVar[str]
    formerly: ClassVar[tuple[str, ...]] = ()
    """Codes and names that the template had, or that others had which are part of it now: settings and comments with them mean it."""
    triggers: ClassVar[tuple[str, ...]] = ()
    """Identifiers, at least one of which the source must contain for static detection to be tried (a cheap gate)."""
    needs_run: ClassVar[bool] = False
    """Whether the fault can be seen only in a trace; such a template takes no part in `dnnfix check`, and all its examples are run."""
    in_modules: ClassVar[bool] = False
    """Whether modules beside the program are looked at, too, each as if it were the program: all that the rule asks of is the network, and
    nothing that a source says or lacks."""
    default: ClassVar[bool] = True
    """Whether the template is on unless deselected."""
    default_in_check: ClassVar[bool] = False
    """Whether `dnnfix check` reports it all the same: advice for the source of a program that runs, which no run would bear out."""
    nature: ClassVar[Nature] = Nature.FAULT
    """What its findings are. Advice is shown and never applied, and is no problem for the exit code of `suggest`."""
    silent: ClassVar[int] = 0
    """The number of its pattern among the 14 of silent bugs (`--select silent`); 0 for a rule of none. Hong et al., SANER 2024."""
    at_either_end: ClassVar[bool] = False
    """What its candidates are told to be where they say nothing else: see `Candidate.at_either_end`."""
    only_hinders: ClassVar[bool] = False
    """What its candidates are told to be: see `Candidate.only_hinders`."""
    raced: ClassVar[bool] = False
    """Whether its edits race with those of other settings, where it is looked at whether training learns; elsewhere they are tried alone."""
    programs: ClassVar[str] = ""
    """The programs that show and test it, as `dnnfix.examples` reads them."""
    examples: ClassVar[_Programs[Example]] = _Programs(Example)
    finds: ClassVar[_Programs[Finds]] = _Programs(Finds)
    rejects: ClassVar[_Programs[Reject]] = _Programs(Reject)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """Yield the faults of this pattern in the program. Silence is the right answer when in doubt."""
        raise NotImplementedError(f"{type(self).__name__} has no `detect`")

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """Yield candidate edits for one of this template's findings, the most likely one first.

        Where no edit can be right, yield a `Decline` with the reason instead.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `propose`")

    def finding(
        self,
        site: Site,
        *,
        symptom: Symptom = Symptom.NONE_OBSERVED,
        confidence: float = 0.8,
        evidence: Mapping[str, Json] | None = None,
        cause: str = "",
        **words: object,
    ) -> Finding:
        """A finding of this template at `site`; `words` fill the braces of `message`.

        Raises `CatalogueError` where the message has braces for a word that is not given, where `site` or `symptom` is none, and
        where a syntax node is given as evidence.
        """
        if not isinstance(site, Site):
            raise CatalogueError(
                f"{self.code}: a finding stands at a site, as `subject.source.site(node)` returns it. Received: {site!r}"
            )
        if not isinstance(symptom, Symptom):
            raise CatalogueError(
                f"{self.code}: the symptom is one of Symptom.{', '.join(Symptom.__members__)}. Received: {symptom!r}"
            )
        for key, value in (evidence or {}).items():
            self._refuse_nodes(f"evidence[{key!r}]", value)
        try:
            message = self.message.format(**words)
        except (KeyError, IndexError) as error:
            raise CatalogueError(
                f"{self.code}: its message has braces for {error}, which `finding` was not given"
            ) from None
        return Finding(
            code=self.code,
            rule=self.name,
            family=self.family,
            site=site,
            message=message,
            symptom=symptom,
            confidence=confidence,
            evidence=dict(evidence or {}),
            cause=cause,
            nature=self.nature,
        )

    def candidate(
        self,
        finding: Finding,
        title: str,
        *edits: Edit,
        applicability: Applicability | None = None,
        prior: float = 0.5,
        at_either_end: bool | None = None,
    ) -> Candidate:
        """A candidate of this template. `title` says in the imperative what the edits do; `prior` ranks rivals.

        Where its applicability is not given it is unsafe, and that of advice is to be shown only.

        Raises `CatalogueError` where an edit is none or has a syntax node in place of a site or of code, or the prior is no
        likelihood.
        """
        for edit in edits:
            if not isinstance(edit, Edit):
                raise CatalogueError(
                    f"{self.code}: an edit is a record of dnnfix.api, such as Replace(site, code). Received: {edit!r}"
                )
            self._refuse_nodes(f"the site of {type(edit).__name__}", edit.site)
            self._refuse_nodes(f"the code of {type(edit).__name__}", getattr(edit, "code", None))
        if not 0 <= prior <= 1:
            raise CatalogueError(f"{self.code}: the prior of a candidate is between 0 and 1. Received: {prior:g}")
        advice = self.nature is Nature.ADVICE
        unsaid = Applicability.DISPLAY_ONLY if advice else Applicability.UNSAFE
        return Candidate(
            template=self.code,
            title=title,
            fix_pattern=self.fix_pattern,
            edits=edits,
            findings=(finding,),
            applicability=applicability or unsaid,
            prior=prior,
            at_either_end=self.at_either_end if at_either_end is None else at_either_end,
            only_hinders=self.only_hinders,
        )

    def _refuse_nodes(self, place: str, value: object) -> None:
        """Refuse a syntax node where it is given: further on it would fail in a part of the engine that its author does not know."""
        if isinstance(value, ast.AST):
            raise CatalogueError(
                f"{self.code}: {place} is a syntax node ({type(value).__name__}). "
                "Expected `subject.source.site(node)` for a place, `ast.unparse(node)` for code, a plain value in evidence"
            )


def misstated(template: type[FixTemplate]) -> str:
    """What is wrong with what a template says of itself, and what to write instead; empty where nothing is."""
    missing = [attribute for attribute in REQUIRED if not hasattr(template, attribute)]
    if missing:
        return f"lacks {', '.join(missing)}. State it as a class attribute."
    if not CODE.fullmatch(template.code):
        return (
            "has a code that is not two or more capitals and three or more digits, such as LAB001 "
            f"(in the catalogue: DNF and three digits). Received: {template.code!r}"
        )
    for attribute, kind in (("family", Family), ("fix_pattern", FixPattern)):
        value = getattr(template, attribute)
        if not isinstance(value, kind):
            members = ", ".join(kind.__members__)
            return f"has a {attribute} that is not one of {kind.__name__}.{members}. Received: {value!r}"
    if isinstance(template.triggers, str):
        word = template.triggers
        return f"has a string for triggers. Write a tuple of words, with a comma after a single one: ({word!r},)"
    return ""
