"""A method is not called, a value is called like a function, or a class is passed instead of an instance."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator

from dnnfix.api import (
    CrashTemplate,
    Failure,
    Fault,
    FixPattern,
    Source,
    argument_value,
    compile_calls,
    keyword_value,
    reads,
    words,
)

METHODS = words("method builtin_function_or_method function method_descriptor")
"""Types of functions in the recorded values."""

OF_ITS_NAME = words("tqdm glob time datetime copy pprint random deepcopy")
"""Modules with a function or class of the same name."""

ROWS = words("torch.Size Size tuple list")
"""Types that are indexed by integers."""

PLACES = words("i j k idx index dim axis n")
"""Usual names of an index."""

PERCENT = re.compile(r"%(?!%)[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrs]")

ALONE = words("EarlyStopping ReduceLROnPlateau TerminateOnNaN ProgbarLogger History BackupAndRestore TensorBoard")
"""Callbacks that are useful without arguments."""


@reads("TypeError AttributeError", r"'?(?:builtin_function_or_method|method|function)'?(?: object)?\b", object)
def _function_not_called(failure: Failure[object]) -> Iterator[Fault]:
    """A method is subscripted, computed with, iterated over or formatted instead of its result."""
    source, found = failure.source, list[ast.Attribute]()
    for held in failure.crash.held:
        node = failure.subject.node(held.site)
        if held.kind not in METHODS or failure.crash.site is None or not failure.crash.site.encloses(held.site):
            continue
        if isinstance(node, ast.Name):  # it was not called where the variable was assigned
            bound = source.bindings(node)
            node = bound[0] if len(bound) == 1 else None
        above = source.parent(node) if node is not None else None
        called = isinstance(above, ast.Call) and above.func is node
        if isinstance(node, ast.Attribute) and not called and not _takes_arguments(source, node):
            found += [node] if source.qualified(node) is None else []
    if len(found) == 1:
        code = failure.code(found[0])
        what = f"{code} is a method and is not called"
        yield failure.fault(found[0], what, f"Call {code}", failure.wrap(found[0], "", "()"), prior=0.8)


@reads("TypeError", "'module' object is not callable", ast.Call)
def _module_called(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A module is called instead of its function of the same name."""
    called = failure.node.func
    code, known = failure.code(called), failure.source.qualified(called)
    if isinstance(called, ast.Name) and code in OF_ITS_NAME and known in (None, "", code):
        taken = failure.exchange(called, f"{code}.{code}")
        yield failure.fault(
            failure.node, f"{code} is a module, not a function", "Use the function of the module", taken, prior=0.8
        )


@reads("TypeError", r"'(?!module|NoneType)([^']*)' object is not callable", ast.Call)
def _value_called(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A shape or list is called with a number, or a value without arguments."""
    node, (kind,) = failure.node, failure.said.groups()
    code, meant = failure.code(node.func), ""
    if kind in ROWS and len(node.args) == 1 and not node.keywords:
        meant = f"{code}[{failure.code(node.args[0])}]" if _is_index(node.args[0]) else ""
    elif not node.args and not node.keywords and isinstance(node.func, ast.Attribute):
        meant = code
    if meant:
        taken = failure.exchange(node, meant)
        yield failure.fault(node, f"{code} is a {kind}, not a function", "Use the value", taken, prior=0.8)


@reads("TypeError", "'str' object is not callable", ast.Call)
def _string_called(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """A string is called with as many arguments as it has fields."""
    node, called, held = failure.node, failure.node.func, failure.held(failure.node.func)
    written = called.value if isinstance(called, ast.Constant) and isinstance(called.value, str) else None
    text = written if written is not None or held is None else held.text
    if text is None or any(isinstance(one, ast.Starred) for one in node.args):
        return
    what = f"{failure.code(called)} is the string {text!r}, which is called instead of formatted"
    alone = isinstance(failure.source.parent(node), (ast.Call, ast.keyword, ast.Assign, ast.Return, ast.Expr))
    if _formatted(text, len(node.args), [k.arg for k in node.keywords]):
        yield failure.fault(node, what, "Format the string", failure.wrap(called, "", ".format"))
    elif node.args and not node.keywords and alone and len(PERCENT.findall(text)) == len(node.args):
        given = ", ".join(failure.code(one) for one in node.args) + "," * (len(node.args) == 1)
        filled = failure.exchange(node, f"{failure.code(called)} % ({given})")
        yield failure.fault(node, what, "Format the string", filled)


@reads(
    "TypeError ValueError AttributeError",
    r"Could not interpret optimizer identifier: <class '(?:tf_)?keras\.",
    ast.Call,
)
def _class_for_optimizer(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """`compile` is called with an optimizer class."""
    if compile_calls.is_compile(failure.node):
        given = _written(failure.source, argument_value(failure.node, "optimizer", 0))
        yield from _made(failure, [one for one in given if _is_optimizer(failure.source, one)])


@reads("TypeError ValueError AttributeError", r"Callback\.set_\w+\(\) missing 1 required positional argument", ast.Call)
def _class_for_callback(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """`fit` is called with callback classes."""
    source = failure.source
    given = [each for one in _listed(keyword_value(failure.node, "callbacks")) for each in _written(source, one)]
    yield from _made(failure, [each for one in given for each in _listed(one) if _is_callback(source, each)])


def _made(failure: Failure[ast.Call], classes: list[ast.expr]) -> Iterator[Fault]:
    if classes:
        what = f"{', '.join(map(ast.unparse, classes))} is a class, and an instance is expected"
        edits = (failure.wrap(one, "", "()") for one in classes)
        yield failure.fault(classes[0], what, "Instantiate the class", *edits)


class ValueTakenForFunction(CrashTemplate):
    """A method is not called, a value is called like a function, or a class is passed instead of an instance.

    A method that is subscripted, computed with, iterated over or formatted is not called: the message names a method,
    and exactly one in the failing expression is not called. A method of the program is called only if it has no
    required arguments.

    A shape or list called with a number is subscripted; a value called without arguments is used as it is; a module
    called like a function is replaced by its function of the same name. A string called with as many arguments as it
    has fields, `{}` or `%d`, is formatted.

    `callbacks=[EarlyStopping]` and `compile(Adam, …)` pass a class where `fit` and `compile` expect an instance: it is
    instantiated if it has no arguments that only the program can know.

    Fix safety: unsafe. The line could not run before.

    References: https://docs.python.org/3/reference/expressions.html#calls;
    https://docs.python.org/3/library/string.html#format-string-syntax; keras.Model.fit (`callbacks`);
    keras.optimizers.get.
    """

    code = "DNF616"
    name = "value-taken-for-function"
    formerly = (
        "function-not-called",
        "DNF611",
        "text-called",
        "DNF617",
        "value-called",
        "DNF634",
        "class-where-object-is-taken",
    )
    message = "a function and its result are confused: {what}"
    fix_pattern = FixPattern.API_CONTRACT
    confidence = 0.9
    readings = (
        _function_not_called,
        _module_called,
        _value_called,
        _string_called,
        _class_for_optimizer,
        _class_for_callback,
    )

    programs = """
=== example: a size without its brackets
import torch

x = torch.ones(4, 2)
- print(x.size[0])
+ print(x.size()[0])

=== example: a tensor that was to be cast before it is filled
import torch

- gain = torch.ones(7).long
+ gain = torch.ones(7).long()
gain[2:6] = torch.tensor([3, 2, 3, 2])
print(gain)

=== example: an axis of a shape
import torch

x = torch.ones(4, 2)
- print(x.shape(0))
+ print(x.shape[0])

=== example: a property with brackets
import torch

x = torch.ones(4, 2)
- if x.is_cuda():
+ if x.is_cuda:
    print(x.device)

=== example: a module for its function
import time
import torch

- start = time()
+ start = time.time()
print(torch.ones(1), start > 0)

=== example: a string with named fields
import torch

report = "epoch {epoch}: loss {loss:.3f}"
- print(report(epoch=1, loss=torch.ones(1).item()))
+ print(report.format(epoch=1, loss=torch.ones(1).item()))

=== example: a string without its percent sign
import torch

loss = torch.ones(1).item()
- print("loss %.3f after %d steps"(loss, 10))
+ print("loss %.3f after %d steps" % (loss, 10))

=== example: a callback
import keras
import numpy as np
from keras.callbacks import EarlyStopping

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
- net.fit(np.ones((8, 4)), np.ones(8), validation_split=0.25, callbacks=[EarlyStopping], verbose=0)
+ net.fit(np.ones((8, 4)), np.ones(8), validation_split=0.25, callbacks=[EarlyStopping()], verbose=0)

=== example: an optimizer
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
- net.compile(loss="mse", optimizer=keras.optimizers.Adam)
+ net.compile(loss="mse", optimizer=keras.optimizers.Adam())
net.fit(np.ones((8, 4)), np.ones(8), verbose=0)

=== example: a callback of the program beside others
import keras
import numpy as np


class Shout(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch, logs["loss"])


def train(net, x, y):
-     watchers = [keras.callbacks.TerminateOnNaN(), Shout]
+     watchers = [keras.callbacks.TerminateOnNaN(), Shout()]
    net.fit(x, y, callbacks=watchers, verbose=0)


net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("sgd", "mse")
train(net, np.ones((8, 4)), np.ones(8))

=== reject: a function of the program that needs arguments
import torch


class Steps:
    def size(self, x):
        return len(x)


print(Steps().size + 1, torch.ones(1))
steps = Steps()
print(steps.size + 1)

=== reject: functions that are passed on, and objects
import keras
import numpy as np
import torch

x = torch.ones(2)
print([f() for f in (x.sum, x.mean)], list(map(torch.abs, [x])))
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile(keras.optimizers.SGD(), keras.losses.MeanSquaredError)
net.fit(np.ones((8, 4)), np.ones(8), callbacks=keras.callbacks.TerminateOnNaN(), verbose=0)

=== reject: a tensor that is called with another
import torch

x = torch.ones(2)
print(x(torch.ones(2)))

=== reject: a list called with something other than an index
import torch

layers = [torch.nn.Linear(2, 2)]
print(layers(torch.ones(1, 2)))

=== reject: a module without a function of its name
import math
import torch

print(math(torch.ones(1)))

=== reject: a name of a function
import torch

activation = "relu"
print(activation(torch.ones(2)))

=== reject: another number of fields
import torch

name = "net-{}.pt"
print(name(1, 2), torch.ones(1))

=== reject: a callback with a required file name
import keras
import numpy as np

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
net.compile("adam", "mse")
net.fit(np.ones((8, 4)), np.ones(8), callbacks=[keras.callbacks.ModelCheckpoint], verbose=0)
"""


def _takes_arguments(source: Source, node: ast.Attribute) -> bool:
    """Whether a method of that name in the program has required arguments besides `self`."""
    return any(
        function.name == node.attr and len(function.args.args) - len(function.args.defaults) > 1
        for function in source.nodes(ast.FunctionDef)
    )


def _is_index(node: ast.expr) -> bool:
    """Whether an expression looks like an index."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.Name) and node.id in PLACES


def _formatted(text: str, given: int, names: list[str | None]) -> bool:
    """Whether a string has a field for each argument and no others."""
    try:
        places = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    except ValueError:
        return False
    if not places:
        return False
    heads = [re.split(r"[.\[]", field)[0] for field in places]
    numbered = {int(head) for head in heads if head.isdigit()}
    wanted = heads.count("") or len(numbered)
    named = {head for head in heads if head and not head.isdigit()}
    return wanted == given and named == set(names) and (not numbered or numbered == set(range(given)))


def _listed(given: ast.expr | None) -> list[ast.expr]:
    if given is None:
        return []
    return list(given.elts) if isinstance(given, (ast.List, ast.Tuple)) else [given]


def _written(source: Source, given: ast.expr | None) -> list[ast.expr]:
    """The value of a name that is assigned once; else the expression itself."""
    if given is None:
        return []
    bound = source.bindings(given) if isinstance(given, ast.Name) else ()
    return [bound[0]] if len(bound) == 1 else [given]


def _is_optimizer(source: Source, node: ast.expr) -> bool:
    named = source.qualified(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
    return named is not None and ".optimizers." in named and named.rpartition(".")[2][:1].isupper()


def _is_callback(source: Source, node: ast.expr) -> bool:
    """Whether it is a callback class that can be instantiated without arguments."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    named = source.qualified(node) or ""
    if ".callbacks." in named:
        return named.rpartition(".")[2] in ALONE
    own = [one for one in source.nodes(ast.ClassDef) if isinstance(node, ast.Name) and one.name == node.id]
    return len(own) == 1 and not any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in own[0].body)
