"""`import torchvision.models as models`: a long way to write `from torchvision import models`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Applicability,
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Subject,
    Symptom,
)


class SubmoduleImportedUnderAName(FixTemplate):
    """A submodule of torchvision is imported under its own name, which a `from` import says in fewer words.

    Reported by `check` only, as it is a matter of taste. Imports of several modules in one line are left alone.

    Fix safety: safe: both ways import the package and bind the same module to the same name.

    References: https://docs.python.org/3/reference/simple_stmts.html#import.
    """

    code = "DNF903"
    name = "submodule-imported-under-a-name"
    family = Family.OPINIONATED
    fix_pattern = FixPattern.API_CONTRACT
    message = "{module} is imported under the last part of its own name"
    triggers = ("torchvision",)
    default = False
    default_in_check = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        source = subject.source
        for statement in source.nodes(ast.Import):
            module = statement.names[0]
            package, _, last = module.name.rpartition(".")
            if len(statement.names) == 1 and package.partition(".")[0] == "torchvision" and module.asname == last:
                yield self.finding(
                    source.site(statement), symptom=Symptom.NONE_OBSERVED, confidence=0.6, module=module.name
                )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        package, _, last = finding.message.partition(" ")[0].rpartition(".")
        code = f"from {package} import {last}"
        edit = Replace(finding.site, code)
        yield self.candidate(finding, f"write {code}", edit, applicability=Applicability.SAFE, prior=0.9)

    programs = """
=== example: datasets, with a comment
import torch
- import torchvision.datasets as datasets  # MNIST
+ from torchvision import datasets  # MNIST
from torchvision import transforms

data = datasets.FakeData(transform=transforms.ToTensor())

=== reject: another name, and no name
import torchvision.transforms as T
import torchvision.models
from torchvision import datasets

net = torchvision.models.resnet18()

=== reject: a part of another library
import torch
import torch.optim as optim

optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
"""
