"""A loop unpacks two values from elements that are not pairs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Replace,
    Site,
    Subject,
    Symptom,
    Wrap,
    data_edits,
    training_loop,
    words,
)

REFUSED = re.compile(r"(too many|not enough) values to unpack|cannot unpack non-iterable")
"""Messages of Python for an element that does not have as many parts as there are names."""

COUNTERS = words("i j k n idx index ind step it iteration batch_i batch_no batch_num epoch num count number")
"""Usual names of an index."""

TABLES = frozenset({"dict", "OrderedDict", "defaultdict"})

Loop = ast.For | ast.comprehension
Way = tuple[str, tuple[Edit, ...], float]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The loop that failed, its two targets and the node with its body."""

    loop: Loop
    first: ast.expr
    second: ast.expr
    body: ast.AST


class LoopElementsNotPairs(FaultTemplate[_Pairs]):
    """A loop unpacks two values from elements that are not pairs.

    A dict iterates over its keys, and over pairs with `items()`; a loader yields batches, and their index with
    `enumerate`; two lists are iterated in parallel with `zip`; and a list of single values is not unpacked.

    Fix safety: unsafe. The program did not run before; the loop iterates over the same elements.

    References: "Looping Techniques" of the Python tutorial.
    """

    code = "DNF130"
    name = "loop-elements-not-pairs"
    formerly = ("loop-over-no-pairs",)
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_TYPE
    message = "cannot unpack the elements of {what} into two values"
    needs_run = True
    declined = "what the elements are is not known from the program"

    def faults(self, subject: Subject) -> Faults[_Pairs]:
        found = _pairs(subject)
        if found is not None and next(_ways(subject, found), None) is not None:
            yield subject.source.site(found.loop.iter), found

    def report(self, site: Site, found: _Pairs) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.9,
            cause="crash",
            what=ast.unparse(found.loop.iter),
        )

    def repairs(self, subject: Subject, found: _Pairs) -> Repairs:
        yield from sorted(_ways(subject, found), key=lambda way: -way[2])[:2]

    programs = """
=== example: keys and values of a dict
import torch

sizes = {"first": 3, "second": 4}
layers = torch.nn.ModuleDict()
- for name, size in sizes:
+ for name, size in sizes.items():
    layers[name] = torch.nn.Linear(2, size)

=== example: numbered batches
import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.rand(12, 5), batch_size=3)
net = torch.nn.Linear(5, 1)
- for batch_idx, rows in loader:
+ for batch_idx, rows in enumerate(loader):
    print(batch_idx, net(rows).mean().item())

=== example: two lists beside each other
import torch

inputs, targets = [torch.rand(3) for _ in range(4)], [torch.rand(1) for _ in range(4)]
net = torch.nn.Linear(3, 1)
- errors = [(net(x) - y).pow(2) for x, y in (inputs, targets)]
+ errors = [(net(x) - y).pow(2) for x, y in zip(inputs, targets)]

=== example: a list of names
def chosen(files, labels):
    unlabelled = []
    for name in files:
        if name not in labels:
            unlabelled.append(name)
    kept = []
-     for name, label in unlabelled:
+     for name in unlabelled:
        kept.append(name + ".png")
    return kept


chosen(["scan-1", "scan-2", "scan-3"], {"scan-2": 1})

=== reject: loops over pairs
pairs, table = [(1, 2), (3, 4)], {"a": 1}
for one, other in pairs:
    print(one, other)
for i, (key, value) in enumerate(table.items()):
    print(i, key, value)

=== reject: records with more parts than names
rows = []
for k in range(3):
    rows.append((k, k + 1, k + 2))
for first, second in rows:
    print(first, second)
"""


def _pairs(subject: Subject) -> _Pairs | None:
    crash = subject.crash
    if crash is None or crash.site is None or crash.site.path or REFUSED.search(crash.message) is None:
        return None
    fitting: list[_Pairs] = []
    for node in ast.walk(subject.source.tree):
        loops: list[Loop] = [node] if isinstance(node, ast.For) else []
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            loops += node.generators
        for loop in loops:
            if not isinstance(loop.target, (ast.Tuple, ast.List)) or len(loop.target.elts) != 2:
                continue
            if any(subject.source.site(one).encloses(crash.site) for one in (loop.target, loop.iter)):
                first, second = loop.target.elts
                fitting.append(_Pairs(loop, first, second, node))
    return fitting[0] if len(fitting) == 1 else None


def _ways(subject: Subject, found: _Pairs) -> Iterator[Way]:
    given = found.loop.iter
    site = subject.source.site(given)
    if isinstance(given, (ast.Tuple, ast.List)) and len(given.elts) == 2:
        inside = ", ".join(subject.text(subject.source.site(one)) for one in given.elts)
        yield "Iterate over both with zip", (Replace(site, f"zip({inside})"),), 0.95
        return
    if not isinstance(given, (ast.Name, ast.Attribute, ast.Call)):
        return
    if _is_table(subject, given):
        yield "Iterate over keys and values", (data_edits.wrapped(subject, given, "", ".items()"),), 0.95
        return
    if isinstance(found.first, ast.Name) and _counts(found.first.id):
        yield "Enumerate the elements", (Wrap(site, "enumerate(", ")"),), 0.9
        return
    if isinstance(given, ast.Name) and _holds_names(subject, given):
        for kept, dropped in ((found.first, found.second), (found.second, found.first)):
            if (
                isinstance(dropped, ast.Name)
                and isinstance(kept, ast.Name)
                and dropped.id not in training_loop.read_names(found.body)
            ):
                text = subject.text(subject.source.site(kept))
                yield "Do not unpack the elements", (Replace(subject.source.site(found.loop.target), text),), 0.85
                return


def _is_table(subject: Subject, given: ast.expr) -> bool:
    """Whether every value bound to a name is a dict."""
    bound = subject.source.bindings(given, given) if isinstance(given, (ast.Name, ast.Attribute)) else ()
    return bool(bound) and all(
        isinstance(one, (ast.Dict, ast.DictComp))
        or (isinstance(one, ast.Call) and ast.unparse(one.func).rpartition(".")[2] in TABLES)
        for one in bound
    )


def _counts(name: str) -> bool:
    return name in COUNTERS or name.endswith(("_idx", "_index", "_step", "_num"))


def _holds_names(subject: Subject, given: ast.Name) -> bool:
    """Whether only loop variables are appended to a list, which are single values and not pairs."""
    function = subject.source.enclosing(given, ast.FunctionDef, ast.AsyncFunctionDef)
    put = [
        call.args[0]
        for call in subject.source.all_calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1
        and isinstance(call.func.value, ast.Name) and call.func.value.id == given.id
        and subject.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef) is function
    ]  # fmt: skip
    return bool(put) and all(isinstance(one, ast.Name) and _is_loop_target(subject, one) for one in put)


def _is_loop_target(subject: Subject, name: ast.Name) -> bool:
    node = subject.source.parent(name)
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name.id:
            return True
        node = subject.source.parent(node)
    return False
