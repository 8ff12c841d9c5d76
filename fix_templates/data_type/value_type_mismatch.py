"""A string, a float or an array is used where an integer, a number or a string is expected."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    CrashTemplate,
    Edit,
    Failure,
    Fault,
    Replace,
    SetArgument,
    Source,
    Subject,
    Wrap,
    arithmetic,
    data_edits,
    keyword_value,
    origins,
    reads,
    within,
    words,
)

_NUMBER = r"(?:int|float|bool|Tensor|Parameter|numpy\.\w+)"
"""The types of numbers in messages of Python."""

_WHOLE = re.compile(r"\s*[-+]?\d+\s*")
_REAL = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")

ARRAYS = {"Tensor": "torch.Tensor", "Parameter": "torch.nn.parameter.Parameter", "ndarray": "numpy.ndarray"}
"""The type in a message and its full name in the recorded values."""

PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)

NOT_OF_JSON = words(
    """float16 float32 float64 longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool bool_ ndarray Tensor
    Parameter"""
)
"""Types of NumPy and torch that `json` cannot serialize; all have `tolist`."""

WRITERS = words("json.dump json.dumps")

REALS = words("float numpy.float64 numpy.float32")

ROUNDED = words("numpy.floor numpy.ceil numpy.round numpy.rint numpy.around")
"""Functions that return an integer value as a float."""


@reads(
    "TypeError",
    rf"can only concatenate str \(not \"{_NUMBER}\"\) to str"
    rf"|unsupported operand type\(s\) for \+: '{_NUMBER}' and 'str'",
    ast.BinOp,
)
def _added_to_string(failure: Failure[ast.BinOp]) -> Iterator[Fault]:
    """A number is added to a string in a sum with a string literal; a string that was read may be a number instead."""
    if isinstance(failure.node.op, ast.Add) and _makes_string(failure.source, failure.node):
        number = failure.node.right if failure.said[0].startswith("can only") else failure.node.left
        edit = data_edits.wrapped(failure.subject, number, "str(", ")")
        yield failure.fault(number, f"{failure.code(number)} is not a string", "Convert the number to a string", edit)


@reads("TypeError ValueError", r"\b(str|strings?)\b", object)
def _string_for_number(failure: Failure[object]) -> Iterator[Fault]:
    """A string that reads as a number is used as one."""
    strings: dict[str, tuple[ast.expr, str]] = {}
    for held in failure.crash.held:
        node = failure.subject.node(held.site)
        inside = failure.crash.site is None or failure.crash.site.encloses(held.site)
        if held.text is not None and isinstance(node, ast.expr) and _REAL.fullmatch(held.text) and inside:
            strings.setdefault(ast.unparse(node), (node, held.text))
    if len(strings) != 1 or "concatenate" in failure.crash.message:
        return
    ((code, (node, string)),) = strings.items()
    kind = "int" if _WHOLE.fullmatch(string) else "float"
    what = f"{code} is the string {string!r}, and a number is expected"
    for origin in origins.origins(failure.subject, node):
        declared = _declared(failure.source, origin)
        if declared is not None:
            typed = SetArgument(failure.site(declared), "type", kind)
            yield failure.fault(node, what, f"Read the option as {kind}", typed, prior=0.8)
            return
        if isinstance(origin, (ast.Subscript, ast.Attribute, ast.Call)):
            converted = failure.wrap(origin, f"{kind}(", ")")
            yield failure.fault(node, what, f"Convert the value that is read to {kind}", converted, prior=0.75)
            return
        if isinstance(origin, ast.Constant):
            return


@reads("TypeError AttributeError", r"\bstr\b", object)
def _key_for_value(failure: Failure[object]) -> Iterator[Fault]:
    """A dictionary was unpacked, which gives its keys. Outputs of models of transformers are a matter of versions."""
    found = origins.unpacked_key(failure.subject) if "transformers" not in failure.subject.words else None
    if found is not None:
        call, name, held = found
        what = f"{failure.code(call.func)} returns a dictionary, and unpacked, {name.id} is its key {held.text!r}"
        yield failure.fault(call, what, "Unpack the values", failure.wrap(call, "", ".values()"), prior=0.6)


@reads("TypeError", r"unsupported format string passed to (?:numpy\.)?(Tensor|Parameter|ndarray)\.__format__", ast.AST)
def _formatted(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """An array of one element is formatted as a number: its element is used."""
    found = [value for value in _formatted_in(failure.node) if _is_one(failure, value, ARRAYS[failure.said[1]])]
    edits = tuple(_taken_out(failure.subject, found))
    if edits:
        what = f"{ast.unparse(found[0])} is an array with one element, and a number is expected"
        yield failure.fault(found[0], what, "Use the number in the array", *edits)


@reads("TypeError", r"Object of type (\w+) is not JSON serializable", ast.Call)
def _written_as_json(failure: Failure[ast.Call]) -> Iterator[Fault]:
    """Numbers of NumPy, arrays or tensors are serialized as JSON: `default` converts them."""
    node = failure.node
    said = any(keyword.arg in (None, "default", "cls") for keyword in node.keywords)
    if failure.said[1] in NOT_OF_JSON and failure.source.qualified(node.func) in WRITERS and not said:
        edit = SetArgument(failure.site(node), "default", "lambda value: value.tolist()")
        what = f"{failure.code(node.func)} cannot serialize values of type {failure.said[1]}"
        yield failure.fault(node, what, "Serialize arrays as lists, and their numbers as numbers", edit)


@reads(
    "TypeError",
    r"slice indices must be integers|indices must be integers or slices, not float"
    r"|cannot be interpreted as an integer|received an invalid combination of arguments - got \(float"
    r"|must be tuple of ints, but found element of type float",
    ast.AST,
)
def _share_as_count(failure: Failure[ast.AST]) -> Iterator[Fault]:
    """A float is used as a number of elements: it is converted to an integer."""
    node, source = failure.node, failure.source
    reals = list(dict.fromkeys(real for place in _counted(node) for real in _real(failure, place)))
    if isinstance(node, ast.Call) and source.qualified(node.func) != "builtins.range":
        # other arguments than sizes may be floats on purpose
        reals = [real for real in reals if _of_elements(source, real)]
    if reals and all(_stands_for_count(source, real) for real in reals):
        what = f"{failure.code(reals[0])} is a floating-point number, and an integer is expected"
        edits = (failure.wrap(real, "int(", ")") for real in reals)
        yield failure.fault(reals[0], what, "Convert the number to an integer", *edits)


class ValueTypeMismatch(CrashTemplate):
    """A string, a float or an array is used where an integer, a number or a string is expected.

    Values from `argparse`, `sys.argv`, the environment, `input` or a configuration file are strings. The run shows
    which value in the failing statement is a string that reads as a number; it is converted where it is declared
    (`type=int`), else where it is read. In `"loss " + loss.item()` the number is converted to a string.

    `split = 0.8 * len(data)` is a float, and the bounds of `data[:split]` are integers. A product with a length, a
    number rounded by NumPy, or one such as `1e3` is converted where it is computed, so that all uses agree. Divisions
    are left to the rule for `/` of Python 2, which writes `//`.

    `f"{score:.3f}"` raises if `score` is a tensor or an array with an axis: `item` returns its one element. With
    several elements nothing is proposed.

    `json.dump({"loss": np.float32(0.5)}, file)`: `json` serializes only types of Python. It calls `default` for any
    other value, however deep in the object.

    `left, right = parts(x)` unpacks a dictionary into its keys, if that is what `parts` returns: its values are unpacked.

    Fix safety: unsafe. The line could not run before; a float is truncated where it becomes an integer.

    References: https://docs.python.org/3/library/argparse.html#type,
    https://docs.python.org/3/library/stdtypes.html#str, https://docs.python.org/3/library/string.html#formatspec,
    https://docs.python.org/3/library/functions.html#int, https://docs.python.org/3/glossary.html#term-slice,
    https://docs.python.org/3/library/json.html#json.dump; torch.Tensor.item, torch.Tensor.tolist, numpy.ndarray.item,
    numpy.ndarray.tolist.
    """

    code = "DNF612"
    name = "value-type-mismatch"
    formerly = (
        "number-of-another-kind",
        "text-for-number",
        "DNF644",
        "share-as-bound",
        "DNF646",
        "array-given-to-json",
        "DNF648",
        "array-formatted-as-number",
        "DNF650",
        "number-joined-to-text",
    )
    message = "the value has the wrong type: {what}"
    confidence = 0.9
    readings = (
        _added_to_string,
        _key_for_value,
        _string_for_number,
        _formatted,
        _written_as_json,
        _share_as_count,
    )

    programs = """
=== example: an option without its type
import argparse
import torch

parser = argparse.ArgumentParser()
- parser.add_argument("--hidden", default="8", help="units of the hidden layer")
+ parser.add_argument("--hidden", default="8", help="units of the hidden layer", type=int)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
weight = torch.ones(4, args.hidden)
for epoch in range(args.epochs):
    print(weight.sum())

=== example: a dictionary of tensors
import torch


def parts(x):
    return {"low": x.clamp(max=0), "high": x.clamp(min=0)}


- low, high = parts(torch.randn(4))
+ low, high = parts(torch.randn(4)).values()
print(low.sum() + high.sum())

=== example: a setting of a file
import json
import torch


def train(steps):
    for step in range(steps):
        print(step, torch.ones(1))


settings = json.loads('{"steps": "3"}')
- steps = settings["steps"]
+ steps = int(settings["steps"])
train(steps)

=== example: a share in a title
import numpy as np


def title(right, of):
-     return "accuracy " + 100.0 * right / of + " %"
+     return "accuracy " + str(100.0 * right / of) + " %"


print(title(np.array([1, 0, 1]).sum(), 3))

=== example: a string with fields
import torch

net = torch.nn.Linear(2, 1)
score = torch.sigmoid(net(torch.ones(2)))
- print(f"score {score:.3f} of {1}")
+ print(f"score {score.item():.3f} of {1}")

=== example: the method of a string
import numpy as np
import torch


def report(epoch, loss):
-     print("epoch {:d}: {:.4f}".format(epoch, loss))
+     print("epoch {:d}: {:.4f}".format(epoch, loss.item()))


for epoch in range(2):
    report(epoch, torch.nn.Linear(2, 1)(torch.ones(1, 2)).detach().numpy())

=== example: losses that are tensors, in a file
import json
import torch

net = torch.nn.Linear(2, 1)
history = {"loss": []}
for epoch in range(2):
    loss = net(torch.ones(3, 2)).pow(2).mean()
    loss.backward()
    history["loss"].append(loss)
with open("history.json", "w") as file:
-     json.dump(history, file, indent=2)
+     json.dump(history, file, indent=2, default=lambda value: value.tolist())

=== example: indices of a validation set, rounded by NumPy
import numpy as np
import torch


def loaders(dataset, share):
    order = np.random.permutation(len(dataset)).tolist()
-     held_out = np.floor(share * len(dataset))
+     held_out = int(np.floor(share * len(dataset)))
    return order[held_out:], order[:held_out]


print(loaders(torch.randn(10, 3), 0.2))

=== example: the share within the slice
import numpy as np
import torch

x = np.random.randn(10, 3).astype("float32")
- train = x[: len(x) * 0.7]
+ train = x[: int(len(x) * 0.7)]
print(torch.nn.Linear(3, 1)(torch.from_numpy(train)).shape)

=== example: the sizes of two parts
import torch
from torch.utils.data import TensorDataset, random_split

dataset = TensorDataset(torch.randn(10, 3), torch.zeros(10))
- train_size = 0.7 * len(dataset)
+ train_size = int(0.7 * len(dataset))
test_size = len(dataset) - train_size
train, test = random_split(dataset, [train_size, test_size])
print(len(train), len(test))

=== reject: numbers in accepted forms
import json
import torch

print("loss " + str(torch.ones(1).item()))
print(f"{torch.ones(3).mean():.3f}")
print(json.dumps({"loss": torch.ones(1).item(), "all": torch.ones(2).tolist()}))
data = torch.randn(10, 3)
split = int(0.8 * len(data))
print(data[:split].shape, data[split:].shape)

=== reject: a string that is not a number
import torch

size = "large"
print(torch.ones(size))

=== reject: a number read as a string
import torch

total = 0
for line in ("1 0.5", "2 0.25"):
    total = total + line.split()[1]
print(total, torch.ones(1))

=== reject: a list added to a string
import torch

print("sizes " + list(torch.ones(2, 3).shape))

=== reject: several elements
import torch

losses = torch.ones(3)
print(f"{losses:.3f}")

=== reject: an object of the program
import json
import torch


class Settings:
    rate = 0.1


print(json.dumps({"settings": Settings(), "all": torch.ones(2).tolist()}))

=== reject: a learning rate for a number of steps
import torch

rate = 0.01
for step in range(rate):
    print(torch.ones(1))

=== reject: a measured value as an index
import torch

names = ["a", "b"]
score = torch.ones(1).item()
print(names[score])
"""


def _makes_string(source: Source, node: ast.BinOp) -> bool:
    """Whether a sum that a `+` is part of contains a string literal or conversion."""
    whole: ast.expr = node
    while isinstance(above := source.parent(whole), ast.BinOp) and isinstance(above.op, ast.Add):
        whole = above
    return any(_is_string(part) for part in arithmetic.summands(whole))


def _is_string(part: ast.expr) -> bool:
    match part:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in ("str", "repr", "format", "join")
        case ast.BinOp(op=ast.Mod()):
            return _is_string(part.left)
    return isinstance(part, ast.JoinedStr) or isinstance(part, ast.Constant) and isinstance(part.value, str)


def _declared(source: Source, origin: ast.expr) -> ast.Call | None:
    """The `add_argument` call of the option that an expression reads, if it has no type."""
    name = origin.attr if isinstance(origin, ast.Attribute) else None
    if isinstance(origin, ast.Subscript) and isinstance(origin.slice, ast.Constant):
        name = origin.slice.value if isinstance(origin.slice.value, str) else None
    found = [call for call in source.all_calls if name is not None and _option(call) == name]
    if len(found) != 1 or any(keyword.arg in ("type", "action") for keyword in found[0].keywords):
        return None
    return found[0]


def _option(call: ast.Call) -> str | None:
    """The attribute that `add_argument` stores an option in."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return None
    named = keyword_value(call, "dest")
    if isinstance(named, ast.Constant):
        return str(named.value)
    flags = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else None


def _formatted_in(node: ast.AST) -> Iterator[ast.expr]:
    """The values that an expression formats: with a format specification, or as arguments of `format`."""
    for part in ast.walk(node):
        if isinstance(part, ast.FormattedValue) and part.format_spec is not None and isinstance(part.value, PLAIN):
            yield part.value
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "format":
            given = (*part.args, *(keyword.value for keyword in part.keywords))
            yield from (one for one in given if isinstance(one, PLAIN))


def _is_one(failure: Failure[ast.AST], value: ast.expr, kind: str) -> bool:
    """Whether a value is an array with axes and one element, as far as the run shows."""
    held = failure.held(value)
    if held is None or held.kind != kind or not held.size:
        return False
    told = failure.crash.frames[-1].names.get(ast.unparse(value))
    shape = told.get("shape") if isinstance(told, dict) else None
    # not every attribute is recorded; the run of the repaired program shows whether there is one element
    return told is None or isinstance(shape, (list, tuple)) and all(size == 1 for size in shape)


def _taken_out(subject: Subject, values: list[ast.expr]) -> Iterator[Edit]:
    """Edits that append `item()`; an f-string is replaced as a whole."""
    source = subject.source
    within: dict[ast.JoinedStr, list[ast.expr]] = {}
    for value in values:
        place = source.parent(value)
        text = source.enclosing(value, ast.JoinedStr) if isinstance(place, ast.FormattedValue) else None
        if text is None:
            yield Wrap(source.site(value), "", ".item()")
        else:
            within.setdefault(text, []).append(value)
    for text, inside in within.items():
        lines = subject.text(source.site(text)).split("\n")
        begin = source.site(text)
        for value in sorted(inside, key=lambda one: (one.lineno, one.col_offset), reverse=True):
            site = source.site(value)
            row = site.line - begin.line
            end = site.end_column - (begin.column if row == 0 else 1)
            start = end - len(ast.unparse(value))
            # older versions of Python have wrong positions within f-strings
            if row >= len(lines) or lines[row][start:end] != ast.unparse(value):
                return
            lines[row] = f"{lines[row][:end]}.item(){lines[row][end:]}"
        yield Replace(begin, "\n".join(lines))


def _counted(node: ast.AST) -> Iterator[ast.expr]:
    """The parts of a failing expression that count elements: bounds of slices, indices, arguments of a call."""
    if isinstance(node, ast.Subscript):
        yield from _of_index(node.slice)
    elif isinstance(node, ast.Call):
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from given.elts if isinstance(given, (ast.Tuple, ast.List)) else (given,)
    elif isinstance(node, (ast.For, ast.Assign, ast.Expr, ast.Return)):
        for part in within(node, ast.Subscript):
            yield from _of_index(part.slice)


def _of_index(index: ast.expr) -> Iterator[ast.expr]:
    for part in index.elts if isinstance(index, ast.Tuple) else (index,):
        bounds = (part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else (part,)
        yield from (bound for bound in bounds if bound is not None)


def _sides(value: ast.expr) -> tuple[ast.expr, ...]:
    """The two operands of a sum or difference."""
    added = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub))
    return (value.left, value.right) if isinstance(value, ast.BinOp) and added else ()


def _real(failure: Failure[ast.AST], place: ast.expr) -> Iterator[ast.expr]:
    """The expressions that the float used at this site is computed by."""
    source = failure.source
    if isinstance(place, (ast.Name, ast.Attribute)):
        held, bound = failure.held(place), source.bindings(place)
        if held is not None and held.kind in REALS and len(bound) == 1:
            # the product in a sum or difference, else the whole value
            known = [source.bindings(side) for side in _sides(bound[0]) if isinstance(side, (ast.Name, ast.Attribute))]
            shares = [values[0] for values in known if len(values) == 1 and _is_share(source, values[0])]
            yield from shares or (bound[0],)
    elif _sides(place):
        for side in _sides(place):
            yield from _real(failure, side)
    elif _is_share(source, place):
        yield place


def _of_elements(source: Source, value: ast.expr) -> bool:
    """Whether a value is computed from a number of elements."""
    for part in ast.walk(value):
        bound = source.bindings(part) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) else ()
        for one in (part, *bound):
            if isinstance(one, ast.Call) and ast.unparse(one.func) == "len":
                return True
            if isinstance(one, ast.Attribute) and one.attr in ("shape", "size", "numel"):
                return True
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Attribute) and one.value.attr == "shape":
                return True
    return False


def _is_share(source: Source, value: ast.expr) -> bool:
    """Whether an expression is a product, or rounded by NumPy."""
    if isinstance(value, ast.Call):
        return (source.qualified(value.func) or "") in ROUNDED and len(value.args) == 1 and not value.keywords
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and not _divides(value)


def _stands_for_count(source: Source, value: ast.expr) -> bool:
    """Whether a float is meant as a count: it has an integer value, or is a fraction of a length."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, float) and value.value.is_integer() and value.value >= 1
    if _sides(value):
        return not _divides(value) and any(_is_share(source, side) for side in _sides(value))
    return _is_share(source, value)


def _divides(value: ast.expr) -> bool:
    return any(isinstance(part.op, ast.Div) for part in within(value, ast.BinOp))
