"""What `append` or `sort` of a list returns is used as the list: it is `None`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Edit, Family, Fault, FixPattern, ReadTemplate, Repair, Replace, Source, Subject, trees

IN_PLACE = {"append": 1, "extend": 1, "sort": 0, "reverse": 0}
"""Methods that change a list in place and return `None`, and the number of their arguments."""


class NoneOfListMethod(ReadTemplate):
    """The result of a list's method that works in place is kept or given as an argument: it is `None`.

    `modules_to_save=targets.append("head")` gives `None`, so that the head is not saved, and changes `targets` besides;
    `names = names.append(name)` leaves nothing of the list. Reported where the list is made in the program.

    Fix safety: unsafe. The list arrives where `None` did; what was changed besides is left as it was.

    References: https://docs.python.org/3/tutorial/datastructures.html#more-on-lists ("return None").
    """

    code = "DNF459"
    name = "none-of-list-method"
    message = "`{call}` changes the list and returns None, which is {used}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    triggers = tuple(IN_PLACE)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for call in source.all_calls if source.frameworks or "transformers" in source.words else ():
            owner = _list(source, call)
            above = source.parent(call)
            if owner is None:
                continue
            said = {"call": source.segment(source.site(call))}
            if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
                if _is_read(source, above):
                    edit = _kept(source, call, owner, above)
                    yield Fault.with_repair(source.site(call), {**said, "used": "kept"}, "Keep the list", edit)
            elif isinstance(above, ast.keyword):
                used = f"given as `{above.arg}`"
                yield Fault(source.site(call), {**said, "used": used}, tuple(_given(source, call, owner, above)))

    programs = """
=== example: a list that is given twice
from peft import LoraConfig
import torch

targets = ["q_proj", "v_proj"]
- config = LoraConfig(r=8, target_modules=targets, modules_to_save=targets.append("score"))
+ config = LoraConfig(r=8, target_modules=targets, modules_to_save=["score"])

=== example: a longer list
import torch

names = ["one", "two"]
- train(torch.nn.Linear(2, 2), columns=names.append("label"))
+ train(torch.nn.Linear(2, 2), columns=names + ["label"])

=== example: kept under its own name
import torch

layers = []
for size in (3, 4, 5):
-     layers = layers.append(torch.nn.Linear(size, size + 1))
+     layers.append(torch.nn.Linear(size, size + 1))
net = torch.nn.Sequential(*layers)

=== example: in order
import torch

lengths = [len(row) for row in torch.rand(3, 4)]
- ordered = lengths.sort()
+ ordered = sorted(lengths)
print(ordered[0])

=== reject: what returns something, and what is no list
import torch
import pandas as pd

frame = pd.DataFrame()
frame = frame.append({"loss": 0.1}, ignore_index=True)
values = torch.rand(3)
ordered = values.sort()
names = ["a"]
last = names.pop()
print(frame, ordered, last)

=== reject: an idiom, and a result that nobody reads
import torch

seen = []
new = [x for x in range(3) if not (x in seen or seen.append(x))]
_ = seen.append(4)
callback = lambda value: seen.append(value)
"""


def _list(source: Source, call: ast.Call) -> ast.Name | None:
    """The list that a method is called on, where the program makes it as one."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name) or call.keywords:
        return None
    if IN_PLACE.get(func.attr) != len(call.args) or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    made = [each for each in source.bindings(func.value) if each is not call]
    is_list = bool(made) and all(isinstance(each, ast.List | ast.ListComp) for each in made)
    return func.value if is_list else None


def _is_read(source: Source, assign: ast.Assign) -> bool:
    names = trees.stored_names(assign)
    return any(
        node.id in names and isinstance(node.ctx, ast.Load) and node.lineno > assign.lineno
        for node in source.nodes(ast.Name)
    )


def _longer(source: Source, call: ast.Call, owner: ast.Name) -> str:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = source.segment(source.site(call.args[0])) if call.args else ""
    return {
        "append": f"{owner.id} + [{given}]",
        "extend": f"{owner.id} + list({given})",
        "sort": f"sorted({owner.id})",
        "reverse": f"{owner.id}[::-1]",
    }[method]


def _kept(source: Source, call: ast.Call, owner: ast.Name, assign: ast.Assign) -> Edit:
    if ast.unparse(assign.targets[0]) == owner.id:
        return Replace(source.site(assign), source.segment(source.site(call)))
    return Replace(source.site(call), _longer(source, call, owner))


def _given(source: Source, call: ast.Call, owner: ast.Name, above: ast.keyword) -> Iterator[Repair]:
    outer = source.parent(above)
    others = [each.value for each in outer.keywords if each is not above] if isinstance(outer, ast.Call) else []
    is_given_too = any(isinstance(each, ast.Name) and each.id == owner.id for each in others)
    whole = "Give the longer list", (Replace(source.site(call), _longer(source, call, owner)),), 0.8
    if is_given_too and call.args and ast.unparse(call.func).endswith(".append"):
        alone = f"[{source.segment(source.site(call.args[0]))}]"
        yield "Give a list of its own", (Replace(source.site(call), alone),), 0.85
    else:
        yield whole
