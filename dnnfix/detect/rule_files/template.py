"""Makes a fix template of a rule file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from dnnfix.detect.loops.training_loop import loops_around
from dnnfix.detect.rule_files import filling
from dnnfix.detect.rule_files.conditions import holds, is_about
from dnnfix.detect.rule_files.matches import Match, matches
from dnnfix.detect.rule_files.reading import Case, Fix, Rule, read_rule
from dnnfix.records import (
    AddImport,
    Applicability,
    Candidate,
    Decline,
    Delete,
    Edit,
    Finding,
    InsertAfter,
    InsertBefore,
    Nature,
    RemoveArgument,
    Replace,
    SetArgument,
    Site,
)
from dnnfix.source.program import Source, once
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

SAFETY = {
    "safe": "safe. What is written does the same.",
    "unsafe": "unsafe. The program does something else afterwards.",
}
"""What the page of a rule says of its fix, where the file says one word."""
WIDTH = 120


OF_TEMPLATE = (
    "code", "name", "formerly", "family", "fix_pattern", "nature", "silent", "default", "default_in_check", "triggers", "programs"
)  # fmt: skip
"""What a template states as a rule file does."""


class RuleFile(FixTemplate):
    """A fix template whose pattern, conditions and fix stand in a file."""

    rule: Rule
    message = "{what}"

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for case, match in found(subject.source, self.rule):
            what = filling.said(case.message, match)
            yield self.finding(match.site, confidence=self.rule.confidence, what=what)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        every = found(subject.source, self.rule)
        case, match = next(((case, match) for case, match in every if match.site == finding.site), (None, None))
        edits = tuple(_edits(subject.source, case.fix, match)) if case is not None and match is not None else ()
        if case is None or match is None or not edits:
            yield Decline("the rule says nothing of how it is repaired")
            return
        safe = self.rule.safety.startswith("safe") and self.nature is not Nature.ADVICE
        title = filling.said(case.fix.title, match) or _title(case.fix, match)
        yield self.candidate(
            finding, title, *edits, applicability=Applicability.SAFE if safe else None, prior=self.rule.confidence
        )


@once
def found(source: Source, rule: Rule) -> tuple[tuple[Case, Match], ...]:
    """The matches of a rule's cases in a program that fulfil its conditions, in source order."""
    every: dict[Site, tuple[Case, Match]] = {}
    for case in reversed(rule.cases):
        for pattern in reversed(case.patterns):
            every |= {match.site: (case, match) for match in matches(source, pattern)}
    return tuple(
        (case, match)
        for _, (case, match) in sorted(every.items(), key=lambda one: one[0])
        if all(holds(source, match, one) for one in rule.where if is_about(one, match))
        and not any(holds(source, match, one) for one in rule.unless if is_about(one, match))
    )


def _edits(source: Source, fix: Fix, match: Match) -> Iterator[Edit]:
    """The edits of a fix at a match."""
    statement = source.site(source.statement_of(match.node)) if match.node is not None else None
    if fix.replace:
        yield Replace(match.site, filling.code(fix.replace, match).strip("\n"))
    if fix.set_argument:
        name, _, value = fix.set_argument.partition("=")
        yield SetArgument(match.site, name.strip(), filling.code(value, match).strip())
    if fix.remove_argument:
        yield RemoveArgument(match.site, fix.remove_argument)
    if fix.remove and statement is not None:
        yield Delete(statement)
    if fix.before and statement is not None:
        yield InsertBefore(statement, filling.code(fix.before, match).strip("\n"))
    if fix.after and statement is not None:
        yield InsertAfter(statement, filling.code(fix.after, match).strip("\n"))
    loops = loops_around(source, match.node) if match.node is not None else []
    if fix.before_loop and loops:
        yield InsertBefore(source.site(loops[-1]), filling.code(fix.before_loop, match).strip("\n"))
    for line in fix.imports:
        yield AddImport(line)


def _title(fix: Fix, match: Match) -> str:
    """What a fix does, where its file does not say it."""
    if fix.replace:
        return f"write {filling.said(fix.replace, match).strip()}"
    if fix.set_argument:
        return f"give it {filling.said(fix.set_argument, match)}"
    if fix.remove_argument:
        return f"leave {fix.remove_argument} out"
    added = fix.before or fix.after or fix.before_loop
    return "take it away" if fix.remove else f"add {filling.said(added, match).strip()}"


def template_of(path: Path, name: str = "") -> type[FixTemplate]:
    """The template that a rule file is, under a name of the file, which is else its path. Raises `CatalogueError`, which names line and key, where it is not sound."""
    rule = read_rule(path)
    safety = SAFETY.get(rule.safety or "unsafe", rule.safety)
    if all(case.fix == Fix() for case in rule.cases):
        safety = "nothing is changed."
    elif rule.nature is Nature.ADVICE:
        safety = "as it is advice, the patch is shown and never applied."
    references = f"\n\nReferences: {'; '.join(rule.references)}." if rule.references else ""
    about = f"{rule.why.strip()}\n\n{fill(f'Fix safety: {safety}', WIDTH)}{references}"
    own = {
        "__doc__": about,
        "__module__": __name__,
        "__qualname__": name or str(path),
        "rule": rule,
        **{key: getattr(rule, key) for key in OF_TEMPLATE},
    }
    return type("RuleOfFile", (RuleFile,), own)


def is_rule_file(path: Path) -> bool:
    """Whether a TOML file is a rule, and no table of API changes."""
    return re.search(r"^\s*\[rule\]", path.read_text("utf-8", "replace"), re.MULTILINE) is not None
