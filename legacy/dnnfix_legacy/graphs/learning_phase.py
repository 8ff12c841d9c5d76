"""The learning phase of Keras in a graph of TensorFlow 1: edits that replace it, as Keras 3 has neither session nor
phase.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.detect.versioning.names import uses_of
from dnnfix.records import AddDefinition, Delete, Edit, Replace
from dnnfix.source.program import Source, once
from dnnfix_legacy.graphs.programs import graph_of

_PHASE = "learning_phase"
_BY_PHASE = frozenset(
    {"BatchNormalization", "GaussianNoise", "GaussianDropout", "AlphaDropout", "SpatialDropout1D", "SpatialDropout2D"}
    | {"SpatialDropout3D", "dropout", "recurrent_dropout"}
)
"""What else of Keras does another thing while it trains."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Where a program asks Keras for its phase or gives it a session, and the edits that make the phase its own."""

    places: tuple[ast.expr, ...]
    edits: tuple[Edit, ...]
    decline: str = ""


@once
def phase_of(source: Source) -> Phase | None:
    """The phase of a program that builds a graph with layers of Keras; `None` for any other program."""
    if source.words.isdisjoint({_PHASE, "set_session"}):
        return None
    graph = graph_of(source)
    if graph is None or not graph.edits:
        return None
    calls = {call: (source.written(call.func) or "").removeprefix("tensorflow.") for call in source.all_calls}
    asked = [call for call, name in calls.items() if name == "keras.backend.learning_phase"]
    given = [call for call, name in calls.items() if name == "keras.backend.set_session"]
    places: tuple[ast.expr, ...] = tuple(sorted((*asked, *given), key=lambda call: call.lineno))
    uses = uses_of(source)
    tensorflow = next((local for local, name in uses.imported.items() if name == "tensorflow"), None)
    if not places or tensorflow is None:
        return None
    edits: list[Edit] = []
    for call in given:
        if not isinstance(source.parent(call), ast.Expr):
            return Phase(places, (), "the session is passed to Keras within another expression")
        edits.append(Delete(source.site(call)))
    edits += [Replace(source.site(call), _PHASE) for call in asked]
    if asked:
        if _PHASE in uses.bound:
            return Phase(places, (), f"the program has a {_PHASE} of its own")
        if not source.words.isdisjoint(_BY_PHASE):
            return Phase(places, (), "layers other than Dropout do another thing while they train")
        for call, name in calls.items():
            if name.endswith(".Dropout"):
                edit = _dropped(source, call, tensorflow)
                if edit is None:
                    return Phase(places, (), "what Dropout is called on is not a name, or is not known here")
                edits.append(edit)
        edits.append(AddDefinition(f"{_PHASE} = {tensorflow}.placeholder_with_default(False, [])"))
    return Phase(places, tuple(edits))


def _dropped(source: Source, layer: ast.Call, tensorflow: str) -> Edit | None:
    """`Dropout(rate)(x)`, which drops where the phase says so."""
    called = source.parent(layer)
    if not isinstance(called, ast.Call) or called.func is not layer or called.keywords or len(called.args) != 1:
        return None
    inputs = called.args[0]
    rate = layer.args[0] if layer.args else next((k.value for k in layer.keywords if k.arg in ("rate", "p")), None)
    if rate is None or len(layer.args) + len(layer.keywords) != 1 or not isinstance(inputs, ast.Name):
        return None
    dropped = f"{tensorflow}.nn.dropout({inputs.id}, rate={source.segment(source.site(rate))})"
    code = f"{tensorflow}.cond({_PHASE}, lambda: {dropped}, lambda: {inputs.id})"
    return Replace(source.site(called), code)
