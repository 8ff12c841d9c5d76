"""A recurrent layer receives the last step of another one instead of its sequence."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Subject,
    Symptom,
    activation_of,
    layer_facts,
    rank_conflict,
    set_constructor_argument,
    short,
    way_back,
)

TAKES_SEQUENCES = frozenset({"convolution", "pooling", "recurrent", "attention"})


class SequenceCollapsed(FixTemplate):
    """A layer over sequences receives the last step of a recurrent layer instead of its sequence.

    Keras recurrent layers give their last output only, unless `return_sequences=True`. Stacked on one another, every
    layer but the last has to give its sequence; else the next one finds an axis too few.

    Fix safety: unsafe. The layer gives a sequence, which is the point.

    References: keras.layers.LSTM (`return_sequences`).
    """

    code = "DNF220"
    name = "sequence-collapsed"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} takes sequences and receives the last step of {before}"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _pair(subject)
        site = found[1].made_at if found is not None else None
        if found is not None and site is not None:
            yield self.finding(
                site,
                symptom=Symptom.CRASH,
                confidence=0.95,
                cause="crash",
                layer=short(found[0].name),
                before=short(found[1].name),
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _pair(subject)
        edits = set_constructor_argument(subject, found[1], "return_sequences", "True") if found is not None else None
        if found is None or edits is None:
            yield Decline("the recurrent layer before is not made at one place")
            return
        yield self.candidate(finding, f"Let {short(found[1].name)} return its sequence", *edits, prior=0.95)

    examples = (
        Example(
            "layers added one by one, with dropout",
            """\
from keras.models import Sequential
from keras.layers import GRU, Dense, Dropout, Input

model = Sequential()
model.add(Input((5, 2)))
- model.add(GRU(8, activation="tanh"))
+ model.add(GRU(8, activation="tanh", return_sequences=True))
model.add(Dropout(0.2))
model.add(GRU(4))
model.add(Dense(1))
""",
            runs=True,
        ),
        Example(
            "functional model with a convolution behind",
            """\
import keras
from keras.layers import Conv1D, SimpleRNN

inputs = keras.Input(shape=(9, 2))
- steps = SimpleRNN(units=4, return_sequences=False)(inputs)
+ steps = SimpleRNN(units=4, return_sequences=True)(inputs)
outputs = Conv1D(3, 2)(steps)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "sequences all the way",
            """\
import keras
from keras import layers

keras.Sequential([keras.Input((8, 3)), layers.LSTM(6, return_sequences=True), layers.LSTM(4)])
""",
            runs=True,
        ),
        Reject(
            "a table into a recurrent layer",
            """\
import keras
from keras import layers

keras.Sequential([keras.Input((8,)), layers.LSTM(4)])
""",
            runs=True,
        ),
    )


def _pair(subject: Subject) -> tuple[Call, Call] | None:
    """The layer that lacks the axis of the steps, and the recurrent layer that took it away."""
    conflict = rank_conflict(subject)
    if conflict is None or conflict.rank != conflict.wanted - 1 or conflict.facts.kind not in TAKES_SEQUENCES:
        return None
    for call in way_back(subject, conflict.value):
        facts = layer_facts(call)
        if facts is not None and facts.kind == "recurrent":
            closed = call.name.startswith("keras.") and call.args.get("return_sequences") is False
            return (conflict.call, call) if closed else None
        if activation_of(call) is None and (facts is None or facts.kind not in ("dropout", "normalization")):
            return None
    return None
