"""Numbers of NumPy, arrays or tensors are written as JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, SetArgument, Subject, keyword_value, words

_SAID = re.compile(r"Object of type (\w+) is not JSON serializable")

KINDS = words(
    """float16 float32 float64 longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool bool_ ndarray Tensor
    Parameter"""
)
"""Types of NumPy and torch that `json` does not know; each has `tolist`, which gives plain numbers and lists."""

WRITERS = words("json.dump json.dumps")


class ArrayGivenToJson(CrashTemplate):
    """`json.dump({"loss": np.float32(0.5)}, file)`: JSON knows the numbers and lists of Python only.

    A measure that NumPy computed, an array or a tensor gives plain numbers by `tolist`, whether it is one number or many.
    `json` asks for them through `default`, for everything in the object that it does not know, however deep.

    Fix safety: unsafe. What is written has the same values; nothing was written before.

    References: https://docs.python.org/3/library/json.html#json.dump; numpy.ndarray.tolist; torch.Tensor.tolist.
    """

    code = "DNF646"
    name = "array-given-to-json"
    kinds = frozenset({"TypeError"})
    confidence = 0.95

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        said = _SAID.search(crash.message)
        node, source = subject.node(crash.site), subject.source
        if said is None or said[1] not in KINDS or not isinstance(node, ast.Call):
            return
        if (source.qualified(node.func) or "") not in WRITERS or not _is_open(node):
            return
        edits: tuple[Edit, ...] = (SetArgument(source.site(node), "default", "lambda value: value.tolist()"),)
        what = f"{subject.text(source.site(node.func))} does not know values of type {said[1]}"
        yield Mend(source.site(node), what, (("Write arrays as lists, and their numbers as numbers", edits, 0.9),))

    examples = (
        Example(
            "losses that are tensors, in a file",
            """\
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
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "plain numbers",
            """\
import json
import torch

print(json.dumps({"loss": torch.ones(1).item(), "all": torch.ones(2).tolist()}))
""",
            runs=True,
        ),
        Reject(
            "an object of the program",
            """\
import json
import torch


class Settings:
    rate = 0.1


print(json.dumps({"settings": Settings(), "all": torch.ones(2).tolist()}))
""",
            runs=True,
        ),
    )


def _is_open(call: ast.Call) -> bool:
    """Whether a call does not say yet what becomes of values that JSON does not know."""
    starred = any(keyword.arg is None for keyword in call.keywords)
    return not starred and keyword_value(call, "default") is None and keyword_value(call, "cls") is None
