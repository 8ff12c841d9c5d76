"""Edits of layer sizes that make a chain of layers agree, as `detect.tensors.chains` solved it."""

from __future__ import annotations

import ast

from dnnfix.detect.call_arguments import argument
from dnnfix.detect.tensors.chains import Change, Solution
from dnnfix.network.facts import argument_position, layer_facts
from dnnfix.records import Edit, SetArgument
from dnnfix.source.spelling import parts as words_of
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.recipes import together
from dnnfix.synthesize.edits.size_conflicts import short
from dnnfix.synthesize.edits.sizes import made_as, size_changes

INWARDS = frozenset({"in", "input", "inputs", "feature", "features"})
OUTWARDS = frozenset({"out", "output", "outputs", "class", "classes", "label", "labels"})
"""Words of names for what a layer takes, and for what the last one gives."""


def carry_out(subject: Subject, solution: Solution) -> tuple[Edit, ...] | None:
    """Edits that change the sizes of layers as a solution says; `None` where one is not written at its layer."""
    return together(*((_swap if change.swapped else _resize)(subject, change) for change in solution.changes))


def told(solution: Solution) -> str:
    """The title of a solution, in the imperative."""
    words = [
        f"exchange the sizes of {short(change.link.of.name)}"
        if change.swapped
        else f"make {short(change.link.of.name)} go from {change.takes} to {change.gives}"
        for change in solution.changes
    ]
    said = " and ".join(words)
    return said[0].upper() + said[1:]


def named_as_they_stand(subject: Subject, solution: Solution) -> bool:
    """Whether the names of sizes to be exchanged show that they are right as they are: features in, classes out."""
    for change in solution.changes:
        of, facts = change.link.of, layer_facts(change.link.of)
        call = subject.node(change.link.site)
        if not change.swapped or facts is None or not isinstance(call, ast.Call):
            continue
        for name, words in ((facts.takes, INWARDS), (facts.gives, OUTWARDS)):
            given = argument(subject, call, of.name, name) if name is not None else None
            if given is not None and not words.isdisjoint(words_of(ast.unparse(given))):
                return True
    return False


def _swap(subject: Subject, change: Change) -> tuple[Edit, ...] | None:
    """Exchange the texts of the two size arguments."""
    of, facts = change.link.of, layer_facts(change.link.of)
    call = subject.node(change.link.site)
    if facts is None or facts.takes is None or facts.gives is None or not isinstance(call, ast.Call):
        return None
    edits: list[Edit] = []
    for name, other in ((facts.takes, facts.gives), (facts.gives, facts.takes)):
        given = argument(subject, call, of.name, other)
        if given is None:
            return None
        text = subject.text(subject.source.site(given))
        edits.append(SetArgument(change.link.site, name, text, argument_position(of.name, name)))
    return tuple(edits)


def _resize(subject: Subject, change: Change) -> tuple[Edit, ...] | None:
    """Give the layer its new sizes, each written the likeliest way."""
    link, facts = change.link, layer_facts(change.link.of)
    if facts is None or facts.takes is None:
        return None
    edits: list[Edit] = []
    wanted = [(facts.takes, link.takes, change.takes)]
    if not link.tied and facts.gives is not None:
        wanted.append((facts.gives, link.gives, change.gives))
    for name, was, becomes in wanted:
        if was == becomes:
            continue
        plain = made_as(subject, link.of, name) is None
        ways = [way for way in size_changes(subject, link.of, name, becomes) if plain or way.written != str(becomes)]
        if not ways:
            return None
        edits += ways[0].edits
    return tuple(edits)
