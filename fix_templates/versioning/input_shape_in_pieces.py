"""`LSTM(32, input_dim=8, input_length=10)`, `batch_input_shape=…`: input shapes in a form that Keras 3 lacks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Edit,
    Hit,
    InsertBefore,
    InsertElement,
    RemoveArgument,
    RenameArgument,
    SetArgument,
    Source,
    Subject,
    branches,
    call_arguments,
    uses_of,
)

SEQUENCES = frozenset({"keras.layers.LSTM", "keras.layers.GRU", "keras.layers.SimpleRNN", "keras.layers.Conv1D"})
"""Layers over sequences, for which Keras 1 accepted length and features separately."""


class InputShapeInPieces(ApiChange):
    """Keras 3 has no `input_length` and no `batch_input_shape`, and reads `input_dim` as the whole shape.

    The two numbers become `input_shape=(length, size)`. A shape with the batch moves to an `Input` before the layer,
    and so does the `input_length` of an embedding whose weights are set or loaded before its first call, since nothing
    else builds the network then.

    Fix safety: safe: the layer gets the same shape. Unsafe for an embedding whose weights are read in some runs only:
    in the others, data of another length were accepted.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/layers/core_layers/input/.
    """

    code = "DNF518"
    name = "input-shape-in-pieces"
    message = "{argument} does not define the whole input shape since Keras {version}; put an Input before the layer"
    triggers = ("input_dim", "batch_input_shape", "input_length")

    def hits(self, subject: Subject) -> Iterator[Hit]:
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
                decline = "" if edits else "the place for an Input before this layer is not known"
                what = "batch_input_shape was removed in Keras 3.0; put an Input before the layer"
            elif name in SEQUENCES:
                edits, decline = _joined(subject, call, given), ""
                what = "input_dim alone does not define the sequence length, which Keras expects since version 2"
            else:
                continue
            keyword = next(k for k in call.keywords if k.arg in ("batch_input_shape", "input_dim"))
            yield Hit(
                source.site(keyword),
                what,
                title="state the whole shape of the input",
                edits=tuple(edits),
                decline=decline,
                safe=True,
                removed={"keras": "3.0"},
                within=source.site(call),
            )

    programs = """
=== example: length and size of a sequence
from keras.layers import LSTM
from keras.models import Sequential

model = Sequential()
- model.add(LSTM(32, input_dim=8, input_length=10, return_sequences=True))
+ model.add(LSTM(32, input_shape=(10, 8), return_sequences=True))

=== example: an embedding in a list of layers
import tensorflow as tf

model = tf.keras.Sequential([
-     tf.keras.layers.Embedding(100, 8, batch_input_shape=[16, None]),
+     tf.keras.Input(batch_shape=[16, None]),
+     tf.keras.layers.Embedding(100, 8),
    tf.keras.layers.GRU(32),
])

=== example: an embedding whose weights are set before the training
from keras.models import Sequential
from keras.layers import Dense, Embedding, Flatten
+ from keras import Input

model = Sequential()
- model.add(Embedding(1000, 50, input_length=maxlen))
+ model.add(Input(shape=(maxlen,)))
+ model.add(Embedding(1000, 50))
model.add(Flatten())
model.add(Dense(1))
model.layers[0].set_weights([matrix])

=== reject: input_dim of a dense layer
from keras.layers import Dense, Embedding
from keras.models import Sequential

model = Sequential([Embedding(input_dim=100, output_dim=3), Dense(3, input_dim=4)])

=== reject: an embedding that meets data before anything asks for its weights
from keras.layers import Embedding
from keras.models import Sequential

model = Sequential([Embedding(100, 3, input_length=4)])
model.compile("adam", "mse")
model.fit(x, y)

=== reject: the best weights, loaded after the training
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense, Embedding, Flatten
from keras.models import Sequential

model = Sequential()
model.add(Embedding(100, 3, input_length=4))
model.add(Flatten())
model.add(Dense(1))
model.compile("adam", "mse")
model.fit(x, y, callbacks=[ModelCheckpoint("best.weights.h5", save_weights_only=True)])
model.load_weights("best.weights.h5")
print(model.count_params())

=== reject: weights of another network
from keras.layers import Dense, Embedding, Flatten
from keras.models import Sequential

other = Sequential([Dense(3)])
other.build((None, 4))
other.load_weights("other.weights.h5")
model = Sequential([Embedding(100, 3, input_length=4), Flatten(), Dense(1)])
model.compile("adam", "mse")
model.fit(x, other.predict(x))

=== reject: shapes in today's form
from keras import Input, Sequential
from keras.layers import LSTM

model = Sequential([Input(batch_shape=(1, 3, 2)), LSTM(4, stateful=True)])
other = Sequential([LSTM(4, input_shape=(3, 2))])
"""


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
    """Embeddings at the start of a network whose weights are read before its first call."""
    source = subject.source
    if source.words.isdisjoint(_OF_WEIGHTS):
        return
    for call in source.calls("keras.layers.Embedding"):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        length = given.get("input_length")
        if length is None or (source.written(call.func) or "").startswith("tf_keras"):
            continue
        begun = _begun_by(subject, call) if given.keys().isdisjoint({"input_shape", "batch_input_shape"}) else None
        asked = _asks_first(subject, *begun) if begun is not None else None
        if asked is None:
            continue
        several = isinstance(length, (ast.Tuple, ast.List))
        shape = source.segment(source.site(length))
        edits = _with_input(subject, call, "input_length", f"shape={shape}" if several else f"shape=({shape},)")
        if edits:
            yield Hit(
                source.site(call),
                "input_length has no effect since Keras 3.0: the embedding has no weights until it is called",
                title="put an Input with the length before the layer",
                edits=tuple(edits),
                safe=asked,
                removed={"keras": "3.0"},
            )


_OF_WEIGHTS = frozenset({"set_weights", "count_params", "load_weights"})
"""Methods that need a built network."""

_NEUTRAL = frozenset(
    {"add", "compile", "get_config", "get_layer", "get_weights", "layers", "name", "summary", "to_json", "trainable"}
)
"""Methods and attributes of a network that neither build it nor need its weights."""

_UNBUILT = re.compile(r"(has not yet been|isn't|is not) built|with a weight list of length")
"""Keras's messages where weights are read too early."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _begun_by(subject: Subject, call: ast.Call) -> tuple[ast.expr, ast.stmt] | None:
    """The network whose first layer this is, as the program names it, and the statement that adds the layer."""
    source = subject.source
    statement = source.statement_of(call)
    element = call_arguments.element_of(subject, call)
    if element is not None:
        single = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        made = statement.value if isinstance(statement, ast.Assign) else None
        if element[1] or not single or not isinstance(statement, ast.Assign) or not _is_sequential(source, made):
            return None
        return statement.targets[0], statement
    added = call_arguments.added_by_statement(subject, call)
    if not isinstance(added, ast.Expr) or not isinstance(added.value, ast.Call):
        return None
    if not isinstance(added.value.func, ast.Attribute):
        return None
    owner = added.value.func.value
    before = [use for use in _uses(source, owner) if _place(use) < _place(owner)]
    if not before:
        return None
    made_at = source.statement_of(before[-1])
    empty = isinstance(made_at, ast.Assign) and isinstance(made_at.value, ast.Call) and not made_at.value.args
    if not empty or not isinstance(made_at, ast.Assign) or not _is_sequential(source, made_at.value):
        return None  # another layer was added before, or the network was created with some
    return owner, added


def _is_sequential(source: Source, made: ast.expr | None) -> bool:
    return isinstance(made, ast.Call) and source.qualified(made.func) in ("keras.Sequential", "keras.models.Sequential")


def _asks_first(subject: Subject, network: ast.expr, begun: ast.stmt, further: bool = True) -> bool | None:
    """Whether the first use of a network after a statement needs its weights, in every run; `None` if not.

    A crash there proves it for that run only.
    """
    source = subject.source
    if _is_used_elsewhere(source, network):
        return None
    for use in _uses(source, network):
        if _place(use) <= (begun.end_lineno or begun.lineno, begun.end_col_offset or 0):
            continue
        if not isinstance(getattr(use, "ctx", None), ast.Load):
            return None
        whole, called = _chain(source, use)
        if called & _OF_WEIGHTS:
            if _between(source, network, begun, use):
                return None
            copied = "get_weights" in source.segment(source.site(whole))  # of another network, that may have none yet
            if branches.branches_around(source, use) <= branches.branches_around(source, begun) and not copied:
                return True
            return False if _stopped_at(subject, whole) else None
        if isinstance(source.parent(whole), ast.Return) and whole is use and further:
            return _asked_by_callers(subject, use)
        if not called or not called <= _NEUTRAL or isinstance(whole, ast.Subscript) or _is_part(whole):
            return None
    return None


def _uses(source: Source, network: ast.expr) -> list[ast.expr]:
    """The uses of the same name or attribute in the function, in the order of the source."""
    scope, text = source.enclosing(network, *_SCOPES), ast.unparse(network)
    every: list[ast.expr] = (
        [*source.nodes(ast.Name)] if isinstance(network, ast.Name) else [*source.nodes(ast.Attribute)]
    )
    same = [use for use in every if source.enclosing(use, *_SCOPES) is scope and ast.unparse(use) == text]
    return sorted(same, key=_place)


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _chain(source: Source, use: ast.expr) -> tuple[ast.expr, frozenset[str]]:
    """`model.layers[0].set_weights(…)` around `model`, and the names in it; a call without a name counts as one."""
    names: set[str] = set()
    while True:
        above = source.parent(use)
        if isinstance(above, (ast.Attribute, ast.Subscript)) and above.value is use:
            names |= {above.attr} if isinstance(above, ast.Attribute) else set()
        elif isinstance(above, ast.Call) and above.func is use:
            names |= set() if isinstance(use, ast.Attribute) else {"()"}
        else:
            return use, frozenset(names)
        use = above


def _is_part(whole: ast.expr) -> bool:
    """Whether an expression is layers of a network, which may be used under another name."""
    called = whole.func if isinstance(whole, ast.Call) else whole
    return isinstance(called, ast.Attribute) and called.attr in ("layers", "get_layer")


def _is_used_elsewhere(source: Source, network: ast.expr) -> bool:
    """Whether another function uses this variable."""
    if not isinstance(network, ast.Name):
        return not isinstance(network, ast.Attribute)
    scope = source.enclosing(network, *_SCOPES)
    for name in source.nodes(ast.Name):
        inner = source.enclosing(name, *_SCOPES)
        if name.id != network.id or inner is scope or inner is None:
            continue
        own = {node.id for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.arg for node in ast.walk(inner) if isinstance(node, ast.arg)}
        shared = (ast.Global, ast.Nonlocal)
        own -= {each for node in ast.walk(inner) if isinstance(node, shared) for each in node.names}
        if name.id not in own:
            return True
    return False


def _between(source: Source, network: ast.expr, begun: ast.stmt, use: ast.expr) -> bool:
    """Whether a method of the object that holds the network, which may train it, is called in between."""
    if not isinstance(network, ast.Attribute):
        return False
    owner = ast.unparse(network.value)
    calls = (call for call in source.all_calls if _place(begun) < _place(call) < _place(use))
    return any(isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == owner for call in calls)


def _stopped_at(subject: Subject, whole: ast.expr) -> bool:
    crash, site = subject.crash, subject.source.site(whole)
    if crash is None or not _UNBUILT.search(crash.message):
        return False
    return any(not f.site.path and site.line <= f.site.line <= site.end_line for f in crash.frames)


def _asked_by_callers(subject: Subject, returned: ast.expr) -> bool | None:
    """Whether the function's callers use the network's weights first; unsafe where only some do."""
    source = subject.source
    function = source.enclosing(returned, *_SCOPES)
    if not isinstance(function, ast.FunctionDef) or isinstance(source.parent(function), ast.ClassDef):
        return None
    answers: list[bool | None] = []
    for name in source.nodes(ast.Name):
        if name.id != function.name:
            continue
        call = source.parent(name)
        taken = source.parent(call) if isinstance(call, ast.Call) and call.func is name else None
        if isinstance(taken, ast.Assign) and taken.value is call and len(taken.targets) == 1:
            answers.append(_asks_first(subject, taken.targets[0], taken, further=False))
        else:
            answers.append(None)
    return all(answers) if any(answer is not None for answer in answers) else None


def _with_input(subject: Subject, call: ast.Call, gone: str, shape: str) -> list[Edit]:
    source = subject.source
    made, imports = _input(subject, call)
    code = f"{made}({shape})"
    removed: list[Edit] = [RemoveArgument(source.site(call), gone), *imports]
    outer: ast.expr = call
    above = source.parent(call)
    while isinstance(above, ast.Call) and call in above.args and call_arguments.element_of(subject, outer) is None:
        if call_arguments.added_by_statement(subject, outer) is not None:
            break
        outer, above = above, source.parent(above)  # a wrapper such as Bidirectional(LSTM(…))
    element = call_arguments.element_of(subject, outer)
    if element is not None:
        return [InsertElement(element[0], element[1], code), *removed]
    statement = call_arguments.added_by_statement(subject, outer)
    if statement is None or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return []
    owner = source.segment(source.site(statement.value.func))
    return [InsertBefore(source.site(statement), f"{owner}({code})"), *removed]


def _input(subject: Subject, call: ast.Call) -> tuple[str, list[Edit]]:
    """`Input` as the program can write it, and its import."""
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
