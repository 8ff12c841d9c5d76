"""A view or reshape is used to swap axes, and mixes the values instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Subject,
    Symptom,
    Wrap,
    spelling_edits,
    tensor_shapes,
)

VIEWS = frozenset({"torch.Tensor.view", "torch.Tensor.reshape", "torch.reshape"})


class ViewSwapsAxes(FixTemplate):
    """A view or reshape is used to swap axes, and mixes the values instead.

    `view` and `reshape` keep the order of values in memory. A view of `(batch, steps)` as `(steps, batch)` has the
    shape of the transposed tensor, but each row has values of different samples. Nothing raises, and the network learns
    from mixed samples.

    Fix safety: unsafe. The values are ordered differently.

    References: torch.Tensor.view, torch.Tensor.transpose, keras.layers.Permute.
    """

    code = "DNF111"
    name = "view-swaps-axes"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    silent = 11
    message = "{what} from {before} to {after} mixes the values instead of swapping the axes"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call, before, after, _ in _swaps(subject):
            site = call.site if call.made_at is None else call.made_at
            if site is not None:
                yield self.finding(
                    site,
                    symptom=Symptom.VIOLATION,
                    confidence=0.75,
                    evidence={"before": list(before), "after": list(after)},
                    what=call.name.rpartition(".")[2],
                    before=before,
                    after=after,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        for call, before, after, order in _swaps(subject):
            if finding.site not in (call.site, call.made_at):
                continue
            node = subject.node(finding.site)
            moved = [axis for axis, old in enumerate(order) if axis != old]
            if len(after) > len(before):
                swapped = self._beside_new_axes(finding, subject, call)
                yield swapped if swapped is not None else Decline("the view is not called as a method of the tensor")
                return
            if call.name == "keras.layers.Reshape" and isinstance(node, ast.Call):
                named = spelling_edits.sibling(subject, node.func, "Permute")
                if named is not None:
                    text = f"{named[0]}(({', '.join(str(axis) for axis in order[1:])}))"
                    yield self.candidate(finding, "Swap the axes", Replace(finding.site, text), *named[1], prior=0.8)
                    return
            if not isinstance(node, ast.Call):
                continue
            base = node.func.value if isinstance(node.func, ast.Attribute) and call.name != "torch.reshape" else None
            base = base if base is not None else node.args[0]
            axes = f"transpose({moved[0]}, {moved[1]})" if len(moved) == 2 else f"permute({', '.join(map(str, order))})"
            text = f"{subject.text(subject.source.site(base))}.{axes}"
            yield self.candidate(finding, "Swap the axes", Replace(finding.site, text), prior=0.85)
            return
        yield Decline("the call of the view is not known")

    def _beside_new_axes(self, finding: Finding, subject: Subject, call: Call) -> Candidate | None:
        """Swap the axes before the view, which then only adds axes of size one."""
        node = subject.node(finding.site)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or call.name == "torch.reshape":
            return None
        edit = Wrap(subject.source.site(node.func.value), "", ".transpose(0, 1)")
        return self.candidate(finding, "Swap the axes before the view", edit, prior=0.85)

    programs = """
=== example: series laid out for a recurrent layer
import torch

series = torch.rand(8, 5)  # samples, steps
lstm = torch.nn.LSTM(1, 4)
- steps = series.view([5, -1, 1])
+ steps = series.transpose(0, 1).view([5, -1, 1])
out, _ = lstm(steps)

=== example: channels moved by a reshape
import torch
import torch.nn as nn

photo = torch.rand(2, 6, 8, 3)
- features = nn.Conv2d(3, 4, 3)(torch.reshape(photo, (2, 3, 6, 8)))
+ features = nn.Conv2d(3, 4, 3)(photo.permute(0, 3, 1, 2))

=== example: Keras Reshape that swaps steps and features
import numpy as np
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((6, 4)),
-     layers.Reshape((4, 6)),
+     layers.Permute((2, 1)),
    layers.Conv1D(2, 3),
])
model.predict(np.random.rand(2, 6, 4), verbose=0)

=== reject: a view that is shown, and nothing is made of it
import torch

table = torch.tensor([[1, 2, 3], [4, 5, 6]])
table.view(3, 2)
print(table.reshape(3, 2))
print(table.T @ table)

=== reject: views that flatten and split
import torch

x = torch.rand(4, 6, 8)
flat = x.view(4, 48)
heads = x.view(4, 6, 2, 4).transpose(1, 2)
back = flat.view(4, 6, 8)

=== reject: an axis of size one moves
import torch

x = torch.rand(4, 1, 8)
y = x.view(4, 8, 1)
z = x.reshape(1, 4, 8)

=== reject: axes of size one are added, and tables folded anew
import torch

x = torch.rand(6, 4)
a, b = x.view(6, 4, 1), x.view(6, 1, 4)
c, d = x.view(2, 3, 4), x.view(3, 2, 4, 1)
square = torch.rand(4, 4).view(4, 4, 1)

=== reject: a flat tensor folded twice
import torch

x = torch.arange(12.0)
rows = x.view(3, 4)
other = x.view(4, 3)
"""


def _swaps(subject: Subject) -> Iterator[tuple[Call, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Views whose shape is that of a transposition, with the order of axes that gives it, each site once."""
    if subject.trace is None:
        return
    seen: set[object] = set()
    taken_up = {value.producer for call in subject.network.calls for value in call.inputs}
    for call in subject.network.calls:
        if call.id not in taken_up:
            continue  # unused
        keras = call.name == "keras.layers.Reshape"
        if (call.name not in VIEWS and not keras) or not call.inputs or not call.outputs or call.site in seen:
            continue
        first, last = call.inputs[0].shape, call.outputs[0].shape
        if keras and first is not None and last is not None:
            first, last = (0, *first[1:]), (0, *last[1:])  # the batch axis stays
        before, after = tensor_shapes.known(first), tensor_shapes.known(last)
        order = _order(before, after) if before is not None and after is not None else None
        if before is not None and after is not None and order is not None:
            seen.add(call.site)
            yield call, before, after, order


def _order(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of the axes of `before` that gives `after`; `None` if only axes of size one move or are added."""
    long, now = [size for size in before if size != 1], [size for size in after if size != 1]
    if len(before) < 2 or before == after or long == now:
        return None
    if len(before) == 2 < len(after) and now == long[::-1]:
        return 1, 0
    if sorted(before) != sorted(after):
        return None
    left = list(range(len(before)))
    order: list[int] = []
    for place, size in enumerate(after):
        fitting = [axis for axis in left if before[axis] == size]
        chosen = place if place in fitting else fitting[0]
        left.remove(chosen)
        order.append(chosen)
    return tuple(order)
