"""The network runs under `no_grad` in the training itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Decline,
    Delete,
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
    ReplaceLines,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    function_around,
    raised_at,
    upstream,
    within,
    words,
)

MESSAGE = "does not require grad and does not have a grad_fn"

OFF = words("torch.no_grad torch.inference_mode torch.autograd.no_grad torch.autograd.inference_mode")
SWITCHES = words("torch.set_grad_enabled torch.autograd.set_grad_enabled torch.autograd.grad_mode.set_grad_enabled")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Off:
    """What turns gradients off around the forward pass of the training: a `with`, a decorator, or a call for good."""

    node: ast.With | ast.expr | ast.Expr
    text: str


class ForwardWithoutGradient(FaultTemplate[_Off]):
    """The output that the loss is taken of was computed under `torch.no_grad()`, so that `backward` finds no graph.

    Under `no_grad`, or in a function that it decorates, nothing is recorded of how a value was computed. It is meant for
    evaluation and for networks that are not trained. In the training, the forward pass has to stand outside of it.

    Reported where `backward` raised because of it, weights that can be trained were used on the way to the loss, and the
    `with` or decorator stands around that. Where other networks are run first under the same `with`, they stay there.

    Fix safety: unsafe. The weights are trained from now on, which is the point.

    References: torch.no_grad; "Locally disabling gradient computation" in "Autograd mechanics" of the torch manual.
    """

    code = "DNF446"
    name = "forward-without-gradient"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{text}` turns gradients off for the forward pass that the loss is computed from"
    triggers = ("no_grad", "inference_mode", "set_grad_enabled")
    needs_run = True
    declined = "the statements cannot be taken out of the block as lines"

    def faults(self, subject: Subject) -> Faults[_Off]:
        node = raised_at(subject, "RuntimeError", MESSAGE)
        if not isinstance(node, ast.Call) or not any(each.trainable for each in subject.network.parameters):
            return
        for off in _around_forward(subject, node):
            with_block = off.node if isinstance(off.node, ast.With) else None
            moved = with_block.body[_untrained(subject.source, with_block) :] if with_block is not None else []
            if _runs_apart(subject.source, moved):
                continue  # one of the passes may give targets, which have to stay without gradients
            yield subject.source.site(off.node), off

    def report(self, site: Site, fault: _Off) -> Finding:
        return self.finding(site, symptom=Symptom.CRASH, confidence=0.9, cause="crash", text=fault.text)

    def repairs(self, subject: Subject, fault: _Off) -> Repairs:
        source, node = subject.source, fault.node
        if isinstance(node, ast.With):
            edits = _taken_out(source, node)
            yield ("Run the forward pass with gradients", edits, 0.9) if edits else Decline(self.declined)
        elif isinstance(node, ast.Expr):
            yield "Leave gradients on", (Delete(source.site(node)),), 0.8
        else:
            site = source.site(node)
            if source.places.lines[site.line - 1].strip() == f"@{source.segment(site)}":
                yield "Let the function compute gradients", (ReplaceLines(site, ""),), 0.85

    examples = (
        Example(
            "the forward pass of a training step",
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def step(x, y):
-     with torch.no_grad():
-         # the prediction
-         out = net(x)
+     # the prediction
+     out = net(x)
    loss = nn.functional.mse_loss(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()

for _ in range(2):
    step(torch.randn(8, 4), torch.randn(8, 1))
""",
            runs=True,
        ),
        Example(
            "a teacher that stays without gradients",
            """\
import torch
import torch.nn as nn

teacher, student = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(student.parameters())
for x in torch.randn(2, 5, 3):
    with torch.no_grad():
        wanted = teacher(x)
-         given = student(x)
+     given = student(x)
    loss = nn.functional.mse_loss(given, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "a decorated forward",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 2)

-     @torch.no_grad()
    def forward(self, x):
        return self.lin(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 5, 3):
    loss = nn.functional.cross_entropy(net(x), torch.zeros(5, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Example(
            "in one line",
            """\
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 5, 2):
-     with torch.inference_mode(): out = net(x)
+     out = net(x)
    optimizer.zero_grad()
    out.pow(2).mean().backward()
    optimizer.step()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "evaluation under no_grad beside a training",
            """\
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(2, 5, 2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        print(net(x).mean())
""",
            runs=True,
        ),
        Reject(
            "a detached output is another fault",
            """\
import torch

net = torch.nn.Linear(2, 1)
for x in torch.randn(2, 5, 2):
    with torch.no_grad():
        print(net(x).mean())
    loss = net(x).detach().pow(2).mean()
    loss.backward()
""",
            runs=True,
        ),
        Reject(
            "a network that gives its own targets",
            """\
import torch

net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for now, then in torch.randn(2, 2, 5, 3):
    with torch.no_grad():
        value = net(now)
        wanted = 1 + 0.9 * net(then)
    loss = (value - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
            runs=True,
        ),
        Reject(
            "frozen weights",
            """\
import torch

net = torch.nn.Linear(2, 1).requires_grad_(False)
with torch.no_grad():
    print(net(torch.randn(5, 2)))
net(torch.randn(5, 2)).mean().backward()
""",
            runs=True,
        ),
    )


def _around_forward(subject: Subject, backward: ast.Call) -> Iterator[_Off]:
    """What turns gradients off around the calls that the loss comes from, each once."""
    source, crash = subject.source, subject.crash
    if crash is None or crash.call is None:
        return
    trained = {each.component for each in subject.network.parameters if each.trainable}
    behind = list(upstream(subject.network, crash.call).values())
    if any(value.requires_grad for call in behind for value in (*call.inputs[:1], *call.outputs)):
        return
    used = [call for call in behind if call.component in trained]
    places = [node for call in used if (node := subject.node(call.site)) is not None]
    places += [each for node in places for each in _callers(source, node)]
    if not used:
        return
    yielded: set[ast.AST] = set()
    for place in [*places, backward]:
        for off in _around(source, place):
            if off.node not in yielded:
                yielded.add(off.node)
                yield off
    if not yielded:
        yield from _switched_off(source, backward)


def _callers(source: Source, node: ast.AST) -> Iterator[ast.Call]:
    """The calls of the network whose `forward` a node stands in, or of the function that it stands in."""
    function, owner = function_around(source, node), source.enclosing(node, ast.ClassDef)
    for call in source.all_calls if function is not None else ():
        made = source.constructor(call.func)
        if owner is not None and function is not None and function.name == "forward":
            if made is not None and source.definition(made.func) is owner:
                yield call
        elif isinstance(call.func, ast.Name) and source.definition(call.func) is function:
            yield call


def _around(source: Source, node: ast.AST) -> Iterator[_Off]:
    above = source.parent(node)
    while above is not None:
        if isinstance(above, ast.With) and len(above.items) == 1 and _is_off(source, above.items[0].context_expr):
            yield _Off(above, f"with {ast.unparse(above.items[0].context_expr)}")
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (_Off(each, f"@{ast.unparse(each)}") for each in above.decorator_list if _is_off(source, each))
            return
        above = source.parent(above)


def _is_off(source: Source, expr: ast.expr) -> bool:
    called = expr.func if isinstance(expr, ast.Call) else expr
    name = source.qualified(called)
    return name in OFF or (name in SWITCHES and isinstance(expr, ast.Call) and _says_false(expr))


def _says_false(call: ast.Call) -> bool:
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Constant) and given.value is False


def _switched_off(source: Source, backward: ast.Call) -> Iterator[_Off]:
    """The one statement at the top of the program, or in the same function, that turns gradients off for good."""
    found = [
        node
        for node in source.nodes(ast.Expr)
        if isinstance(node.value, ast.Call) and source.qualified(node.value.func) in SWITCHES
    ]
    if len(found) != 1 or not isinstance(found[0].value, ast.Call) or not _says_false(found[0].value):
        return
    if function_around(source, found[0]) in (None, function_around(source, backward)):
        yield _Off(found[0], ast.unparse(found[0]))


def _taken_out(source: Source, block: ast.With) -> tuple[Edit, ...] | None:
    """Edits that put the statements of a block behind it, from the first on that runs a network that is trained."""
    site, first = source.site(block), block.body[0]
    if first.lineno == block.lineno:
        if len(block.body) > 1:
            return None
        return (Replace(site, source.segment(source.site(first))),)
    kept = _untrained(source, block)
    texts = [*within(block, ast.Constant), *within(block, ast.JoinedStr)]
    if any(node.lineno != node.end_lineno for node in texts):
        return None
    lines = source.places.lines
    start = block.body[kept - 1].end_lineno if kept else block.items[0].context_expr.end_lineno
    if start is None:
        return None
    depth = len(lines[first.lineno - 1]) - len(lines[first.lineno - 1].lstrip())
    own = len(lines[site.line - 1]) - len(lines[site.line - 1].lstrip())
    if lines[first.lineno - 1][:own] != lines[site.line - 1][:own]:
        return None
    inner = lines[start : site.end_line]
    if any(
        line.strip() and len(line) - len(line.lstrip()) < depth and not line.lstrip().startswith("#") for line in inner
    ):
        return None
    moved = [line[:own] + line[depth:] if line.strip() and line[:depth].isspace() else line for line in inner]
    begin = start + 1 if kept else site.line
    return (ReplaceLines(Site(begin, 1, site.end_line, site.end_column), "\n".join(moved)),)


def _runs_apart(source: Source, statements: list[ast.stmt]) -> bool:
    """Whether networks are run in several statements, and not each on what the one before it gave."""
    given: set[str] = set()
    ran = False
    for statement in statements:
        runs = any(source.constructor(call.func) is not None for call in within(statement, ast.Call))
        names = within(statement, ast.Name)
        reads = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        if runs and ran and not reads & given:
            return True
        ran = ran or runs
        if runs or reads & given:
            given |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return False


def _untrained(source: Source, block: ast.With) -> int:
    """How many statements the block begins with that run networks which no optimizer holds, and no other."""
    held = {
        ast.unparse(call.func.value)
        for made in source.all_calls
        if (source.qualified(made.func) or "").startswith("torch.optim.")
        for call in attribute_calls(made, "parameters")
        if isinstance(call.func, ast.Attribute)
    }
    for index, statement in enumerate(block.body):
        if any(ast.unparse(call.func) in held for call in within(statement, ast.Call)):
            called = [
                call
                for each in block.body[:index]
                for call in within(each, ast.Call)
                if isinstance(source.parent(call), ast.Assign) and source.constructor(call.func) is not None
            ]
            return index if called else 0
    return 0
