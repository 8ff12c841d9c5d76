"""Which lines of a program a prompt shows: those that its run came to and its fault concerns, as many as there is room for."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from dnnfix.proposer.facts import Known
from dnnfix.proposer.tokens import tokens
from dnnfix.records import Site, Trace
from dnnfix.source.program import Source

CONCERNED, RAN, OTHER, UNUSED = 3, 2, 1, 0
"""What a part of a program has to do with its fault: it is on the way to it, the network ran there, it stands at the top of a
file or is spoken of elsewhere, or it only defines something that nothing speaks of."""

LONG = 40
"""Lines from which on a function is taken in parts."""

SMALL = 1_000
"""Tokens up to which a program is shown as a whole."""

PRIVATE = re.compile(r"#[ \t]*dnnfix:[ \t]*private\b", re.IGNORECASE)
"""The comment of a file that is shown to nobody, wherever it stands."""

_NAME = re.compile(r"[^\W\d]\w*")

Numbered = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines of one file that are shown, by number. `path` is that of sites, `name` what the file is called."""

    path: str
    name: str
    lines: tuple[Numbered, ...]
    of: int
    """How many lines the file has."""

    @property
    def text(self) -> str:
        """The excerpt as the prompt has it, with the lines that are left out told of."""
        shown, expected = [f"## {self.name}"], 1
        for number, text in self.lines:
            if number != expected:
                shown.append(_gap(expected, number - 1))
            shown.append(f"{number:4}| {text}")
            expected = number + 1
        if expected <= self.of:
            shown.append(_gap(expected, self.of))
        return "\n".join(shown)


@dataclass(frozen=True, slots=True)
class _Part:
    path: str
    first: int
    last: int
    weight: int


def is_private(source: Source) -> bool:
    """Whether a file asks not to be shown."""
    return PRIVATE.search(source.text) is not None


def names_of(source: Source) -> dict[str, str]:
    """What each file of the program that may be shown is called in the prompt, by its path in sites."""
    return {
        path: path or PurePath(source.path).name or "program.py"
        for path, file in source.files.items()
        if not is_private(file)
    }


def _lines_of(file: Source) -> list[str]:
    """The lines as places count them; the end of the last one begins no other."""
    lines = file.places.lines
    return lines if lines[-1] else lines[:-1]


def excerpts(known: Known, room: int) -> tuple[Excerpt, ...]:
    """The lines to show, within so many tokens; the parts that the fault concerns come first, in whatever file they are."""
    source, names = known.source, names_of(known.source)
    concerned, ran = _concerned(known), _ran(known.trace)
    texts = {path: _lines_of(source.files[path]) for path in names}
    parts = [part for path in names for part in _parts(path, source.files[path], concerned, ran)]
    if sum(tokens(source.files[path].text) for path in names) > SMALL:
        parts = [part for part in parts if part.weight is not UNUSED]
    chosen: dict[str, set[int]] = {path: set() for path in names}
    for part in sorted(parts, key=lambda part: (-part.weight, part.path, part.first)):
        lines = range(part.first, part.last + 1)
        cost = tokens("\n".join(f"{number}| {texts[part.path][number - 1]}" for number in lines)) + 8
        if cost > room:
            lines = _nearest(lines, concerned.get(part.path, set()), texts[part.path], room)
            cost = room if lines else 0
        room -= cost
        chosen[part.path].update(lines)
    for path, numbers in chosen.items():
        numbers.update(_headers(numbers, source.files[path]))
        numbers.update(_blank_between(numbers, texts[path]))
    return tuple(
        Excerpt(path, names[path], tuple((n, texts[path][n - 1]) for n in sorted(numbers)), len(texts[path]))
        for path, numbers in chosen.items()
        if numbers
    )


def _headers(numbers: set[int], file: Source) -> Iterator[int]:
    """The lines in which the classes and functions begin that lines which are shown stand in."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and any(
            node.lineno < number <= (node.end_lineno or 0) for number in numbers
        ):
            yield from range(node.lineno, max(node.lineno + 1, node.body[0].lineno))


def _blank_between(numbers: set[int], texts: Sequence[str]) -> set[int]:
    """The lines without text where all that is left out between two lines that are shown has none."""
    ordered = sorted(numbers)
    between = (range(one + 1, other) for one, other in itertools.pairwise(ordered))
    return {number for gap in between if not any(texts[n - 1].strip() for n in gap) for number in gap}


def _gap(first: int, last: int) -> str:
    return f"    … line{f's {first} to {last} are' if last > first else f' {first} is'} left out …"


def _concerned(known: Known) -> Mapping[str, set[int]]:
    crash = known.trace.crash
    sites = [known.claim.site, *(origin.site for origin in known.origins)]
    sites += [frame.site for frame in crash.frames] if crash is not None else []
    sites += [finding.site for finding in known.findings]
    return _lines(sites)


def _ran(trace: Trace) -> Mapping[str, set[int]]:
    network = trace.network
    sites = [event.site for event in trace.loop]
    if network is not None:
        sites += [component.site for component in network.components]
        sites += [call.site for call in network.calls]
    return _lines([site for site in sites if site is not None])


def _lines(sites: Sequence[Site]) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {}
    for site in sites:
        found.setdefault(site.path, set()).update(range(site.line, site.end_line + 1))
    return found


def _parts(path: str, file: Source, concerned: Mapping[str, set[int]], ran: Mapping[str, set[int]]) -> Iterator[_Part]:
    """The file in parts that are shown or left out: statements, functions, and the statements of long ones."""
    near, used = concerned.get(path, set()), ran.get(path, set())
    last = 0
    spoken = Counter(_NAME.findall(file.text))
    for first, end, name in _spans(file.tree.body):
        lines = set(range(first, end + 1))
        weight = CONCERNED if lines & near else RAN if lines & used else UNUSED if name and spoken[name] < 2 else OTHER
        yield _Part(path, last + 1 if weight is CONCERNED else first, end, weight)
        last = end


def _spans(body: Sequence[ast.stmt]) -> Iterator[tuple[int, int, str]]:
    """First and last line of each part, and what it defines, if anything."""
    for node in body:
        first, end, name = node.lineno, node.end_lineno or node.lineno, ""
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
            name = node.name
        is_split = isinstance(node, ast.ClassDef) or (hasattr(node, "body") and end - first >= LONG)
        inner: list[ast.stmt] = getattr(node, "body", [])
        if is_split and inner and inner[0].lineno > node.lineno:
            spans = [*_spans(inner)]
            yield first, spans[0][0] - 1, name
            yield from ((start, stop, below or name) for start, stop, below in spans)
            if spans[-1][1] < end:
                yield spans[-1][1] + 1, end, name
        else:
            yield first, end, name


def _nearest(lines: range, wanted: set[int], texts: Sequence[str], room: int) -> range:
    """As many lines around those that are wanted as there is room for; none where there is no room for one."""
    centre = next((number for number in lines if number in wanted), lines.start)
    first = last = centre
    cost = tokens(texts[centre - 1]) + 12
    if cost > room:
        return range(0)
    while True:
        grown = [n for n in (first - 1, last + 1) if n in lines]
        costs = {n: tokens(texts[n - 1]) + 3 for n in grown}
        affordable = [n for n in grown if cost + costs[n] <= room]
        if not affordable:
            return range(first, last + 1)
        nearest = min(affordable, key=lambda number: abs(number - centre))
        cost += costs[nearest]
        first, last = min(first, nearest), max(last, nearest)
