"""The cause "number of layers": a hidden layer, where the network is a linear model of data that are not linear."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.detect.call_arguments import argument, element_of
from dnnfix.network.facts import layer_facts
from dnnfix.records import Call, FixPattern, InsertElement, Json, Replace
from dnnfix.subject import Subject
from dnnfix.synthesize.causes.cause import Cause
from dnnfix.synthesize.causes.units import WIDE
from dnnfix.synthesize.edits.spelling import spell
from dnnfix.validate.reading import Reading
from dnnfix.validate.symptoms import WORTH


def edits(subject: Subject, symptoms: tuple[Reading, ...]) -> Iterator[Cause]:
    """Rectified units before the only layer with weights.

    They are missing where the nearest neighbours are far ahead of a linear model of the same rows: the network is one, too.
    """
    only = _only_layer(subject)
    made = None if only is None else _deeper(subject, only)
    if made is None:
        return
    curved = any(_curved(reading.numbers.get("reference"), reading.numbers.get("linear")) for reading in symptoms)
    title = f"Put a layer of {WIDE} rectified units before the only layer"
    yield Cause("layers", title, FixPattern.ADD_LAYER, made, 0.9 if curved else 0.3)


def _curved(skill: Json, linear: Json) -> bool:
    if not isinstance(skill, (int, float)) or not isinstance(linear, (int, float)):
        return False
    return skill - max(linear, 0.0) >= WORTH


def _only_layer(subject: Subject) -> Call | None:
    """The call of the one layer that has weights, where that is linear."""
    network = subject.network
    weighed = [c for c in network.components if c.kind == "layer" and c.parameters]
    if len(weighed) != 1:
        return None
    called = next(iter(network.calls_of(weighed[0])), None)
    facts = layer_facts(called) if called is not None else None
    return called if facts is not None and facts.kind == "linear" else None


def _deeper(subject: Subject, call: Call) -> tuple[Replace | InsertElement, ...] | None:
    node = subject.constructor_node(call)
    if node is None:
        return None
    source = subject.source
    if call.name == "keras.layers.Dense":
        element = element_of(subject, node)
        if element is None or element[1] == 0 or any(k.arg in ("input_shape", "input_dim") for k in node.keywords):
            return None
        named = source.segment(source.site(node.func))
        return (InsertElement(element[0], element[1], f'{named}({WIDE}, activation="relu")'),)
    sizes = [argument(subject, node, call.name, name) for name in ("in_features", "out_features")]
    if call.name != "torch.nn.Linear" or None in sizes:
        return None
    taken, given = (source.segment(source.site(size)) for size in sizes if size is not None)
    linear = source.segment(source.site(node.func))
    around, between = spell(subject, "torch.nn.Sequential"), spell(subject, "torch.nn.ReLU")
    if around.imports or between.imports:
        return None
    text = f"{around.code}({linear}({taken}, {WIDE}), {between.code}(), {linear}({WIDE}, {given}))"
    return (Replace(source.site(node), text),)
