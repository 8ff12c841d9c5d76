"""Numbers are created with an unsupported dtype: integers that require grad, doubles among float32 in TensorFlow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Fault,
    Replace,
    SetArgument,
    Subject,
    Symptom,
    Wrap,
    call_arguments,
    keyword_value,
    origins,
    trees,
)

FROM_DATA = frozenset({"torch.tensor", "torch.as_tensor", "torch.arange", "torch.full", "torch.autograd.Variable"})

KEEPERS = frozenset({"Variable", "constant", "convert_to_tensor"})
"""Functions of TensorFlow that keep the dtype of their argument."""

MAKERS = frozenset(
    [f"numpy.{name}" for name in ("zeros", "ones", "empty", "linspace", "eye", "identity", "full")]
    + [f"numpy.random.{name}" for name in ("rand", "randn", "random", "normal", "uniform", "random_sample")]
)
"""Functions of NumPy that return doubles by default."""

_NAMES = {"float": "float32", "double": "float64", "half": "float16"}
_FLOAT = re.compile(r"\b(?:float(?:16|32|64)|bfloat16|double|half|float(?= tensor))\b")


class NumbersOfAnotherDtype(CrashTemplate):
    """Numbers are created with a dtype that the operation does not support.

    `requires_grad=True` on a tensor of Python integers: only floating-point tensors can require grad, and
    `torch.tensor([1, 2])` is an integer tensor.

    Two floating dtypes in one operation of TensorFlow, which never casts. NumPy creates doubles, and a variable or
    constant made of them is float64 while the rest of the program is float32: it gets `dtype=tf.float32`. And where a
    program keeps its dtype in a variable, and a placeholder states another one, the placeholder gets the variable.

    Fix safety: unsafe. The operation could not run before; integers keep their value, and doubles are rounded.

    References: torch.tensor, torch.Tensor.requires_grad_, tf.Variable (`dtype`), tf.compat.v1.placeholder.
    """

    code = "DNF604"
    name = "numbers-of-another-dtype"
    formerly = ("integer-tensor-requires-grad", "DNF623", "array-of-doubles-in-graph")
    message = "the dtype does not fit: {what}"
    kinds = frozenset({"TypeError", "ValueError", "tensorflow.python.framework.errors_impl.InvalidArgumentError"})
    confidence = 0.9
    needs_run = False
    triggers = ("requires_grad", "tensorflow")
    declined = "the function that creates the tensor is imported without its module"

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield from super().read(subject)
        yield from _integers_with_gradient(subject)
        if subject.crash is None:
            for named in _read(subject):
                for fault in self._mends(subject, named):
                    yield replace(fault, symptom=Symptom.NONE_OBSERVED)

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        named = {_NAMES.get(name, name) for name in _FLOAT.findall(crash.message)}
        if "tensorflow" in subject.source.frameworks and len(named) == 2:
            yield from self._mends(subject, named)

    def _mends(self, subject: Subject, named: set[str]) -> Iterator[Fault]:
        """The faults of a program in which these two dtypes are combined."""
        source = subject.source
        if named == {"float32", "float64"}:
            kept = tuple(_keeping(subject))
            edits: tuple[Edit, ...] = tuple(
                SetArgument(source.site(call), "dtype", f"{_module(subject, call)}.float32") for call in kept
            )
            if kept:
                what = f"{subject.text(source.site(kept[0]))} is float64 and is combined with float32"
                yield Fault(source.site(kept[0]), what, (("Set dtype to float32", edits, 0.8),))
                return
        for placeholder, stated, setting in _stated_otherwise(subject, named):
            what = f"the placeholder is {stated.value!r} and is combined with {setting}"
            replaced = Replace(source.site(stated), setting)
            yield Fault(source.site(placeholder), what, ((f"Use {setting}", (replaced,), 0.8),))

    programs = """
=== example: a matrix and a vector
import torch as th

inputs = th.tensor([[1, -2],
                    [3, 4]],  # two rows
-                    requires_grad=True)
+                    requires_grad=True,
+                    dtype=th.float32)
print(inputs.sum())

=== example: weights made with numpy
import numpy as np
import tensorflow as tf

inputs = tf.ones((4, 3))
- weight = tf.Variable(np.random.randn(3, 2) * 0.1)
+ weight = tf.Variable(np.random.randn(3, 2) * 0.1, dtype=tf.float32)
print(tf.matmul(inputs, weight).shape)

=== example: a constant of an array
import numpy as np
import tensorflow as tf

scale = np.linspace(0.0, 1.0, 3)
- scales = tf.constant(scale)
+ scales = tf.constant(scale, dtype=tf.float32)
rows = tf.ones((4, 3))
print(rows * scales)

=== example: a network in half precision
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
DTYPE = tf.float16
weights = tf.constant(np.ones((3, 2)), dtype=DTYPE)
- images = tf.placeholder("float", shape=(None, 3))
+ images = tf.placeholder(DTYPE, shape=(None, 3))
print(tf.matmul(images, weights))

=== reject: floats
import torch
w = torch.tensor([1.0], requires_grad=True)

=== reject: a dtype is stated
import torch
w = torch.tensor([1], requires_grad=True, dtype=torch.double)

=== reject: requires_grad=False
import torch
w = torch.tensor([1], requires_grad=False)

=== reject: arrays that are cast, a single number drawn by numpy, and doubles throughout
import numpy as np
import tensorflow.compat.v1 as tf

weight = tf.Variable(np.random.randn(3, 2).astype("float32"))
print(tf.matmul(tf.ones((4, 3)), weight).shape)
size = tf.placeholder("float")
factor = tf.Variable(np.random.randn(), name="factor")
shift = tf.Variable(np.random.normal(0.0, 0.1))
price = tf.add(tf.multiply(size, factor), shift)
inputs = tf.ones((4, 3), dtype=tf.float64)
weights = tf.Variable(np.random.randn(3, 2))
print(tf.matmul(inputs, weights).shape)
"""


def _integers_with_gradient(subject: Subject) -> Iterator[Fault]:
    """Tensors of Python integers that require grad."""
    source = subject.source
    for call in source.calls(*FROM_DATA):
        typed = call_arguments.argument(subject, call, "torch.tensor", "dtype") is not None
        if (
            typed
            or not call.args
            or not trees.is_true(keyword_value(call, "requires_grad"))
            or not _all_integers(call.args[0], subject)
        ):
            continue
        repairs: tuple[tuple[str, tuple[Edit, ...], float], ...] = ()
        if isinstance(call.func, ast.Attribute):
            cast = SetArgument(source.site(call), "dtype", f"{_module(subject, call)}.float32")
            repairs = (("Make it a float tensor", (cast,), 0.9),)
            if source.qualified(call.func) == "torch.autograd.Variable":
                repairs = (("Make it float", (Wrap(source.site(call.args[0]), "", ".float()"),), 0.5),)
        symptom = Symptom.CRASH if _crashed_at(subject, call) else Symptom.NONE_OBSERVED
        yield Fault(source.site(call), "an integer tensor cannot require a gradient", repairs, symptom=symptom)


def _all_integers(node: ast.expr, subject: Subject) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(_all_integers(element, subject) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _all_integers(node.operand, subject)
    if isinstance(node, ast.Name):
        bound = subject.source.bindings(node)
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and _all_integers(bound[0], subject)
    return isinstance(node, ast.Constant) and type(node.value) is int


def _crashed_at(subject: Subject, call: ast.Call) -> bool:
    crash = subject.crash
    return crash is not None and crash.site is not None and crash.site.line == call.lineno


OPERATIONS = frozenset({"matmul", "multiply", "add", "subtract", "divide", "mul", "sub"})
"""Functions of TensorFlow on two tensors of the same dtype."""

OF_FLOAT32 = frozenset({"ones", "zeros", "random_normal", "truncated_normal", "random_uniform", "normal", "uniform"})
"""Functions of TensorFlow that return float32 by default."""


def _read(subject: Subject) -> Iterator[set[str]]:
    """The pair of dtypes that the source combines, if there is one."""
    source = subject.source
    pairs = [
        (call.args[0], call.args[1])
        for call in source.all_calls
        if len(call.args) > 1
        and (name := source.qualified(call.func) or "").startswith("tensorflow.")
        and name.rpartition(".")[2] in OPERATIONS
    ]
    pairs += [(product.left, product.right) for product in source.nodes(ast.BinOp)]
    for left, right in pairs:
        dtypes = {_dtype(subject, left), _dtype(subject, right)}
        if None not in dtypes and len(dtypes) == 2:
            yield {dtype for dtype in dtypes if dtype is not None}
            return


def _dtype(subject: Subject, expr: ast.expr) -> str | None:
    """The dtype of a variable with one value, if the source states it."""
    source = subject.source
    bound = source.bindings(expr) if isinstance(expr, ast.Name) else ()
    made = bound[0] if len(bound) == 1 else None
    if not isinstance(made, ast.Call):
        return None
    name = source.qualified(made.func) or ""
    last = name.rpartition(".")[2]
    if not name.startswith("tensorflow."):
        return None
    stated = keyword_value(made, "dtype")
    if last == "placeholder" and stated is None and made.args:
        stated = made.args[0]
    if stated is not None:
        return _stated(subject, stated)
    if last in KEEPERS and len(made.args) == 1 and _is_double(subject, made.args[0]):
        return "float64"
    return "float32" if last in OF_FLOAT32 and len(made.args) == 1 else None


def _stated(subject: Subject, stated: ast.expr) -> str | None:
    """The dtype of an expression: a string, an attribute of the library, or a variable bound to one."""
    if isinstance(stated, ast.Name):
        bound = subject.source.bindings(stated)
        stated = bound[0] if len(bound) == 1 else stated
    if isinstance(stated, ast.Constant) and isinstance(stated.value, str):
        return _NAMES.get(stated.value, stated.value)
    return stated.attr if isinstance(stated, ast.Attribute) else None


def _keeping(subject: Subject) -> Iterator[ast.Call]:
    """The variables and constants created from doubles of NumPy without a dtype."""
    source = subject.source
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        if not name.startswith("tensorflow.") or name.rpartition(".")[2] not in KEEPERS or not call.args:
            continue
        if len(call.args) > 1 or any(keyword.arg == "dtype" for keyword in call.keywords):
            continue
        if _is_double(subject, call.args[0]) and isinstance(call.func, ast.Attribute):
            yield call


def _is_double(subject: Subject, value: ast.expr) -> bool:
    """Whether a value is computed from arrays of doubles without a cast."""
    calls = [origin for origin in origins.origins(subject, value) if isinstance(origin, ast.Call)]
    cast = any(isinstance(call.func, ast.Attribute) and call.func.attr == "astype" for call in calls)
    return not cast and any(_makes_doubles(subject, call) for call in calls)


def _makes_doubles(subject: Subject, call: ast.Call) -> bool:
    name = subject.source.qualified(call.func)
    stated = len(call.args) > 1 and name in ("numpy.zeros", "numpy.ones", "numpy.empty")
    given = {keyword.arg for keyword in call.keywords}
    needed = 3 if name in ("numpy.random.normal", "numpy.random.uniform") else 1
    whole = len(call.args) >= needed or "size" in given  # a single number is a Python float, which becomes float32
    return name in MAKERS and not stated and whole and "dtype" not in given


def _module(subject: Subject, call: ast.Call) -> str:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return subject.text(subject.source.site(owner))


def _stated_otherwise(subject: Subject, named: set[str]) -> Iterator[tuple[ast.Call, ast.Constant, str]]:
    """The placeholders of one of two dtypes, if a variable of the program is bound to the other."""
    source = subject.source
    settings = {
        statement.targets[0].id: statement.value.attr
        for statement in source.tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Attribute)
        and statement.value.attr in named
    }
    used = {node.id for node in source.nodes(ast.Name) if isinstance(node.ctx, ast.Load)}
    for call in source.all_calls:
        name = source.qualified(call.func) or ""
        if name.rpartition(".")[2] != "placeholder" or not name.startswith("tensorflow."):
            continue
        stated = call_arguments.argument(subject, call, name, "dtype") or (call.args[0] if call.args else None)
        if isinstance(stated, ast.Constant) and isinstance(stated.value, str):
            own = _NAMES.get(stated.value, stated.value)
            fitting = [one for one, dtype in settings.items() if one in used and dtype != own and own in named]
            if len(fitting) == 1:
                yield call, stated, fitting[0]
