"""A function reads a name that nothing gives a value, where a parameter of nearly that name is left unread."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    raised_at,
    within,
)


@dataclass(frozen=True, slots=True)
class _Unknown:
    """The function, the name that is unknown in it, and the one of its own names that it must mean."""

    function: ast.FunctionDef
    name: str
    meant: str


class ParameterByOtherName(FaultTemplate[_Unknown]):
    """A function computes with a name that nobody defines, and has one of nearly that name that it computes nothing with.

    `weight` stands in the body, and `target_weight` is what the function takes. Reported where one name of the function
    alone shares a word with the unknown one, and is given a value but not read for one.

    Fix safety: unsafe. What the function was given takes part in what it computes.

    References: the reference of Python on names ("NameError").
    """

    code = "DNF433"
    name = "parameter-by-other-name"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{name}` is defined nowhere; `{meant}` is, and nothing is computed with it"
    needs_run = True
    declined = "more than one name could be meant"

    def faults(self, subject: Subject) -> Faults[_Unknown]:
        crash, source = subject.crash, subject.source
        node = raised_at(subject, "NameError", r"name '\w+' is not defined")
        said = re.search(r"name '(\w+)' is not defined", crash.message) if crash is not None else None
        function = source.enclosing(node, ast.FunctionDef) if node is not None else None
        if node is None or said is None or function is None:
            return
        name = said[1]
        own = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
        own |= {each.id for each in within(function, ast.Name) if isinstance(each.ctx, ast.Store)}
        near = [each for each in sorted(own) if _words(name) & _words(each) and _is_idle(source, function, each)]
        if len(near) == 1 and name not in own:
            yield source.site(node), _Unknown(function, name, near[0])

    def report(self, site: Site, found: _Unknown) -> Finding:
        return self.finding(
            site, symptom=Symptom.CRASH, confidence=0.9, cause="crash", name=found.name, meant=found.meant
        )

    def repairs(self, subject: Subject, found: _Unknown) -> Repairs:
        reads = [node for node in within(found.function, ast.Name) if node.id == found.name]
        edits: tuple[Edit, ...] = tuple(Replace(subject.source.site(read), found.meant) for read in reads)
        yield f"Use `{found.meant}`", edits, 0.85

    examples = (
        Example(
            "a weight of a loss",
            """\
import torch

def weighted(scores, target, target_weight=None):
    if target_weight is None:
        target_weight = 1
-     return -(weight * target * torch.log_softmax(scores, dim=1)).mean()
+     return -(target_weight * target * torch.log_softmax(scores, dim=1)).mean()

print(weighted(torch.randn(2, 3), torch.eye(3)[:2]))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a name that two others could stand for",
            """\
import torch

def join(left_part, right_part):
    return torch.cat([part, part])

join(torch.zeros(1), torch.zeros(1))
""",
            runs=True,
        ),
        Reject(
            "a module that was not imported, and a parameter that is used",
            """\
import torch

def draw(random_state, size):
    torch.manual_seed(random_state)
    return random.sample(range(size), 2)

draw(1, 5)
""",
            runs=True,
        ),
    )


def _words(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}", name)}


def _is_idle(source: Source, function: ast.FunctionDef, name: str) -> bool:
    """Whether a name is read for nothing but to ask whether it was given."""
    for node in within(function, ast.Name):
        if node.id == name and isinstance(node.ctx, ast.Load):
            above = source.parent(node)
            asks = isinstance(above, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in above.ops)
            if not asks:
                return False
    return True
