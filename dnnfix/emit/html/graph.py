"""The network of a run, drawn as rows: a node for each call in order, lanes for the values that pass by, shapes on the edges.

Most networks are chains with a few branches. A column with lanes beside it reads on a telephone, prints, and is a list to
those who hear it; what skips layers passes them in a lane of its own, as branches do in the history of a repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from dnnfix.emit.values import value_text
from dnnfix.records import Call, Component, Finding, Json, Network, Site, Trace, Value
from dnnfix.records.record import record

LANE = 22
"""Width of a lane in pixels."""

MOST = 60
"""Nodes that are drawn; of a longer network the first and those before its end."""

FIRST = 12

TOLD = ("in_features", "out_features", "in_channels", "out_channels", "kernel_size", "stride", "padding", "num_features", "num_embeddings", "embedding_dim", "input_size", "hidden_size", "units", "filters", "activation", "pool_size", "rate", "p", "dim", "size", "shape", "target_shape")  # fmt: skip
"""Arguments that say what a layer does to shapes."""

COMPONENTS = frozenset({"layer", "loss", "metric"})
"""Kinds of components that are drawn; a model is what they are drawn of."""


@record
class Strand:
    """A value on its way between two rows: from the lane where it was to the lane where it goes."""

    start: int
    end: int
    broken: bool = False


@record
class Edge:
    """A value that a node takes: its shape, the kind of its numbers, and the node it is from where that is not the row above."""

    shape: str
    dtype: str = ""
    source: str = ""
    broken: bool = False


@record
class Node:
    """One call: what it is, with what it was made, what it takes and gives, and where it stands in the program."""

    key: int
    title: str
    attribute: str
    arguments: str
    edges: tuple[Edge, ...]
    gives: str
    weights: int
    line: int | None
    lane: int = 0
    passing: tuple[int, ...] = ()
    strands: tuple[Strand, ...] = ()
    """What runs between the row above and this one."""
    ends: bool = False
    """Whether nothing takes what it gives."""
    begins: bool = False
    broken: bool = False
    marks: tuple[str, ...] = ()
    """Codes of the findings that are about it."""
    left_out: int = 0
    """Nodes between this one and the one above that are not drawn."""


@record
class Drawing:
    """A network as it is drawn. `unused` are layers that were made, and not called in the run."""

    nodes: tuple[Node, ...]
    lanes: int
    unused: tuple[tuple[str, int | None], ...] = ()
    message: str = ""
    """What stopped the run at the broken node."""


def drawing(trace: Trace, findings: Iterable[Finding]) -> Drawing | None:
    """The network as the run showed it, `findings` marked; `None` where no layer was called."""
    network = trace.network
    if network is None:
        return None
    failing = trace.crash.call if trace.crash is not None else None
    calls = _shown(network, failing)
    if not any(call.component is not None for call in calls):
        return None
    broken = failing is not None and calls[-1] is failing
    found = tuple(findings)
    nodes = [_node(network, call, calls, broken and call is failing, found) for call in calls]
    if broken and trace.crash is not None:
        nodes[-1] = replace(nodes[-1], broken=True)
    laid, lanes = _laid_out(nodes, calls)
    message = f"{trace.crash.kind.rpartition('.')[2]}: {trace.crash.message}" if broken and trace.crash else ""
    return Drawing(_shortened(laid), lanes, tuple(_unused(network, failing)), message)


def _shown(network: Network, failing: Call | None) -> list[Call]:
    """The calls of one pass through the network: those of its layers, and of functions between them."""
    calls = [*network.calls, *([failing] if failing is not None and failing not in network.calls else [])]
    step = failing.step if failing is not None else min((c.step for c in calls if _is_part(network, c)), default=0)
    own = [call for call in calls if call.step == step and (call is failing or not _is_whole(network, call))]
    seen: set[tuple[int | None, str, str]] = set()
    kept: list[Call] = []
    for call in own:
        key = (call.component, call.path, call.phase)
        if call.component is not None and call is not failing and _is_again(network, call, seen, key):
            break
        seen.add(key)
        kept.append(call)
    return _between(kept, network, failing)


def _is_again(
    network: Network, call: Call, seen: set[tuple[int | None, str, str]], key: tuple[int | None, str, str]
) -> bool:
    """Whether a pass begins anew: data go into a layer that was called before."""
    return key in seen and all(value.producer is None for value in call.inputs)


def _between(calls: list[Call], network: Network, failing: Call | None) -> list[Call]:
    """The calls without those that only prepare data or only read results: what no layer comes before or after."""
    by_id = {call.id: call for call in calls}
    after: set[int] = set()
    for call in calls:
        if _is_part(network, call) or any(value.producer in after for value in call.inputs):
            after.add(call.id)
    before: set[int] = set()
    for call in reversed(calls):
        if call.id in before or _is_part(network, call) or call is failing:
            before.update(
                value.producer for value in call.inputs if value.producer in by_id and value.producer is not None
            )
    return [c for c in calls if c is failing or _is_part(network, c) or (c.id in after and c.id in before)]


def _is_part(network: Network, call: Call) -> bool:
    component = network.component(call.component)
    return bool(call.scope) or (component is not None and component.kind in COMPONENTS) or ".losses." in call.name


def _is_whole(network: Network, call: Call) -> bool:
    """Whether a call is of a model as a whole, whose layers are calls of their own."""
    component = network.component(call.component)
    return call.name.rpartition(".")[2] == "fit" or (component is not None and component.kind == "model")


def _node(network: Network, call: Call, calls: Sequence[Call], broken: bool, findings: Sequence[Finding]) -> Node:
    component = network.component(call.component)
    args = component.args if component is not None and component.args else call.args
    shapes = {(p.component, p.name): p.shape for p in network.parameters if p.component is not None}
    weights = sum(
        prod(shape) for (owner, _), shape in shapes.items() if component is not None and owner == component.id
    )
    above = calls[calls.index(call) - 1] if calls.index(call) else None
    by_id = {other.id: other for other in calls}
    sites = [site for site in (call.site, call.made_at, component.site if component is not None else None) if site]
    return Node(
        call.id,
        call.name.rpartition(".")[2],
        call.path or (component.attribute if component is not None and component.attribute else ""),
        _arguments(args),
        tuple(_edge(value, by_id, above, broken) for value in call.inputs),
        _shape(call.outputs[0]) if call.outputs else "",
        weights,
        call.site.line if call.site is not None and not call.site.path else None,
        marks=tuple(dict.fromkeys(f.code for f in findings if any(_about(f.site, site) for site in sites))),
        broken=broken,
    )


def _about(site: Site, other: Site) -> bool:
    return site.encloses(other) or (other.encloses(site) and other.line == other.end_line and site.line == other.line)


def _arguments(args: Mapping[str, Json]) -> str:
    told = [(name, args[name]) for name in TOLD if args.get(name) is not None]
    return ", ".join(f"{name}={value_text(value)}" for name, value in told[:5] if value not in (0, [], ""))


def _edge(value: Value, by_id: Mapping[int, Call], above: Call | None, broken: bool) -> Edge:
    maker = by_id.get(value.producer) if value.producer is not None else None
    source = "" if maker is not None and maker is above else _name(maker) if maker is not None else value.origin or ""
    return Edge(_shape(value), (value.dtype or "").removeprefix("torch."), source, broken)


def _name(call: Call) -> str:
    return call.path or call.name.rpartition(".")[2]


def _shape(value: Value) -> str:
    if value.shape is None:
        return "?"
    return " × ".join("?" if size is None else str(size) for size in value.shape) or "scalar"


def _laid_out(nodes: Sequence[Node], calls: Sequence[Call]) -> tuple[list[Node], int]:
    """The nodes with their lanes: each goes on in the lane of what it takes, and what passes it by gives way to the right."""
    row = {call.id: number for number, call in enumerate(calls)}
    makers = [
        tuple(dict.fromkeys(row[v.producer] for v in call.inputs if v.producer in row and row[v.producer] < number))
        for number, call in enumerate(calls)
    ]
    last = {maker: max(n for n, own in enumerate(makers) if maker in own) for own in makers for maker in own}
    lane_of: dict[int, int] = {}  # of each value that is still wanted, by the row of its maker
    laid: list[Node] = []
    for number, node in enumerate(nodes):
        taken = makers[number]
        before = dict(lane_of)
        passing = [maker for maker in before if last[maker] > number]
        free = [lane for lane in range(len(nodes) + 1) if lane not in {before[maker] for maker in passing}]
        lane = min((before[maker] for maker in taken), default=free[0])
        now: dict[int, int] = {}
        for maker in sorted(passing, key=lambda one: before[one]):
            wanted = before[maker]
            used = {lane, *now.values()}
            now[maker] = (
                wanted if wanted not in used else next(x for x in range(len(nodes) + 2) if x not in used and x > lane)
            )
        strands = [Strand(before[maker], lane, node.broken) for maker in taken]
        strands += [Strand(before[maker], now[maker]) for maker in passing]
        lane_of = {**now, **({number: lane} if number in last else {})}
        laid.append(
            replace(
                node,
                lane=lane,
                passing=tuple(now.values()),
                strands=tuple(dict.fromkeys(strands)),
                ends=number not in last,
                begins=not taken,
            )
        )
    return laid, 1 + max((max((n.lane, *n.passing)) for n in laid), default=0)


def _shortened(nodes: list[Node]) -> tuple[Node, ...]:
    """The nodes as far as they are drawn: the first, those near marks, and the last."""
    if len(nodes) <= MOST:
        return tuple(nodes)
    kept = [*nodes[:FIRST], *nodes[FIRST - MOST :]]
    gone = len(nodes) - len(kept)
    kept[FIRST] = replace(kept[FIRST], left_out=gone)
    return tuple(kept)


def _unused(network: Network, failing: Call | None) -> Iterable[tuple[str, int | None]]:
    for component in network.components:
        if component.kind == "layer" and component.called == 0 and not _is(component, failing):
            name = component.attribute or component.name.rpartition(".")[2]
            yield name, component.site.line if component.site is not None and not component.site.path else None


def _is(component: Component, call: Call | None) -> bool:
    return call is not None and call.component == component.id
