"""A variable in the failing expression is exchanged for another one at hand that is called alike."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from dnnfix.api import (
    Example,
    Family,
    FixPattern,
    Guesses,
    GuessTemplate,
    Reject,
    Replace,
    Subject,
    described_shape,
    failing_parts,
    parts,
)

MOST = 8
"""Guesses for one crash."""

ALIKE = 0.6
"""Likeness, as difflib measures it, of names without a word in common."""


class NameAtCrash(GuessTemplate):
    """A variable in the failing expression is exchanged for another one at hand that is called alike.

    `x_train` is given with `y_test`, or a line that was copied still names what the first one was about. This template
    does not know which variable is meant: it tries arrays of another shape whose names have a word in common.

    Fix safety: unsafe. The line could not run before; the other variable may be the wrong one.

    References: Islam et al., Repairing Deep Neural Networks (ICSE 2020), pattern "neural connection".
    """

    code = "DNF480"
    name = "name-at-crash"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "the program crashes here, and another variable would let it go on: {crash}"

    def guesses(self, subject: Subject) -> Guesses:
        found: list[tuple[float, str, Replace]] = []
        for nearness, part in enumerate(failing_parts(subject)):
            if not isinstance(part.node, ast.Name | ast.Attribute) or not part.is_array:
                continue
            code = ast.unparse(part.node)
            for other, alike in _others(subject, part.node, part.shape):
                title = f"Take {other} for {code}"
                edit = Replace(subject.source.site(part.node), other)
                found.append((0.2 + 0.25 * alike - 0.03 * nearness, title, edit))
        for prior, title, edit in sorted(found, key=lambda one: -one[0])[:MOST]:
            yield title, (edit,), prior

    examples = (
        Example(
            "the targets of the other half",
            before="""\
import numpy as np
from sklearn.linear_model import LogisticRegression

data, label = np.random.rand(30, 4), np.arange(30) % 2
x_train, y_train = data[:20], label[:20]
x_test, y_test = data[20:], label[20:]
model = LogisticRegression().fit(x_train, y_test)
print(model.score(x_test, y_test))
""",
            after="""\
import numpy as np
from sklearn.linear_model import LogisticRegression

data, label = np.random.rand(30, 4), np.arange(30) % 2
x_train, y_train = data[:20], label[:20]
x_test, y_test = data[20:], label[20:]
model = LogisticRegression().fit(x_train, y_train)
print(model.score(x_test, y_test))
""",
            runs=True,
        ),
        Example(
            "the layer before",
            before="""\
import torch

w_1, w_2 = torch.rand(4, 8), torch.rand(8, 2)
x = torch.rand(3, 4)
h_1 = torch.mm(x, w_1)
print(torch.mm(h_1, w_1).mean())
""",
            after="""\
import torch

w_1, w_2 = torch.rand(4, 8), torch.rand(8, 2)
x = torch.rand(3, 4)
h_1 = torch.mm(x, w_1)
print(torch.mm(h_1, w_2).mean())
""",
            runs=True,
        ),
        Example(
            "a bias of another layer",
            before="""\
import numpy as np

b_in, b_out = np.zeros(5), np.zeros(3)
scores = np.random.rand(6, 3)
print((scores + b_in).mean())
""",
            after="""\
import numpy as np

b_in, b_out = np.zeros(5), np.zeros(3)
scores = np.random.rand(6, 3)
print((scores + b_out).mean())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "no other variable",
            """\
import numpy as np

scores = np.random.rand(6, 3)
print((scores + np.zeros(5)).mean())
""",
            runs=True,
        ),
        Reject(
            "a program that runs",
            """\
import numpy as np

b_in, b_out = np.zeros(5), np.zeros(3)
print((np.random.rand(6, 3) + b_out).mean())
""",
            runs=True,
        ),
    )


def _others(subject: Subject, node: ast.expr, shape: tuple[int, ...] | None) -> Iterator[tuple[str, float]]:
    """The names of other arrays in the frames of the crash, of another shape, and how alike they are called, from 0 to 1."""
    code = ast.unparse(node)
    words = set(parts(code))
    crash = subject.crash
    seen: set[str] = {code}
    for frame in reversed(crash.frames if crash is not None else ()):
        if frame.site.path or code not in frame.names:
            continue
        for other, described in frame.names.items():
            if other in seen or not isinstance(described, dict):
                continue
            seen.add(other)
            own = described_shape(described)
            if not own or own == shape:
                continue
            shared = words & set(parts(other))
            likeness = difflib.SequenceMatcher(None, code, other).ratio()
            if shared or likeness >= ALIKE:
                yield other, likeness
        return
