"""`initializations.normal(shape, scale=0.02)`: initializers of Keras 1, which were functions and are objects today."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
    RemoveArgument,
    RenameArgument,
    ReplaceLines,
    SetArgument,
    Site,
    Subject,
    Unwrap,
    Wrap,
    uses_of,
)
from dnnfix.detect.versioning.migration import NO_CLAIMS, Claims

MODULE = "keras.initializations"

FUNCTIONS = frozenset(
    (
        "uniform",
        "normal",
        "lecun_uniform",
        "glorot_normal",
        "glorot_uniform",
        "he_normal",
        "he_uniform",
        "orthogonal",
        "identity",
        "zero",
        "one",
    )
)
"""The functions of Keras 1, which took the shape first; `get` and the like are others."""

GIVEN_AS = frozenset({"init", "inner_init", "kernel_initializer", "recurrent_initializer", "bias_initializer"})


class InitializerFunction(ApiChange):
    """In Keras 1 an initializer was a function of a shape, a scale and a name; since Keras 2 it is an object that is called.

    `normal(shape, scale=0.02, name=name)` becomes `RandomNormal(stddev=0.02)(shape)`, and a lambda around it becomes the
    object alone. A function of the program's own that is given to a layer is called with a shape and a `dtype` today, where
    it took a `name`.

    Fix safety: unsafe: the numbers are drawn in another way.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes, https://keras.io/api/layers/initializers/.
    """

    code = "DNF534"
    name = "initializer-function"
    message = "{function} was removed in Keras 2.0; an initializer is an object, created with its scale and called with a shape"
    triggers = ("initializations",)

    def claims(self, subject: Subject) -> Claims:
        """The functions, if all their calls can be written anew: then their names are changed by the tables."""
        hits = list(self.hits(subject))
        return Claims(frozenset({MODULE})) if hits and all(hit.edits for hit in hits) else NO_CLAIMS

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls of such functions."""
        source = subject.source
        for call in uses_of(source).calls():
            written = source.written(call.func) or ""
            module, _, function = written.rpartition(".")
            if module != MODULE or function not in FUNCTIONS:
                continue
            edits, decline = _edits(subject, call, function)
            yield Hit(
                source.site(call),
                self.message.format(function=written),
                title="create the initializer and call it with the shape",
                edits=() if decline else tuple(edits),
                decline=decline,
                removed={"keras": "2.0"},
            )

    programs = """
=== example: a function that is given to layers
- from keras import initializations
+ from keras import initializers
from keras.layers import Dense


- def small(shape, name=None):
-     return initializations.normal(shape, scale=0.01, name=name)
+ def small(shape, dtype=None):
+     return initializers.RandomNormal(stddev=0.01)(shape)


- layer = Dense(10, init=small)
+ layer = Dense(10, kernel_initializer=small)

=== example: a lambda, and the functions by their names
- from keras.initializations import normal, uniform
+ from keras.initializers import RandomNormal, RandomUniform
from keras.layers import Convolution2D, Dense

- first = Convolution2D(8, 5, 5, init=lambda shape, name: normal(shape, scale=0.02, name=name))
- second = Dense(8, init=lambda shape, name=None: uniform(shape, 0.1, name=name))
+ first = Convolution2D(8, (5, 5), kernel_initializer=RandomNormal(stddev=0.02))
+ second = Dense(8, kernel_initializer=RandomUniform(minval=-0.1, maxval=0.1))

=== example: weights made on the spot
import keras

- initial = keras.initializations.glorot_uniform((3, 4), name="w")
- rotation = keras.initializations.orthogonal((3, 3), scale=1.1)
+ initial = keras.initializers.glorot_uniform()((3, 4))
+ rotation = keras.initializers.orthogonal(gain=1.1)((3, 3))

=== reject: initializers of today
from keras import initializers
from keras.layers import Dense

layer = Dense(3, kernel_initializer=initializers.RandomNormal(stddev=0.02))
values = initializers.RandomNormal(stddev=0.02)((3, 3))

=== reject: a module of the program's own
import keras
from mylib import initializations

values = initializations.normal((3, 3), scale=0.02)
"""


def _edits(subject: Subject, call: ast.Call, function: str) -> tuple[list[Edit], str]:
    """The edits of one call, without those of its name, or why there are none."""
    source = subject.source
    site = source.site(call)
    given = {k.arg: k.value for k in call.keywords}
    shape = call.args[0] if call.args else given.get("shape")
    scale = call.args[1] if len(call.args) > 1 and function in ("normal", "uniform") else given.get("scale")
    if shape is None or len(call.args) > 2 or len(call.args) > 1 and scale is None or not set(given) <= _KNOWN:
        return [], "its shape and scale cannot be read"
    edits: list[Edit] = [RemoveArgument(site, "shape", 0)]
    if len(call.args) > 1:
        edits.append(RemoveArgument(site, "", 1))
    edits += [RemoveArgument(site, name) for name in ("name", "dim_ordering") if name in given]
    if scale is not None:
        edits += _scaled(subject, call, function, scale)
    above = source.parent(call)
    if isinstance(above, ast.Lambda) and above.body is call and _is_shape(above.args, shape):
        return [*edits, Unwrap(source.site(above), site)], ""
    edits.append(Wrap(site, "", f"({source.segment(source.site(shape))})"))
    holder = source.enclosing(call, ast.FunctionDef)
    if isinstance(holder, ast.FunctionDef) and _is_given(subject, holder) and _is_shape(holder.args, shape):
        edits += _with_dtype(subject, holder)
    return edits, ""


_KNOWN = {"shape", "scale", "name", "dim_ordering", "seed"}


def _scaled(subject: Subject, call: ast.Call, function: str, scale: ast.expr) -> Iterator[Edit]:
    """The scale as the object takes it."""
    source = subject.source
    site = source.site(call)
    text = source.segment(source.site(scale))
    by_name = any(k.arg == "scale" for k in call.keywords)
    name = {"normal": "stddev", "uniform": "maxval"}.get(function, "gain")
    if function == "uniform":
        whole = isinstance(scale, (ast.Constant, ast.Name, ast.Attribute, ast.Call))
        yield SetArgument(site, "minval", f"-{text}" if whole else f"-({text})")
    if by_name and function != "uniform":
        yield RenameArgument(site, "scale", name)
        return
    if by_name:
        yield RemoveArgument(site, "scale")
    yield SetArgument(site, name, text)


def _is_shape(parameters: ast.arguments, shape: ast.expr) -> bool:
    """Whether what is called with a shape and a name hands on the shape."""
    names = [parameter.arg for parameter in parameters.args]
    return len(names) in (1, 2) and isinstance(shape, ast.Name) and shape.id == names[0]


def _is_given(subject: Subject, function: ast.FunctionDef) -> bool:
    """Whether a function of the program is given to a layer as its initializer."""
    keywords = (k for call in subject.source.all_calls for k in call.keywords if k.arg in GIVEN_AS)
    return any(isinstance(k.value, ast.Name) and k.value.id == function.name for k in keywords)


def _with_dtype(subject: Subject, function: ast.FunctionDef) -> Iterator[Edit]:
    """The line of its definition with `dtype=None` in the place of the name, which nothing uses any more."""
    used = sum(isinstance(node, ast.Name) and node.id == "name" for node in ast.walk(function))
    handed = sum(isinstance(node, ast.keyword) and node.arg == "name" for node in ast.walk(function))
    if used > handed:
        return
    line = subject.source.places.lines[function.lineno - 1]
    new = re.sub(r"\(\s*(\w+)\s*(,\s*name\s*(=\s*None)?)?\s*\)\s*:", r"(\1, dtype=None):", line, count=1)
    if new != line:
        yield ReplaceLines(Site(function.lineno, 1, function.lineno, len(line) + 1), new)
