"""`import theano`, `os.environ["KERAS_BACKEND"] = "theano"`: a backend that Keras gave up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dnnfix.api import ApiChange, Delete, Edit, Example, Hit, Reject, Subject, uses_of

GONE = frozenset({"theano", "cntk", "mxnet", "plaidml.keras.backend"})
"""Backends that Keras 2 had, itself or by another package, and Keras 3 has not."""

SETTINGS = {"THEANO_FLAGS": None, "KERAS_BACKEND": GONE}
"""By variable of the environment, the values with which it is of no use any more (all where `None`)."""


class TheanoBackend(ApiChange):
    """A program that was written for Theano names it as Keras's backend, or imports it beside Keras.

    Keras 2.4 ended with Theano and CNTK; with such a name in `KERAS_BACKEND` the import of Keras 3 stops, and Theano
    itself is not kept up. The setting goes, so that the backend of the installation is used, and so does an import that
    nothing uses. Where Theano's own functions are used, the program is left.

    Fix safety: unsafe: another backend draws other random numbers, and orders axes as its settings say.

    References: https://github.com/keras-team/keras/releases/tag/2.4.0, https://keras.io/getting_started/.
    """

    code = "DNF576"
    name = "theano-backend"
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
        said = "Theano is no backend of Keras since 2.4, and is not kept up"
        decline = f"its functions are used, as in line {min(n.lineno for n in used)}" if used else ""
        if "*" in locals_:
            decline = "which of its functions are used cannot be read"
        yield _hit(subject, imports[0], said, imports, decline)

    examples = (
        Example(
            "the backend in the environment",
            """\
import os
os.environ["KERAS_BACKEND"] = "theano"
os.environ["THEANO_FLAGS"] = "device=gpu,floatX=float32"
import theano
import theano.tensor as T
import numpy as np
from keras.layers import Dense

layer = Dense(np.prod((2, 3)).item())
""",
            """\
import numpy as np
from keras.layers import Dense

layer = Dense(np.prod((2, 3)).item())
""",
        ),
        Example(
            "an import beside Keras",
            """\
from theano import tensor as T
import keras

model = keras.Sequential([keras.layers.Dense(1)])
""",
            """\
import keras

model = keras.Sequential([keras.layers.Dense(1)])
""",
        ),
        Example(
            "another backend, with other settings",
            """\
import os

os.environ['CUDA_VISIBLE_DEVICES'] = '0'
os.environ.update({'KERAS_BACKEND': 'cntk'})
import keras

model = keras.Sequential()
""",
            """\
import os

os.environ['CUDA_VISIBLE_DEVICES'] = '0'
import keras

model = keras.Sequential()
""",
        ),
    )
    rejects = (
        Reject(
            "a backend of today",
            """\
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras

model = keras.Sequential()
""",
        ),
        Reject(
            "a program of Theano without Keras",
            """\
import theano
import torch

x = theano.tensor.matrix()
""",
        ),
        Reject(
            "a setting that does no harm",
            """\
import os

os.environ["THEANO_FLAGS"] = "device=gpu"
import keras

model = keras.Sequential()
""",
        ),
        Reject(
            "the program asks which backend it has",
            """\
import keras

if keras.backend.backend() == "theano":
    print("theano")
""",
        ),
    )


def _hit(subject: Subject, at: ast.stmt, said: str, gone: Sequence[ast.stmt], decline: str = "") -> Hit:
    edits: list[Edit] = [Delete(subject.source.site(statement)) for statement in gone]
    return Hit(
        subject.source.site(at),
        said,
        title="drop what is for Theano",
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
