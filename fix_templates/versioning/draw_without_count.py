"""Numbers are drawn without saying how many."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Applicability,
    Candidate,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    InsertElement,
    Reject,
    Subject,
    Symptom,
)


class DrawWithoutCount(FixTemplate):
    """`multinomial()` is called without the number of draws.

    The first versions of torch drew once where nothing was said. Since 0.4 the number has to be given.

    Fix safety: safe. One draw is what the call meant.

    References: torch.multinomial (`num_samples`).
    """

    code = "DNF529"
    name = "draw-without-count"
    family = Family.VERSIONING
    fix_pattern = FixPattern.VERSIONING
    message = "multinomial() has to be told how many numbers to draw since torch 0.4"
    triggers = ("multinomial",)

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call in _draws(subject):
            site, crash = subject.source.site(call), subject.crash
            crashed = crash is not None and crash.site is not None and site.encloses(crash.site)
            yield self.finding(
                site,
                symptom=Symptom.CRASH if crashed else Symptom.VIOLATION,
                confidence=0.95,
                cause="crash" if crashed else "",
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate]:
        for call in _draws(subject):
            site = subject.source.site(call)
            if site == finding.site:
                edit = InsertElement(site, len(call.args), "1")
                yield self.candidate(finding, "Draw once", edit, applicability=Applicability.SAFE, prior=0.95)

    examples = (
        Example(
            "an action drawn from a policy",
            """\
import torch
import torch.nn.functional as F

policy = torch.nn.Linear(4, 3)
prob = F.softmax(policy(torch.randn(1, 4)), dim=1)
- action = prob.multinomial().data
+ action = prob.multinomial(1).data
""",
            runs=True,
        ),
        Example(
            "as a function",
            """\
import torch

weights = torch.tensor([0.2, 0.8])
- first = torch.multinomial(weights)
+ first = torch.multinomial(weights, 1)
""",
        ),
    )
    rejects = (
        Reject(
            "a number that is given",
            """\
import torch

p = torch.ones(3)
torch.multinomial(p, 2), p.multinomial(num_samples=1), torch.multinomial(input=p, num_samples=1)
""",
        ),
        Reject(
            "numpy, and a function of the program",
            """\
import numpy as np
import torch

np.random.multinomial(20, [0.5, 0.5])

class Sampler:
    def multinomial(self):
        return torch.ones(1)

    def draw(self):
        return self.multinomial()
""",
        ),
    )


def _draws(subject: Subject) -> Iterator[ast.Call]:
    source = subject.source
    if "torch" not in source.frameworks:
        return
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "multinomial" or call.keywords:
            continue
        if source.qualified(call.func) == "torch.multinomial":
            if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred):
                yield call
        elif not call.args and not (isinstance(call.func.value, ast.Name) and call.func.value.id == "self"):
            yield call
