"""Which examples and rejects of a rule differ in kind: those that take a way through its code that no other takes.

    python tools/differing_examples.py [CODE …]

Every example and reject is shown to its rule as the harness does it, and each step of Python from one instruction of the rule's module to the
next is recorded, so that two operands of one `or` count as two ways. Those of another framework are of another kind. Printed are, by
rule, the ones that add nothing to the others, the longest first; one example and one reject are always kept, and so is what
cannot be run here.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Hashable, Iterable
from types import FrameType
from typing import Any

import dnnfix
from dnnfix import registry
from dnnfix.detect.catalogue import gate
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.template import Example, FixTemplate
from dnnfix.testing import Bench

Ways = set[Hashable]
ENGINE = tuple(f"{dnnfix.__path__[0]}/{folder}/" for folder in ("detect", "synthesize"))
"""Where most of the code of many rules is."""


def ways(template: type[FixTemplate], program: str, runs: bool, bench: Bench) -> Ways:
    """The steps through the rule's module that a program makes it take, and the frameworks that it names."""
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
    """Add to `found` the steps from instruction to instruction that a call takes in a file."""
    last: dict[FrameType, int] = {}

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event in ("opcode", "line"):
            code, now = frame.f_code, frame.f_lasti if event == "opcode" else frame.f_lineno
            found.add((code.co_filename, code.co_qualname, code.co_firstlineno, last.get(frame, -1), now))
            last[frame] = now
        return local

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == file:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif not frame.f_code.co_filename.startswith(ENGINE):
            return None
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)


def spare(shown: Iterable[tuple[str, int, Ways]], known: Ways) -> list[str]:
    """The names of those that add no way to the others and to `known`, which is added to; the first of equals is the shortest."""
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


def spare_of(template: type[FixTemplate], bench: Bench) -> list[tuple[str, str]]:
    """The examples and rejects of a rule that add nothing, as (kind, name)."""
    known: Ways = set()
    found = []
    for kind, every in (("Example", template.examples), ("Reject", template.rejects)):
        shown = []
        for one in every:
            program = one.before if isinstance(one, Example) else one.source
            if not one.runs or bench.can_run(program):
                shown.append((one.name, len(program.splitlines()), ways(template, program, one.runs, bench)))
        found += [(kind, name) for name in spare(shown, known)]
    return found


def without(file: str, names: set[tuple[str, str]]) -> None:
    """Take examples and rejects, as (kind, name), out of a module."""
    with open(file, encoding="utf-8") as stream:
        text = stream.read()
    source = Source.from_bytes(text.encode(), file)
    lines = text.splitlines(keepends=True)
    for call in sorted(source.all_calls, key=lambda one: -one.lineno):
        named = call.args[0] if call.args else None
        if isinstance(call.func, ast.Name) and isinstance(named, ast.Constant) and (call.func.id, named.value) in names:
            del lines[call.lineno - 1 : call.end_lineno]
    with open(file, "w", encoding="utf-8") as stream:
        stream.write("".join(lines))


def main() -> None:
    """Print what adds nothing, or take it out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", help="of the rules to look at (default: all)")
    parser.add_argument("--remove", action="store_true", help="take them out of the files, too")
    options = parser.parse_args()
    bench = Bench()
    try:
        for template in registry.templates():
            if options.codes and template.code not in options.codes:
                continue
            found = spare_of(template, bench)
            for kind, name in found:
                print(f"{template.code} {template.name}: {kind} {name!r}", flush=True)
            if options.remove and found:
                without(sys.modules[template.__module__].__file__ or "", set(found))
    finally:
        bench.close()


if __name__ == "__main__":
    main()
