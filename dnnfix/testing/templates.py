"""The harness that checks a fix template against its own examples and rejects, for the catalogue and for other
packages.

Every example is a promise: its exact output, that the output compiles, that a second application changes nothing, that
comments and line ends survive, and that `git apply` takes the diff. Examples and rejects that need a run are executed
on the framework that they import, in the best sandbox of the machine.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from dnnfix.examples import Example, Finds, Reject
from dnnfix.records import Candidate, Finding, Trace
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.source.diff import unified_diff
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.template import FixTemplate, misstated, yielded

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

LARGE = ("PIL", "tensorflow", "torchvision")
"""Packages whose examples are run where they are installed."""


class TemplateProblem(AssertionError):
    """A template that does not keep what its examples or metadata promise."""


class Bench:
    """Runs examples; one warm interpreter per framework is kept until `close`."""

    def __init__(self, interpreter: str = sys.executable) -> None:
        self._interpreter = Path(interpreter)
        self._runners: dict[str, Runner] = {}
        self._stack = ExitStack()

    def run(self, text: str) -> Trace:
        """The trace of a short run of the program."""
        source = Source.from_bytes(text.encode(), "example.py")
        framework = "keras" if "keras" in source.frameworks else "torch"
        if framework not in self._runners:
            runner = Runner(interpreter=self._interpreter, tier=None, framework=framework)
            self._runners[framework] = self._stack.enter_context(runner)
        return self._runners[framework].run(Job("example.py", text.encode(), budget=Budget(steps=12, seconds=60.0)))

    def can_run(self, text: str) -> bool:
        """Whether this interpreter has the large packages that the program imports: not every one does."""
        if self._interpreter != Path(sys.executable):
            return True
        lacking = [name for name in LARGE if importlib.util.find_spec(name) is None]
        tree = ast.parse(text)
        names = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
        names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        return not any(name.partition(".")[0] in lacking for name in names)

    def close(self) -> None:
        """End the interpreters."""
        self._stack.close()
        self._runners.clear()


def check_template(template: type[FixTemplate], bench: Bench | None = None) -> None:
    """Check metadata, examples and rejects of a template; raises `TemplateProblem` with what is wrong."""
    own = bench or Bench()
    try:
        check_metadata(template)
        for example in template.examples:
            check_example(template, example, own)
        for shown in template.finds:
            check_finds(template, shown, own)
        for reject in template.rejects:
            check_reject(template, reject, own)
    finally:
        if bench is None:
            own.close()


def check_metadata(template: type[FixTemplate]) -> None:
    """Check code, name, pattern, docstring with a `Fix safety:` line, at least one example and one reject."""
    _require(not (wrong := misstated(template)), template, wrong)
    _require(bool(NAME.fullmatch(template.name)), template, f"name is in kebab-case. Received: {template.name}")
    if template.code.startswith("DNF"):
        family = str(template.family.hundred)
        _require(template.code[3] == family, template, f"codes of {template.family} start with DNF{family}")
    doc = template.__doc__ or ""
    _require("Fix safety:" in doc, template, "its docstring has no line that starts with 'Fix safety:'")
    lacking = (
        "it has no example: `programs` lacks a line `=== example: NAME`, or `=== finds: NAME` for a rule without a fix"
    )
    _require(bool(template.examples or template.finds), template, lacking)
    _require(bool(template.rejects), template, "it has no reject: `programs` lacks a line `=== reject: NAME`")
    stated: list[Example | Finds | Reject] = [*template.examples, *template.finds, *template.rejects]
    names = [one.name for one in stated]
    _require(len(names) == len(set(names)), template, "two of its examples or rejects have one name")


def check_example(template: type[FixTemplate], example: Example, bench: Bench) -> None:
    """Check all promises of one example; of one that cannot run here, only that it is Python."""
    where = f"example '{example.name}'"
    if example.runs and not bench.can_run(example.before):
        for text in (example.before, example.after):
            compile(text, "example.py", "exec", dont_inherit=True)
        return
    _require(example.before != example.after, template, f"{where}: no line is marked; `- ` and `+ ` stand in column 0")
    outputs = list(_repairs(template, example.before, example.runs, bench))
    if not outputs:
        raise TemplateProblem(f"{template.code}: {where}: nothing was proposed{_why_nothing(template, example, bench)}")
    texts = [after for _, after in outputs]
    if example.after not in texts:
        shown = unified_diff(example.after.encode(), texts[0].encode(), "expected-against-received")
        raise TemplateProblem(f"{template.code}: {where}: no candidate gives the stated output.\n{shown}")
    compile(Source.from_bytes(example.after.encode(), "example.py").tree, "example.py", "exec", dont_inherit=True)
    candidate = next(candidate for candidate, after in outputs if after == example.after)
    _check_text_survives(template, example, candidate, where)
    _check_git_applies(template, example, where)
    again = [f for f in _findings(template, example.after, example.runs, bench)[1]]
    _require(not again, template, f"{where}: the repaired program is found faulty again: {[f.message for f in again]}")


def _why_nothing(template: type[FixTemplate], example: Example, bench: Bench) -> str:
    """What may be at fault where a rule proposes nothing for its own example."""
    subject, findings = _findings(template, example.before, example.runs, bench)
    if _is_passed_by(template, subject):
        return f": none of its triggers ({', '.join(template.triggers)}) is a word of the program"
    if not findings:
        return ": detect found nothing"
    declined = [propose(finding, subject, template).declined for finding in findings]
    return f": it declined, as {declined[0]}" if any(declined) else ": propose yielded nothing"


def check_finds(template: type[FixTemplate], shown: Finds, bench: Bench) -> None:
    """Check that something is found in a program; one that cannot run here is skipped."""
    if shown.runs and not bench.can_run(shown.source):
        return
    _, findings = _findings(template, shown.source, shown.runs, bench)
    _require(bool(findings), template, f"'{shown.name}': nothing is found in it")


def check_reject(template: type[FixTemplate], reject: Reject, bench: Bench) -> None:
    """Check that a healthy program has no finding; one that cannot run here is skipped."""
    if reject.runs and not bench.can_run(reject.source):
        return
    _, findings = _findings(template, reject.source, reject.runs, bench)
    said = [finding.message for finding in findings]
    _require(not findings, template, f"reject '{reject.name}': a finding where there is no fault: {said}")


def _repairs(template: type[FixTemplate], text: str, runs: bool, bench: Bench) -> Iterator[tuple[Candidate, str]]:
    subject, findings = _findings(template, text, runs, bench)
    for finding in findings:
        proposals = propose(finding, subject, template)
        if proposals.failed:
            raise TemplateProblem(f"{template.code}: propose failed: {proposals.failed}")
        for candidate in proposals.candidates:
            yield candidate, apply_edits(subject.source, candidate.edits).decode()


def _findings(template: type[FixTemplate], text: str, runs: bool, bench: Bench) -> tuple[Subject, list[Finding]]:
    source = Source.from_bytes(text.encode(), "example.py")
    trace = bench.run(text) if runs else None
    if trace is not None and not trace.outcome.says_something:
        raise TemplateProblem(f"{template.code}: the program cannot be run here: {trace.outcome}: {trace.detail}")
    subject = Subject(source, trace)
    findings = (
        []
        if _is_passed_by(template, subject)
        else list(yielded(template().detect(subject), f"{template.__name__}.detect"))
    )
    for finding in findings:
        received = f"detect yields findings, as `self.finding(site, …)` makes them. Received: {finding!r}"
        _require(isinstance(finding, Finding), template, received)
    return subject, findings


def _is_passed_by(template: type[FixTemplate], subject: Subject) -> bool:
    """Whether none of its triggers is a word of the program, so that the rule is not asked."""
    return bool(template.triggers) and subject.source.words.isdisjoint(template.triggers)


def _check_text_survives(template: type[FixTemplate], example: Example, candidate: Candidate, where: str) -> None:
    """The same edits on the text with other line ends, and with a comment after each of its lines."""
    crlf = Source.from_bytes(example.before.replace("\n", "\r\n").encode(), "example.py")
    changed = apply_edits(crlf, candidate.edits).decode()
    _require(changed == example.after.replace("\n", "\r\n"), template, f"{where}: CRLF line ends are not kept")
    kept = [line for line in example.before.splitlines() if line in example.after.splitlines()]
    tail = "# a last comment"
    commented = Source.from_bytes((example.before + tail + "\n").encode(), "example.py")
    text = apply_edits(commented, candidate.edits).decode()
    _require(tail in text and all(line in text for line in kept), template, f"{where}: a comment or line is lost")


def _check_git_applies(template: type[FixTemplate], example: Example, where: str) -> None:
    git = shutil.which("git")
    if git is None:
        return
    diff = unified_diff(example.before.encode(), example.after.encode(), "example.py")
    with tempfile.TemporaryDirectory(prefix="dnnfix-harness-") as folder:
        target = Path(folder, "example.py")
        target.write_bytes(example.before.encode())
        done = subprocess.run(
            [git, "apply", "-"], input=diff.encode(), cwd=folder, capture_output=True, check=False, timeout=60
        )
        _require(done.returncode == 0, template, f"{where}: git apply refuses the diff: {done.stderr.decode()}")
        _require(target.read_bytes() == example.after.encode(), template, f"{where}: git apply gives another text")


def _require(holds: bool, template: type[FixTemplate], promise: str) -> None:
    if not holds:
        raise TemplateProblem(f"{template.__qualname__} ({getattr(template, 'code', '?')}): {promise}")
