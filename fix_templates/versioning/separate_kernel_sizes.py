"""`Convolution2D(32, 3, 3)`: the kernel's height and width are two arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, RemoveArgument, RenameArgument, SetArgument, Subject, keras_era, uses_of

SIZES = {
    "Conv2D": ("nb_row", "nb_col"),
    "Conv2DTranspose": ("nb_row", "nb_col"),
    "SeparableConv2D": ("nb_row", "nb_col"),
    "Conv3D": ("kernel_dim1", "kernel_dim2", "kernel_dim3"),
}
"""By today's layer, Keras 1's names for the sizes of the kernel."""

OLD_LEAVES = ("Convolution", "AtrousConvolution", "Deconvolution", "SeparableConvolution")

KERAS_1 = frozenset({"border_mode", "subsample", "init", "dim_ordering", "bias", "W_regularizer", "nb_filter"})
"""Keywords that only Keras 1 had."""

KERAS_2 = frozenset({"strides", "padding", "data_format"})
"""Keywords beside which no version accepted separate sizes."""

BEHIND = ("kernel_initializer", "activation")
"""Keras 1's positional parameters after the sizes, by today's names."""


class SeparateKernelSizes(ApiChange):
    """Keras 1 accepted the sides of a kernel separately; Keras 2 and 3 expect `(3, 3)`, followed by the stride.

    `Convolution2D(32, 3, 3)` is therefore not an error today: its stride is 3 and the network shrinks too fast. Calls
    by the layer's former name, or with another keyword of Keras 1, get one tuple. `Conv2D(32, 3, 3)` gets one in
    programs that are shown to be older than Keras 2.4: until then the two numbers were the sides.

    Fix safety: unsafe: the strides that the program runs with today change.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes.
    """

    code = "DNF505"
    name = "separate-kernel-sizes"
    message = "{layer} expects its kernel size as one tuple since Keras 2, and reads {size} as the strides"
    triggers = (*SIZES, *(f"{leaf}{rank}D" for leaf in OLD_LEAVES for rank in (1, 2, 3)))

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        uses = uses_of(source)
        if "keras" not in source.frameworks:
            return
        for call in uses.calls():
            written = source.written(call.func)
            target = uses.target(written) if written else None
            layer = ((target.today if target is not None else written) or "").rpartition(".")[2]
            if layer not in SIZES or not (written or "").startswith(("keras.", "tensorflow.keras.")):
                continue
            edits, said = _edits(subject, call, SIZES[layer], written or "")
            if edits:
                yield Hit(
                    source.site(call),
                    self.message.format(layer=layer, size=said),
                    title="pass the kernel size as one tuple",
                    edits=tuple(edits),
                )

    programs = """
=== example: by keyword, and with names
from keras.layers import Convolution2D
from keras import layers

k = 5
- first = Convolution2D(nb_filter=16, nb_row=k, nb_col=3, border_mode="same")
- second = layers.Conv2D(8, k, k, subsample=(2, 2))
+ first = Convolution2D(filters=16, kernel_size=(k, 3), padding="same")
+ second = layers.Conv2D(8, (k, k), strides=(2, 2))

=== example: three dimensions
import keras

model = keras.Sequential()
- model.add(keras.layers.Convolution3D(8, 3, 3, 3, activation="relu"))
+ model.add(keras.layers.Convolution3D(8, (3, 3, 3), activation="relu"))

=== example: today's name of the layer in a program of Keras 1
from keras.models import Sequential
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D

model = Sequential()
- model.add(Conv2D(16, 5, 5, activation="relu", input_shape=(28, 28, 1)))
+ model.add(Conv2D(16, (5, 5), activation="relu", input_shape=(28, 28, 1)))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="sgd")
- model.fit(x, y, nb_epoch=2)
+ model.fit(x, y, epochs=2)

=== example: initializer and activation after the sizes
- from keras.layers import Convolution2D, Deconvolution2D
+ from keras.layers import Convolution2D, Conv2DTranspose

- layer = Convolution2D(32, 3, 3, "he_normal", "relu", border_mode="same")
- other = Deconvolution2D(3, 3, 3, (None, 3, 14, 14), subsample=(2, 2))
+ layer = Convolution2D(32, (3, 3), padding="same", kernel_initializer="he_normal", activation="relu")
+ other = Conv2DTranspose(3, (3, 3), strides=(2, 2))

=== reject: a stride in a program that is not as old
from keras.layers import Conv2D
from keras.layers.core import Dense
from keras.optimizers import Adam

layers = [Conv2D(32, 3, 2), Conv2D(32, 3, 2, padding="same"), Dense(4)]
optimizer = Adam(lr=0.1)

=== reject: a stride of three is meant
from keras.layers import Conv2D

layer = Conv2D(32, 3, 3)
other = Conv2D(32, (3, 3), (2, 2), activation="relu")

=== reject: the old name with today's arguments
from keras.layers import Convolution2D

layer = Convolution2D(32, (3, 3), padding="same")
square = Convolution2D(32, 3, activation="relu")
"""


def _edits(subject: Subject, call: ast.Call, names: tuple[str, ...], written: str) -> tuple[list[Edit], str]:
    """The edits that combine the sizes into a tuple, and the source of the second size; none if not separate."""
    source = subject.source
    site = source.site(call)
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return [], ""
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    if all(name in keywords for name in names):
        sizes = [source.segment(source.site(keywords[name])) for name in names]
        edits: list[Edit] = [RemoveArgument(site, name) for name in names[1:]]
        return [SetArgument(site, names[0], f"({', '.join(sizes)})"), *edits, _renamed(subject, call, names[0])], sizes[
            1
        ]
    given, behind = call.args[1 : 1 + len(names)], call.args[1 + len(names) :]
    if len(given) < len(names) or not all(_is_size(subject, size) for size in given) or "strides" in keywords:
        return [], ""
    if not _is_old(subject, written, keywords):
        return [], ""
    if written.endswith("Deconvolution2D") and behind and isinstance(behind[0], (ast.Tuple, ast.List)):
        behind = behind[1:]  # the shape of the output, which the layer infers
    if len(behind) > len(BEHIND) or not all(_is_choice(subject, one) for one in behind):
        return [], ""
    sizes = [source.segment(source.site(size)) for size in given]
    gone = range(2, len(call.args))
    removed: list[Edit] = [RemoveArgument(site, "", position) for position in gone]
    named = [
        SetArgument(site, name, source.segment(source.site(one))) for name, one in zip(BEHIND, behind, strict=False)
    ]
    return [SetArgument(site, "kernel_size", f"({', '.join(sizes)})", 1), *removed, *named], sizes[1]


def _is_old(subject: Subject, written: str, keywords: dict[str, ast.expr]) -> bool:
    """Whether a call is from a time of separate sizes."""
    if written.rpartition(".")[2].startswith(OLD_LEAVES) or not KERAS_1.isdisjoint(keywords):
        return True
    return written.startswith("keras.") and KERAS_2.isdisjoint(keywords) and keras_era.is_multi_backend(subject.source)


def _is_choice(subject: Subject, given: ast.expr) -> bool:
    """Whether an argument is the name of an initializer or an activation."""
    values = subject.source.bindings(given) if isinstance(given, ast.Name) else (given,)
    return bool(values) and all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in values)


def _renamed(subject: Subject, call: ast.Call, old: str) -> Edit:
    return RenameArgument(subject.source.site(call), old, "kernel_size")


def _is_size(subject: Subject, size: ast.expr) -> bool:
    """Whether an argument is one number, as far as known."""
    if isinstance(size, ast.Constant):
        return isinstance(size.value, int)
    if isinstance(size, ast.Name):
        bound = subject.source.bindings(size)
        return all(isinstance(value, ast.Constant) and isinstance(value.value, int) for value in bound)
    return isinstance(size, (ast.BinOp, ast.Subscript))
