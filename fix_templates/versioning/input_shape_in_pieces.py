"""`LSTM(32, input_dim=8, input_length=10)`, `batch_input_shape=…`: ways of giving the input's shape that are gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Example,
    Hit,
    InsertBefore,
    InsertElement,
    Reject,
    RemoveArgument,
    RenameArgument,
    SetArgument,
    Subject,
    added_by_statement,
    element_of,
    uses_of,
)

SEQUENCES = frozenset({"keras.layers.LSTM", "keras.layers.GRU", "keras.layers.SimpleRNN", "keras.layers.Conv1D"})
"""Layers over sequences, for which Keras 1 took the length and the size of a step one by one."""


class InputShapeInPieces(ApiChange):
    """Keras 3 has no `input_length`, reads `input_dim` as a whole shape, and takes no `batch_input_shape`.

    The two numbers become `input_shape=(length, size)`. A shape with the batch goes to an `Input` before the layer,
    which is where stateful networks state it today; so does the `input_length` of an embedding whose weights are set or
    loaded before it meets data, since nothing else builds the network then.

    Fix safety: safe: the layer sees the same shape.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/layers/core_layers/input/.
    """

    code = "DNF518"
    name = "input-shape-in-pieces"
    triggers = ("input_dim", "batch_input_shape", "input_length")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Layers whose input is given in a way of Keras 1 or 2."""
        source = subject.source
        if "keras" not in source.frameworks:
            return
        yield from _unbuilt(subject)
        for call in source.all_calls:
            given = {k.arg: k.value for k in call.keywords if k.arg}
            name = source.qualified(call.func) if not {"input_dim", "batch_input_shape"}.isdisjoint(given) else None
            if not name or not name.startswith("keras.layers.") or name == "keras.layers.Input":
                continue
            if (source.written(call.func) or "").startswith("tf_keras"):
                continue
            if "batch_input_shape" in given:
                shape = source.segment(source.site(given["batch_input_shape"]))
                edits = _with_input(subject, call, "batch_input_shape", f"batch_shape={shape}")
                decline = "" if edits else "the place for an Input before this layer cannot be told"
                what = "batch_input_shape is gone since Keras 3.0; an Input before the layer states it"
            elif name in SEQUENCES:
                edits, decline = _joined(subject, call, given), ""
                what = "a sequence's shape is given whole since Keras 2; input_dim alone has no length"
            else:
                continue
            keyword = next(k for k in call.keywords if k.arg in ("batch_input_shape", "input_dim"))
            yield Hit(
                source.site(keyword),
                what,
                title="give the shape of the input whole",
                edits=tuple(edits),
                decline=decline,
                safe=True,
                removed={"keras": "3.0"},
                within=source.site(call),
            )

    examples = (
        Example(
            "length and size of a sequence",
            """\
from keras.layers import LSTM
from keras.models import Sequential

model = Sequential()
model.add(LSTM(32, input_dim=8, input_length=10, return_sequences=True))
""",
            """\
from keras.layers import LSTM
from keras.models import Sequential

model = Sequential()
model.add(LSTM(32, input_shape=(10, 8), return_sequences=True))
""",
        ),
        Example(
            "a stateful network",
            """\
from keras.layers import Dense, LSTM
from keras.models import Sequential

model = Sequential()
model.add(LSTM(4, batch_input_shape=(1, 3, 2), stateful=True))
model.add(Dense(1))
""",
            """\
from keras.layers import Dense, LSTM
from keras.models import Sequential
from keras import Input

model = Sequential()
model.add(Input(batch_shape=(1, 3, 2)))
model.add(LSTM(4, stateful=True))
model.add(Dense(1))
""",
        ),
        Example(
            "an embedding in a list of layers",
            """\
import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.layers.Embedding(100, 8, batch_input_shape=[16, None]),
    tf.keras.layers.GRU(32),
])
""",
            """\
import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.Input(batch_shape=[16, None]),
    tf.keras.layers.Embedding(100, 8),
    tf.keras.layers.GRU(32),
])
""",
        ),
        Example(
            "an embedding that is given its weights before the training",
            """\
from keras.models import Sequential
from keras.layers import Dense, Embedding, Flatten

model = Sequential()
model.add(Embedding(1000, 50, input_length=maxlen))
model.add(Flatten())
model.add(Dense(1))
model.layers[0].set_weights([matrix])
""",
            """\
from keras.models import Sequential
from keras.layers import Dense, Embedding, Flatten
from keras import Input

model = Sequential()
model.add(Input(shape=(maxlen,)))
model.add(Embedding(1000, 50))
model.add(Flatten())
model.add(Dense(1))
model.layers[0].set_weights([matrix])
""",
        ),
    )
    rejects = (
        Reject(
            "input_dim of a dense layer",
            """\
from keras.layers import Dense, Embedding
from keras.models import Sequential

model = Sequential([Embedding(input_dim=100, output_dim=3), Dense(3, input_dim=4)])
""",
        ),
        Reject(
            "an embedding that meets data before anything asks for its weights",
            """\
from keras.layers import Embedding
from keras.models import Sequential

model = Sequential([Embedding(100, 3, input_length=4)])
model.compile("adam", "mse")
model.fit(x, y)
""",
        ),
        Reject(
            "shapes as they are given today",
            """\
from keras import Input, Sequential
from keras.layers import LSTM

model = Sequential([Input(batch_shape=(1, 3, 2)), LSTM(4, stateful=True)])
other = Sequential([LSTM(4, input_shape=(3, 2))])
""",
        ),
    )


def _joined(subject: Subject, call: ast.Call, given: dict[str, ast.expr]) -> list[Edit]:
    source = subject.source
    site = source.site(call)
    size = source.segment(source.site(given["input_dim"]))
    length = source.segment(source.site(given["input_length"])) if "input_length" in given else "None"
    edits: list[Edit] = [
        RenameArgument(site, "input_dim", "input_shape"),
        SetArgument(site, "input_dim", f"({length}, {size})"),
    ]
    return [*edits, RemoveArgument(site, "input_length")] if "input_length" in given else edits


def _unbuilt(subject: Subject) -> Iterator[Hit]:
    """Embeddings that begin a network whose weights are asked for before it has met data."""
    source = subject.source
    if source.words.isdisjoint(_OF_WEIGHTS):
        return
    for call in source.calls("keras.layers.Embedding"):
        length = next((keyword.value for keyword in call.keywords if keyword.arg == "input_length"), None)
        if length is None or (source.written(call.func) or "").startswith("tf_keras"):
            continue
        several = isinstance(length, (ast.Tuple, ast.List))
        shape = source.segment(source.site(length))
        edits = _with_input(subject, call, "input_length", f"shape={shape}" if several else f"shape=({shape},)")
        if edits:
            yield Hit(
                source.site(call),
                "input_length does nothing since Keras 3.0: the embedding has no weights before it meets data",
                title="state the length by an Input before the layer",
                edits=tuple(edits),
                safe=True,
                removed={"keras": "3.0"},
            )


_OF_WEIGHTS = frozenset({"set_weights", "count_params", "load_weights"})
"""Methods that a network has to be built for."""


def _with_input(subject: Subject, call: ast.Call, gone: str, shape: str) -> list[Edit]:
    source = subject.source
    made, imports = _input(subject, call)
    code = f"{made}({shape})"
    removed: list[Edit] = [RemoveArgument(source.site(call), gone), *imports]
    outer: ast.expr = call
    above = source.parent(call)
    while isinstance(above, ast.Call) and call in above.args and element_of(subject, outer) is None:
        if added_by_statement(subject, outer) is not None:
            break
        outer, above = above, source.parent(above)  # a wrapper such as Bidirectional(LSTM(…))
    element = element_of(subject, outer)
    if element is not None:
        return [InsertElement(element[0], element[1], code), *removed]
    statement = added_by_statement(subject, outer)
    if statement is None or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return []
    owner = source.segment(source.site(statement.value.func))
    return [InsertBefore(source.site(statement), f"{owner}({code})"), *removed]


def _input(subject: Subject, call: ast.Call) -> tuple[str, list[Edit]]:
    """`Input` as this program can write it, and the import that this needs."""
    uses = uses_of(subject.source)
    written = subject.source.written(call.func) or ""
    root = "tensorflow.keras" if written.startswith("tensorflow.keras.") else "keras"
    for local, meant in uses.imported.items():
        if meant in (f"{root}.Input", f"{root}.layers.Input"):
            return local, []
    for local, meant in uses.imported.items():
        if f"{root}.Input".startswith(f"{meant}."):
            return f"{local}{f'{root}.Input'[len(meant) :]}", []
    return "Input", [AddImport(f"from {root} import Input")]
