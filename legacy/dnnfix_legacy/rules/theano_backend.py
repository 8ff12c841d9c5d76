"""`import theano`, `os.environ["KERAS_BACKEND"] = "theano"`: a backend that Keras removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Hit,
    Replace,
    Source,
    Subject,
    uses_of,
    words,
)

GONE = frozenset({"theano", "cntk", "mxnet", "plaidml.keras.backend"})
"""Backends that Keras 2 had, itself or by another package, and Keras 3 has not."""

SETTINGS = {"THEANO_FLAGS": None, "KERAS_BACKEND": GONE}
"""By variable of the environment, the values with which it is of no use any more (all where `None`)."""

_RENAMED = {
    "abs_": "abs", "sqr": "square", "pow": "power", "eq": "equal", "neq": "not_equal", "gt": "greater",
    "ge": "greater_equal", "lt": "less", "le": "less_equal", "switch": "where",
    **{f"nnet.{name}": name for name in ("sigmoid", "softmax", "softplus", "relu", "elu")},
}  # fmt: skip
"""Functions of `theano.tensor` that `keras.ops` has by another name."""

_TAKEN: dict[str, tuple[int, str]] = {
    **dict.fromkeys(
        words("abs ceil cos cosh diag elu exp expm1 floor log log10 log1p log2 logical_not relu sigmoid sign sin sinh"
              " softmax softplus sqrt square tan tanh"),
        (1, ""),
    ),
    **dict.fromkeys(
        words("dot equal greater greater_equal less less_equal logical_and logical_or maximum minimum mod not_equal outer"
              " power reshape tile"),
        (2, ""),
    ),
    **dict.fromkeys(words("argmax argmin max mean min prod std sum var"), (2, "axis keepdims")),
    **dict.fromkeys(words("argsort concatenate cumprod cumsum sort stack"), (2, "axis")),
    **dict.fromkeys(words("clip swapaxes where"), (3, "")),
    **dict.fromkeys(words("ones ones_like zeros zeros_like"), (2, "dtype")),
    "arange": (3, "dtype"), "cast": (2, "dtype"), "eye": (3, "dtype"), "repeat": (3, "axis"),
    "tensordot": (3, "axes"), "transpose": (2, "axes"),
}  # fmt: skip
"""Functions of `keras.ops` that give what Theano's do: how many arguments both take by place, and those by keyword.

`round` is none of them: Theano's rounds halves away from zero.
"""


class TheanoBackend(ApiChange):
    """A program that was written for Theano names it as Keras's backend, or imports it beside Keras.

    Keras 2.4 ended with Theano and CNTK; with such a name in `KERAS_BACKEND` the import of Keras 3 stops, and Theano
    itself is not kept up. The setting goes, so that the backend of the installation is used, and so does an import that
    nothing uses. Functions of tensors are taken from `keras.ops`, the type of floats from Keras's settings, and what sets
    or prints other settings of Theano goes. Where others of its functions are used (`theano.function`), or with arguments
    that `keras.ops` does not take or takes otherwise (`T.stack(x, y)`, `T.sum(x, dtype=...)`), the program is left.

    Fix safety: unsafe: another backend draws other random numbers, and orders axes as its settings say.

    References: https://github.com/keras-team/keras/releases/tag/2.4.0, https://keras.io/getting_started/.
    """

    code = "DNF576"
    name = "theano-backend"
    message = "Theano is not a backend of Keras since 2.4, and is not maintained"
    triggers = ("theano", "environ", "putenv", "setdefault")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Settings that name a backend that is gone, and imports of Theano."""
        source = subject.source
        if "keras" not in source.frameworks:
            return
        imports = [s for s in uses_of(source).imports() if _is_theano(s)]
        settings = [
            (statement, said)
            for statement in (*source.nodes(ast.Assign), *source.nodes(ast.Expr))
            if isinstance(statement, (ast.Assign, ast.Expr)) and (said := _setting(subject, statement))
        ]
        if imports or any(said.startswith("KERAS_BACKEND") for _, said in settings):
            for statement, said in settings:
                yield _hit(subject, statement, f"{said}: Keras has no such backend since 2.4", [statement])
        if not imports:
            return
        locals_ = [(a.asname or a.name).partition(".")[0] for s in imports for a in s.names]
        used = [name for name in uses_of(source).names(*locals_) if isinstance(name.ctx, ast.Load)]
        said = "Theano is not a backend of Keras since 2.4, and is not maintained"
        edits: dict[Edit, None] = {}
        decline = ""
        for name in sorted(used, key=lambda n: n.lineno):
            written = _written_anew(source, name)
            if not written:
                decline = f"its functions are used, as in line {name.lineno}"
                break
            edits.update(dict.fromkeys(written))
        if "*" in locals_:
            decline = "which of its functions are used cannot be read"
        yield _hit(subject, imports[0], said, imports, decline, tuple(edits))

    programs = """
=== example: the backend in the environment
- import os
- os.environ["KERAS_BACKEND"] = "theano"
- os.environ["THEANO_FLAGS"] = "device=gpu,floatX=float32"
- import theano
- import theano.tensor as T
import numpy as np
from keras.layers import Dense

layer = Dense(np.prod((2, 3)).item())

=== example: an import beside Keras
- from theano import tensor as T
import keras

model = keras.Sequential([keras.layers.Dense(1)])

=== example: functions of tensors in a layer, and settings
- import theano
- import theano.tensor as T
from keras.layers import Layer
+ from keras import ops

- theano.config.floatX = 'float32'
- print(theano.config.device)


class Scaled(Layer):
    def call(self, x):
-         norm = T.sqrt(T.sum(T.sqr(x), axis=-1, keepdims=True))
-         return T.nnet.softmax(T.switch(T.gt(norm, 1.0), x / norm, x))
+         norm = ops.sqrt(ops.sum(ops.square(x), axis=-1, keepdims=True))
+         return ops.softmax(ops.where(ops.greater(norm, 1.0), x / norm, x))

=== example: another backend, with other settings
import os

os.environ['CUDA_VISIBLE_DEVICES'] = '0'
- os.environ.update({'KERAS_BACKEND': 'cntk'})
import keras

model = keras.Sequential()

=== reject: a backend of today
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras

model = keras.Sequential()

=== reject: a program of Theano without Keras
import theano
import torch

x = theano.tensor.matrix()

=== reject: a setting that does no harm
import os

os.environ["THEANO_FLAGS"] = "device=gpu"
import keras

model = keras.Sequential()

=== reject: the program asks which backend it has
import keras

if keras.backend.backend() == "theano":
    print("theano")
"""


def _written_anew(source: Source, name: ast.Name) -> tuple[Edit, ...]:
    """The edits that do without Theano where a name of it stands; none where nothing takes its place."""
    node: ast.expr = name
    while isinstance(above := source.parent(node), ast.Attribute):
        if _of_ops(source, node):
            break
        node = above
    called = source.qualified(node) or ""
    if (function := _of_ops(source, node)) and _is_free(source, "ops"):
        if not _takes(source.parent(node), node, function):
            return ()
        return Replace(source.site(node), f"ops.{function}"), AddImport("from keras import ops")
    if not called.startswith("theano.config."):
        return ()
    statement = source.statement_of(name)
    if isinstance(statement, ast.Assign) and statement.targets == [node]:
        return (Delete(source.site(statement)),)
    if called == "theano.config.floatX" and _is_free(source, "config"):
        return Replace(source.site(node), "config.floatx()"), AddImport("from keras import config")
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and source.qualified(call.func) == "builtins.print" and call.args == [node]:
        return (Delete(source.site(statement)),)
    return ()


def _of_ops(source: Source, node: ast.expr) -> str:
    """The function of `keras.ops` for one of Theano."""
    called = source.qualified(node) or ""
    name = called.removeprefix("theano.tensor.")
    name = _RENAMED.get(name, name)
    return name if name in _TAKEN and called.startswith("theano.tensor.") else ""


def _takes(call: ast.AST | None, function: ast.expr, name: str) -> bool:
    """Whether the function of `keras.ops` takes what a call gives, and means the same by it."""
    most, keywords = _TAKEN[name]
    if not isinstance(call, ast.Call) or call.func is not function:
        return most == 1  # given as a value, it is called by who knows whom
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    if name == "stack" and len(call.args) == 2 and not isinstance(call.args[0], (ast.List, ast.Tuple, ast.ListComp)):
        return False  # `stack(x, y)` was the stack of both
    return len(call.args) <= most and {keyword.arg for keyword in call.keywords} <= set(keywords.split())


def _is_free(source: Source, name: str) -> bool:
    """Whether the program means nothing else by a name than Theano's or Keras's module of that name."""
    uses = uses_of(source)
    return name not in uses.bound and uses.imported.get(name, "keras").partition(".")[0] in ("keras", "theano")


def _hit(
    subject: Subject, at: ast.stmt, said: str, gone: Sequence[ast.stmt], decline: str = "", more: Sequence[Edit] = ()
) -> Hit:
    edits: list[Edit] = [*(Delete(subject.source.site(statement)) for statement in gone), *more]
    return Hit(
        subject.source.site(at),
        said,
        title="remove the code for Theano",
        edits=() if decline else tuple(edits),
        decline=decline,
        removed={"keras": "2.4"},
    )


def _setting(subject: Subject, statement: ast.Assign | ast.Expr) -> str:
    """The setting of a variable of the environment that a statement makes, where it is of no use any more."""
    source = subject.source
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Subscript):
            pairs = [(target.slice, statement.value)] if source.qualified(target.value) == "os.environ" else []
    elif isinstance(statement.value, ast.Call):
        call = statement.value
        name = source.qualified(call.func)
        if name in ("os.environ.setdefault", "os.putenv") and len(call.args) == 2:
            pairs = [(call.args[0], call.args[1])]
        elif name == "os.environ.update" and len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
            pairs = list(zip(call.args[0].keys, call.args[0].values, strict=True))
    texts = [(k.value, v.value) for k, v in pairs if isinstance(k, ast.Constant) and isinstance(v, ast.Constant)]
    for variable, value in texts if len(texts) == len(pairs) == 1 else ():
        if variable in SETTINGS:
            values = SETTINGS[str(variable)]
            if values is None or value in values:
                return f"{variable} = {value!r}"
    return ""


def _is_theano(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether all that a statement imports is of Theano."""
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").partition(".")[0] == "theano"
    return all(alias.name.partition(".")[0] == "theano" for alias in statement.names)
