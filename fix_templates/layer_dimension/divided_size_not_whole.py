"""A size is the result of a true division, which is never a whole number type."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Json,
    Reject,
    Replace,
    Site,
    Subject,
    Symptom,
)

MAX_NAMES = 4
"""Names followed from the place of the crash to the division."""


class DividedSizeNotWhole(FixTemplate):
    """A size is the result of `/`, which gives a float even where the division leaves no rest.

    Tensors and layers take whole numbers as sizes. Programs written for Python 2, where `/` rounded, stop here.

    Fix safety: unsafe. Where the division leaves a rest, the size is rounded down; whether that is meant is for the
    author to say.

    References: PEP 238 (`/` and `//`), torch.Tensor.view, torch.nn.Linear.
    """

    code = "DNF218"
    name = "divided-size-not-whole"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.DATA_TYPE
    message = "{text} is a float and is used as a size"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for division in _divisions(subject):
            site = subject.source.site(division)
            yield self.finding(
                site, symptom=Symptom.CRASH, confidence=0.9, cause="crash", text=subject.text(site)
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for division in _divisions(subject):
            site = subject.source.site(division)
            if site == finding.site:
                left, right = (subject.text(subject.source.site(side)) for side in (division.left, division.right))
                start = Site(site.line, site.column, site.end_line, site.end_column)
                written = _floor(subject.text(start), left, right)
                if written is None:
                    yield Decline("the division is not written on one line")
                    return
                yield self.candidate(finding, "Divide to a whole number", Replace(site, written), prior=0.9)

    examples = (
        Example(
            "half of a layer's width",
            before="""\
import torch
import torch.nn as nn

width = 64
model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width / 2))
""",
            after="""\
import torch
import torch.nn as nn

width = 64
model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width // 2))
""",
            runs=True,
        ),
        Example(
            "attribute that a view uses",
            before="""\
import torch
import torch.nn as nn


class Steps(nn.Module):
    def __init__(self, window, skip):
        super().__init__()
        self.skip = skip
        self.count = (window - 2)/self.skip
        self.out = nn.Linear(skip, 1)

    def forward(self, x):
        x = x.view(x.size(0), self.count, self.skip)
        return self.out(x)


print(Steps(14, 4)(torch.randn(5, 12)).shape)
""",
            after="""\
import torch
import torch.nn as nn


class Steps(nn.Module):
    def __init__(self, window, skip):
        super().__init__()
        self.skip = skip
        self.count = (window - 2)//self.skip
        self.out = nn.Linear(skip, 1)

    def forward(self, x):
        x = x.view(x.size(0), self.count, self.skip)
        return self.out(x)


print(Steps(14, 4)(torch.randn(5, 12)).shape)
""",
            runs=True,
        ),
        Example(
            "size of a tensor of zeros",
            before="""\
import torch

rows = 12
half = rows / 2
table = torch.zeros(half, 3)
""",
            after="""\
import torch

rows = 12
half = rows // 2
table = torch.zeros(half, 3)
""",
            runs=True,
        ),
        Example(
            "Keras units",
            before="""\
import keras
from keras import layers

units = 32
inputs = keras.Input((4,))
x = layers.Dense(units / 2)(inputs)
""",
            after="""\
import keras
from keras import layers

units = 32
inputs = keras.Input((4,))
x = layers.Dense(units // 2)(inputs)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a division that is no size",
            """\
import torch
import torch.nn as nn

scale = 3 / 2
nn.Linear(4, 2)(torch.randn(3, 4) / 2) * scale
""",
            runs=True,
        ),
        Reject(
            "a crash for another reason",
            """\
import torch
import torch.nn as nn

rate = 1 / 2
nn.Sequential(nn.Dropout(1 / 4), nn.Linear(4, 2))(torch.randn(3, 5))
""",
            runs=True,
        ),
    )


def _divisions(subject: Subject) -> list[ast.BinOp]:
    """The true divisions whose result stands as a size in the call that crashed."""
    crash = subject.crash
    call = crash.call if crash is not None else None
    if crash is None or crash.kind not in ("TypeError", "ValueError", "RuntimeError"):
        return []
    node = subject.node(crash.site)
    sized = node if isinstance(node, ast.Call) else None
    if sized is None or (call is not None and not _fractional(list(call.args.values())) and call.inputs):
        return []
    found: list[ast.BinOp] = []
    name = (call.name if call is not None else subject.source.qualified(sized.func)) or ""
    if not name.startswith(("torch.", "keras.")) or name.rpartition(".")[2] in NOT_SIZES:
        return []
    for given in (*sized.args, *(keyword.value for keyword in sized.keywords if keyword.arg not in FRACTIONS)):
        division = _division(subject, given, MAX_NAMES)
        if division is not None and division not in found:
            found.append(division)
    return found


NOT_SIZES = frozenset({"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "LeakyReLU", "add", "mul", "div"})
FRACTIONS = frozenset({"dropout", "eps", "momentum", "lr", "learning_rate", "rate", "alpha", "p", "recurrent_dropout"})


def _fractional(values: list[Json]) -> bool:
    return any(isinstance(one, float) or (isinstance(one, (list, tuple)) and _fractional(list(one))) for one in values)


def _division(subject: Subject, node: ast.expr, names: int) -> ast.BinOp | None:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Div):
            return node
        return _division(subject, node.left, names) or _division(subject, node.right, names)
    if isinstance(node, (ast.Tuple, ast.List)):
        return next((found for one in node.elts if (found := _division(subject, one, names)) is not None), None)
    if isinstance(node, (ast.Name, ast.Attribute)) and names:
        bound = subject.source.bindings(node)
        return _division(subject, bound[0], names - 1) if len(bound) == 1 else None
    return None


def _floor(text: str, left: str, right: str) -> str | None:
    """The text of a division with `//` between its sides, whose own text is kept."""
    head = text.index(left) + len(left) if left in text else -1
    middle, slash, rest = text[head:].partition("/") if head >= 0 else ("", "", "")
    if not slash or "\n" in text or right not in rest:
        return None
    return f"{text[:head]}{middle}//{rest}"
