"""The cause "width": more units in narrow hidden layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument
from dnnfix.detect.tensors.values import loss_uses
from dnnfix.network.facts import layer_facts
from dnnfix.records import Call, Edit, FixPattern, Replace
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.edits.recipes import set_constructor_argument
from dnnfix.synthesize.literals import number_written
from dnnfix.validate.reading import Reading

FEW = 4
"""Units up to which a layer between is taken for a bottleneck."""

WIDE = 64
"""Units of a layer that is widened, or added."""


OF_ONE, OF_FEW = 0.85, 0.45
"""How likely a layer between is at fault that lets one number through, and one that lets a few."""


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """All narrow layers between at once; where the layer behind states what it takes, that too."""
    ends = {use.producer.made_at for use in loss_uses(subject) if use.producer is not None}
    found: dict[object, tuple[Edit, ...]] = {}
    narrowest = FEW
    for call in subject.network.calls:
        facts = layer_facts(call)
        if facts is None or facts.gives is None or call.made_at is None or call.made_at in ends:
            continue
        node = subject.constructor_node(call)
        given = argument(subject, node, call.name, facts.gives) if node is not None else None
        written = number_written(subject, given) if given is not None else None
        if written is None or not isinstance(written.value, int) or not 0 < written.value <= FEW:
            continue
        in_place = written is given
        made = (
            _widened(subject, call, facts.gives, written.value)
            if in_place
            else _widened_where_named(subject, call, written)
        )
        if made is not None:
            found[call.made_at] = made
            narrowest = min(narrowest, written.value)
    if found:
        together = tuple(dict.fromkeys(edit for one in found.values() for edit in one))
        title = f"Give the narrow layers between {WIDE} units"
        likely = OF_ONE if narrowest == 1 else OF_FEW
        yield Cause("units", title, FixPattern.CHANGE_NEURAL_ARCHITECTURE, together, likely)


def _widened(subject: Subject, call: Call, gives: str, units: int) -> tuple[Edit, ...] | None:
    edits = set_constructor_argument(subject, call, gives, str(WIDE))
    if edits is None or call.name.startswith("keras."):
        return edits
    behind = _next_with_weights(subject, call)
    facts = layer_facts(behind) if behind is not None else None
    if behind is None or facts is None or facts.takes is None or behind.args.get(facts.takes) != units:
        return None
    taken = set_constructor_argument(subject, behind, facts.takes, str(WIDE))
    return None if taken is None else (*edits, *taken)


def _widened_where_named(subject: Subject, call: Call, written: ast.Constant) -> tuple[Edit, ...] | None:
    """The width where it has a name; the layer behind has to go by that, too."""
    if not call.name.startswith("keras."):
        behind = _next_with_weights(subject, call)
        facts = layer_facts(behind) if behind is not None else None
        node = subject.constructor_node(behind) if behind is not None else None
        if behind is None or facts is None or facts.takes is None or node is None:
            return None
        taken = argument(subject, node, behind.name, facts.takes)
        if taken is None or number_written(subject, taken) is not written:
            return None
    return (Replace(subject.source.site(written), str(WIDE)),)


def _next_with_weights(subject: Subject, call: Call) -> Call | None:
    """The one layer with weights that what a layer gives comes to, through activations and the like."""
    reached = [call]
    for _ in range(6):
        users = [user for value in reached[-1].outputs for user in subject.network.users(value)]
        distinct = {user.made_at or user.site: user for user in users}
        if len(distinct) != 1:
            return None
        following = next(iter(distinct.values()))
        facts = layer_facts(following)
        if facts is not None and facts.takes is not None:
            return following
        reached.append(following)
    return None
