"""`pickle.load(open("data.pkl"))`: a file is opened in text mode for bytes, or in binary mode for strings."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Hit,
    InsertElement,
    SetArgument,
    Source,
    Subject,
    argument_value,
    once,
    python2,
    uses_of,
)

BYTES = {
    **{f"{module}.load": 0 for module in ("pickle", "cPickle", "dill", "marshal", "joblib", "numpy", "torch")},
    **{f"{module}.dump": 1 for module in ("pickle", "cPickle", "dill", "marshal", "joblib")},
    **{f"{module}.{name}": 0 for module in ("pickle", "cPickle") for name in ("Pickler", "Unpickler")},
    "numpy.save": 0,
    "numpy.savez": 0,
    "numpy.savez_compressed": 0,
    "torch.save": 1,
}
"""By function that reads or writes bytes, the index of the file among its arguments."""

TEXT = {"csv.reader": 0, "csv.writer": 0, "csv.DictReader": 0, "csv.DictWriter": 0, "json.dump": 1}
"""By function that reads or writes strings, the index of the file among its arguments."""

WRITING = ("csv.writer", "csv.DictWriter")
"""Functions that write line ends themselves."""

TAKEN_APART = frozenset(
    (
        "split",
        "rsplit",
        "replace",
        "strip",
        "lstrip",
        "rstrip",
        "startswith",
        "endswith",
        "find",
        "index",
        "count",
        "partition",
    )
)
"""Methods of both strings and bytes whose arguments have to be of the same type."""

OF_BYTES = (
    "pickle.loads", "cPickle.loads", "dill.loads", "marshal.loads", "struct.", "zlib.", "gzip.", "bz2.", "lzma.", "hashlib.",
    "base64.", "binascii.", "array.array", "io.BytesIO", "numpy.frombuffer", "numpy.fromfile", "numpy.fromstring", "cv2.imdecode",
    "PIL.Image.open", "tensorflow.image.decode", "tensorflow.io.decode", "builtins.bytearray", "builtins.memoryview",
    "builtins.ord", "builtins.int.from_bytes", "msgpack.",
)  # fmt: skip
"""Functions that expect bytes."""

SAME = TAKEN_APART | {"lower", "upper", "read", "readline", "readlines", "splitlines", "title"}
"""Methods that return strings for strings and bytes for bytes, and methods that read either."""

_WHITE_SPACE = dict.fromkeys(map(ord, string.whitespace))

WORDS = frozenset(
    ("pickle", "cPickle", "dill", "marshal", "joblib", "csv", "json", "save", "savez", "write", "load", *TAKEN_APART)
)


class Python2FileMode(ApiChange):
    """Python 2 made no difference between text and binary files; Python 3 raises where the other one is expected.

    `pickle`, `numpy.save` and `torch.save` read and write bytes, and need `b` in the mode. `csv`, `json.dump`, `write`
    with a string, and programs that use string arguments on what they read (`line.split(",")`) need a text file.
    Reported where the call of `open` is known with a literal mode, and nothing also reads the file as bytes or searches
    it for anything but ASCII.

    Fix safety: unsafe: the program crashed at the first read or write; on Windows the bytes of a file that was written
    as text differ.

    References: https://docs.python.org/3/library/pickle.html#pickle.load,
    https://docs.python.org/3/library/csv.html#csv.writer,
    https://docs.python.org/3/whatsnew/3.0.html#text-vs-data-instead-of-unicode-vs-8-bit.
    """

    code = "DNF580"
    name = "python-2-file-mode"
    message = "{function} at line {line} expects a file in {wanted} mode, and this one is opened in {given} mode"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "open" not in source.words and "file" not in source.words or source.words.isdisjoint(WORDS):
            return
        wanted: dict[ast.Call, tuple[ast.Call, bool, str]] = {}
        unsure: set[ast.Call] = set()
        for call in uses_of(source).calls():
            unsure.update(_read_as_bytes(source, call))
            found = _file(source, call)
            opened = python2.opened_by(source, found[0]) if found is not None else None
            if found is None or opened is None:
                continue
            if opened in wanted and wanted[opened][1] != found[1]:
                unsure.add(opened)
            wanted.setdefault(opened, (call, found[1], found[2]))
        for comparison in source.nodes(ast.Compare) if wanted else ():
            unsure.update(_compared_to_bytes(source, comparison))
        for opened, (call, binary, by) in wanted.items():
            mode = python2.mode_of(opened)
            if opened not in unsure and mode is not None and ("b" in mode) != binary:
                yield _hit(source, opened, call, mode, by)

    programs = r"""
=== example (runs): weights kept in a pickle
import pickle
import torch

weights = {"w": torch.ones(2)}
- pickle.dump(weights, open("w.pkl", "w"))
- with open("w.pkl") as f:
+ pickle.dump(weights, open("w.pkl", "wb"))
+ with open("w.pkl", "rb") as f:
    print(pickle.load(f))

=== example (runs): an array in a file that a variable holds
import numpy as np
import torch

- out = open('x.npy', mode='w')
+ out = open('x.npy', mode='wb')
np.save(out, torch.ones(3).numpy())
out.close()

=== example (runs): a table written as bytes
import csv
import torch

- with open("losses.csv", "wb") as table:
+ with open("losses.csv", "w", newline="") as table:
    writer = csv.writer(table)
    writer.writerow([1, float(torch.ones(1))])
- with open("log.txt", "wb") as log:
+ with open("log.txt", "w") as log:
    log.write("loss %f" % 0.5)

=== example (runs): lines of numbers read as bytes
import torch

with open("table.txt", "w") as table:
    table.write("1  2\n3  4\n")
- rows = open("table.txt", "rb")
+ rows = open("table.txt", "r")
print(torch.tensor([[float(x) for x in part] for part in [row.replace("  ", " ").strip().split(" ") for row in rows]]))
- text = open("table.txt", "rb").read()
+ text = open("table.txt", "r").read()
lines = text.split("\n")
print(torch.zeros(len(lines)))

=== reject: bytes that are looked for, unpickled or counted, and copies of files
import hashlib
import pickle
import torch

start = open("cifar.bin", "rb").read().find("\xff\xd8")
with open("rows.bin", "rb") as rows:
    for row in rows:
        if row.startswith("#"):
            print(torch.tensor(pickle.loads(row)))
with open("images.bin", "rb") as images:
    name = images.readline()
    if name.strip("\n") and b"x" in name:
        print(hashlib.md5(images.read()))
with open("a.txt", "rb") as old, open("b.txt", "wb") as new:
    for line in old:
        new.write(line.replace("a", "b"))
with open("magic", "wb") as magic:
    magic.write("\x00\x01")

=== reject (runs): modes that are right
import csv
import json
import pickle
import torch

with open("w.pkl", "wb") as f:
    pickle.dump(torch.ones(2), f)
pickle.load(open("w.pkl", "rb"))
with open("a.csv", "w") as f:
    csv.writer(f).writerow([1])
with open("a.json", "w") as f:
    json.dump([1], f)
with open("a.bin", "wb") as f:
    f.write("text".encode())
"""


def _file(source: Source, call: ast.Call) -> tuple[ast.expr, bool, str] | None:
    """The file that a call reads or writes, whether as bytes, and the call's name."""
    name = source.written(call.func) or ""
    for places, binary in ((BYTES, True), (TEXT, False)):
        if name in places and places[name] < len(call.args):
            return call.args[places[name]], binary, name
    function = call.func
    if name or not isinstance(function, ast.Attribute) or not call.args or not _is_text(source, call.args[0]):
        return None
    if function.attr == "write":
        return (function.value, False, "write") if len(call.args) == 1 else None
    file = _read_from(source, function.value) if function.attr in TAKEN_APART else None
    return (file, False, function.attr) if file is not None else None


def _read_as_bytes(source: Source, call: ast.Call) -> Iterator[ast.Call]:
    """The calls of `open` whose data a call uses as bytes: it decodes, unpickles or searches for bytes."""
    function, given = call.func, [*call.args, *(keyword.value for keyword in call.keywords)]
    if (source.written(function) or "").startswith(OF_BYTES) and not any(k.arg == "sep" for k in call.keywords):
        for value in given:
            yield from _opened(source, value)
    elif isinstance(function, ast.Attribute) and (
        function.attr == "decode" or _has_bytes(source) and any(_is_bytes(one) for one in given)
    ):
        yield from _opened(source, function.value)
    elif isinstance(function, ast.Attribute) and function.attr == "write" and given:
        copies = [copy for copy in _opened(source, function.value) if "b" in (python2.mode_of(copy) or "")]
        yield from _opened(source, given[0]) if copies else ()


def _compared_to_bytes(source: Source, comparison: ast.Compare) -> Iterator[ast.Call]:
    """The calls of `open` whose data are compared with bytes, or searched for them: `b"," in line`."""
    sides = [comparison.left, *comparison.comparators]
    if any(_is_bytes(side) for side in sides):
        for side in sides:
            yield from _opened(source, side)


def _opened(source: Source, value: ast.expr) -> Iterator[ast.Call]:
    """The call of `open` for the file that a value was read from, if known."""
    file = _read_from(source, value)
    made = python2.opened_by(source, file) if file is not None else None
    if made is not None:
        yield made


@once
def _has_bytes(source: Source) -> bool:
    """Whether the program has a bytes literal."""
    return any(_is_of_bytes(constant) for constant in source.nodes(ast.Constant))


def _is_bytes(value: ast.expr) -> bool:
    """Whether a literal is bytes, or a string that was bytes in Python 2: `"\\xff\\xd8"`."""
    return any(isinstance(part, ast.Constant) and _is_of_bytes(part) for part in ast.walk(value))


def _is_of_bytes(constant: ast.Constant) -> bool:
    value = constant.value
    return isinstance(value, bytes) or isinstance(value, str) and not _is_plain(value)


def _is_plain(text: str) -> bool:
    """Whether a string has only printable ASCII characters and white space, which are the same as bytes."""
    return text.isascii() and text.translate(_WHITE_SPACE).isprintable()


def _read_from(source: Source, expr: ast.expr, left: int = 12) -> ast.expr | None:
    """The file that a string, a line or a part of one was read from; `None` where that is not known."""
    if python2.opened_by(source, expr) is not None:
        return expr
    if not left:
        return None
    if isinstance(expr, ast.Subscript):
        return _read_from(source, expr.value, left - 1)
    if isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SAME:
        return _read_from(source, expr.func.value, left - 1)
    if not isinstance(expr, ast.Name):
        return None
    over = _looped_over(source, expr)
    if over is not None:
        return _read_from(source, over, left - 1)
    given = source.bindings(expr)
    return _read_from(source, given[0], left - 1) if len(given) == 1 else None


def _looped_over(source: Source, name: ast.Name) -> ast.expr | None:
    """The iterable of the loop or comprehension whose target is this name."""
    inside: ast.AST = name
    while (above := source.parent(inside)) is not None:
        generators = getattr(above, "generators", [above] if isinstance(above, ast.For) else [])
        for loop in generators:
            if isinstance(loop.target, ast.Name) and loop.target.id == name.id and inside is not loop.iter:
                over: ast.expr = loop.iter
                return over
        if isinstance(above, (ast.FunctionDef, ast.Lambda)):
            return None
        inside = above
    return None


def _is_text(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.JoinedStr):
        return True
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str)
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, (ast.Add, ast.Mod)) and _is_text(source, value.left)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("format", "join") and _is_text(source, value.func.value)
    return isinstance(value, ast.Call) and source.qualified(value.func) == "builtins.str"


def _hit(source: Source, opened: ast.Call, call: ast.Call, mode: str, by: str) -> Hit:
    site = source.site(opened)
    binary = "b" not in mode
    new = f"{mode.replace('t', '')}b" if binary else mode.replace("b", "")
    given = argument_value(opened, "mode", 1)
    beside = given if given is not None else opened.args[0] if opened.args else None
    quote = "'" if beside is not None and source.segment(source.site(beside)).endswith("'") else '"'
    code = f"{quote}{new}{quote}"
    edits: list[Edit] = []
    if given is None and opened.args:
        edits.append(InsertElement(site, 1, code))
    else:
        edits.append(SetArgument(site, "mode", code, 1))
    if by in WRITING and not any(k.arg == "newline" for k in opened.keywords):
        edits.append(SetArgument(site, "newline", f"{quote}{quote}"))
    texts = binary and (
        len(opened.args) > 2 or any(k.arg in ("encoding", "newline", "errors") for k in opened.keywords)
    )
    modes = ("binary", "text") if binary else ("text", "binary")
    return Hit(
        site,
        Python2FileMode.message.format(function=by, line=call.lineno, wanted=modes[0], given=modes[1]),
        title=f"open the file in mode {new}",
        edits=() if texts else tuple(edits),
        decline="the file is opened with an encoding, so text mode may be meant" if texts else "",
        confidence=0.9,
        felt=source.site(call),
    )
