"""`pickle.load(open("data.pkl"))`: a file opened as text for bytes, or for bytes where text is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Example,
    Hit,
    InsertElement,
    Reject,
    SetArgument,
    Source,
    Subject,
    mode_of,
    opened_by,
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
"""By function that reads or writes bytes, the place of the file among its arguments."""

TEXT = {"csv.reader": 0, "csv.writer": 0, "csv.DictReader": 0, "csv.DictWriter": 0, "json.dump": 1}
"""By function that reads or writes text, the place of the file among its arguments."""

WRITING = ("csv.writer", "csv.DictWriter")
"""Functions that write the ends of lines themselves."""

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
"""Methods that text and bytes have alike; their arguments have to be of the same kind as what they belong to."""

SAME = TAKEN_APART | {"lower", "upper", "read", "readline", "readlines", "splitlines", "title"}
"""Methods that give text of text and bytes of bytes, and what reads either from a file."""

WORDS = frozenset(
    ("pickle", "cPickle", "dill", "marshal", "joblib", "csv", "json", "save", "savez", "write", "load", *TAKEN_APART)
)


class Python2FileMode(ApiChange):
    """Python 2 made no difference between text and bytes in files; Python 3 refuses the one where the other is meant.

    `pickle`, `numpy.save` and `torch.save` read and write bytes: their file is opened with `b` in its mode. `csv`,
    `json.dump` and `write` with a text take a file without it, and so does a program that takes what it read apart with a
    text: `line.split(",")`. A file is only looked at where the call of `open` that gave it is known and its mode is
    written out.

    Fix safety: unsafe: as it stood, the program stopped at the first read or write; on Windows the bytes of a file that
    was written as text differ.

    References: https://docs.python.org/3/library/pickle.html#pickle.load, https://docs.python.org/3/library/csv.html#csv.writer,
    https://docs.python.org/3/whatsnew/3.0.html#text-vs-data-instead-of-unicode-vs-8-bit.
    """

    code = "DNF580"
    name = "python-2-file-mode"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls that are given a file of the other kind."""
        source = subject.source
        if "open" not in source.words and "file" not in source.words or source.words.isdisjoint(WORDS):
            return
        wanted: dict[ast.Call, tuple[ast.Call, bool, str]] = {}
        unsure: set[ast.Call] = set()
        for call in uses_of(source).calls():
            if (decoded := _decoded(source, call)) is not None:
                unsure.add(decoded)
            found = _file(source, call)
            opened = opened_by(source, found[0]) if found is not None else None
            if found is None or opened is None:
                continue
            if opened in wanted and wanted[opened][1] != found[1]:
                unsure.add(opened)
            wanted.setdefault(opened, (call, found[1], found[2]))
        for opened, (call, binary, by) in wanted.items():
            mode = mode_of(opened)
            if opened not in unsure and mode is not None and ("b" in mode) != binary:
                yield _hit(source, opened, call, mode, by)

    examples = (
        Example(
            "weights kept in a pickle",
            """\
import pickle
import torch

weights = {"w": torch.ones(2)}
pickle.dump(weights, open("w.pkl", "w"))
with open("w.pkl") as f:
    print(pickle.load(f))
""",
            """\
import pickle
import torch

weights = {"w": torch.ones(2)}
pickle.dump(weights, open("w.pkl", "wb"))
with open("w.pkl", "rb") as f:
    print(pickle.load(f))
""",
            runs=True,
        ),
        Example(
            "an array in a file that a variable holds",
            """\
import numpy as np
import torch

out = open('x.npy', mode='w')
np.save(out, torch.ones(3).numpy())
out.close()
""",
            """\
import numpy as np
import torch

out = open('x.npy', mode='wb')
np.save(out, torch.ones(3).numpy())
out.close()
""",
            runs=True,
        ),
        Example(
            "a table written as bytes",
            """\
import csv
import torch

with open("losses.csv", "wb") as table:
    writer = csv.writer(table)
    writer.writerow([1, float(torch.ones(1))])
with open("log.txt", "wb") as log:
    log.write("loss %f" % 0.5)
""",
            """\
import csv
import torch

with open("losses.csv", "w", newline="") as table:
    writer = csv.writer(table)
    writer.writerow([1, float(torch.ones(1))])
with open("log.txt", "w") as log:
    log.write("loss %f" % 0.5)
""",
            runs=True,
        ),
        Example(
            "lines of numbers read as bytes",
            """\
import torch

with open("table.txt", "w") as table:
    table.write("1  2\\n3  4\\n")
rows = open("table.txt", "rb")
print(torch.tensor([[float(x) for x in part] for part in [row.replace("  ", " ").strip().split(" ") for row in rows]]))
text = open("table.txt", "rb").read()
lines = text.split("\\n")
print(torch.zeros(len(lines)))
""",
            """\
import torch

with open("table.txt", "w") as table:
    table.write("1  2\\n3  4\\n")
rows = open("table.txt", "r")
print(torch.tensor([[float(x) for x in part] for part in [row.replace("  ", " ").strip().split(" ") for row in rows]]))
text = open("table.txt", "r").read()
lines = text.split("\\n")
print(torch.zeros(len(lines)))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "bytes that are decoded, or taken apart as bytes",
            """\
import torch

with open("table.txt", "rb") as rows:
    for row in rows:
        print(row.strip().split(b","))
with open("table.txt", "rb") as rows:
    first = rows.readline()
    print(torch.tensor([float(x) for x in first.decode("utf-8").strip("\\n").split(",")]))
""",
        ),
        Reject(
            "modes that are right",
            """\
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
""",
            runs=True,
        ),
        Reject(
            "a mode that is not written out, and an open of the program's own",
            """\
import gzip
import pickle
import torch


def load(path, mode):
    return pickle.load(open(path, mode))


def unzip(path):
    with gzip.open(path) as f:
        return torch.tensor(pickle.load(f))
""",
        ),
    )


def _file(source: Source, call: ast.Call) -> tuple[ast.expr, bool, str] | None:
    """What a call reads from or writes to, whether it takes bytes, and its name."""
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


def _decoded(source: Source, call: ast.Call) -> ast.Call | None:
    """The call of `open` that gave the bytes which a call decodes."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "decode":
        return None
    file = _read_from(source, call.func.value)
    return opened_by(source, file) if file is not None else None


def _read_from(source: Source, expr: ast.expr, left: int = 12) -> ast.expr | None:
    """The file that a text, a line or a part of one was read from; `None` where that is not sure."""
    if opened_by(source, expr) is not None:
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
    """What the loop or the comprehension around a name gives it one by one."""
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
    given = next(
        (k.value for k in opened.keywords if k.arg == "mode"), opened.args[1] if len(opened.args) > 1 else None
    )
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
    what = "bytes, and the file is opened as text" if binary else "text, and the file is opened for bytes"
    return Hit(
        site,
        f"{by} in line {call.lineno} takes {what}, which Python 3 refuses",
        title=f"open the file as {new}",
        edits=() if texts else tuple(edits),
        decline="the file is opened with an encoding, so it may be text that is meant" if texts else "",
        confidence=0.9,
        felt=source.site(call),
    )
