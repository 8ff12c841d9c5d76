"""`TimeDistributed(Dense(3)(x))`: a wrapper is given the output of a layer instead of the layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    Subject,
    Symptom,
    argument_value,
)

WRAPPERS = ("keras.layers.TimeDistributed", "keras.layers.Bidirectional", "keras.layers.SpectralNormalization")


class OutputGivenToWrapper(FixTemplate):
    """A parenthesis of a wrapped layer stands in the wrong place: the wrapper gets a tensor and is never called.

    `TimeDistributed(Dense(3)(x))` calls the layer first and wraps what comes out; `TimeDistributed(Dense(3))(x)` wraps the
    layer and calls that. Keras refuses the first: a wrapper takes a layer.

    Fix safety: unsafe. The wrapped layer becomes part of the network, which is the point.

    References: https://keras.io/api/layers/recurrent_layers/time_distributed/.
    """

    code = "DNF554"
    name = "output-given-to-wrapper"
    family = Family.VERSIONING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{wrapper}` takes a layer, and `{given}` is what a layer gives"
    triggers = ("TimeDistributed", "Bidirectional", "SpectralNormalization")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """The wrappers that are made from a call of a layer that is made there, and are not called themselves."""
        source = subject.source
        for call in source.calls(*WRAPPERS):
            parts = _parts(subject, call)
            if parts is None:
                continue
            crashed = subject.crash is not None
            yield self.finding(
                source.site(call),
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                cause="wrapped output",
                confidence=0.95,
                wrapper=subject.text(source.site(call.func)),
                given=subject.text(source.site(parts[0])),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """The layer is wrapped, and the wrapper called, at every such place at once."""
        source, edits = subject.source, []
        for call in source.calls(*WRAPPERS):
            parts = _parts(subject, call)
            if parts is None:
                continue
            output, layer = parts
            tensors = subject.text(source.site(output)).removeprefix(subject.text(source.site(layer))).strip()
            whole, inside = subject.text(source.site(call)), subject.text(source.site(output))
            text = whole.replace(inside, subject.text(source.site(layer)), 1) + tensors
            edits.append(Replace(source.site(call), text))
        yield self.candidate(finding, "Wrap the layer, and call the wrapper", *edits, prior=0.9)

    examples = (
        Example(
            "both directions",
            """\
import tensorflow as tf

inputs = tf.keras.Input((5, 3))
- x = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(8)(inputs))
+ x = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(8))(inputs)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(x))
""",
        ),
    )
    rejects = (
        Reject(
            "the wrapper is called",
            """\
from keras.layers import Bidirectional, Dense, Input, LSTM, TimeDistributed

inputs = Input((5, 3))
x = Bidirectional(LSTM(8, return_sequences=True))(inputs)
y = TimeDistributed(Dense(3))(x)
""",
        ),
        Reject(
            "a function makes the layer",
            """\
from keras.layers import Dense, TimeDistributed


def dense(units):
    return Dense(units)


layer = TimeDistributed(dense(3))
""",
        ),
    )


def _parts(subject: Subject, call: ast.Call) -> tuple[ast.Call, ast.Call] | None:
    """The output that a wrapper is given, and the call that makes the layer; `None` for a wrapper that is called."""
    source = subject.source
    above = source.parent(call)
    if isinstance(above, ast.Call) and above.func is call:
        return None
    output = argument_value(call, "layer", 0)
    layer = output.func if isinstance(output, ast.Call) else None
    if not isinstance(output, ast.Call) or not isinstance(layer, ast.Call):
        return None
    name = source.qualified(layer.func) or ""
    return (output, layer) if name.startswith("keras.layers.") else None
