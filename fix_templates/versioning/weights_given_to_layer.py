"""`Dense(10, weights=[W, b])`: a layer that is given its first weights with its sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    ApiChange,
    Edit,
    Example,
    Hit,
    InsertAfter,
    Reject,
    RemoveArgument,
    SetArgument,
    Source,
    Subject,
    added_by_statement,
    is_multi_backend,
    number,
    spell,
    uses_of,
)

ARRAYS = {
    "Dense": ("kernel", "bias"),
    "Conv1D": ("kernel", "bias"),
    "Conv2D": ("kernel", "bias"),
    "Conv3D": ("kernel", "bias"),
    "Conv2DTranspose": ("kernel", "bias"),
    "BatchNormalization": ("gamma", "beta", "moving_mean", "moving_variance"),
}
"""By layer, what its weights are, in the order of every version."""

SIDES = {"Conv2D": 2, "Conv2DTranspose": 2, "Conv3D": 3}
"""By layer, how many sides its kernel has, where Keras 1 on Theano kept them behind the channels."""

OTHERS = frozenset({"GRU", "LSTM", "SeparableConv1D", "SeparableConv2D", "SimpleRNN", "Conv3DTranspose"})
"""Layers that took weights as well, in arrays that are others today."""

SIZE_KEYWORDS = ("size", "shape")


class WeightsGivenToLayer(ApiChange):
    """Keras 1 and 2 took the first weights of a layer as `weights=`; Keras 3 knows that of embeddings only.

    Where the layer is added to a model, the weights are set on it right behind; elsewhere each array becomes an
    initializer. Kernels of convolutions that are in Theano's order (channels of output and input first, told by the
    number of filters) have their axes moved to today's. Recurrent layers, whose arrays were other ones, are left.

    Fix safety: unsafe: the layer has to be built where its weights are set, and the order of a kernel is read from its
    size.

    References: https://keras.io/api/layers/base_layer/#setweights-method, https://keras.io/api/layers/initializers/.
    """

    code = "DNF559"
    name = "weights-given-to-layer"
    triggers = ("weights",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Layers that are given weights."""
        source = subject.source
        if "keras" not in source.frameworks or "weights" not in source.words:
            return
        uses = uses_of(source)
        for call in source.all_calls:
            keyword = next((k for k in call.keywords if k.arg == "weights"), None)
            written = source.written(call.func) if keyword is not None else None
            if keyword is None or not written or not written.startswith(("keras.layers.", "tensorflow.keras.layers.")):
                continue
            target = uses.target(written)
            layer = ((target.today if target is not None else "") or written).rpartition(".")[2]
            layer = layer.replace("Convolution", "Conv")
            if layer not in {*ARRAYS, *OTHERS} or isinstance(keyword.value, ast.Constant) and not keyword.value.value:
                continue
            edits, decline = _edits(subject, call, keyword.value, layer)
            yield Hit(
                source.site(keyword),
                f"{layer} takes no weights since Keras 3.0; they are set on the layer, or drawn by an initializer",
                title="set the weights on the layer",
                edits=() if decline else tuple(edits),
                decline=decline,
                removed={"keras": "3.0"},
                within=source.site(call),
            )

    examples = (
        Example(
            "a kernel in Theano's order",
            """\
import numpy as np
from keras import backend as K
from keras.layers import Convolution2D
from keras.models import Sequential

- K.set_image_dim_ordering('th')
+ K.set_image_data_format('channels_first')
model = Sequential()
- model.add(Convolution2D(64, 3, 3, weights=[np.random.normal(0, 0.1, size=(64, 1, 3, 3)), np.zeros(64)],
-                         border_mode='same', input_shape=(1, 32, 32)))
+ model.add(Convolution2D(64, (3, 3),
+                         padding='same', input_shape=(1, 32, 32)))
+ model.layers[-1].set_weights([np.transpose(np.random.normal(0, 0.1, size=(64, 1, 3, 3)), (2, 3, 1, 0)), np.zeros(64)])
""",
        ),
        Example(
            "a functional model, and weights under a name",
            """\
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model, Sequential
+ from keras.initializers import Constant

start = [np.ones((5, 2)), np.zeros(2)]
inputs = Input(shape=(5,))
- x = Dense(2, weights=[np.ones((5, 2)), np.zeros(2)])(inputs)
+ x = Dense(2, kernel_initializer=Constant(np.ones((5, 2))), bias_initializer=Constant(np.zeros(2)))(inputs)
model = Model(inputs, x)
other = Sequential()
- other.add(Dense(2, weights=start, input_shape=(5,)))
- third = Sequential([Dense(2, input_dim=5, weights=start)])
+ other.add(Dense(2, input_shape=(5,)))
+ other.layers[-1].set_weights(start)
+ third = Sequential([Dense(2, input_dim=5, kernel_initializer=Constant(start[0]), bias_initializer=Constant(start[1]))])
""",
        ),
    )
    rejects = (
        Reject(
            "an embedding takes them still",
            """\
import numpy as np
from keras.layers import Embedding

layer = Embedding(100, 8, weights=[np.zeros((100, 8))], trainable=False)
""",
        ),
        Reject(
            "pretrained networks, and no weights",
            """\
from keras.applications import VGG16
from keras.layers import Dense

base = VGG16(weights="imagenet", include_top=False)
layer = Dense(3, weights=None)
""",
        ),
    )


def _edits(subject: Subject, call: ast.Call, weights: ast.expr, layer: str) -> tuple[list[Edit], str]:
    """The edits that give the layer its weights in another way, and why there are none."""
    source = subject.source
    if layer in OTHERS:
        return [], "build the layer, then call set_weights with arrays in today's order"
    if any(keyword.arg in ("init", "kernel_initializer", "gamma_init") for keyword in call.keywords):
        return [], "the layer is given an initializer too"
    arrays = _arrays(source, weights)
    written = source.segment(source.site(weights))
    listed = not isinstance(weights, ast.Name)
    moved = [
        source.segment(source.site(array)) if listed else f"{written}[{place}]" for place, array in enumerate(arrays)
    ]
    as_they_are = list(moved)
    imports: list[Edit] = []
    if layer in SIDES:
        order = _order(source, call, arrays[0], SIDES[layer]) if arrays else ""
        if not order:
            return [], "it cannot be read in which order the axes of the kernel are"
        if order == "first":
            transposed = spell(subject, "numpy.transpose")
            axes = ", ".join(map(str, (*range(2, 2 + SIDES[layer]), 1, 0)))
            moved[0] = f"{transposed.code}({moved[0]}, ({axes}))"
            imports += transposed.imports
    site = source.site(call)
    removed = RemoveArgument(site, "weights")
    statement = added_by_statement(subject, call)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        owner = source.segment(source.site(function.value)) if isinstance(function, ast.Attribute) else ""
        given = written if moved == as_they_are else f"[{', '.join(moved)}]"
        after = InsertAfter(source.site(statement), f"{owner}.layers[-1].set_weights({given})")
        return [removed, after, *imports], ""
    if not 0 < len(arrays) <= len(ARRAYS[layer]):
        return [], "build the layer, then call set_weights"
    constant = spell(subject, "keras.initializers.Constant")
    names = [f"{name}_initializer" for name in ARRAYS[layer]]
    values = [SetArgument(site, name, f"{constant.code}({code})") for name, code in zip(names, moved, strict=False)]
    return [removed, *values, *imports, *constant.imports], ""


def _arrays(source: Source, weights: ast.expr) -> list[ast.expr]:
    """The arrays of a list that is written out where it is given, or assigned to the name that is."""
    bound = source.bindings(weights) if isinstance(weights, ast.Name) else (weights,)
    listed = bound[0] if len(bound) == 1 else None
    return list(listed.elts) if isinstance(listed, (ast.List, ast.Tuple)) else []


def _order(source: Source, call: ast.Call, kernel: ast.expr, sides: int) -> str:
    """Whether the channels of a kernel stand `first`, as in Theano, or `last`, as today; empty where nothing tells."""
    shape = _shape(source, kernel)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    filters = number(call.args[0] if call.args else given.get("filters", given.get("nb_filter")))
    if len(shape) != sides + 2 or filters is None:
        return ""
    first, last = shape[0] == filters, shape[-1] == filters
    if first == last:
        return ""
    return "last" if last else "first" if is_multi_backend(source) else ""


def _shape(source: Source, array: ast.expr) -> Sequence[int | None]:
    """The shape that an array is made with, where a call that makes it has it written in it."""
    bound = source.bindings(array) if isinstance(array, ast.Name) else (array,)
    made = bound[0] if len(bound) == 1 else None
    if not isinstance(made, ast.Call):
        return ()
    given = [*made.args, *(k.value for k in made.keywords if k.arg in SIZE_KEYWORDS)]
    shapes = [one for one in given if isinstance(one, (ast.Tuple, ast.List))]
    axes = shapes[0].elts if len(shapes) == 1 else made.args
    return [number(axis) for axis in axes]
