"""Base of the versioning rules, which merges the edits of all of them into one migrated file.

A program that was written for old versions rarely has one outdated call. Every template of the versioning family reads
its own pattern as `Hit`s; the patch proposed for any of them carries the edits of all, so that a person gets one
migrated file and not twenty patches that each still crash.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import cache
from itertools import pairwise
from typing import ClassVar, Literal

from dnnfix.detect.versioning.graphs import graph_places
from dnnfix.detect.versioning.names import uses_of
from dnnfix.detect.versioning.statements import merged, spliced, without
from dnnfix.errors import EditError
from dnnfix.index import Listed, shipped
from dnnfix.libraries import SUCCESSORS
from dnnfix.records import (
    AddImport,
    Applicability,
    Candidate,
    Decline,
    Delete,
    Edit,
    Family,
    Finding,
    FixPattern,
    Json,
    Replace,
    ReplaceLines,
    RunOutcome,
    Site,
    Symptom,
)
from dnnfix.records.record import record
from dnnfix.source.program import Source, once
from dnnfix.source.viewpoint import seen_from
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate

CAUSE = "versions"
"""The cause that all repairable hits of a program share: one patch settles them."""

REMOVED = "removed"
"""Under which name the evidence of a finding says since which versions something is gone: `torch 0.4`."""

_GUARDS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "Exception", "BaseException"})
_NOQA = re.compile(r"#\s*(?:dnnfix\s*:\s*)?noqa\b", re.IGNORECASE)


@record
class Hit:
    """One outdated use: where, what is wrong with it in words, and the edits that bring it up to date.

    Without `edits`, `decline` says why there are none. `safe` says that the edits provably keep the meaning; `exact`
    that they do just what the older version did, while the program may mean something else today for other reasons;
    `deprecated` that the old way still works, so that it is spoken of only when asked for or when the run warned of
    it; `ignored` that the library passes it over, so that not even a warning makes it a fault. `removed` is the
    version that took it away, by package (`{"keras": "3.0"}`): older installed ones are left in peace.
    """

    site: Site
    what: str
    title: str = ""
    edits: tuple[Edit, ...] = ()
    decline: str = ""
    safe: bool = False
    exact: bool = False
    deprecated: bool = False
    ignored: bool = False
    removed: Mapping[str, str] = field(default_factory=dict, compare=False)
    evidence: Mapping[str, Json] = field(default_factory=dict, compare=False)
    confidence: float = 0.95
    within: Site | None = None
    """The expression or statement that the site is a part of, where the site itself is none (a keyword)."""
    felt: Site | None = None
    """The expression whose crash shows it, where that is another one."""

    @property
    def gone_since(self) -> str:
        """The versions that took it away, in words."""
        return ", ".join(f"{package} {version}" for package, version in self.removed.items())


@record
class Claims:
    """What of a program one template answers for, so that those which go by the tables pass it over."""

    names: frozenset[str] = frozenset()
    """Names and keywords of the tables; where the tables repair one, as an import that nothing uses, that is done all the same."""
    sites: tuple[Site, ...] = ()
    """Places at which nothing is to be changed beside."""
    covers: Callable[[Hit], bool] = lambda hit: False
    """Whether a hit of the tables is one of the template's own."""
    graph: Literal["", "made", "migrated", "left"] | None = None
    """Of a graph of TensorFlow 1: none, one that is built, one that the template migrates as a whole, or one that no template
    migrates, so that it is left as a whole. `None` where the template says nothing of graphs."""


NO_CLAIMS = Claims()


class ApiChange(FixTemplate):
    """Base of the templates of the versioning family: a subclass says in `hits` what it sees.

    The `message` of a subclass is what most of its hits say: where they say it all, they take it from there.
    """

    family = Family.VERSIONING
    fix_pattern = FixPattern.VERSIONING
    speaks_of_deprecated: ClassVar[bool] = False
    """Whether the template is about what still works: such hits are left out of the patches of other templates."""

    stands_alone: ClassVar[bool] = False
    """Whether the migration alone settles none of its findings, each of which is a fault of its own."""

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Yield the outdated uses of this pattern."""
        raise NotImplementedError(f"{type(self).__name__} has no `hits`")

    def claims(self, subject: Subject) -> Claims:
        """The parts of the program for which this template is responsible instead of the tables; usually none."""
        return NO_CLAIMS

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each hit that the installed versions take badly, in the program and in the modules beside it."""
        for path, file in subject.files.items():
            for hit in _kept(file, type(self)):
                yield Finding(
                    code=self.code,
                    rule=self.name,
                    family=self.family,
                    site=seen_from(hit.site, {"": path}),
                    message=hit.what,
                    symptom=_symptom(hit, file),
                    confidence=hit.confidence,
                    evidence={**hit.evidence, **({REMOVED: hit.gone_since} if hit.removed else {})},
                    cause=CAUSE if hit.edits and not self.stands_alone else "",
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """The migrated program with all that can be migrated, the modules beside it included.

        Then, where the program crashes or was not run, with what does just what older versions did, and with what keeps the meaning
        alone: steps that another fault behind them says nothing against.
        """
        path = finding.site.path
        file, site = subject.files[path], seen_from(finding.site, {path: ""})
        own = next((h for h in _kept(file, type(self)) if h.site == site and h.what == finding.message), None)
        if own is None or not own.edits:
            yield Decline(
                own.decline if own is not None and own.decline else "there is no replacement to put in its place"
            )
            return
        also = _kept(file, type(self)) if self.speaks_of_deprecated else []
        others = [hit for hit in (*migration(file), *also) if hit.edits and not _silenced(file.source, hit)]
        every = _compatible(file.source, own, others)
        whole = {path: every}
        for place, other in subject.files.items():
            found = [hit for hit in migration(other) if hit.edits and not _silenced(other.source, hit)]
            if place != path and found:
                whole[place] = _compatible(other.source, found[0], found)
        yield self._together(finding, subject, whole, prior=0.95)
        if subject.trace is not None and subject.crash is None:
            return
        exact = {place: kept for place, hits in whole.items() if (kept := [h for h in hits if h.safe or h.exact])}
        safe = {place: kept for place, hits in exact.items() if (kept := [hit for hit in hits if hit.safe])}
        if (own.safe or own.exact) and exact not in (whole, safe):
            yield self._together(finding, subject, exact, prior=0.7)
        if own.safe and safe != whole:
            yield self._together(finding, subject, safe, prior=0.6)

    def _together(self, finding: Finding, subject: Subject, whole: Mapping[str, list[Hit]], prior: float) -> Candidate:
        """The candidate that migrates the files under these paths."""
        hits = [hit for several in whole.values() for hit in several]
        edits = [
            seen_from(edit, {"": path})
            for path, several in whole.items()
            for edit in edits_of(subject.files[path].source, tuple(several))
        ]
        titles = list(dict.fromkeys(hit.title or hit.what for hit in hits))
        title = "; ".join(titles[:3]) + (f"; and {len(titles) - 3} more changes" if len(titles) > 3 else "")
        level = Applicability.SAFE if all(hit.safe for hit in hits) else Applicability.UNSAFE
        found = self.candidate(finding, title, *edits, applicability=level, prior=prior)
        return replace(found, exact=all(hit.safe or hit.exact for hit in hits))


def _compatible(source: Source, own: Hit, others: list[Hit]) -> list[Hit]:
    """The hit with those others whose edits can be carried out along with its own, in source order."""
    every = sorted({own, *others}, key=_place)
    if _applies(source, tuple(every)):
        return every
    chosen = [own]
    for hit in others:
        if hit != own and _applies(source, (*chosen, hit)):
            chosen.append(hit)
    return sorted(chosen, key=_place)


@once  # asked again for each finding
def _applies(source: Source, hits: tuple[Hit, ...]) -> bool:
    from dnnfix.source.edits import apply_edits  # a scan that finds nothing has no use for it

    try:
        apply_edits(source, _together(source, tuple(dict.fromkeys(edit for hit in hits for edit in hit.edits))))
    except EditError:
        return False
    return True


@once  # the same for most findings of a program
def edits_of(source: Source, hits: tuple[Hit, ...]) -> tuple[Edit, ...]:
    """The edits of all hits, merged, and those that remove imports that become unused."""
    edits = tuple(dict.fromkeys(edit for hit in hits for edit in hit.edits))
    unused = tuple(_unused(source, _together(source, edits)))
    place = next((e for e in unused if isinstance(e, Delete) and source.node_at(e.site) in source.tree.body), None)
    if place is not None and not any(edit.site == place.site for edit in edits):
        # What is imported anew takes the place of an import that goes.
        new = [edit for edit in edits if isinstance(edit, AddImport)]
        lines = [edit.statement for edit in new if edit.statement not in source.places.lines]
        edits = tuple(edit for edit in edits if edit not in new)
        unused = tuple(Replace(place.site, "\n".join(lines)) if e is place and lines else e for e in unused)
    gone = {e.site for e in unused if isinstance(e, Delete) and isinstance(source.node_at(e.site), ast.Import)}
    kept = (e for e in edits if not (isinstance(e, (Replace, Delete)) and e.site in gone))
    return _together(source, (*kept, *unused))


def _unused(source: Source, edits: tuple[Edit, ...]) -> Iterator[Edit]:
    """The edits that take away imports whose last use the edits took away."""
    from dnnfix.source.edits import edit as carried_out

    try:
        after = ast.parse(carried_out(source, edits).text)
    except EditError:
        return
    nodes = list(ast.walk(after))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    exported = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    bound = {_bound(alias) for statement in imports for alias in statement.names}
    before = {node.id for node in source.nodes(ast.Name) if isinstance(node, ast.Name)}
    for statement in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        names = [_bound(alias) for alias in statement.names]
        gone = (before & bound).difference(used, exported).intersection(names)
        if len(gone) == len(names):
            yield Delete(source.site(statement))
        elif gone and isinstance(statement, ast.ImportFrom):
            site = source.site(statement)
            yield from without(source.segment(site), statement, site, gone)


def _bound(alias: ast.alias) -> str:
    """The name that an import binds: `import a.b` binds `a`."""
    return alias.asname or alias.name.partition(".")[0]


def _together(source: Source, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits, where those that change one import statement in different ways are made one."""
    edits = _texts(source, _read_anew(source, edits))
    statements: dict[Site, list[Edit]] = {}
    for edit in edits:
        if isinstance(edit, (Replace, Delete)) and isinstance(source.node_at(edit.site), ast.ImportFrom):
            statements.setdefault(edit.site, []).append(edit)
    together: dict[Edit, list[Edit]] = {}
    for site, several in statements.items():
        node = source.node_at(site)
        if len(several) > 1 and isinstance(node, ast.ImportFrom):
            versions = [edit.code if isinstance(edit, Replace) else "" for edit in several]
            together[several[0]] = merged(source.segment(site), node, site, versions)
            together.update((edit, []) for edit in several[1:])
    return tuple(each for edit in edits for each in together.get(edit, [edit]))


def _texts(source: Source, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits, where those that change different parts of one text are made one: the name of a metric, and of a file."""
    texts: dict[Site, list[Replace]] = {}
    for edit in edits:
        node = source.node_at(edit.site) if isinstance(edit, Replace) else None
        if isinstance(edit, Replace) and isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.setdefault(edit.site, []).append(edit)
    together: dict[Edit, list[Edit]] = {}
    for site, several in texts.items():
        text = source.segment(site)
        spans = sorted(_span(text, edit.code) for edit in several)
        if len(several) > 1 and all(one[1] <= next_[0] for one, next_ in pairwise(spans)):
            together[several[0]] = [Replace(site, spliced(text, spans))]
            together.update((edit, []) for edit in several[1:])
    return tuple(each for edit in edits for each in together.get(edit, [edit]))


def _span(old: str, new: str) -> tuple[int, int, str]:
    """Where a text was changed, and what stands there now."""
    start = len(os.path.commonprefix([old, new]))
    same = len(os.path.commonprefix([old[start:][::-1], new[start:][::-1]]))
    return start, len(old) - same, new[start : len(new) - same]


def _read_anew(source: Source, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits, where a statement that is only written as it was read has the other edits within it carried out."""
    from dnnfix.source.edits import edit as carried_out

    read = [edit for edit in edits if isinstance(edit, (Replace, ReplaceLines)) and source.document.rewritten]
    whole = [edit for edit in read if edit.code == source.segment(edit.site)]
    plain = Source.from_bytes(source.text.encode(), "program.py") if whole else source
    for statement in whole:
        within = tuple(
            e for e in edits if e is not statement and not isinstance(e, AddImport) and statement.site.encloses(e.site)
        )
        if not within or plain.text != source.text:
            continue
        try:
            text = carried_out(plain, within).text
        except EditError:
            continue
        site, places = statement.site, source.places
        after = len(source.text) - places.offset(site.end_line, site.end_column)
        code = text[places.offset(site.line, site.column) : len(text) - after]
        anew = replace(statement, code=code)
        edits = tuple(anew if e is statement else e for e in edits if e not in within)
    return edits


@once
def migration(subject: Subject) -> tuple[Hit, ...]:
    """Everything in the program that the templates of the family would repair by default, in source order."""
    found: list[Hit] = []
    for template in _family(subject.words):
        if not template.speaks_of_deprecated:
            found.extend(_kept(subject, template))
    return tuple(sorted(dict.fromkeys(found), key=_place))


@once
def claimed(subject: Subject) -> Claims:
    """What of the program the templates of the family answer for in the place of the tables, all together."""
    if not uses_of(subject.source).hot:
        return NO_CLAIMS  # the tables say nothing of it
    every = [t().claims(subject) for t in _family(subject.words) if t.claims is not ApiChange.claims]
    graph = next((one.graph for one in every if one.graph is not None), None)
    if graph is None:
        graph = "left" if graph_places(subject.source) else ""
    return Claims(
        frozenset().union(*(one.names for one in every)),
        tuple(site for one in every for site in one.sites),
        lambda hit: any(one.covers(hit) for one in every),
        graph,
    )


def _family(words: frozenset[str]) -> Iterator[type[ApiChange]]:
    """The templates of the family that a program with these identifiers has to do with."""
    for one in _listed():
        if one.is_triggered(words):
            template = one.load()
            if issubclass(template, ApiChange):
                yield template


@cache
def _listed() -> tuple[Listed, ...]:
    every = (one for one in shipped() if one.family == Family.VERSIONING and one.default)
    return tuple(sorted(every, key=lambda one: one.code))


@once  # asked again for each finding
def _kept(subject: Subject, kind: type[ApiChange]) -> list[Hit]:
    """The hits of a template that matter for the installed versions and stand in no compatibility branch."""
    template, kept = kind(), []
    missed = _missed_package(subject)
    for hit in template.hits(subject):
        if missed and str(hit.evidence.get("old")).partition(".")[0] == missed:
            hit = replace(hit, deprecated=False)
        if hit.deprecated and not template.speaks_of_deprecated and (hit.ignored or not _warned(hit, subject)):
            continue
        if not _still_there(hit, subject) and not _is_fallback(hit, subject.source):
            kept.append(hit)
    return sorted({(hit.site, hit.what): hit for hit in reversed(kept)}.values(), key=_place)


def _missed_package(subject: Subject) -> str:
    """The package that the run stopped for, where it lives on under another name; empty where it stopped for none."""
    crash = subject.crash
    if crash is None or crash.kind != "ModuleNotFoundError":
        return ""
    return next((old for old in SUCCESSORS if f"'{old}'" in crash.message or f"'{old}." in crash.message), "")


def _still_there(hit: Hit, subject: Subject) -> bool:
    """Whether the run showed a version in which the old way still works."""
    installed = subject.trace.versions if subject.trace is not None else {}
    return any(
        package in installed and version_number(installed[package]) < version_number(version)
        for package, version in hit.removed.items()
    )


def version_number(version: str) -> tuple[int, ...]:
    """`2.13.0+cpu` as (2, 13, 0)."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def next_version(version: str) -> str:
    """The version after one, which is the first that a program pinned to it does not run with; `1.x` is all of 1."""
    *first, last = version.split(".")
    return ".".join([*first, str(int(last) + 1 if last.isdigit() else 999)])


def _is_fallback(hit: Hit, source: Source) -> bool:
    """Whether a program that knows of both versions chooses between them here: `try … except ImportError`, `hasattr`."""
    node: ast.AST | None = source.node_at(hit.within or hit.site)
    while node is not None:
        above = source.parent(node)
        tried = isinstance(above, ast.Try) and (node in above.body or isinstance(node, ast.ExceptHandler))
        if tried and isinstance(above, ast.Try) and any(_catches(handler) for handler in above.handlers):
            return True
        if isinstance(above, (ast.If, ast.IfExp)) and node is not above.test and _asks_version(above.test):
            return True
        node = above
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in _GUARDS) for kind in kinds)


def _asks_version(test: ast.expr) -> bool:
    for node in ast.walk(test):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if "version" in name.lower() or name in ("hasattr", "PY2", "PY3"):
            return True
    return False


def _silenced(source: Source, hit: Hit) -> bool:
    """Whether a comment on the line asks not to hear of it: what is suppressed is not edited along either."""
    lines = source.places.lines[hit.site.line - 1 : hit.site.end_line]
    return any("noqa" in line.lower() and _NOQA.search(line) for line in (lines[0], lines[-1])) if lines else False


def _symptom(hit: Hit, subject: Subject) -> Symptom:
    crash = subject.crash
    if crash is not None and not hit.deprecated:
        lines = {frame.site.line for frame in crash.frames if not frame.site.path}
        if crash.call is not None and crash.call.made_at is not None and not crash.call.made_at.path:
            lines.add(crash.call.made_at.line)
        edited = (edit.site for edit in hit.edits if not isinstance(edit, AddImport))
        touched = (hit.site, *edited, *((hit.felt,) if hit.felt is not None else ()))
        if any(site.line <= line <= site.end_line for site in touched for line in lines):
            return Symptom.CRASH
    if _warned(hit, subject):
        return Symptom.WARNING
    return Symptom.NONE_OBSERVED


def _warned(hit: Hit, subject: Subject) -> bool:
    """Whether a warning was raised on the hit's line by the run."""
    if subject.trace is None or subject.trace.outcome is RunOutcome.CRASHED and not hit.deprecated:
        return False
    return any(
        warning.site is not None and not warning.site.path and hit.site.line <= warning.site.line <= hit.site.end_line
        for warning in subject.trace.warnings
    )


def _place(hit: Hit) -> tuple[Site, str]:
    return hit.site, hit.what
