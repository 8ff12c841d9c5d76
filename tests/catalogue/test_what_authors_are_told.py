"""What is said to the author of a rule, an operator or a validator that lacks something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dnnfix import registry
from dnnfix.api import (
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Subject,
)
from dnnfix.errors import CatalogueError
from dnnfix.synthesize import operators
from dnnfix.testing import TemplateProblem, check_template

PROGRAMS = """
=== example: a call
import torch

- torch.ones(1)
+ torch.ones(2)

=== reject: another function
import torch

torch.zeros(1)
"""


class Rule(FixTemplate):
    """A rule for these tests.

    Fix safety: unsafe.
    """

    code = "TEST101"
    name = "ones-of-one"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "ones({size}) is found"
    programs = PROGRAMS

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call in subject.source.all_calls:
            if subject.source.qualified(call.func) == "torch.ones" and ast.unparse(call.args[0]) == "1":
                yield self.finding(subject.source.site(call.args[0]), size=1)

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield self.candidate(finding, "Make it two", Replace(finding.site, "2"), prior=0.5)


class Declining(Rule):
    __doc__ = Rule.__doc__

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield Decline("nobody knows")


@pytest.mark.parametrize(
    ("base", "given", "said"),
    [
        (Rule, {"message": "ones({count})"}, "its message has braces for 'count'"),
        (Rule, {"triggers": ("onse",)}, r"none of its triggers \(onse\) is a word of the program"),
        (Rule, {"detect": lambda self, subject: iter(())}, "nothing was proposed: detect found nothing"),
        (Declining, {}, "it declined, as nobody knows"),
        (Rule, {"programs": PROGRAMS.replace("- torch", "-torch").replace("+ torch", "+torch")}, "stand in column 0"),
        (Rule, {"programs": PROGRAMS.replace("=== reject", "=== other")}, "'=== other: another function' is not `=== example: NAME`"),
        (Rule, {"programs": f"import torch\n{PROGRAMS}"}, "its programs begin with no header"),
    ],
)  # fmt: skip
def test_the_author_of_a_rule(base: type[FixTemplate], given: dict[str, object], said: str) -> None:
    check_template(Rule)
    with pytest.raises((TemplateProblem, CatalogueError), match=said):
        check_template(type("Faulty", (base,), {"__doc__": base.__doc__, **given}))


def test_the_author_of_a_validator(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ModuleType("own")
    own.__file__, own.NAME = "validators/own.py", "own"  # type: ignore[attr-defined]
    monkeypatch.setattr(registry, "imported", lambda name: own)
    with pytest.raises(CatalogueError, match=r"validators/own.py: .* Missing: RUNG, judge"):
        registry.validators.__wrapped__()


def test_the_author_of_an_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unfinished.py").write_text("def changes(scene, place):\n    yield from ()\n")
    monkeypatch.setattr(operators, "__path__", [*operators.__path__, str(tmp_path)])
    with pytest.raises(CatalogueError, match=r"unfinished.py: .* Missing: PATTERN"):
        operators.operators.__wrapped__()
