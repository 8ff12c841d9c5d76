"""A Keras model with several inputs is given the array of one of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Example,
    Mend,
    Reject,
    Replace,
    Subject,
    argument_value,
    described_shape,
    first_argument,
    within,
)

METHODS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})

COUNTED = re.compile(
    r"expects (\d+) (?:named )?input\(s\)(?: with keys [^,\]]*(?:,[^,\]]*)*\])?, but it received (\d+) input"
)
"""Keras's words for fewer arrays than the model has inputs."""

ARRAYS = ("numpy.", "torch.", "pandas.", "tensorflow.", "jax")


class InputLeftOut(CrashTemplate):
    """A Keras model with several inputs is given the array of one of them.

    A model that was made of two inputs takes a list with an array for each, in the order of its inputs. The run tells
    the shapes of the inputs and of the arrays that the program has: where each input has exactly one array of as many
    samples and of its shape, and the one that is given is among them, the list of them is handed over. What the program
    gives as targets or weights of samples is no input.

    Fix safety: unsafe. The program could not run before.

    References: keras.Model.fit (`x`: a list of arrays, where the model has several inputs).
    """

    code = "DNF633"
    name = "input-left-out"
    kinds = frozenset({"ValueError"})
    confidence = 0.9

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        said = COUNTED.search(crash.message)
        if said is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        given = first_argument(node) if node.func.attr in METHODS else None
        wanted = _input_shapes(crash)
        if given is None or len(wanted) != int(said[1]) or int(said[2]) >= len(wanted):
            return
        names = [one.id for one in _elements(given) if isinstance(one, ast.Name)]
        if len(names) != int(said[2]):
            return
        chosen = _chosen(crash.frames[-1].names, wanted, names, _answers(subject))
        if chosen is None:
            return
        listed = f"[{', '.join(chosen)}]"
        site = subject.source.site(given)
        what = f"the model has {said[1]} inputs and is given {subject.text(site)} alone"
        yield Mend(site, what, ((f"Give it {listed}", (Replace(site, listed),), 0.9),))

    examples = (
        Example(
            "two of three, in a function",
            """\
import keras
import numpy as np
from keras import layers


def build():
    inputs = [keras.Input((size,)) for size in (2, 3, 4)]
    net = keras.Model(inputs, layers.Dense(1)(layers.concatenate(inputs)))
    net.compile("sgd", loss="mse")
    return net


def train(net, age, text, image, price):
-     net.fit(x=[age, image], y=price, epochs=1, verbose=0)
+     net.fit(x=[age, text, image], y=price, epochs=1, verbose=0)


train(build(), np.ones((8, 2)), np.ones((8, 3)), np.ones((8, 4)), np.ones(8))
""",
            runs=True,
        ),
        Example(
            "at the prediction",
            """\
import keras
import numpy as np
from keras import layers

words, picture = layers.Input((6,), dtype="int32"), layers.Input((4, 4, 1))
joined = layers.concatenate([layers.Flatten()(layers.Embedding(9, 2)(words)), layers.Flatten()(picture)])
net = keras.Model([words, picture], layers.Dense(1)(joined))
tokens, pictures = np.ones((5, 6), dtype=int), np.ones((5, 4, 4, 1))
- print(net.predict(pictures, verbose=0).shape)
+ print(net.predict([tokens, pictures], verbose=0).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the targets of the training fit the other input",
            """\
import keras
import numpy as np

left, right = keras.Input((5,)), keras.Input((1,))
net = keras.Model([left, right], keras.layers.Dense(1)(keras.layers.concatenate([left, right])))
net.compile("adam", "mse")
data, y = np.random.rand(12, 6), np.random.rand(12)
first = data[:, :5]
net.fit([first, data[:, 5:]], y, verbose=0)
print(net.predict(first, verbose=0).shape)
""",
            runs=True,
        ),
        Reject(
            "two inputs of one shape",
            """\
import keras
import numpy as np

left, right = keras.Input((3,)), keras.Input((3,))
net = keras.Model([left, right], keras.layers.Dense(1)(keras.layers.add([left, right])))
net.compile("adam", "mse")
first, second = np.random.rand(12, 3), np.random.rand(12, 3)
net.fit(first, np.ones(12), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "a list with both",
            """\
import keras
import numpy as np

left, right = keras.Input((3,)), keras.Input((2,))
net = keras.Model([left, right], keras.layers.Dense(1)(keras.layers.concatenate([left, right])))
net.compile("adam", "mse")
net.fit([np.ones((8, 3)), np.ones((8, 2))], np.ones(8), verbose=0)
""",
            runs=True,
        ),
    )


def _elements(given: ast.expr) -> Sequence[ast.expr]:
    return given.elts if isinstance(given, (ast.List, ast.Tuple)) else (given,)


def _input_shapes(crash: Crash) -> list[tuple[int | None, ...]]:
    """The shapes of the model's inputs, with the axis of the batch."""
    told = crash.call.args.get("input_shape") if crash.call is not None else None
    shapes = [described_shape({"shape": one}) for one in told] if isinstance(told, list) else []
    return [shape for shape in shapes if shape] if all(shapes) else []


def _chosen(
    names: Mapping[str, object], wanted: Sequence[tuple[int | None, ...]], given: Sequence[str], targets: set[str]
) -> list[str] | None:
    """The names of the arrays for the inputs, where there is exactly one for each and those given are among them."""
    arrays = {}
    for name, description in names.items():
        kind = description.get("kind") if isinstance(description, dict) else None
        shape = described_shape(description) if isinstance(description, dict) else None
        if shape and isinstance(kind, str) and kind.startswith(ARRAYS) and name.isidentifier() and name not in targets:
            arrays[name] = shape
    counts = {arrays[name][0] for name in given if name in arrays}
    if len(counts) != 1:
        return None
    count = counts.pop()
    chosen: list[str] = []
    for shape in wanted:
        fitting = [name for name, seen in arrays.items() if seen[0] == count and _fits(seen, shape)]
        if len(fitting) != 1:
            return None
        chosen += fitting
    return chosen if set(given) <= set(chosen) and len(set(chosen)) == len(wanted) else None


def _fits(seen: tuple[int | None, ...], wanted: tuple[int | None, ...]) -> bool:
    if len(seen) == 1 and len(wanted) == 2:
        return wanted[1] == 1
    return len(seen) == len(wanted) and all(w in (None, s) for s, w in zip(seen[1:], wanted[1:], strict=True))


def _answers(subject: Subject) -> set[str]:
    """The names within what the program's models are given as targets or weights, and of what they predict."""
    given: list[ast.AST] = []
    for call in subject.source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in METHODS:
            continue
        statement = subject.source.parent(call)
        if call.func.attr.startswith("predict"):
            given += statement.targets if isinstance(statement, ast.Assign) else ()
            continue
        told = (argument_value(call, "y", 1), *(k.value for k in call.keywords if k.arg == "sample_weight"))
        # what is computed of several arrays may be computed of the inputs
        given += [one for one in told if one is not None and not any(within(one, ast.BinOp))]
    return {part.id for one in given for part in ast.walk(one) if isinstance(part, ast.Name)}
