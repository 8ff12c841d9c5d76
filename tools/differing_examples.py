"""Which examples of a rule differ in kind: those that take a way through its code that no other takes.

    python tools/differing_examples.py [CODE …]

Every example is shown to its rule as the harness does it, and each step from one line of the rule's module to the next is recorded,
and each line of the engine's detection and synthesis that was reached. Those of another framework are of another kind. Printed
are, by rule, the ones that add nothing to the others, the longest first; one is always kept, and so is what cannot be run here.
Rejects are not asked about: they guard against false patches, and a rule that is written anew may fall into what its present
form steps past.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Hashable, Iterable
from types import FrameType
from typing import Any

import dnnfix
from dnnfix import registry
from dnnfix.detect.run_rules import gate
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.template import FixTemplate
from dnnfix.testing import Bench

Ways = set[Hashable]
ENGINE = tuple(f"{dnnfix.__path__[0]}/{folder}/" for folder in ("detect", "synthesize"))
"""Where most of the code of many rules is."""


def ways(template: type[FixTemplate], program: str, runs: bool, bench: Bench) -> Ways:
    """The steps through the rule's module and the lines of the engine that a program makes it take, and the frameworks that it names."""
    source = Source.from_bytes(program.encode(), "example.py")
    trace = bench.run(program) if runs else None
    found: Ways = {("framework", name) for name in source.frameworks}
    with_ways(found, sys.modules[template.__module__].__file__ or "", lambda: _asked(template, Subject(source, trace)))
    return found


def _asked(template: type[FixTemplate], subject: Subject) -> None:
    for one in gate([template], subject.words):
        for finding in list(one().detect(subject)):
            propose(finding, subject, one)


def with_ways(found: Ways, file: str, call: Callable[[], None]) -> None:
    """Add to `found` the steps from line to line that a call takes in a file, and the lines that it reaches in the engine."""
    last: dict[FrameType, int] = {}

    def step(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            code = frame.f_code
            found.add((code.co_qualname, code.co_firstlineno, last.get(frame, -1), frame.f_lineno))
            last[frame] = frame.f_lineno
        return step

    def reached(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            found.add((frame.f_code.co_filename, frame.f_lineno))
        return reached

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == file:
            return step
        return reached if frame.f_code.co_filename.startswith(ENGINE) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)


def spare(shown: Iterable[tuple[str, int, Ways]]) -> list[str]:
    """The names of those that add no way to the others; the first of equals is the shortest."""
    known: Ways = set()
    left = {name: (length, taken) for name, length, taken in shown}
    kept: list[str] = []
    while left:
        name = max(left, key=lambda one: (len(left[one][1] - known), -left[one][0]))
        taken = left[name][1]
        if taken <= known and kept:
            break
        known |= taken
        kept.append(name)
        del left[name]
    return sorted(left, key=lambda one: -left[one][0])


def spare_of(template: type[FixTemplate], bench: Bench) -> list[str]:
    """The names of the examples of a rule that add nothing."""
    shown = []
    for one in template.examples:
        if not one.runs or bench.can_run(one.before):
            shown.append((one.name, len(one.marked.splitlines()), ways(template, one.before, one.runs, bench)))
    return spare(shown)


def without(file: str, names: set[str]) -> None:
    """Take examples out of a module."""
    with open(file, encoding="utf-8") as stream:
        text = stream.read()
    named = "|".join(map(re.escape, sorted(names)))
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(
            re.sub(
                rf"^=== example[^:\n]*: (?:{named})\n.*?(?=^===|^(?:\"\"\"|\'\'\')$)",
                "",
                text,
                flags=re.DOTALL | re.MULTILINE,
            )
        )


def main() -> None:
    """Print what adds nothing, or take it out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", help="of the rules to look at (default: all)")
    parser.add_argument("--shard", default="0/1", help="the K-th of N parts, from 0")
    parser.add_argument("--remove", action="store_true", help="take them out of the files, too")
    options = parser.parse_args()
    part, parts = map(int, options.shard.split("/"))
    bench = Bench()
    try:
        for template in registry.templates()[part::parts]:
            if options.codes and template.code not in options.codes:
                continue
            found = spare_of(template, bench)
            for name in found:
                print(f"{template.code} {template.name}: {name}", flush=True)
            if options.remove and found:
                without(sys.modules[template.__module__].__file__ or "", set(found))
    finally:
        bench.close()


if __name__ == "__main__":
    main()
