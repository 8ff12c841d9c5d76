"""An array of numpy is asked for what only tensors have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Crash, CrashTemplate, Edit, Example, Mend, Reject, Replace, Subject, Wrap, spell, words

INTO_ARRAY = words("numpy cpu detach")
"""Methods of a tensor on its way to an array."""

OF_TENSORS = words(
    """cuda to view unsqueeze permute float double long half contiguous dim backward requires_grad_ expand scatter_ softmax
    log_softmax sigmoid relu"""
)
"""Methods that tensors have and arrays have not."""


class ArrayUsedAsTensor(CrashTemplate):
    """An array of numpy is asked for what only tensors have.

    What would turn it into an array (`detach().cpu().numpy()`) is taken away, as it is one already. For all else a tensor
    is made of the array, with the dtype of the weights where it holds floats.

    Fix safety: unsafe. The line could not run before.

    References: torch.from_numpy.
    """

    code = "DNF615"
    name = "array-used-as-tensor"
    kinds = frozenset({"AttributeError"})
    confidence = 0.85

    def mends(self, subject: Subject, crash: Crash) -> Iterator[Mend]:
        node = subject.node(crash.site)
        if not isinstance(node, ast.Attribute) or "'numpy.ndarray' object has no attribute" not in crash.message:
            return
        source = subject.source
        code = subject.text(source.site(node.value))
        what = f"{code} is an array of numpy, which has no {node.attr}"
        if node.attr in INTO_ARRAY:
            whole = _chain(subject, node)
            if whole is not None:
                edits: tuple[Edit, ...] = (Replace(source.site(whole), code),)
                yield Mend(source.site(node), what, (("Take the array as it is", edits, 0.9),))
        elif node.attr in OF_TENSORS and isinstance(source.parent(node), ast.Call):
            held = crash.held_at(source.site(node.value))
            spelling = spell(subject, "torch.from_numpy")
            real = held is not None and held.dtype == "float64" and node.attr not in ("float", "double", "half", "long")
            wrapped = Wrap(source.site(node.value), f"{spelling.code}(", ").float()" if real else ")")
            yield Mend(source.site(node), what, (("Make a tensor of the array", (wrapped, *spelling.imports), 0.85),))

    examples = (
        Example(
            "an array asked for its array",
            """\
import numpy as np
import torch

net = torch.nn.Linear(2, 1)
out = net(torch.ones(3, 2)).detach().numpy()
guess = np.round(out)
- print(guess.detach().cpu().numpy().shape)
+ print(guess.shape)
""",
            runs=True,
        ),
        Example(
            "an array moved to a device",
            """\
import numpy as np
import torch

device = torch.device("cpu")
net = torch.nn.Linear(2, 1)
x = np.random.rand(4, 2)
- print(net(x.to(device)).shape)
+ print(net(torch.from_numpy(x).float().to(device)).shape)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "an attribute that neither has",
            """\
import numpy as np
import torch

print(np.ones(2).colour, torch.ones(1))
""",
            runs=True,
        ),
        Reject(
            "a tensor asked for what arrays have",
            """\
import torch

print(torch.ones(2).astype("float32"))
""",
            runs=True,
        ),
    )


def _chain(subject: Subject, node: ast.Attribute) -> ast.Call | None:
    """The last of the calls without arguments that would turn a tensor into an array, beginning with this one."""
    whole: ast.Call | None = None
    current: ast.AST | None = node
    while isinstance(current, ast.Attribute) and current.attr in INTO_ARRAY:
        call = subject.source.parent(current)
        if not isinstance(call, ast.Call) or call.func is not current or call.args or call.keywords:
            break
        whole, current = call, subject.source.parent(call)
    return whole
