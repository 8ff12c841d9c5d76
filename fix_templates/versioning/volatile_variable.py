"""`Variable(x, volatile=True)`: a request to record no gradients that has no effect any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Enclose,
    Hit,
    RemoveArgument,
    Replace,
    ReplaceLines,
    Site,
    Source,
    Subject,
    trees,
    uses_of,
)

NAMED = (ast.Name, ast.Attribute)
VARIABLE = "torch.autograd.Variable"
NO_GRAD = "no_grad()"
MODES = ("torch.no_grad", "torch.inference_mode", "torch.set_grad_enabled")
KEEPING = frozenset(
    {"append", "extend", "insert", "add", "put", "isinstance", "len", "range", "cuda", "cpu", "to", "size", "print"}
)
"""Calls that compute nothing."""
REMOVED = {"torch": "0.4"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Enclosed = dict[ast.AST, str]
"""The statements that are put under a mode, with that mode."""


class VolatileVariable(ApiChange):
    """`volatile` has no effect since torch 0.4: evaluation records gradients and fills the memory.

    The argument is dropped, and the rest of the block goes under `torch.no_grad()`, or `torch.set_grad_enabled(…)`
    where a variable decided, unless something in it calls `backward()` or the variable is only created to be returned.
    Where the branches of an `if` create it, the statements after the `if` go under the mode; a function that passes its
    own `volatile` on loses the parameter, and the blocks of its calls are treated the same.

    `x.volatile = False` detached a result and becomes `x = x.detach()`; `x.volatile = True` is removed, and what
    follows goes under `no_grad` where it is used alone. Reading `x.volatile` becomes a test whether gradients are
    recorded.

    Fix safety: safe where only the argument is removed; unsafe for assignments and reads. Under `torch.no_grad()`
    values stay the same, but what leaves the block has no gradient, so that is unsafe.

    References: https://github.com/pytorch/pytorch/releases/tag/v0.4.0.
    """

    code = "DNF512"
    name = "volatile-variable"
    message = "volatile has no effect since torch 0.4: gradients are still recorded"
    silent = 9
    triggers = ("volatile",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "volatile" not in source.words:
            return
        enclosed: Enclosed = {}
        asked: set[ast.AST] = set()
        for call in source.all_calls:
            keyword = next((k for k in call.keywords if k.arg == "volatile"), None)
            if keyword is None or source.qualified(call.func) != VARIABLE:
                continue
            site = source.site(call)
            asked.update(ast.walk(keyword.value))
            helper = _helper(source, call, keyword.value)
            if helper is not None:
                header = _through(subject, helper, keyword.value, enclosed)
                mode = "" if not header else NO_GRAD
            else:
                mode = _mode(subject, keyword.value)
                later = source.enclosing(call, ast.Lambda) is not None  # it runs elsewhere than where it is written
                header = [] if later else _block(subject, source.statement_of(call), enclosed, mode)
            yield Hit(
                source.site(keyword),
                self.message,
                title=f"evaluate under torch.{mode}" if header else "drop volatile",
                edits=(RemoveArgument(site, "volatile"), *header),
                safe=not header,
                removed=REMOVED,
                within=site,
            )
        if not _is_own_word(source):
            yield from _assignments(subject, enclosed)
            yield from _questions(subject, asked)

    programs = """
=== example: a test loop
import torch
from torch.autograd import Variable


def test(model, loader):
    correct = 0
    for data, target in loader:
-         data, target = Variable(data, volatile=True), Variable(target)
-         output = model(data)
-         correct += output.max(1)[1].eq(target).sum()
+         with torch.no_grad():
+             data, target = Variable(data), Variable(target)
+             output = model(data)
+             correct += output.max(1)[1].eq(target).sum()
    return correct

=== example: a helper that returns a list of them
from torch.autograd import Variable


def to_variables(arrays, volatile=False):
    made = []
    for each in arrays:
        if not isinstance(each, Variable):
-             each = Variable(each, volatile=volatile)
+             each = Variable(each)
        made.append(each)
    return made

=== example: switched off
import torch
from torch.autograd import Variable

- x = Variable(torch.ones(2), requires_grad=True, volatile=False)
+ x = Variable(torch.ones(2), requires_grad=True)
(x * 2).sum().backward()

=== example: one loop for training and testing
from torch.autograd import Variable
+ import torch


def run(net, criterion, loader, optimizer, is_train=True):
    total = 0
    for x, y in loader:
-         x, y = Variable(x, volatile=not is_train), Variable(y, volatile=not is_train)
-         loss = criterion(net(x), y)
-         if is_train:
-             optimizer.zero_grad()
-             loss.backward()
-             optimizer.step()
-         total += float(loss)
+         with torch.set_grad_enabled(is_train):
+             x, y = Variable(x), Variable(y)
+             loss = criterion(net(x), y)
+             if is_train:
+                 optimizer.zero_grad()
+                 loss.backward()
+                 optimizer.step()
+             total += float(loss)
    return total

=== example: targets that are worked out by another network
import torch


def loss(q, target, state, following, reward):
-     following.volatile = True
    wanted = reward + 0.9 * target(following).max(1)[0]
-     wanted.volatile = False
+     wanted = wanted.detach()
    return torch.nn.functional.smooth_l1_loss(q(state), wanted)

=== example: both branches for what comes after them
import torch
from torch.autograd import Variable


def evaluate(model, criterion, loader, use_gpu):
    total = 0.0
    for img, label in loader:
-         if use_gpu:
-             img = Variable(img, volatile=True).cuda()
-             label = Variable(label, volatile=True).cuda()
-         else:
-             img = Variable(img, volatile=True)
-             label = Variable(label, volatile=True)
-         total += criterion(model(img), label).item()
+         with torch.no_grad():
+             if use_gpu:
+                 img = Variable(img).cuda()
+                 label = Variable(label).cuda()
+             else:
+                 img = Variable(img)
+                 label = Variable(label)
+             total += criterion(model(img), label).item()
    return total

=== example: one block inside of another
import torch
from torch.autograd import Variable


def evaluate(model, loss, loader):
    for data, target in loader:
-         data = Variable(data, volatile=True)
-         given = (model(data),)
-         if target is not None:
-             target = Variable(target, volatile=True)
-             given += (target,)
-         print(loss(*given))
+         with torch.no_grad():
+             data = Variable(data)
+             given = (model(data),)
+             if target is not None:
+                 target = Variable(target)
+                 given += (target,)
+             print(loss(*given))

=== example: a helper with the flag as a parameter
import torch
from torch.autograd import Variable


- def to_var(x, volatile=False):
-     return Variable(x, volatile=volatile)
+ def to_var(x):
+     return Variable(x)


def train(model, images):
    model(to_var(images)).sum().backward()


def evaluate(model, images):
-     images = to_var(images, volatile=True)
-     return model(images)
+     with torch.no_grad():
+         images = to_var(images)
+         return model(images)

=== example: said afterwards, and asked for
import torch
from torch.autograd import Variable


def evaluate(model, x):
    x = Variable(x)
-     x.volatile = True
-     out = model(x)
-     state = Variable(torch.zeros(2), volatile=x.volatile)
-     if not out.volatile:
-         print("records")
-     return out, state, out.volatile
+     with torch.no_grad():
+         out = model(x)
+         state = Variable(torch.zeros(2))
+         if torch.is_grad_enabled():
+             print("records")
+         return out, state, not torch.is_grad_enabled()

=== reject: a variable without it
import torch
from torch.autograd import Variable

x = Variable(torch.ones(2), requires_grad=True)
volatile = 3

=== reject: an attribute of something else
import torch


class Market:
    def __init__(self, price):
        self.volatile = False
        self.price = torch.tensor(price)

    def open(self, stock):
        stock.volatile = True
        return self.volatile

=== reject: an argument of something else
import torch


def market(price, volatile=True):
    return torch.tensor(price)


market(1.0, volatile=True)
"""


def _is_own_word(source: Source) -> bool:
    """Whether a class of the program has an attribute of that name."""
    return any(
        node.attr == "volatile" and isinstance(node.value, ast.Name) and node.value.id == "self"
        for node in source.nodes(ast.Attribute)
    )


def _assignments(subject: Subject, enclosed: Enclosed) -> Iterator[Hit]:
    """`x.volatile = …`, which detached a result, or kept what follows out of the graph."""
    source = subject.source
    found: dict[ast.AST, list[tuple[ast.Assign, str, ast.expr]]] = {}
    for statement in uses_of(source).assignments():
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Attribute) or target.attr != "volatile":
            continue
        if isinstance(target.value, ast.Name):
            owner = source.enclosing(statement, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree
            found.setdefault(owner, []).append((statement, target.value.id, statement.value))
    for group in found.values():
        taken_out = any(isinstance(value, ast.Constant) and value.value is False for _, _, value in group)
        for statement, name, value in group:
            site = source.site(statement)
            header: list[Edit] = []
            if not taken_out:
                following = _following(source, statement)
                mode = _mode(subject, value)
                header = _block(subject, following, enclosed, mode) if following is not None else []
                if not header:
                    continue
            elif not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
                continue
            goes = not taken_out or bool(getattr(value, "value", None))
            yield Hit(
                site,
                "volatile has no effect since torch 0.4: subsequent operations are part of the graph",
                title="evaluate under torch.no_grad()"
                if header
                else "drop volatile"
                if goes
                else "detach the result from the graph",
                edits=(Delete(site) if goes else Replace(site, f"{name} = {name}.detach()"), *header),
                removed=REMOVED,
                confidence=0.9,
            )


def _questions(subject: Subject, asked: set[ast.AST]) -> Iterator[Hit]:
    """Reads of `x.volatile`, for which there is now one global state: whether gradients are recorded."""
    source = subject.source
    torch = next((local for local, name in uses_of(source).imported.items() if name == "torch"), "")
    if not torch and "torch" in uses_of(source).bound or not source.calls(VARIABLE):
        return
    for node in source.nodes(ast.Attribute):
        if node.attr != "volatile" or not isinstance(node.ctx, ast.Load) or node in asked:
            continue
        parent = source.parent(node)
        negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        text = f"{torch or 'torch'}.is_grad_enabled()"
        whole: ast.AST = parent if negated and parent is not None else node
        edit = Replace(source.site(whole), text if negated else f"not {text}")
        yield Hit(
            source.site(node),
            "volatile is False for every tensor since torch 0.4",
            title="check whether gradients are recorded",
            edits=(edit,) if torch else (AddImport("import torch"), edit),
            removed=REMOVED,
            confidence=0.9,
        )


def _helper(source: Source, call: ast.Call, value: ast.expr) -> Function | None:
    """The function of the program that only passes a parameter on as `volatile`."""
    function: Function | None = source.enclosing(call, ast.FunctionDef)
    if function is None or not isinstance(value, ast.Name) or value.id not in {a.arg for a in function.args.args}:
        return None
    loads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == value.id]
    handed = (source.parent(node) for node in loads)
    plain = all(isinstance(parent, ast.keyword) and parent.arg == "volatile" for parent in handed)
    return function if plain and _calls_of(source, function) else None


def _calls_of(source: Source, function: Function) -> list[ast.Call]:
    """The calls of a function of the program; none where it is a method or used otherwise."""
    if source.enclosing(function, ast.ClassDef) is not None:
        return []
    calls = [call for call in source.all_calls if source.definition(call.func) is function]
    names = [node for node in source.nodes(ast.Name) if node.id == function.name and isinstance(node.ctx, ast.Load)]
    return calls if len(calls) == len(names) else []


def _through(subject: Subject, function: Function, value: ast.expr, enclosed: Enclosed) -> list[Edit]:
    """The edits that remove the parameter of a function that passes `volatile` on, and its arguments."""
    source, name = subject.source, ast.unparse(value)
    place = [a.arg for a in function.args.args].index(name)
    header = _without_parameter(subject, function, place)
    if header is None:
        return []
    edits: list[Edit] = [header]
    for call in _calls_of(source, function):
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return []
        keyword = next((k for k in call.keywords if k.arg == name), None)
        given = keyword.value if keyword is not None else call.args[place] if len(call.args) > place else None
        if given is None:
            continue
        if keyword is None and len(call.args) > place + 1:
            return []
        site = source.site(call)
        edits.append(RemoveArgument(site, name) if keyword is not None else RemoveArgument(site, "", place))
        edits += _block(subject, source.statement_of(call), enclosed, _mode(subject, given))
    return edits


def _without_parameter(subject: Subject, function: Function, place: int) -> Edit | None:
    """The edit that removes a parameter of a function whose head is in one line."""
    source, given = subject.source, function.args
    defaults = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    sites = [(source.site(one), source.site(default or one)) for one, default in zip(given.args, defaults, strict=True)]
    first, last = sites[0][0], sites[-1][1]
    if first.line != function.lineno or last.end_line != function.lineno or len(sites) < 2:
        return None
    line = source.places.lines[function.lineno - 1]
    begin = sites[place - 1][1].end_column if place else sites[0][0].column
    end = sites[place][1].end_column if place else sites[1][0].column
    text = line[: begin - 1] + line[end - 1 :]
    return ReplaceLines(Site(function.lineno, 1, function.lineno, len(line) + 1), text)


def _mode(subject: Subject, value: ast.expr) -> str:
    """The mode of torch that records gradients only where a value is false; empty where it is false, or computed."""
    if isinstance(value, ast.Constant):
        return NO_GRAD if value.value is True else ""
    negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    inner = value.operand if isinstance(value, ast.UnaryOp) and negated else value
    if not isinstance(inner, NAMED) or isinstance(inner, ast.Attribute) and inner.attr == "volatile":
        return ""  # results of a volatile variable were volatile too, as under the mode
    text = subject.source.segment(subject.source.site(inner))
    return f"set_grad_enabled({text if negated else f'not {text}'})"


def _block_of(source: Source, statement: ast.stmt) -> tuple[ast.AST | None, list[ast.stmt]]:
    """The statement around a statement, and the block in it."""
    owner = source.parent(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(owner, name, None)
        if isinstance(block, list) and statement in block:
            return owner, block
    return owner, []


def _following(source: Source, statement: ast.stmt) -> ast.stmt | None:
    """The next statement of the same block."""
    _owner, block = _block_of(source, statement)
    later = block[block.index(statement) + 1 :] if block else []
    return later[0] if later else None


def _first(source: Source, statement: ast.stmt) -> ast.stmt:
    """The first statement to go under a mode: the outer branch whose results are used after it, else the statement."""
    bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    owner, _block = _block_of(source, statement)
    while isinstance(owner, (ast.If, ast.Try)):
        above, block = _block_of(source, owner)
        later = block[block.index(owner) + 1 :] if block else []
        if not any(isinstance(n, ast.Name) and n.id in bound for one in later for n in ast.walk(one)):
            break
        statement, owner = owner, above
    return statement


def _is_covered(source: Source, statement: ast.stmt, enclosed: Enclosed, mode: str) -> bool:
    """Whether a statement is under a mode already, or will be."""
    node: ast.AST | None = statement
    while node is not None:
        if enclosed.get(node) in (mode, NO_GRAD):
            return True
        held: list[ast.expr] = []
        if isinstance(node, (ast.With, ast.AsyncWith)):
            held = [item.context_expr for item in node.items]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            held = node.decorator_list
        if any(source.qualified(one.func if isinstance(one, ast.Call) else one) in MODES for one in held):
            return True
        node = source.parent(node)
    return False


def _block(subject: Subject, statement: ast.stmt, enclosed: Enclosed, mode: str) -> list[Edit]:
    """The edits that put the rest of the block under a mode; empty where it is under one already."""
    source = subject.source
    if not mode:
        return []
    first = _first(source, statement)
    owner, block = _block_of(source, first)
    if not block or isinstance(first, ast.Return) or _is_covered(source, first, enclosed, mode):
        return []
    rest = block[block.index(first) :]
    inner = [node for one in rest for node in ast.walk(one)]
    if mode == NO_GRAD and _trains(source, inner) or not _computes(source, inner):
        return []
    if any(isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)) for n in inner):
        return []
    torch = next((local for local, name in uses_of(source).imported.items() if name == "torch"), "")
    if not torch and "torch" in uses_of(source).bound or len(rest) < 2 or _grows(owner, rest):
        return []
    if any(one in enclosed for one in rest):
        return []
    enclosed.update((one, mode) for one in rest)
    header = Enclose(source.site(first), source.site(rest[-1]), f"with {torch or 'torch'}.{mode}:")
    return [header] if torch else [AddImport("import torch"), header]


def _trains(source: Source, nodes: list[ast.AST]) -> bool:
    """Whether code, or a function of the program that it calls by name, calls `backward`."""
    own = {node.name: node for node in source.nodes(ast.FunctionDef)}
    pending, seen = list(nodes), set[str]()
    while pending:
        node = pending.pop()
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name == "backward" and isinstance(node, ast.Attribute):
            return True
        if name in own and name not in seen:
            seen.add(name)
            pending.extend(ast.walk(own[name]))
    return False


def _computes(source: Source, nodes: list[ast.AST]) -> bool:
    """Whether code does more than create variables and store them: only that records gradients."""
    for node in nodes:
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            return True
        if isinstance(node, ast.Call) and source.qualified(node.func) != VARIABLE:
            called = trees.last_name(node.func)
            if called not in KEEPING:
                return True
    return False


def _grows(owner: ast.AST | None, rest: list[ast.stmt]) -> bool:
    """Whether the block is a long module, most of which would be indented."""
    return isinstance(owner, ast.Module) and len(rest) > 8
