"""A learning rate such as `1e3`, where the minus of the exponent was forgotten."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
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

OPTIMIZERS = re.compile(r"(torch\.optim|keras\.optimizers)\.(?!lr_scheduler|schedules)\w+")
EXPONENT = re.compile(r"(?P<digits>[0-9_.]+)[eE]\+?(?P<power>[0-9]+)")
LEAST = 10.0
"""No optimizer of either library trains with steps of this size; 1.0 is the default of Adadelta."""


class LearningRateWithoutMinus(FixTemplate):
    """The learning rate is written as `1e3` or `5e2`: a thousand times the gradient is added in every step.

    The first steps throw the weights so far that every later gradient is zero or not a number. People write learning
    rates in this form only for the sake of the minus, so that is what is missing.

    Fix safety: unsafe, it changes what is trained. Rates that are computed or named elsewhere are declined.

    References: https://pytorch.org/docs/stable/optim.html has every example rate between 0.1 and 1e-8.
    """

    code = "LAB001"
    name = "learning-rate-without-minus"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    message = "the learning rate is {rate}: the minus of its exponent is missing"
    triggers = ("lr", "learning_rate")

    def detect(self, subject: Subject) -> Iterator[Finding]:
        """Optimizers whose learning rate is a number with a positive exponent, written on the spot or named once."""
        for call in subject.source.all_calls:
            if not OPTIMIZERS.fullmatch(subject.source.qualified(call.func) or ""):
                continue
            for given in call.keywords:
                if given.arg in self.triggers and (number := _number(subject, given.value)) is not None:
                    written = subject.text(subject.source.site(number))
                    site = subject.source.site(given.value)
                    evidence = {"learning rate": written}
                    yield self.finding(site, symptom=Symptom.VIOLATION, evidence=evidence, rate=written)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        """Put the minus in, where the number is written at the optimizer itself."""
        node = subject.node(finding.site)
        found = EXPONENT.fullmatch(subject.text(finding.site))
        if not isinstance(node, ast.Constant) or found is None:
            yield Decline("the learning rate is written elsewhere and may have other uses there")
            return
        small = f"{found['digits']}e-{found['power']}"
        yield self.candidate(finding, f"make the learning rate {small}", Replace(finding.site, small), prior=0.9)

    programs = """
=== example: torch
import torch

model = torch.nn.Linear(4, 2)
- optimizer = torch.optim.Adam(model.parameters(), lr=1e3)  # small
+ optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # small

=== example: keras, by another name of the argument
from keras.optimizers import SGD

- model.compile(SGD(learning_rate=2.5E+02), loss="mse")
+ model.compile(SGD(learning_rate=2.5e-02), loss="mse")

=== reject: rates as people use them
import torch

first = torch.optim.Adam(parameters, lr=1e-3)
second = torch.optim.Adadelta(parameters, lr=1.0)
third = torch.optim.SGD(parameters, lr=1e0)

=== reject: a function of the program's own
import torch


def SGD(lr):
    return lr


print(SGD(lr=1e3), torch.zeros(int(1e3)))
"""


def _number(subject: Subject, given: ast.expr) -> ast.Constant | None:
    """The number that an expression stands for, where it is too large for a learning rate and has an exponent."""
    values = subject.source.bindings(given) if isinstance(given, ast.Name) else (given,)
    if len(values) != 1 or not isinstance(values[0], ast.Constant):
        return None
    number = values[0]
    too_large = isinstance(number.value, float) and number.value >= LEAST
    return number if too_large and EXPONENT.fullmatch(subject.text(subject.source.site(number))) else None
