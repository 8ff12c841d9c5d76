"""Images have their channels first, in a program that relied on Keras's settings file for the order of the axes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from dnnfix.api import (
    AddImport,
    ApiChange,
    Hit,
    InsertBefore,
    Source,
    Subject,
    arithmetic,
    keras_era,
    once,
    spell,
    spelling_edits,
    trees,
    uses_of,
)

MOST_CHANNELS = 4
"""The most channels of an image: gray, colour, colour with transparency; no image is that few pixels high."""

FIRST, LAST = "channels_first", "channels_last"

TOLD = frozenset({"data_format", "dim_ordering", "image_data_format", "image_dim_ordering", "set_image_data_format",
                  "set_image_dim_ordering"})  # fmt: skip
"""Names by which a program sets the order itself."""

IMAGE_LAYERS = tuple(
    f"keras.layers.{name}2D"
    for name in ("Conv", "Convolution", "SeparableConv", "SeparableConvolution", "MaxPooling", "AveragePooling",
                 "UpSampling", "ZeroPadding", "Cropping")
)  # fmt: skip

SHAPES = frozenset({"shape", "input_shape", "target_shape", "batch_input_shape", "batch_shape"})
"""Parameters of layers that are shapes."""

ARRAYS = frozenset({"reshape", "resize", "zeros", "ones", "empty", "normal", "uniform", "rand", "randn", "random"})
"""Functions and methods with the shape of an array as an argument."""


class AxesOrderedBySettings(ApiChange):
    """Keras up to 2.3 read the order of image axes from `~/.keras/keras.json`; with Theano it was channels first.

    A program that only states `(1, 28, 28)` relied on that file. Today's default is channels last: a row becomes the
    whole height, and kernels and poolings soon exceed the image. The patch sets the order once, before the first layer,
    so that shapes and data stay as they are. Proposed for programs of that time whose shapes all have their channels
    first.

    Fix safety: unsafe: what the layers compute changes, back to what it was with the author's settings.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes;
    https://keras.io/api/utils/config_utils/.
    """

    code = "DNF558"
    name = "axes-ordered-by-settings"
    message = "{shape} has its channels first, which was a setting in keras.json; the default is channels_last"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks or _speaks_of_order(source):
            return
        layers = [call for call in source.all_calls if (source.written(call.func) or "").startswith("keras.")]
        if not any(source.qualified(call.func) in IMAGE_LAYERS for call in layers):
            return
        first = _first(_of_layers(source, layers)) or _first(_of_arrays(source))
        place = _behind_imports(source) if first is not None and keras_era.is_multi_backend(source) else None
        if first is None or place is None:
            return
        spelled = spell(subject, "keras.backend.set_image_data_format")
        if spelled.imports and "backend" not in uses_of(source).bound:
            spelled = spelling_edits.Spelling(
                "backend.set_image_data_format", (AddImport("from keras import backend"),)
            )
        said = InsertBefore(source.site(place), f"{spelled.code}('channels_first')")
        yield Hit(
            source.site(first),
            self.message.format(shape=source.segment(source.site(first))),
            title="set the image data format to channels_first",
            edits=(*spelled.imports, said),
            confidence=0.9,
        )

    programs = """
=== example: a gray image in a program of Keras 1
from keras.models import Sequential
from keras.layers import Convolution2D, Dense, Flatten, MaxPooling2D
+ from keras import backend

+ backend.set_image_data_format('channels_first')
model = Sequential()
- model.add(Convolution2D(32, 3, 3, border_mode="same", input_shape=(1, 28, 28)))
+ model.add(Convolution2D(32, (3, 3), padding="same", input_shape=(1, 28, 28)))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(10, activation="softmax"))

=== example: rows and columns in variables, with the backend imported
import numpy as np
from keras import backend as K
from keras.layers import Conv2D, Input
from keras.models import Model

+ K.set_image_data_format('channels_first')
rows, cols = 32, 32
channels = 3
images = np.random.rand(100, channels, rows, cols)
inputs = Input(shape=(channels, rows, cols))
- x = Conv2D(8, 3, 3)(inputs)
- model = Model(input=inputs, output=x)
+ x = Conv2D(8, (3, 3))(inputs)
+ model = Model(inputs=inputs, outputs=x)
K.clear_session()

=== example: a shape that only the data tells, read from it
import keras
from keras.layers import Conv2D, Flatten
+
+
+ keras.backend.set_image_data_format('channels_first')


def network(data):
    data = data.reshape(data.shape[0], 1, 48, 48)
    model = keras.models.Sequential()
-     model.add(Conv2D(16, (5, 5), border_mode="valid", input_shape=data.shape[1:]))
+     model.add(Conv2D(16, (5, 5), padding="valid", input_shape=data.shape[1:]))
    model.add(Flatten())
    return model

=== reject: channels last
import numpy as np
from keras.models import Sequential
from keras.layers import Convolution2D, MaxPooling2D

model = Sequential()
model.add(Convolution2D(32, (3, 3), padding="same", input_shape=(28, 28, 1)))
print(model.predict_classes(np.zeros((1, 28, 28, 1))))
model.add(MaxPooling2D(pool_size=(2, 2)))

=== reject: both orders, by what the backend says
from keras import backend as K
from keras.layers import Conv2D

if K.image_data_format() == "channels_first":
    shape = (1, 28, 28)
else:
    shape = (28, 28, 1)
layer = Conv2D(8, (3, 3), input_shape=shape)

=== reject: an image of one column
from keras.layers import Conv2D, Reshape
from keras.models import Sequential

model = Sequential([Conv2D(64, (4, 1), input_shape=(784, 1, 1)), Reshape((781, 1, 64))])
print(model.predict_classes(x))

=== reject: a program of today whose shape is another matter
from keras.models import Sequential
from keras.layers import Conv2D

model = Sequential()
model.add(Conv2D(8, (3, 3), padding="same", input_shape=(1, 28, 28)))
"""


@once
def _speaks_of_order(source: Source) -> bool:
    """Whether the code, comments aside, names the order."""
    if TOLD.isdisjoint(source.words):
        return False
    spoken = {keyword.arg for call in source.all_calls for keyword in call.keywords}
    spoken.update(node.attr for node in source.nodes(ast.Attribute))
    spoken.update(node.id for node in source.nodes(ast.Name))
    return not TOLD.isdisjoint(spoken)


Told = tuple[ast.expr, str]
"""A shape, and the order of its axes where that is known."""


def _first(shapes: Iterable[Told]) -> ast.expr | None:
    """The first shape with its channels first, where none has them last."""
    told = [(node, order) for node, order in shapes if order]
    return told[0][0] if told and all(order == FIRST for _, order in told) else None


def _of_layers(source: Source, layers: Iterable[ast.Call]) -> Iterator[Told]:
    for call in layers:
        given = [(k.value, k.arg or "") for k in call.keywords if k.arg in SHAPES]
        name = (source.qualified(call.func) or "").rpartition(".")[2]
        if name in ("Reshape", "Input") and call.args:
            given.append((call.args[0], "target_shape" if name == "Reshape" else "shape"))
        for shape, argument in given:
            sizes = _sizes(source, shape)
            order = _order(sizes[1:] if argument.startswith("batch") else sizes)
            yield shape, order or (_order_of_features(sizes) if argument == "target_shape" else "")


def _of_arrays(source: Source) -> Iterator[Told]:
    """Shapes of data with four axes, the first of which is the batch."""
    for call in source.all_calls:
        last = trees.last_name(call.func)
        if last in ARRAYS:
            for shape in (call, *call.args, *(keyword.value for keyword in call.keywords)):
                sizes = _sizes(source, shape)
                if len(sizes) == 4:
                    yield shape, _order(sizes[1:])


def _order(sizes: Sequence[int | None]) -> str:
    known = [size for size in sizes if size is not None]
    if len(sizes) == 3 == len(known):
        first, middle, last = known
        if first <= MOST_CHANNELS < min(middle, last):
            return FIRST
        if last <= MOST_CHANNELS < min(first, middle):
            return LAST
    return ""


def _order_of_features(sizes: Sequence[int | None]) -> str:
    """The order of a feature shape such as `Reshape((128, 7, 7))`: the two equal sizes are the sides."""
    if len(sizes) == 3 and None not in sizes and len(set(sizes)) == 2 and sizes[1] != 1:
        return FIRST if sizes[1] == sizes[2] else LAST if sizes[0] == sizes[1] else ""
    return ""


def _sizes(source: Source, shape: ast.expr) -> list[int | None]:
    """The sizes in a shape, or in the arguments of a call; `None` for one that is not known."""
    if isinstance(shape, ast.Name):
        bound = source.bindings(shape)
        shape = bound[0] if len(bound) == 1 else shape
    if isinstance(shape, ast.Call):
        return [_size(source, axis) for axis in shape.args]
    return [_size(source, axis) for axis in shape.elts] if isinstance(shape, (ast.Tuple, ast.List)) else []


def _size(source: Source, axis: ast.expr) -> int | None:
    """The size of an axis that is a literal, or a name bound to one number."""
    written = arithmetic.number(axis)
    if written is None and isinstance(axis, (ast.Name, ast.Attribute)):
        values = {arithmetic.number(value) for value in source.bindings(axis)}
        written = values.pop() if len(values) == 1 else None
    return written


def _behind_imports(source: Source) -> ast.stmt | None:
    """The module's first statement after its last import of Keras; `None` where Keras is imported elsewhere."""
    body = source.tree.body
    of_keras = [
        place
        for place, statement in enumerate(body)
        if isinstance(statement, ast.Import) and any(a.name.partition(".")[0] == "keras" for a in statement.names)
        or isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == "keras"
    ]  # fmt: skip
    behind = body[of_keras[-1] + 1 :] if of_keras else []
    return next((one for one in behind if not isinstance(one, (ast.Import, ast.ImportFrom))), None)
