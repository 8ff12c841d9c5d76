"""A value is called instead of indexed, a method indexed instead of called, or a method is not called at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    Symptom,
    Wrap,
    raised_errors,
    within,
    words,
)

_INDEXED = frozenset(
    {"dict", "list", "tuple", "torch.Size", "Size", "numpy.ndarray", "ModuleList", "ModuleDict", "OrderedDict"}
)
_BUILTINS = words("list dict tuple set str int float sum max min len range zip map id")
_METHODS = r"'(method|function|builtin_function_or_method|method-wrapper)' object"
_HANDS_OUT = frozenset(
    {"parameters", "named_parameters", "modules", "children", "named_children", "named_modules", "buffers", "items"}
)
"""Methods without arguments that return an iterable."""


class WrongBrackets(ReadTemplate):
    """`x.shape(0)`, `x.size[0]`, `model.parameters` without parentheses, or a format string called as `name(fold)`.

    Python says only that an object is not callable, subscriptable or iterable. Its type shows which brackets were
    meant.

    Fix safety: unsafe. The expression raised before.

    References: torch.Tensor.size, torch.Tensor.shape; str.format.
    """

    code = "DNF440"
    name = "wrong-brackets"
    message = "`{code}`: {what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    needs_run = True
    symptom = Symptom.CRASH
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source, message = subject.source, subject.crash.message if subject.crash is not None else ""
        if (node := raised_errors.raised_at(subject, "TypeError", "object is not callable")) is not None:
            found = _called(source, node, message)
        elif (node := raised_errors.raised_at(subject, "TypeError", f"{_METHODS} is not subscriptable")) is not None:
            found = _indexed(source, node)
        elif (
            node := raised_errors.raised_at(
                subject, "TypeError AttributeError", f"{_METHODS} (has no attribute|is not iter)"
            )
        ) is not None:
            found = _not_called(source, node)
        else:
            return
        if found is not None:
            expr, wrong, title, edit = found
            yield Fault(source.site(expr), {"code": ast.unparse(expr), "what": wrong}, ((title, (edit,), 0.85),))

    programs = """
=== example: a shape that is called
import torch

def flatten(x):
-     return x.view(x.shape(0), -1)
+     return x.view(x.shape[0], -1)

flatten(torch.zeros(2, 3, 4))

=== example: a size that is indexed
import torch
from torch import nn

net = nn.Linear(3, 2)
batch = torch.zeros(4, 3)
- total = net(batch).sum() / batch.size[0]
+ total = net(batch).sum() / batch.size(0)

=== example: parameters without a call
import torch

net = torch.nn.Linear(3, 2)
- optimizer = torch.optim.SGD(net.parameters, lr=0.1)
+ optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

=== example: a format string
import torch

class Folds:
    def __init__(self):
        self.path = "fold_{}.pt"

    def names(self, count):
-         return [self.path(fold) for fold in range(count)]
+         return [self.path.format(fold) for fold in range(count)]

Folds().names(2)

=== example: an attribute of the result of a method
import torch

out = torch.nn.Linear(3, 2)(torch.zeros(1, 3))
- print(out.mean.item())
+ print(out.mean().item())

=== example: a property that is called
import torch

x = torch.zeros(2, 3)
- print(x.shape())
+ print(x.shape)

=== reject: a comma that is missing between two pairs
import torch

sizes = [(1, 2) (3, 4)]

=== reject: a builtin name bound to a list
import torch

list = [1, 2]
print(list(range(3)))
"""


_Brackets = tuple[ast.expr, str, str, Edit]
"""The expression, what is wrong, and the title and the edit of the repair."""


def _called(source: Source, node: ast.AST, message: str) -> _Brackets | None:
    """A call of something that is not callable: a property, a list or shape, a format string."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    said = re.match(r"'([\w.]+)' object", message)
    kind = said[1] if said else ""
    if kind == "str":
        return _template(source, node)
    if not node.args and not node.keywords and isinstance(node.func, ast.Attribute):
        text = source.segment(source.site(node.func))
        edit = Replace(source.site(node), text)
        return (node, f"a {kind} cannot be called", f"Remove the call: {text}", edit)
    if kind not in _INDEXED or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return None
    if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
        return None
    text = f"{source.segment(source.site(node.func))}[{source.segment(source.site(node.args[0]))}]"
    return (node, f"a {kind} is indexed, not called", f"Index it: {text}", Replace(source.site(node), text))


def _template(source: Source, node: ast.Call) -> _Brackets | None:
    """A format string that is called with its values."""
    written = [
        constant.value
        for value in source.bindings(node.func)
        for constant in within(value, ast.Constant)
        if isinstance(constant.value, str)
    ]
    formatted = any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "format"
        and ast.unparse(call.func.value) == ast.unparse(node.func)
        for call in source.all_calls
    )
    if not node.args or not (formatted or any(re.search(r"\{\w*(:[^}]*)?\}", text) for text in written)):
        return None
    edit = Wrap(source.site(node.func), "", ".format")
    return (node, "a string is called instead of formatted", "Format the string", edit)


def _indexed(source: Source, node: ast.AST) -> _Brackets | None:
    """A method or function indexed with its argument."""
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Slice, ast.Tuple)):
        return None
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        return None
    text = f"{source.segment(source.site(node.value))}({source.segment(source.site(node.slice))})"
    return (node, "a method is called, not indexed", f"Call it: {text}", Replace(source.site(node), text))


def _not_called(source: Source, node: ast.AST) -> _Brackets | None:
    """A method used like its result."""
    uncalled = [n for n in within(node, ast.Attribute) if n.attr in _HANDS_OUT and not source.is_called(n)]
    expr: ast.expr | None = uncalled[0] if len(uncalled) == 1 else None
    asked = node.func if isinstance(node, ast.Call) else node
    if not uncalled and isinstance(asked, ast.Attribute) and isinstance(asked.value, ast.Attribute):
        expr = asked.value
    if expr is None:
        return None
    edit = Wrap(source.site(expr), "", "()")
    return (expr, "the method is not called", f"Call it: {ast.unparse(expr)}()", edit)
