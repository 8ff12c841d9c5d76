"""How programs of TensorFlow 1 that build a graph and run it in a session are recognized."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.names import Target, Uses, uses_of
from dnnfix.records import Site
from dnnfix.source.program import Source, once

GRAPHS = "graph and session programs must be rewritten, or run under tf.compat.v1 with eager execution disabled"
"""Why programs of TensorFlow 1 are left alone; the data file says it of their names."""

MAKES_GRAPH = frozenset(
    {
        "placeholder",
        "placeholder_with_default",
        "sparse_placeholder",
        "get_variable",
        "variable_scope",
        "global_variables_initializer",
        "initialize_all_variables",
        "Session",
        "InteractiveSession",
        "TextLineReader",
        "TFRecordReader",
        "WholeFileReader",
        "FixedLengthRecordReader",
        "slice_input_producer",
        "string_input_producer",
        "shuffle_batch",
        "MonitoredTrainingSession",
        "Supervisor",
    }
)
"""Identifiers, one of which a program must have to be one that builds a graph itself."""

_TRAINING = frozenset({"fit", "fit_generator", "fit_on_batch", "train_on_batch", "compile"})
"""Methods of Keras models that train."""


@once
def graph_places(source: Source, settled: tuple[Site, ...] = ()) -> tuple[Site, ...]:
    """Where a program that builds a graph uses names that TensorFlow 2 lacks, in source order; empty for any other program.

    What is inside the `settled` sites does not count. Nor does a program whose training Keras does: its models run
    themselves, and a session is there for its settings alone.
    """
    if "tensorflow" not in source.frameworks or source.words.isdisjoint(MAKES_GRAPH):
        return ()
    uses = uses_of(source)
    places: list[Site] = []
    builds = False
    for node, written in names_of_tensorflow(uses):
        site = source.site(node)
        target = removed_target(uses, written)
        if target is None or written.startswith(("tensorflow.compat.v1.", "tensorflow.keras.")):
            continue
        if not any(one.encloses(site) for one in settled):
            places.append(site)
            builds |= target.change.note == GRAPHS and written.rpartition(".")[2] in MAKES_GRAPH
    return tuple(sorted(places)) if builds and not _trains_models(uses) else ()


def names_of_tensorflow(uses: Uses) -> Iterator[tuple[ast.expr, str]]:
    """The names of TensorFlow that the program uses, as whole as they are written: `tf.nn.relu`, not `tf.nn`."""
    source = uses.source
    for node in uses.all_attributes():
        if isinstance(source.parent(node), ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        chain: ast.expr = node
        written = source.written(chain)
        while not written and isinstance(chain, ast.Attribute):
            chain = chain.value
            written = source.written(chain)
        if written and written.startswith("tensorflow."):
            yield chain, written
    roots = {local for local, name in uses.imported.items() if name.startswith("tensorflow.")}
    for name in uses.names(*roots):
        if isinstance(name.ctx, ast.Load) and not isinstance(source.parent(name), ast.Attribute):
            written = source.written(name)
            if written and written.startswith("tensorflow."):
                yield name, written


def removed_target(uses: Uses, written: str) -> Target | None:
    """What became of a name that is gone; `None` for one that is there, deprecated or not."""
    target = uses.target(written)
    return target if target is not None and not target.deprecated else None


def _trains_models(uses: Uses) -> bool:
    if "keras" not in uses.source.frameworks:
        return False
    return any(isinstance(call.func, ast.Attribute) and call.func.attr in _TRAINING for call in uses.calls())
