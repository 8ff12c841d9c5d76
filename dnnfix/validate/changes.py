"""The lines that a patch changed, and the recorded calls that ran there, lead there or follow from there."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator

from dnnfix.network.facts import is_loss
from dnnfix.records import Call, Network, Site
from dnnfix.source.program import Source


def changed_lines(before: Source, after: Source) -> frozenset[tuple[str, int]]:
    """The lines (file, line from 1) of the patched program that the original does not have.

    Where lines were only removed, the two lines between which they were.
    """
    found: set[tuple[str, int]] = set()
    for path, file in before.files.items():
        patched = after.files.get(path)
        if patched is None or patched.text == file.text:
            continue
        matcher = difflib.SequenceMatcher(None, file.text.split("\n"), patched.text.split("\n"), autojunk=False)
        for kind, _, _, start, end in matcher.get_opcodes():
            lines = range(start, start + 2) if kind == "delete" else range(start + 1, end + 1)
            found |= {(path, line) for line in lines if kind != "equal"}
    return frozenset(found)


def ran_at(call: Call, lines: frozenset[tuple[str, int]]) -> bool:
    """Whether a call, or the constructor of the layer that was called, is on one of the lines."""
    return any(_touches(site, lines) for site in (call.site, call.made_at) if site is not None)


def _touches(site: Site, lines: frozenset[tuple[str, int]]) -> bool:
    return any((site.path, line) in lines for line in range(site.line, site.end_line + 1))


def is_loss_call(network: Network, call: Call) -> bool:
    """Whether a call is one of a known loss, or of what the program uses as its loss."""
    component = network.component(call.component)
    return is_loss(call) or (component is not None and component.kind == "loss")


def leading_to(network: Network, calls: Iterable[Call]) -> Iterator[Call]:
    """The calls given and those that their inputs come from, directly or through others, each once."""
    return _reached(calls, lambda call: [m for value in call.inputs if (m := network.producer(value)) is not None])


def following(network: Network, calls: Iterable[Call]) -> Iterator[Call]:
    """The calls given and those that use their outputs, directly or through others, each once."""
    return _reached(calls, lambda call: [user for value in call.outputs for user in network.users(value)])


def _reached(calls: Iterable[Call], beside: Callable[[Call], list[Call]]) -> Iterator[Call]:
    waiting, seen = list(calls), set[int]()
    while waiting:
        call = waiting.pop()
        if call.id not in seen:
            seen.add(call.id)
            yield call
            waiting += beside(call)
