"""What is said to the author of a rule, an operator or a validator that lacks something."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
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
    SetArgument,
    Source,
    Subject,
    Verdict,
)
from dnnfix.detect.run_rules import _findings
from dnnfix.errors import CatalogueError, DuplicateCodeError
from dnnfix.records import Site
from dnnfix.synthesize import causes, operators
from dnnfix.synthesize.candidates import propose
from dnnfix.template import yielded
from dnnfix.testing import TemplateProblem, check_template
from dnnfix.validate.evidence import Validator
from dnnfix.validate.ladder import measurements

SITE = Site(1, 1, 1, 2)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """No module that a test made is found by the next."""
    yield
    for name in ("operators.unfinished", "operators.yielding", "causes.noise"):
        sys.modules.pop(f"dnnfix.synthesize.{name}", None)


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
        (NodeAsSite, {}, r"a finding stands at a site, as `subject.source.site\(node\)` returns it"),
        (NodeAsEvidence, {}, r"evidence\['size'\] is a syntax node \(Constant\)"),
        (NodeAsCode, {}, r"the code of Replace is a syntax node \(Constant\)"),
        (Rule, {"programs": f"import torch\n{PROGRAMS}"}, "its programs begin with no header"),
        (Rule, {"code": "lab-1"}, r"a code that is not two or more capitals and three or more digits.*'lab-1'"),
        (Rule, {"family": "loop"}, r"a family that is not one of Family.DATA_DIMENSION, .*'loop'"),
        (Rule, {"fix_pattern": "monitor"}, r"a fix_pattern that is not one of FixPattern\..*'monitor'"),
        (Rule, {"triggers": ("ones")}, r"a string for triggers.*\('ones',\)"),
        (Rule, {"detect": FixTemplate.detect}, "Faulty has no `detect`"),
        (Rule, {"propose": FixTemplate.propose}, "Faulty has no `propose`"),
        (Rule, {"detect": lambda self, subject: iter([3])}, r"detect yields findings, .* Received: 3"),
        (Rule, {"detect": lambda self, subject: [self.finding(subject.source.tree, size=1)]}, "a finding stands at a site"),
        (Rule, {"detect": lambda self, subject: [self.finding(SITE, symptom="crash", size=1)]}, "one of Symptom.CRASH, "),
        (Rule, {"propose": lambda self, finding, subject: [self.candidate(finding, "Two", "2")]}, "an edit is a record"),
        (Rule, {"propose": lambda self, finding, subject: [self.candidate(finding, "Two", prior=8)]}, "between 0 and 1"),
    ],
)  # fmt: skip
def test_the_author_of_a_rule(base: type[FixTemplate], given: dict[str, object], said: str) -> None:
    check_template(Rule)
    with pytest.raises((TemplateProblem, CatalogueError, NotImplementedError), match=said):
        check_template(type("Faulty", (base,), {"__doc__": base.__doc__, **given}))


def test_where_a_rule_failed_is_told() -> None:
    class Failing(Rule):
        __doc__ = Rule.__doc__

        def detect(self, subject: Subject) -> Iterator[Finding]:
            yield self.finding(subject.nothing)  # type: ignore[attr-defined]

        def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
            raise KeyError("nothing")

    (said,) = _findings(Subject(Source.from_bytes(b"x = 1", "x.py")), [Failing]).failures
    line = Failing.detect.__code__.co_firstlineno + 1
    assert said.startswith(f"TEST101 (ones-of-one) failed at {Path(__file__).name}:{line}: AttributeError: ")
    subject = Subject(Source.from_bytes(b"x = 1", "x.py"))
    line = Failing.propose.__code__.co_firstlineno + 1
    assert (
        f"at {Path(__file__).name}:{line}: KeyError" in propose(Rule().finding(SITE, size=1), subject, Failing).failed
    )


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("import ast\nimport nothing_there\n", 2, "ModuleNotFoundError: No module named 'nothing_there'"),
        ("\nclas Rule:\n    pass\n", 2, "SyntaxError: invalid syntax"),
        ("from dnnfix.api import Family\n\nFamily.LOOPS\n", 3, "Family has no LOOPS. It has DATA_DIMENSION, "),
    ],
)
def test_the_line_of_a_file_that_cannot_be_imported(tmp_path: Path, code: str, line: int, said: str) -> None:
    (tmp_path / "own.py").write_text(code)
    with pytest.raises(CatalogueError, match="cannot be imported") as caught:
        registry.listed((tmp_path,))
    assert str(caught.value).startswith(f"{tmp_path / 'own.py'}:{line}: ") and said in str(caught.value)


def test_the_author_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text('[template]\ncode = "acme1"\nname = "old-names"\n')
    with pytest.raises(CatalogueError, match=r"acme.toml has a code that is not .* Received: 'acme1'") as caught:
        registry.listed((tmp_path,))
    assert str(caught.value).startswith(str(tmp_path))


def test_the_author_of_a_validator(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ModuleType("own")
    own.__file__, own.NAME = "validators/own.py", "own"  # type: ignore[attr-defined]
    monkeypatch.setattr(registry, "imported", lambda name: own)
    with pytest.raises(CatalogueError, match=r"validators/own.py: .* Missing: RUNG, judge"):
        registry.validators.__wrapped__()


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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"RUNG": "shape"}, "RUNG must be one of parse, .* Received: shape"),
        ({"judge": lambda evidence, more: None}, "judge is called with the evidence alone: missing .* 'more'"),
        ({"MEASURES": ("row-apart",)}, r"MEASURES is a tuple with any of .*rows-apart.*\('row-apart',\)"),
        ({"MEASURES": "rows-apart"}, "MEASURES is a tuple .* Received: 'rows-apart'"),
    ],
)
def test_the_author_of_a_validator_with_wrong_values(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, object], said: str
) -> None:
    own = ModuleType("own")
    sound = {"NAME": "own", "RUNG": "run", "judge": lambda evidence: Verdict.passes("fine")}
    vars(own).update({"__file__": "validators/own.py", **sound, **given})
    monkeypatch.setattr(registry, "imported", lambda name: own)
    with pytest.raises(CatalogueError, match=f"^validators/own.py: {said}"):
        registry.validators.__wrapped__()


def test_the_author_of_a_validator_whose_name_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def imported(name: str) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(__file__=f"{name}.py", NAME="own", RUNG="run", judge=lambda evidence: None)
        return made

    monkeypatch.setattr(registry, "imported", imported)
    with pytest.raises(CatalogueError, match=r"\.py and dnnfix\.validators\.\w+\.py are both named own"):
        registry.validators.__wrapped__()


def test_the_author_of_a_validator_that_returns_no_verdict() -> None:
    validator = Validator("own", "run", lambda evidence: True)  # type: ignore[arg-type,return-value]
    with pytest.raises(CatalogueError, match=rf"{Path(__file__).name}: judge returns a Verdict, .* Received: True"):
        validator.judge(None)  # type: ignore[arg-type]
    failing = Validator("own", "run", lambda evidence: evidence.nothing)  # type: ignore[attr-defined]
    with pytest.raises(CatalogueError, match=rf"{Path(__file__).name}:\d+: the validator own failed: AttributeError: "):
        failing.judge(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_there\n", "unfinished.py:1: cannot be imported: ModuleNotFoundError"),
        ("PATTERN = 'api'\ndef changes(scene, place): ...\n", "PATTERN is one of FixPattern.* Received: 'api'"),
    ],
)
def test_the_author_of_a_faulty_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str) -> None:
    (tmp_path / "unfinished.py").write_text(code)
    monkeypatch.setattr(operators, "__path__", [*operators.__path__, str(tmp_path)])
    with pytest.raises(CatalogueError, match=said):
        operators.operators.__wrapped__()


@pytest.mark.parametrize(("yields", "said"), [("return None", "None"), ("yield '16'", "'16'")])
def test_the_author_of_an_operator_that_yields_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yields: str, said: str
) -> None:
    (tmp_path / "yielding.py").write_text(
        f"from dnnfix.records import FixPattern\nPATTERN = FixPattern.MONITOR\ndef changes(scene, place):\n    {yields}\n"
    )
    monkeypatch.setattr(operators, "__path__", [str(tmp_path)])
    (operator,) = operators.operators.__wrapped__()
    with pytest.raises(CatalogueError, match=f"yielding.py: changes yields changes, .* Received: {said}"):
        list(operator.changes(None, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_there\n", "noise.py:1: cannot be imported: ModuleNotFoundError"),
        ("def edit(subject, symptoms): ...\n", "noise.py: .* Missing: edits"),
        ("def edits(subject, symptoms):\n    yield 1\n", "noise.py: edits yields causes .* Received: 1"),
    ],
)
def test_the_author_of_a_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str) -> None:
    (tmp_path / "noise.py").write_text(code)
    monkeypatch.setattr(causes, "__path__", [str(tmp_path)])
    with pytest.raises(CatalogueError, match=said):
        causes.causes(Subject(Source.from_bytes(b"x = 1", "x.py")), ())


def test_the_author_of_an_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unfinished.py").write_text("def changes(scene, place):\n    yield from ()\n")
    monkeypatch.setattr(operators, "__path__", [*operators.__path__, str(tmp_path)])
    with pytest.raises(CatalogueError, match=r"unfinished.py: .* Missing: PATTERN"):
        operators.operators.__wrapped__()
