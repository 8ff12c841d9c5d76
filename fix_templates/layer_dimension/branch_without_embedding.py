"""Word numbers reach a recurrent layer, while those of another input of the model are embedded first."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    held,
    input_expression,
    insert_layer_before,
    layer_facts,
    rank_conflict,
)

EMBEDDING = "keras.layers.Embedding"


@dataclass(frozen=True, slots=True)
class _Bare:
    """The call of the recurrent layer, and the constructor of the embedding beside it."""

    call: Call
    beside: ast.Call


class BranchWithoutEmbedding(FaultTemplate[_Bare]):
    """One branch of a model embeds its word numbers, another gives them to a recurrent layer as they are.

    A recurrent layer takes `(batch, steps, features)`, and an input of word numbers has no axis of features. In a model of
    two inputs, an encoder and a decoder, both need an embedding.

    Fix safety: unsafe. The model gets another layer, which is the point.

    References: keras.layers.Embedding, keras.layers.LSTM (input shape).
    """

    code = "DNF243"
    name = "branch-without-embedding"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.CHANGE_NEURAL_ARCHITECTURE
    message = "the recurrent layer receives word numbers, which another branch of the model embeds first"
    triggers = ("Embedding",)
    needs_run = True
    declined = "the call of the recurrent layer is not written at one place"

    def faults(self, subject: Subject) -> Faults[_Bare]:
        conflict = rank_conflict(subject)
        if conflict is None or conflict.facts.kind != "recurrent" or (conflict.rank, conflict.wanted) != (2, 3):
            return
        value = conflict.value
        if not conflict.call.name.startswith("keras.") or value.origin != "symbolic" or value.producer is not None:
            return
        embedded = [
            call
            for call in subject.network.calls
            if call.name == EMBEDDING
            and call.inputs
            and call.inputs[0].origin == "symbolic"
            and _same_kind(call, value)
        ]
        recurrent = {user.id for call in embedded for user in _behind(subject, call)}
        made = [node for call in embedded if isinstance(node := subject.node(call.made_at), ast.Call)]
        if len(made) != 1 or not recurrent or not _are_words(subject, conflict.call, embedded[0]):
            return
        if conflict.call.site is not None:
            yield conflict.call.site, _Bare(conflict.call, made[0])

    def report(self, site: Site, fault: _Bare) -> Finding:
        return self.finding(site, symptom=Symptom.CRASH, confidence=0.95, cause="crash")

    def repairs(self, subject: Subject, fault: _Bare) -> Repairs:
        parent = subject.source.parent(fault.beside)
        applied = isinstance(parent, ast.Call) and parent.func is fault.beside
        text = _unnamed(subject, fault.beside) if applied else None
        if text is not None:
            yield f"Embed the word numbers with {text}", insert_layer_before(subject, fault.call, text), 0.9

    examples = (
        Example(
            "two texts that are compared",
            """\
import keras
from keras import layers

first, second = keras.Input((10,)), keras.Input((10,))
a = layers.Embedding(input_dim=30, output_dim=4, name="letters")(first)
a = layers.GRU(5)(a)
- b = layers.GRU(5)(second)
+ b = layers.GRU(5)(layers.Embedding(input_dim=30, output_dim=4)(second))
score = layers.Dot(1)([a, b])
""",
            runs=True,
        ),
        Example(
            "a title beside the text",
            """\
import numpy as np
from keras import Input, Model
from keras.layers import Bidirectional, Concatenate, Dense, Embedding, LSTM

texts, titles = np.ones((4, 20), int), np.ones((4, 5), int)
text = Input((20,), name="text")
title = Input((5,), name="title")
body = Embedding(100, 16)(text)
body = LSTM(8)(body)
- head = LSTM(units=8)(title)
+ head = LSTM(units=8)(Embedding(100, 16)(title))
model = Model([text, title], Dense(1)(Concatenate()([body, head])))
model.compile("sgd", "mse")
model.fit([texts, titles], np.ones((4, 1)))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "both branches embedded",
            """\
from keras import Input
from keras.layers import Embedding, LSTM

a, b = Input((6,)), Input((9,))
words = Embedding(20, 4)
LSTM(3)(words(a)), LSTM(3)(words(b))
""",
            runs=True,
        ),
        Reject(
            "measures over time beside a text",
            """\
import numpy as np
from keras import Input, Model
from keras.layers import Concatenate, Dense, Embedding, LSTM

texts, measures = np.ones((4, 9), int), np.random.rand(4, 9)
text, measure = Input((9,)), Input((9,))
both = [LSTM(8)(Embedding(100, 16)(text)), LSTM(8)(measure)]
model = Model([text, measure], Dense(1)(Concatenate()(both)))
model.compile("sgd", "mse")
model.fit([texts, measures], np.ones((4, 1)))
""",
            runs=True,
        ),
        Reject(
            "a table into a recurrent layer, and nothing embedded",
            """\
from keras import Input
from keras.layers import LSTM

LSTM(3)(Input((6,)))
""",
            runs=True,
        ),
    )


def _same_kind(call: Call, value: object) -> bool:
    """Whether what is embedded has the type of the other input: numbers of one vocabulary."""
    return call.inputs[0].dtype == getattr(value, "dtype", None) and call.inputs[0].id != getattr(value, "id", None)


def _are_words(subject: Subject, bare: Call, embedded: Call) -> bool:
    """Whether the input without an embedding is one of word numbers, too.

    So the data says that is handed over for it; where that does not exist yet, a decoder that begins with the state of
    the encoder, or inputs of one length, as texts to be compared have.
    """
    node = input_expression(subject, bare)
    data = _data_of(subject, node) if isinstance(node, ast.Name) else None
    described = held(subject, data) if data is not None else None
    if isinstance(described, dict) and "dtype" in described:
        return str(described["dtype"]).startswith(("int", "uint"))
    call = subject.call_node(bare)
    goes_on = call is not None and any(keyword.arg == "initial_state" for keyword in call.keywords)
    return goes_on or bare.inputs[0].shape == embedded.inputs[0].shape


def _data_of(subject: Subject, given: ast.Name) -> ast.expr | None:
    """What `fit` is given for an input of a model with several of them."""
    inputs = [call.args[0] for call in subject.source.calls("keras.Model", "keras.models.Model") if call.args]
    fits = [call.args[0] for call in subject.source.all_calls if _is_fit(call)]
    if len(inputs) != 1 or len(fits) != 1 or not isinstance(inputs[0], ast.List) or not isinstance(fits[0], ast.List):
        return None
    names = [one.id if isinstance(one, ast.Name) else "" for one in inputs[0].elts]
    fits_them = given.id in names and len(names) == len(fits[0].elts)
    return fits[0].elts[names.index(given.id)] if fits_them else None


def _is_fit(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and bool(call.args)


def _behind(subject: Subject, call: Call) -> list[Call]:
    """The recurrent layers that take what an embedding gives."""
    users = [user for output in call.outputs for user in subject.network.users(output)]
    return [user for user in users if (facts := layer_facts(user)) is not None and facts.kind == "recurrent"]


def _unnamed(subject: Subject, call: ast.Call) -> str | None:
    """The constructor's text without its name, which no two layers of a model may share."""
    if any(keyword.arg is None for keyword in call.keywords) or any(
        keyword.arg == "weights" for keyword in call.keywords
    ):
        return None
    source = subject.source
    parts = [source.segment(source.site(one)) for one in call.args]
    parts += [
        f"{keyword.arg}={source.segment(source.site(keyword.value))}"
        for keyword in call.keywords
        if keyword.arg != "name"
    ]
    return f"{source.segment(source.site(call.func))}({', '.join(parts)})"
