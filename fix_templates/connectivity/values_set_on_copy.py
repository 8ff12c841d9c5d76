"""Values are given to a copy or to a name, and the weights that are meant keep theirs."""

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
    checkpoints,
    spell,
    trees,
    within,
)


class ValuesSetOnCopy(ReadTemplate):
    """`for p in net.parameters(): p = torch.randn(3)` binds a name, and `net.state_dict()["fc.weight"] = w` changes a dictionary that is gone.

    Neither changes a weight. Values are copied into the weight under `torch.no_grad()`.

    Fix safety: unsafe. The weights change, which is the point.

    References: torch.Tensor.copy_; torch.nn.Module.state_dict.
    """

    code = "DNF476"
    name = "values-set-on-copy"
    message = "this changes no weight: {what}"
    confidence = 0.9
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    silent = 1
    default = False
    triggers = ("parameters", "named_parameters", "state_dict")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        header = spell(subject, "torch.no_grad")
        for node in source.nodes(ast.Assign):
            target = node.targets[0]
            what = code = ""
            if isinstance(target, ast.Subscript) and checkpoints.state_of(target.value):
                what = f"`{ast.unparse(target.value)}` is made for this statement alone"
                code = f"{source.segment(source.site(target))}.copy_({source.segment(source.site(node.value))})"
            elif isinstance(target, ast.Name) and len(node.targets) == 1 and _is_weight(source, node, target.id):
                what = f"`{target.id}` is another tensor from here on, and the network keeps its own"
                code = f"{target.id}.copy_({source.segment(source.site(node.value))})"
            if what:
                edits: tuple[Edit, ...] = (
                    Replace(source.site(node), f"with {header.code}():\n    {code}"),
                    *header.imports,
                )
                yield Fault(source.site(node), {"what": what}, (("Copy the values into the weight", edits, 0.8),))

    programs = """
=== example: a name
import torch

for p in net.parameters():
-     p = torch.randn(p.shape)
+     with torch.no_grad():
+         p.copy_(torch.randn(p.shape))

=== example: a dictionary
+ import torch
for name, w in new.items():
-     model.state_dict()[name] = w
+     with torch.no_grad():
+         model.state_dict()[name].copy_(w)

=== reject: weights that change, and names that are used
import torch

for p in net.parameters():
    p.data = torch.randn(p.shape)
for p in net.parameters():
    p = p.detach()
    total += p.sum()

=== reject: a dictionary that is loaded
state = net.state_dict()
state["fc.weight"] = w
net.load_state_dict(state)

=== reject: a name for what is changed in place
import torch

for name, p in net.named_parameters():
    p = torch.nn.init.xavier_uniform_(p)
"""


def _is_weight(source: Source, node: ast.Assign, name: str) -> bool:
    """Whether a statement binds the name of a loop over parameters, to new values, and nothing reads them."""
    loop = source.enclosing(node, ast.For)
    if loop is None or name not in trees.names_in(loop.target) or not isinstance(node.value, (ast.Call, ast.BinOp)):
        return False
    if not re.search(r"\.(named_)?parameters\(\)", ast.unparse(loop.iter)):
        return False
    given = [ast.unparse(each) for each in node.value.args] if isinstance(node.value, ast.Call) else []
    if any(each.partition(".")[0] == name and each.removesuffix(".data") == name for each in given):
        return False  # what it is given is changed in place
    read = [use for use in within(loop, ast.Name) if use.id == name and isinstance(use.ctx, ast.Load)]
    return not any(use.lineno > (node.end_lineno or node.lineno) for use in read)
