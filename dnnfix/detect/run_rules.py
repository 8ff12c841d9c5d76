"""Runs the `detect` methods of the fix templates over one program and collects their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dnnfix.errors import failure
from dnnfix.index import is_triggered
from dnnfix.records import CRASH_CAUSE, Finding
from dnnfix.records.record import record
from dnnfix.source.viewpoint import from_program, seen_from
from dnnfix.subject import Subject
from dnnfix.template import FixTemplate, yielded


@record
class Detection:
    """What the catalogue found, and which templates failed on this program (`code: error`)."""

    findings: tuple[Finding, ...]
    failures: tuple[str, ...] = ()


def gate(templates: Iterable[type[FixTemplate]], words: frozenset[str]) -> list[type[FixTemplate]]:
    """The templates whose triggers occur among the identifiers of a program; those without triggers always do."""
    return [template for template in templates if is_triggered(template.triggers, words)]


def _nothing() -> None:
    """What happens before a template that is waited for."""


def detect(
    subject: Subject, templates: Iterable[type[FixTemplate]], before_each: Callable[[], None] = _nothing
) -> Detection:
    """All findings of the templates in one program, in source order.

    `before_each` is called before each template; by what it raises the search ends.

    A program that ran is looked at twice: as it ran, and as its source reads for the parts that the run did not reach.
    What the source alone suggests of a line whose calls were recorded is dropped: the run knows better.
    """
    active = gate(templates, subject.words)
    as_run = _findings(subject, [t for t in active if subject.trace is not None or not t.needs_run], before_each)
    if subject.trace is None:
        return as_run
    as_run = _along_with(as_run, _in_modules(subject, active))
    if subject.network.known_from == "source":
        return as_run
    static = _findings(Subject(subject.source), [t for t in active if not t.needs_run])
    seen = {(finding.code, finding.site) for finding in as_run.findings}
    covered = _covered_lines(subject)
    unreached = [
        f for f in static.findings if (f.code, f.site) not in seen and (f.site.path or f.site.line not in covered)
    ]
    return _along_with(as_run, Detection(tuple(unreached), static.failures))


def _in_modules(subject: Subject, templates: Sequence[type[FixTemplate]]) -> Detection:
    """What is found in modules beside the program that layers were made or called in, looked at as if each were the program.

    Of a module alone only what explains a crash is taken, and what rules say that ask nothing of its source: what that lacks may stand elsewhere.
    """
    found = Detection(())
    of_networks = {template.code for template in templates if template.in_modules}
    for path in _modules_of_network(subject):
        seen = _findings(subject.files[path], templates)
        told = [one for one in seen.findings if one.cause == CRASH_CAUSE or one.code in of_networks]
        own = [one for one in told if not one.site.path]
        back = from_program(path, subject.source.path)
        found = _along_with(found, Detection(tuple(seen_from(one, back) for one in own), seen.failures))
    return found


def _modules_of_network(subject: Subject) -> list[str]:
    network = subject.network
    sites = [call.site for call in network.calls] + [component.site for component in network.components]
    sites += [frame.site for frame in (subject.crash.frames if subject.crash is not None else ())]
    paths = dict.fromkeys(site.path for site in sites if site is not None and site.path)
    return [path for path in paths if path in subject.files]


def _along_with(first: Detection, other: Detection) -> Detection:
    known = {finding.id for finding in first.findings}
    new = [finding for finding in other.findings if finding.id not in known]
    failures = dict.fromkeys((*first.failures, *other.failures))
    return Detection(tuple(sorted((*first.findings, *new), key=lambda f: (f.site, f.code))), tuple(failures))


def _covered_lines(subject: Subject) -> frozenset[int]:
    network = subject.network
    sites = [call.site for call in network.calls] + [component.site for component in network.components]
    return frozenset(
        line for site in sites if site is not None and not site.path for line in range(site.line, site.end_line + 1)
    )


def _findings(
    subject: Subject, templates: Iterable[type[FixTemplate]], before_each: Callable[[], None] = _nothing
) -> Detection:
    found: dict[str, Finding] = {}
    failures: list[str] = []
    for template in templates:
        before_each()
        try:
            for finding in yielded(template().detect(subject), f"{template.__name__}.detect"):
                found.setdefault(finding.id, finding)
        except Exception as error:  # noqa: BLE001 - a template is third-party code: its failure is reported and never ends the run
            failures.append(f"{template.code} ({template.name}) failed {failure(error, template.__module__)}")
    return Detection(tuple(sorted(found.values(), key=lambda f: (f.site, f.code))), tuple(failures))
