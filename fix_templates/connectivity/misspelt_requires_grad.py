"""`weight.require_grad = False`: a letter is missing, and the attribute is one that nothing reads."""

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
    Reject,
    Replace,
    Subject,
    Symptom,
)

MISSPELT = ("require_grad", "requires_grads", "require_grads", "required_grad", "requires_gradient")
"""Spellings that no tensor has: an assignment to one makes a new attribute and changes nothing."""


class MisspeltRequiresGrad(FixTemplate):
    """An attribute next to `requires_grad` is assigned: the weights stay as trainable as they were.

    A tensor takes any attribute, so that `p.require_grad = False` neither fails nor freezes anything. A program that
    reads the attribute itself, or names it in a class of its own, is left alone.

    Fix safety: unsafe. The weights are frozen, or trained, from now on, which is the point.

    References: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html.
    """

    code = "DNF420"
    name = "misspelt-requires-grad"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{word}` is no attribute of a tensor, and nothing reads it; `requires_grad` is"
    triggers = MISSPELT

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each assignment of the attribute."""
        source = subject.source
        words = [word for word in MISSPELT if word in source.words]
        if not words or "torch" not in source.frameworks:
            return
        read = {node.attr for node in source.nodes(ast.Attribute) if isinstance(node.ctx, ast.Load)}
        read |= {str(node.value) for node in source.nodes(ast.Constant) if isinstance(node.value, str)}
        for statement in source.nodes(ast.Assign):
            for target in statement.targets:
                if not isinstance(target, ast.Attribute) or target.attr not in words or target.attr in read:
                    continue
                if isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"):
                    continue  # an attribute of the program's own class
                yield self.finding(
                    source.site(target),
                    symptom=Symptom.VIOLATION,
                    confidence=0.95,
                    evidence={"owner": source.segment(source.site(target.value))},
                    word=target.attr,
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """The attribute that was meant."""
        owner = finding.evidence["owner"]
        yield self.candidate(
            finding, "Assign requires_grad", Replace(finding.site, f"{owner}.requires_grad"), prior=0.95
        )

    examples = (
        Example(
            "one weight of a model",
            """\
import torch

layer = torch.nn.Linear(3, 3)
- layer.weight.requires_grads = False
+ layer.weight.requires_grad = False
""",
        ),
    )
    rejects = (
        Reject(
            "the attribute that is meant",
            """\
import torch

layer = torch.nn.Linear(3, 3)
layer.weight.requires_grad = False
""",
        ),
        Reject(
            "the program reads the attribute",
            """\
import torch

layer = torch.nn.Linear(3, 3)
layer.require_grad = False
for p in layer.parameters():
    p.requires_grad = layer.require_grad
""",
        ),
        Reject(
            "a class of the program's own",
            """\
import torch


class Settings:
    def __init__(self):
        self.require_grad = False


print(Settings(), torch.ones(2))
""",
        ),
    )
