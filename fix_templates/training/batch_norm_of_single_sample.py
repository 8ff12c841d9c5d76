"""Batch normalization in training mode gets a batch of one sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    SetArgument,
    Site,
    Source,
    Subject,
    argument_value,
    arithmetic,
    function_around,
    graph,
    loaders,
    training_loop,
    trees,
    within,
)

_ONE = re.compile(r"Expected more than 1 value per channel when training, got input size (?:torch\.Size\()?\[1[,\]]")
_WRAPPERS = frozenset({"enumerate", "tqdm", "iter", "list"})
_Frame = tuple[Site, str]


class BatchNormOfSingleSample(CrashTemplate):
    """Batch normalization in training mode gets a batch of one sample, whose variance is zero.

    In training it is the last batch of a `DataLoader` whose number of samples leaves a remainder of one:
    `drop_last=True` leaves it out. Outside training the model was never put in evaluation mode: it gets `eval()` first,
    and `train()` afterwards where training goes on. A training whose first batch already has one sample is left alone:
    it needs larger batches or another normalization.

    Fix safety: unsafe. An epoch has a sample less, or the output uses the running averages.

    References: torch.nn.BatchNorm1d; torch.utils.data.DataLoader ("drop_last"); torch.nn.Module.eval.
    """

    code = "DNF718"
    name = "batch-norm-of-single-sample"
    formerly = ("single-sample-normalized",)
    message = "batch normalization expects more than one sample in training mode: {what}"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError"})
    confidence = 0.9
    declined = "the origin of the single sample is not known"

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        if crash.site is None or not _ONE.search(crash.message):
            return
        source = subject.source
        frames = [(frame.site, frame.function) for frame in crash.frames if not frame.site.path]
        asked = _asked(subject, frames)
        if asked is None:
            return
        depth, call, model = asked
        if _trains(subject, frames[: depth + 1]):
            made = _loader(subject, frames[: depth + 1])
            after_steps = crash.call is not None and crash.call.step > 0
            if made is not None and after_steps:
                what = "the last batch of the loader has one"
                edit = SetArgument(source.site(made), "drop_last", "True")
                yield Fault(crash.site, what, (("Drop the last batch where it is not full", (edit,), 0.9),))
            return
        edits = _evaluation(subject, frames, call, model)
        if edits is not None:
            what = f"`{model}` is in training mode and is called with one"
            yield Fault(crash.site, what, ((f"Put `{model}` in evaluation mode first", edits, 0.9),))

    programs = """
=== example: the rest of a loader
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(13, 4), torch.randn(13, 1))
- loader = DataLoader(data, batch_size=4, shuffle=True)
+ loader = DataLoader(data, batch_size=4, shuffle=True, drop_last=True)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()

=== example: a loader that is passed to a function
import torch
from torch import nn
from torch.utils.data import DataLoader


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 6)
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x):
        return self.norm(self.fc(x))


def fit(model, batches):
    opt = torch.optim.Adam(model.parameters())
    for i, batch in enumerate(batches):
        loss = model(batch).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


- train_loader = DataLoader(torch.randn(9, 3), 4)
+ train_loader = DataLoader(torch.randn(9, 3), 4, drop_last=True)
fit(Encoder(), train_loader)

=== example: a trained model is asked about one sample
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(10, 4), torch.randint(0, 3, (10,))
for _ in range(3):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
+ net.eval()
print(net(x[:1]).argmax())

=== example: a look at the shapes before training
import torch
from torch import nn

net = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
+ net.eval()
out = net(torch.randn(1, 4, 4))
+ net.train()
print(out.shape)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(2):
    opt.zero_grad()
    net(torch.randn(6, 4, 4)).pow(2).mean().backward()
    opt.step()

=== reject: the last batch has two samples
import torch
from torch import nn
from torch.utils.data import DataLoader

net = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in DataLoader(torch.randn(10, 3), batch_size=4):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()

=== reject: training on single samples
import torch
from torch import nn
from torch.utils.data import DataLoader

net = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in DataLoader(torch.randn(10, 3), batch_size=1):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()

=== reject: one sample in evaluation mode
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6))
net.eval()
net(torch.randn(1, 3))
"""


def _asked(subject: Subject, frames: list[_Frame]) -> tuple[int, ast.Call, str] | None:
    """The call outside any module that started the forward pass: the index of its frame, the call, and the model."""
    source = subject.source
    modules = graph.torch_modules(source)
    for depth, (site, _) in enumerate(frames):
        inner = frames[depth + 1] if depth + 1 < len(frames) else None
        node = subject.node(site)
        inside = inner is None or any(source.site(owner).encloses(inner[0]) for owner in modules)
        if not inside:
            continue
        if not isinstance(node, ast.Call):
            return None
        model = node.func
        if inner is not None and inner[1] not in ("forward", "__call__"):
            if not isinstance(model, ast.Attribute) or model.attr != inner[1]:
                return None
            model = model.value
        plain = isinstance(model, (ast.Name, ast.Attribute))
        return (depth, node, ast.unparse(model)) if plain else None
    return None


def _trains(subject: Subject, frames: list[_Frame]) -> bool:
    """Whether the forward pass is part of training: the innermost loop or function around it calls `backward`."""
    source = subject.source
    for site, _ in reversed(frames):
        node = subject.node(site)
        if node is None:
            continue
        loops = training_loop.loops_around(source, node)
        around = loops[0] if loops else function_around(source, node)
        # A `backward` in another loop of the same function, as that over the batches of an epoch, does not count.
        if around is not None and any(
            training_loop.loops_around(source, call)[:1] == loops[:1]
            for call in training_loop.attribute_calls(around, "backward")
        ):
            return True
        if loops:
            return False
    return False


def _hands_back(source: Source, node: ast.AST) -> bool:
    """Whether a node calls `backward`, directly or in functions of the program."""
    functions = {function.name: function for function in source.nodes(ast.FunctionDef)}
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if training_loop.attribute_calls(part, "backward"):
            return True
        called = {trees.last_name(call.func) for call in within(part, ast.Call)} & functions.keys() - seen
        seen |= called
        waiting.extend(functions[name] for name in called)
    return False


def _loader(subject: Subject, frames: list[_Frame]) -> ast.Call | None:
    """The `DataLoader` of the innermost loop around the pass, if `drop_last` can be set."""
    source = subject.source
    for depth in range(len(frames) - 1, -1, -1):
        node = subject.node(frames[depth][0])
        callers = [frame for frame in frames[:depth] if isinstance(subject.node(frame[0]), ast.Call)]
        for over in _gone_through(source, node) if node is not None else ():
            made = _made(subject, over, callers)
            if made is not None:
                return made if _leaves_rest(made) else None
    return None


def _gone_through(source: Source, node: ast.AST) -> Iterator[ast.expr]:
    """What the loops around a node iterate over, the innermost first."""
    listed = source.enclosing(node, ast.ListComp, ast.GeneratorExp)
    if isinstance(listed, (ast.ListComp, ast.GeneratorExp)):
        yield listed.generators[0].iter
    yield from (loop.iter for loop in training_loop.loops_around(source, node) if isinstance(loop, ast.For))


def _made(subject: Subject, over: ast.expr, callers: list[_Frame]) -> ast.Call | None:
    """The call that created a loader, which may have been passed through the callers."""
    source = subject.source
    while isinstance(over, ast.Call) and over.args and trees.last_name(over.func) in _WRAPPERS:
        over = over.args[0]
    made = source.constructor(over)
    if made is not None:
        return made if source.qualified(made.func) == loaders.LOADER else None
    function = function_around(source, over)
    call = subject.node(callers[-1][0]) if callers else None
    if not isinstance(over, ast.Name) or function is None or not isinstance(call, ast.Call):
        return None
    names = [parameter.arg for parameter in function.args.args if parameter.arg != "self"]
    if over.id not in names:
        return None
    given = argument_value(call, over.id, names.index(over.id))
    return _made(subject, given, callers[:-1]) if given is not None else None


def _leaves_rest(made: ast.Call) -> bool:
    """Whether a loader has batches of more than one sample and no `drop_last` yet."""
    size = argument_value(made, "batch_size", 1)
    told = {keyword.arg for keyword in made.keywords}
    apart = told & {None, "drop_last", "batch_sampler"} or any(isinstance(one, ast.Starred) for one in made.args)
    return size is not None and arithmetic.number(size) != 1 and not apart and len(made.args) < 9


def _evaluation(subject: Subject, frames: list[_Frame], call: ast.Call, model: str) -> tuple[Edit, ...] | None:
    """The edits that put a model in evaluation mode for a call, and back afterwards where training goes on."""
    source = subject.source
    loops = [loop for loop in training_loop.loops_around(source, call) if not _hands_back(source, loop)]
    statement: ast.stmt = loops[-1] if loops else source.statement_of(call)
    before = InsertBefore(source.site(statement), f"{model}.eval()")
    if not _goes_on(subject, frames) or _begins_with_train(source):
        return (before,)
    if isinstance(statement, ast.Return) or statement not in training_loop.block_of(source, statement):
        return None
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, *training_loop.LOOPS)):
        return None
    return before, InsertAfter(source.site(statement), f"{model}.train()")


def _goes_on(subject: Subject, frames: list[_Frame]) -> bool:
    """Whether the program may train after this point: later, or in a loop around it."""
    source: Source = subject.source
    nodes = [node for site, _ in frames if (node := subject.node(site)) is not None]
    if any(_hands_back(source, loop) for node in nodes for loop in training_loop.loops_around(source, node)):
        return True
    stepped = subject.crash is not None and subject.crash.call is not None and subject.crash.call.step > 0
    if not stepped:
        return _hands_back(source, source.tree)
    top = source.statement_of(nodes[0]) if nodes else None
    later = [node for node in source.tree.body if top is not None and node.lineno > top.lineno]
    return any(_hands_back(source, node) for node in later)


def _begins_with_train(source: Source) -> bool:
    """Whether every loop or function that trains calls `train()` itself."""
    calls = [call for call in source.all_calls if isinstance(call.func, ast.Attribute) and not call.args]
    put = [call for call in calls if trees.last_name(call.func) == "train"]
    trained = training_loop.method_calls(source, "backward")
    return bool(trained) and all(any(_holds(source, call, one) for one in put) for call in trained)


def _holds(source: Source, trained: ast.Call, put: ast.Call) -> bool:
    """Whether a call of `train` is in the same function or loop as a `backward`."""
    function = function_around(source, trained)
    shared = set(training_loop.loops_around(source, trained)) & set(training_loop.loops_around(source, put))
    return function is not None and function_around(source, put) is function or bool(shared)
