"""What a fix template is: one class in one file that finds a bad pattern and proposes edits.

A template sees a program through a `Subject` and answers with records. It does no I/O, imports no framework and never
edits text itself: it describes edits, and `dnnfix.source.edits` carries them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dnnfix.errors import CatalogueError
from dnnfix.records import (
    Applicability,
    Candidate,
    Decline,
    Edit,
    Family,
    Finding,
    FixPattern,
    Json,
    Site,
    Symptom,
)
from dnnfix.subject import Subject


@dataclass(frozen=True, slots=True)
class Example:
    """A program that a template repairs, with the lines that change marked as in a diff: `- ` before those that go, `+ ` before those that come.

    Where a template proposes several candidates, the program afterwards is one of them. `runs` says that the fault shows only
    when the program runs: such an example is executed by the harness, on the framework it imports. Those of a template that
    needs a run need not say so.
    """

    name: str
    marked: str
    runs: bool = False

    @property
    def before(self) -> str:
        """The program with its fault."""
        return _without_marks(self.marked, "-")

    @property
    def after(self) -> str:
        """The program as the template writes it."""
        return _without_marks(self.marked, "+")


def added(code: str) -> str:
    """Code as `Example` marks the lines that come."""
    return "\n".join(f"+ {line}" for line in code.split("\n"))


def _without_marks(marked: str, mark: str) -> str:
    """The lines that have this mark or none; a mark stands alone before an empty line."""
    kept = []
    for line in marked.splitlines(keepends=True):
        if line[:1] not in ("-", "+") or line[1:2] not in (" ", "\n"):
            kept.append(line)
        elif line[0] == mark:
            kept.append(line[1:].removeprefix(" "))
    return "".join(kept)


@dataclass(frozen=True, slots=True)
class Reject:
    """A program that a template must leave alone, and why someone might think otherwise."""

    name: str
    source: str
    runs: bool = False


class FixTemplate:
    """Base of all fix templates.

    A subclass states its metadata as class attributes and defines `detect` and `propose`. Its docstring tells what the
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
    at_either_end: ClassVar[bool] = False
    """What its candidates are told to be where they say nothing else: see `Candidate.at_either_end`."""
    only_hinders: ClassVar[bool] = False
    """What its candidates are told to be: see `Candidate.only_hinders`."""
    raced: ClassVar[bool] = False
    """Whether its edits race with those of other settings, where it is looked at whether training learns; elsewhere they are tried alone."""
    examples: ClassVar[tuple[Example, ...]] = ()
    rejects: ClassVar[tuple[Reject, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.needs_run:
            cls.examples = tuple(replace(example, runs=True) for example in cls.examples)
            cls.rejects = tuple(replace(reject, runs=True) for reject in cls.rejects)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """Yield the faults of this pattern in the program. Silence is the right answer when in doubt."""
        raise NotImplementedError

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """Yield candidate edits for one of this template's findings, the most likely one first.

        Where no edit can be right, yield a `Decline` with the reason instead.
        """
        raise NotImplementedError

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

        Raises `CatalogueError` where the message has braces for a word that is not given.
        """
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
        )

    def candidate(
        self,
        finding: Finding,
        title: str,
        *edits: Edit,
        applicability: Applicability = Applicability.UNSAFE,
        prior: float = 0.5,
        at_either_end: bool | None = None,
    ) -> Candidate:
        """A candidate of this template. `title` says in the imperative what the edits do; `prior` ranks rivals."""
        return Candidate(
            template=self.code,
            title=title,
            fix_pattern=self.fix_pattern,
            edits=edits,
            findings=(finding,),
            applicability=applicability,
            prior=prior,
            at_either_end=self.at_either_end if at_either_end is None else at_either_end,
            only_hinders=self.only_hinders,
        )
