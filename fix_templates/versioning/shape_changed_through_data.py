"""`x.data.t_()`: a shape is changed through `.data`, which is a separate tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Edit, Hit, Replace, Subject, uses_of, words

TURNED = words("t_ transpose_ unsqueeze_ squeeze_ swapaxes_ swapdims_")
"""Methods with a counterpart without the underscore that returns another tensor of the same values."""

MADE_ANEW = words("resize_ resize_as_ set_ as_strided_")
PACKED = ("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence")
WITH_GRADIENT = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")
PARAMETERS = frozenset({"weight", "bias"})


class ShapeChangedThroughData(ApiChange):
    """The shape of `x.data` is changed in place, which does not change `x` itself since torch 1.1.

    `.data` returns a tensor that only shares the values of `x`: `x.data.t_()` and `x.data.resize_(n)` change the shape
    of a temporary, without an error. Changes of values, such as `x.data.fill_(0)`, still reach `x`. The patch calls the
    method on `x`; for a parameter, where autograd would refuse that, it assigns `.data`. Calls whose result is used are
    left alone.

    Fix safety: unsafe: the shape changes, as it did before 1.1, where it does not change today.

    References: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html (in-place changes of size and
    strides).
    """

    code = "DNF562"
    name = "shape-changed-through-data"
    message = "{call} does not change the shape of {tensor} itself since torch 1.1"
    triggers = (*TURNED, *MADE_ANEW)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "torch" not in source.frameworks or "data" not in source.words or source.words.isdisjoint(self.triggers):
            return
        for call in uses_of(source).calls():
            method = call.func
            if not isinstance(method, ast.Attribute) or method.attr not in TURNED | MADE_ANEW:
                continue
            data = method.value
            if not isinstance(data, ast.Attribute) or data.attr != "data":
                continue
            if not _is_dropped(subject, call) or _is_packed(subject, data.value):
                continue
            edits = _edits(subject, call, method.attr, data)
            yield Hit(
                source.site(call),
                self.message.format(
                    call=f"{subject.text(source.site(data))}.{method.attr}()",
                    tensor=subject.text(source.site(data.value)),
                ),
                title="change the shape of the tensor itself",
                edits=edits,
                decline="" if edits else "autograd refuses to change the shape of a parameter in place",
                removed={"torch": "1.1"},
                confidence=0.9,
            )

    programs = """
=== example: batches that come time first
import torch
import torch.nn.functional as F


def train(loader, model, optimizer):
    for batch in loader:
        feature, target = batch.text, batch.label
-         feature.data.t_(), target.data.sub_(1)
+         feature.t_(), target.data.sub_(1)
        optimizer.zero_grad()
        F.cross_entropy(model(feature), target).backward()
        optimizer.step()

=== example: a buffer for the batch
import torch
from torch.autograd import Variable

images = Variable(torch.FloatTensor(64, 3, 32, 32))
noise = Variable(torch.FloatTensor(64, 100))
for real, _ in loader:
-     images.data.resize_(real.size()).copy_(real)
-     noise.data.resize_(real.size(0), 100).normal_(0, 1)
+     images.resize_(real.size()).copy_(real)
+     noise.resize_(real.size(0), 100).normal_(0, 1)
    print(net(images), net(noise))

=== example: the weights of a layer
import torch

layer = torch.nn.Linear(3, 5)
- layer.weight.data.transpose_(0, 1)
+ layer.weight.data = layer.weight.data.transpose(0, 1)
shared = torch.nn.Parameter(torch.ones(3))
- shared.data.unsqueeze_(0)
+ shared.data = shared.data.unsqueeze(0)
print(layer.weight.shape, shared.shape)

=== reject: the values alone
import torch

x = torch.ones(3, 4)
x.data.fill_(0)
x.data.sub_(1).mul_(2)
x.t_()

=== reject: the result is what is used
import torch

x = torch.ones(3, 4)
y = x.data.unsqueeze_(0)
print(x.data.squeeze_().shape, y.shape)

=== reject: the data of a packed sequence
import torch
from torch.nn.utils.rnn import pack_padded_sequence

packed = pack_padded_sequence(torch.ones(3, 4), [3, 2, 2, 1])
packed.data.unsqueeze_(1)
"""


def _is_dropped(subject: Subject, call: ast.Call) -> bool:
    """Whether the result of a call, or of the chain of calls on it, is unused."""
    node: ast.AST = call
    while True:
        parent = subject.source.parent(node)
        if isinstance(parent, (ast.Expr, ast.Tuple)):
            return isinstance(parent, ast.Expr) or isinstance(subject.source.parent(parent), ast.Expr)
        chained = isinstance(parent, ast.Attribute) and parent.attr.endswith("_")
        called = subject.source.parent(parent) if parent is not None and chained else None
        if not isinstance(called, ast.Call) or called.func is not parent:
            return False
        node = called


def _is_packed(subject: Subject, tensor: ast.expr) -> bool:
    made = subject.source.constructor(tensor)
    return made is not None and subject.source.qualified(made.func) in PACKED


def _edits(subject: Subject, call: ast.Call, method: str, data: ast.Attribute) -> tuple[Edit, ...]:
    source = subject.source
    tensor = subject.text(source.site(data.value))
    if not _has_gradient(subject, data.value):
        return (Replace(source.site(data), tensor),)
    statement = source.parent(call)
    if method not in TURNED or not isinstance(statement, ast.Expr):
        return ()
    text = subject.text(source.site(call)).replace(f"{tensor}.data", "", 1).lstrip()
    return (Replace(source.site(statement), f"{tensor}.data = {tensor}.data{text.replace(method, method[:-1], 1)}"),)


def _has_gradient(subject: Subject, tensor: ast.expr) -> bool:
    """Whether a tensor is a parameter, or was created with `requires_grad`."""
    if isinstance(tensor, ast.Attribute) and tensor.attr in PARAMETERS:
        return True
    made = subject.source.constructor(tensor)
    if made is None:
        return isinstance(tensor, ast.Name) and _runs_over_parameters(subject, tensor)
    asked = any(k.arg == "requires_grad" and getattr(k.value, "value", True) for k in made.keywords)
    return asked or subject.source.qualified(made.func) in WITH_GRADIENT


def _runs_over_parameters(subject: Subject, name: ast.Name) -> bool:
    """Whether a name is the target of a loop over a network's parameters."""
    loop = subject.source.enclosing(name, ast.For)
    bound = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)} if loop is not None else set()
    return loop is not None and name.id in bound and "parameters()" in ast.unparse(loop.iter)
