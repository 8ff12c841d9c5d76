"""What is said to the author of a rule, an operator or a validator that lacks something."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dnnfix import registry
from dnnfix.api import (
    Candidate,
    Decline,
    Evidence,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    RunOutcome,
    SetArgument,
    Source,
    Subject,
    Trace,
    Verdict,
)
from dnnfix.errors import CatalogueError, DuplicateCodeError
from dnnfix.synthesize import operators
from dnnfix.template import yielded
from dnnfix.testing import TemplateProblem, check_template
from dnnfix.validate.evidence import Validator
from dnnfix.validate.ladder import measurements

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


class NodeAsSite(Rule):
    __doc__ = Rule.__doc__

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call in subject.source.all_calls:
            yield self.finding(call, size=1)  # type: ignore[arg-type]


class NodeAsEvidence(Rule):
    __doc__ = Rule.__doc__

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for call in subject.source.all_calls:
            yield self.finding(subject.source.site(call), evidence={"size": call.args[0]}, size=1)  # type: ignore[dict-item]


class NodeAsCode(Rule):
    __doc__ = Rule.__doc__

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        yield self.candidate(finding, "Make it two", Replace(finding.site, ast.Constant(2)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "given", "said"),
    [
        (Rule, {"message": "ones({count})"}, "its message has braces for 'count'"),
        (Rule, {"triggers": ("onse",)}, r"none of its triggers \(onse\) is a word of the program"),
        (Rule, {"detect": lambda self, subject: iter(())}, "nothing was proposed: detect found nothing"),
        (Declining, {}, "it declined, as nobody knows"),
        (Rule, {"programs": PROGRAMS.replace("- torch", "-torch").replace("+ torch", "+torch")}, "stand in column 0"),
        (Rule, {"programs": PROGRAMS.replace("=== reject", "=== other")}, "'=== other: another function' is not `=== example: NAME`"),
        (Rule, {"__doc__": "A rule."}, "its docstring has no line that starts with 'Fix safety:'"),
        (Rule, {"programs": ""}, "it has no example: `programs` lacks a line `=== example: NAME`"),
        (Rule, {"detect": lambda self, subject: None}, "Faulty.detect returned None. Expected an iterator"),
        (Rule, {"propose": lambda self, finding, subject: None}, "Faulty.propose returned None. Expected an iterator"),
        (NodeAsSite, {}, r"the site of `finding` is a syntax node \(Call\). Expected `subject.source.site\(node\)`"),
        (NodeAsEvidence, {}, r"evidence\['size'\] is a syntax node \(Constant\)"),
        (NodeAsCode, {}, r"the code of Replace is a syntax node \(Constant\)"),
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


def test_a_validator_that_returns_none() -> None:
    validator = Validator("own", "run", lambda evidence: None)  # type: ignore[arg-type, return-value]
    source, trace = Source.from_bytes(b"", "a.py"), Trace(RunOutcome.FINISHED)
    with pytest.raises(CatalogueError, match=r"judge of own returned None. Expected a Verdict in every case"):
        validator.judge(Evidence((), source, source, trace, trace))


def test_a_validator_that_reads_what_no_experiment_measures() -> None:
    validator = Validator("own", "run", lambda evidence: Verdict.passes("fine"), ("rows-apartt",))
    with pytest.raises(
        CatalogueError, match=r"MEASURES of own names experiments, .* rows-apart.* Received: rows-apartt"
    ):
        measurements([validator])


def test_the_author_of_a_rule_with_the_former_code_of_another() -> None:
    former = next(one for one in registry.listed() if one.code == "DNF703")
    assert "DNF704" in former.formerly
    own = dataclasses.replace(former, code="DNF704", name="own", formerly=())
    with pytest.raises(
        DuplicateCodeError,
        match=r"TrainingStepOutOfOrder \(formerly called so\) both claim DNF704\. .* another, such as DNF7\d\d",
    ):
        registry._in_order((*registry.listed(), own))


def test_an_operator_that_returns_none() -> None:
    with pytest.raises(CatalogueError, match="changes of the operator own returned None"):
        yielded(None, "changes of the operator own")


def test_the_signature_of_an_edit() -> None:
    assert str(inspect.signature(Replace)) == "(site: 'Site', code: 'str')"
    assert str(inspect.signature(SetArgument)).endswith("position: 'int | None' = None)")


def test_the_author_of_an_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unfinished.py").write_text("def changes(scene, place):\n    yield from ()\n")
    monkeypatch.setattr(operators, "__path__", [*operators.__path__, str(tmp_path)])
    with pytest.raises(CatalogueError, match=r"unfinished.py: .* Missing: PATTERN"):
        operators.operators.__wrapped__()
