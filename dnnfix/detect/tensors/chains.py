"""Chains of layers whose sizes have to agree, and the fewest edits that make a chain agree.

A chain is read from the source, since a crash hides what comes after it, and its sizes from the objects that the run
made, where there was one. It ends where sizes cannot be followed by reading: at a flattening, a merge, a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from dnnfix.network.facts import activation_of, layer_facts, stated_output
from dnnfix.records import Call, Component, Network, Site
from dnnfix.subject import Subject

MOST_LAYERS = 24
MOST_EDITS = 3
"""A chain that takes more edits than this to agree was not miswritten; something else is wrong."""

SWAP = 0.95
SET_INPUT = 1.0
SET_OUTPUT = 1.1
"""Costs of an edit. Exchanged arguments are one slip; between equals, a layer is made to take what comes."""


@dataclass(frozen=True, slots=True)
class Link:
    """A layer of a chain. `tied` says that its input and output size are one argument, as for a normalization."""

    site: Site
    of: Call | Component
    takes: int
    gives: int
    tied: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One layer of a chain with other sizes; `swapped` says that its two sizes were exchanged."""

    link: Link
    takes: int
    gives: int
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class Solution:
    """Changes that make a chain agree, with what they cost."""

    changes: tuple[Change, ...]
    cost: float


def chains(subject: Subject) -> Iterator[tuple[Link, ...]]:
    """Every chain of two or more layers, each layer in one chain only."""
    network = subject.source_network
    before: dict[int, Call] = {}
    after: dict[int, list[Call]] = {}
    sized = [call for call in network.calls if _link(subject, call) is not None]
    for call in sized:
        previous = _sized_before(network, call)
        if previous is not None and any(previous.id == one.id for one in sized):
            before[call.id] = previous
            after.setdefault(previous.id, []).append(call)
    for call in sized:
        if call.id in before and len(after[before[call.id].id]) == 1:
            continue
        links, seen = [_link(subject, call)], {call.made_at}
        while len(after.get(call.id, ())) == 1 and len(links) < MOST_LAYERS:
            call = after[call.id][0]
            if call.made_at in seen:
                break
            seen.add(call.made_at)
            links.append(_link(subject, call))
        found = tuple(link for link in links if link is not None)
        if len(found) > 1:
            yield found


def disagreements(links: tuple[Link, ...], arriving: int | None = None) -> int:
    """How many edges of a chain do not agree, the arriving size counted where it is known."""
    count = int(arriving is not None and links[0].takes != arriving)
    return count + sum(a.gives != b.takes for a, b in pairwise(links))


def solutions(links: tuple[Link, ...], arriving: int | None = None) -> list[Solution]:
    """The cheapest ways to make a chain agree without changing what comes out of it, cheapest first."""
    found: list[Solution] = []

    def go(place: int, size: int | None, made: tuple[Change, ...], cost: float) -> None:
        limit = min((one.cost for one in found), default=float(MOST_EDITS)) + 0.25
        if cost > limit:
            return
        if place == len(links):
            found.append(Solution(made, cost))
            return
        for change, extra in _options(links, place, size):
            grown = made if change is None else (*made, change)
            gives = links[place].gives if change is None else change.gives
            go(place + 1, gives, grown, cost + extra)

    go(0, arriving, (), 0.0)
    found.sort(key=lambda one: (one.cost, len(one.changes)))
    return [one for one in found if one.cost <= found[0].cost + 0.2 and one.changes][:4]


def _options(links: tuple[Link, ...], place: int, size: int | None) -> Iterator[tuple[Change | None, float]]:
    link = links[place]
    arriving = link.takes if size is None else size
    if link.tied:
        yield (None, 0.0) if arriving == link.takes else (Change(link, arriving, arriving), SET_INPUT)
        return
    if arriving == link.takes:
        yield None, 0.0
    else:
        yield Change(link, arriving, link.gives), SET_INPUT
    if link.takes != link.gives and size in (None, link.gives):
        yield Change(link, link.gives, link.takes, swapped=True), SWAP
    if place + 1 < len(links):
        following = links[place + 1]
        for wanted in dict.fromkeys((following.takes, following.gives)):
            if wanted != link.gives:
                extra = SET_OUTPUT if arriving == link.takes else SET_INPUT + SET_OUTPUT
                yield Change(link, arriving, wanted), extra


def _link(subject: Subject, call: Call) -> Link | None:
    """The layer of a call as a link, where both of its sizes are plain numbers and it was made once."""
    facts = layer_facts(call)
    if facts is None or facts.takes is None or call.made_at is None or facts.kind == "attention":
        return None
    of: Call | Component = call
    if subject.network.known_from == "trace":
        made = [one for one in subject.network.components if one.site == call.made_at and one.name == call.name]
        if len(made) != 1:
            return None
        of = made[0]
    takes = of.args.get(facts.takes)
    gives = takes if facts.gives is None else stated_output(of)
    if not isinstance(takes, int) or isinstance(takes, bool) or not isinstance(gives, int):
        return None
    if facts.gives is not None and gives != of.args.get(facts.gives):
        return None
    return Link(call.made_at, of, takes, gives, tied=facts.gives is None)


def _sized_before(network: Network, call: Call) -> Call | None:
    """The sized layer whose output a call takes, looking through what leaves the axis of the features alone."""
    axis = _axis(call)
    current = network.producer(call.inputs[0]) if call.inputs else None
    for _ in range(16):
        if current is None or not current.inputs:
            return None
        facts = layer_facts(current)
        if facts is not None and facts.takes is not None:
            return current if _axis(current) == axis or "BatchNorm1d" in (_last(current), _last(call)) else None
        passing = activation_of(current) is not None or current.name == "torch.nn.Identity"
        if not passing and facts is not None:
            passing = facts.kind == "dropout" or (facts.kind == "pooling" and axis == "channels")
        if not passing:
            return None
        current = network.producer(current.inputs[0])
    return None


def _axis(call: Call) -> str:
    facts = layer_facts(call)
    kind = facts.kind if facts is not None else ""
    if kind == "convolution" or (
        kind == "normalization" and call.name not in ("torch.nn.LayerNorm", "torch.nn.RMSNorm")
    ):
        return "channels"
    return "features"


def _last(call: Call) -> str:
    return call.name.rpartition(".")[2]


def fits_run(links: tuple[Link, ...], site: Site | None, received: int) -> bool:
    """Whether the chain explains what a layer received: it is the first, or the one before outputs that size."""
    place = next((number for number, link in enumerate(links) if link.site == site), None)
    return place is not None and (place == 0 or links[place - 1].gives == received)
