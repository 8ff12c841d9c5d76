"""Edits for a size conflict between two layers: of the layer that receives the tensor, or of what produces it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dnnfix.detect.crashes.crash import SizeConflict
from dnnfix.detect.tensors.shapes import CONCATENATIONS, MAX_STEPS, before_flattening, keeps_shape, sized_producer
from dnnfix.network.facts import layer_facts, stated_output
from dnnfix.records import Call, Edit, Value
from dnnfix.subject import Subject
from dnnfix.synthesize.edits.sizes import SizeChange, made_as, size_changes

SAID_ELSEWHERE = 0.25
"""What remains of the likelihood that a layer is to take what comes, where the program says elsewhere what it takes now.

Two places that agree are seldom both wrong: then rather what comes is. As a number in its place this makes it a guess.
"""

OTHER_END = 0.4
"""What remains of the likelihood that what arrives is to change, where the layer can take it as it is.

Four strangers' conflicts whose repair is known (two linear layers, two normalizations) were all settled at the layer itself.
"""

UNDECIDED = 0.3
"""What remains where two layers in a row say two numbers: nothing tells which of them was meant, and to choose is a guess.

A normalization works on what comes, so that it is the one at fault.
"""

SMALLEST = 8
"""Sizes below stand for many things."""


@dataclass(frozen=True, slots=True)
class EndChange:
    """One way of making two sizes meet: the edits, what they do in words, and how likely a person would do it."""

    edits: tuple[Edit, ...]
    title: str
    prior: float
    written: str
    """The new size as text."""


def short(name: str) -> str:
    """The last part of a qualified name."""
    return name.rpartition(".")[2]


def both_ends(subject: Subject, conflict: SizeConflict) -> list[EndChange]:
    """Edits that make a layer take what it received, and edits that make it receive what it takes; likeliest first."""
    taken, sent = list(_take_what_comes(subject, conflict)), list(_send_what_is_taken(subject, conflict))
    if taken:
        sent = [replace(change, prior=OTHER_END * change.prior) for change in sent]
    found = sorted([*taken, *sent], key=lambda change: -change.prior)
    if taken and sent and conflict.facts.kind != "normalization" and _are_numbers(*found):
        return [replace(change, prior=UNDECIDED * change.prior) for change in found]
    return found


def _are_numbers(*changes: EndChange) -> bool:
    """Whether sizes are written as numbers, or products of them, and no name says what they stand for."""
    return all(set(change.written) <= set("0123456789* ") for change in changes)


def _take_what_comes(subject: Subject, conflict: SizeConflict) -> Iterator[EndChange]:
    call, name = conflict.call, conflict.facts.takes
    if name is None or not _writable(conflict):
        return
    producer = sized_producer(subject, conflict.value, conflict.axis)
    like = [text for text in [_given_text(subject, producer)] if text is not None]
    flattened = before_flattening(subject, conflict.value)
    factors = flattened[1] if flattened is not None else ()
    for change in size_changes(subject, call, name, conflict.received, like=like, factors=factors):
        title = f"Make {short(call.name)} take {change.written} on the axis where it states {conflict.stated}"
        guessed = change.written.isdigit() and _is_said_elsewhere(subject, conflict)
        likely = 0.8 * change.prior * (SAID_ELSEWHERE if guessed else 1.0)
        yield EndChange(change.edits, title, likely, change.written)


def _is_said_elsewhere(subject: Subject, conflict: SizeConflict) -> bool:
    """Whether the size that a layer states is written in another call or list of the program too."""
    own = subject.constructor_node(conflict.call)
    within = {id(node) for node in ast.walk(own)} if own is not None else set()
    return conflict.stated >= SMALLEST and any(
        node.value == conflict.stated and type(node.value) is int and id(node) not in within
        for node in subject.source.nodes(ast.Constant)
        if isinstance(subject.source.parent(node), ast.Call | ast.List | ast.Tuple | ast.BinOp | ast.keyword)
    )


def _writable(conflict: SizeConflict) -> bool:
    """Whether the received size may be written down: never the size of a batch that was flattened into the axis."""
    rank = len(conflict.value.shape or ())
    return not (rank == 1 or conflict.axis % max(rank, 1) == 0)


def _given_text(subject: Subject, producer: Call | None) -> str | None:
    facts = layer_facts(producer) if producer is not None else None
    if producer is None or facts is None or facts.gives is None:
        return None
    text = made_as(subject, producer, facts.gives)
    return text if stated_output(producer) == producer.args.get(facts.gives) else None


def _send_what_is_taken(subject: Subject, conflict: SizeConflict) -> Iterator[EndChange]:
    producer = sized_producer(subject, conflict.value, conflict.axis)
    if producer is not None and producer.component != conflict.call.component:
        for change in _give(subject, producer, conflict.stated):
            title = f"Make {short(producer.name)} give {change.written}, as {short(conflict.call.name)} takes it"
            yield EndChange(change.edits, title, 0.55 * change.prior, change.written)
        return
    merge = _merge_behind(subject, conflict.value)
    if merge is None:
        return
    for value in merge.inputs:
        own = sized_producer(subject, value, conflict.axis)
        size = value.shape[conflict.axis] if value.shape is not None else None
        if own is None or size is None:
            continue
        missing = conflict.stated - (conflict.received - size)
        for change in _give(subject, own, missing, conflict.stated) if missing > 0 else ():
            title = f"Make {short(own.name)} give {change.written}, so that the parts add up to {conflict.stated}"
            yield EndChange(change.edits, title, 0.45 * change.prior, change.written)


def _merge_behind(subject: Subject, value: Value) -> Call | None:
    """The concatenation that made the value, looking through activations, dropout and what else keeps the shape."""
    call = subject.network.producer(value)
    for _ in range(MAX_STEPS):
        if call is None or call.name in CONCATENATIONS:
            return call
        if not keeps_shape(call):
            return None
        call = subject.network.producer(call.inputs[0])
    return None


def _give(subject: Subject, producer: Call, wanted: int, whole: int | None = None) -> list[SizeChange]:
    """Changes of the producer's own size argument; a bidirectional layer gives twice what it states.

    `whole` is the size that the layer at the other end takes, where the producer gives a part of it.
    """
    facts = layer_facts(producer)
    if facts is None or facts.gives is None:
        return []
    stated, given = producer.args.get(facts.gives), stated_output(producer)
    if not isinstance(stated, int) or given is None or stated == 0 or given % stated:
        return []
    times = given // stated
    if wanted % times or facts.takes == facts.gives:
        return []
    return size_changes(subject, producer, facts.gives, wanted // times, whole=whole)
