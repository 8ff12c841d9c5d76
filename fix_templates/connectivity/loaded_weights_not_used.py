"""Weights are loaded, and the network that is used does not get them, or loses them again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    checkpoints,
    function_around,
    initialization,
    structure,
    training_loop,
    within,
    words,
)

OF_STATES = re.compile(r"state|weights|ckpt|checkpoint|pretrained|params|\bsd\b", re.IGNORECASE)
OF_USES = re.compile(r"train|eval|test|fit|save|predict|run|main|copy|append|infer|generate|score", re.IGNORECASE)
"""Parts of the names of functions that use a network which they are given."""
GIVEN = re.compile(
    r"self\.(\w+)\.weight(?:\.data)?(?:\.copy_\(| = (?!nn\.init)(?!self\.))|self\.(\w+)\.load_state_dict\(|self\.(\w+) = (?:torch\.)?(?:nn\.)?Embedding\.from_pretrained\("
)
"""A statement that gives a layer weights from elsewhere."""
PRETRAINED = re.compile(
    r"self\.(\w+) = .*(pretrained\s*=\s*True|\(True\)|weights\s*=\s*(?!None)\S|\.from_pretrained\()"
)
"""A statement that makes a part of a network with weights of a training."""
DRAWS = re.compile(r"(normal|uniform|orthogonal)_?$")
"""The names of functions and methods that draw weights."""
MOVES = words("cuda to cpu float double half")
CHANGES = words("update pop setdefault")


class LoadedWeightsNotUsed(ReadTemplate):
    """Weights come from a file or from another network, and the network that is used goes without them.

    `Net().load_state_dict(…)` loads them into a network that nobody keeps. A dictionary that `torch.load` or `state_dict()` gave, and
    that the text updates, has to be loaded into the network again. A network that is made anew after its weights were loaded, or
    that is initialized after that, has lost them. The program runs, and trains or predicts from random weights.

    Fix safety: unsafe. The network has the weights that were loaded, which is the point.

    References: torch.nn.Module.load_state_dict; torch.nn.Module.state_dict.
    """

    code = "DNF475"
    name = "loaded-weights-not-used"
    message = "the weights are loaded in vain: {what}"
    confidence = 0.9
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    silent = 1
    default = False
    triggers = (
        "load_state_dict",
        "state_dict",
        "load",
        "pretrained",
        "from_pretrained",
        "weights",
        "copy_",
        "Embedding",
    )

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        yield from _into_nothing(source)
        yield from _never_given(source)
        yield from _lost_again(source)
        yield from _not_called(source)
        yield from _filtered_by_nothing(source)
        yield from _of_another(source)
        yield from _trained_before(source)
        yield from _set_over(source)

    programs = """
=== example: into a network that nobody keeps
import torch

net = Net().cuda()
- Net().load_state_dict(torch.load("net.pt"))
+ net.load_state_dict(torch.load("net.pt"))
net.eval()

=== example: a dictionary that is brought up to date, and not loaded
import torch

pretrained = torch.load("old.pt")
state = model.state_dict()
pretrained = {k: v for k, v in pretrained.items() if k in state}
state.update(pretrained)
+ model.load_state_dict(state)
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()

=== example: a target that follows, in a dictionary
import torch

online, target = Net(), Net()
target.load_state_dict(online.state_dict())
slow = target.state_dict()
fast = online.state_dict()
for key in fast:
    slow[key] = fast[key] * 0.01 + slow[key] * 0.99
+ target.load_state_dict(slow)
print(target(x))

=== example: entries that fit, and nothing more
import torch

saved = torch.load("old.pt")
own = net.state_dict()
for name, weight in saved.items():
    if name in own and own[name].shape == weight.shape:
        own[name] = weight
+ net.load_state_dict(own)
net.eval()

=== reject: changed in place
own = net.state_dict()
for name, weight in saved.items():
    if name in own and own[name].size() == weight.size():
        own[name].copy_(weight)
mean = net.state_dict()
for name in mean:
    mean[name] += other[name]
kept = net.state_dict()
for name in kept:
    kept[name] = kept[name].half()
    total += kept[name].sum()

=== example: a fragment that makes the network anew
model = Net()
model.load_state_dict(torch.load(path))
- model = Net()
model.eval()
out = model(x)

=== example: loaded, and initialized then
import torch
from torch import nn

def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)

net.load_state_dict(torch.load("net.pt"))
- net.apply(init_weights)
train(net)

=== example: loaded, and that is all
import torch

net = Net()
state_dict = torch.load("net.pt")
+ net.load_state_dict(state_dict)
net.eval()
print(net(x))

=== example: shapes are compared on the way
import torch

saved = torch.load("segmenter.pt")
own = net.state_dict()
fitting = {name: w for name, w in saved.items() if name in own and own[name].shape == w.shape}
own.update(fitting)
+ net.load_state_dict(own)
net.cuda()
out = net(images)

=== example: a loop draws the convolutions of a pretrained network again
from torch import nn
from torchvision import models

net = models.resnet18(pretrained=True)
net.fc = nn.Linear(512, 4)
- for part in net.modules():
-     if isinstance(part, nn.Conv2d):
-         nn.init.kaiming_normal_(part.weight)
print(net(x))

=== finds: vectors, and a loop over all parameters then
class Reader(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors)
        self.out = nn.Linear(vectors.shape[1], 2)
        for weight in self.parameters():
            nn.init.uniform_(weight, -0.1, 0.1)

=== reject: a loop draws the new head, or what is not pretrained
class Reader(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors)
        self.out = nn.Linear(vectors.shape[1], 2)
        for name, weight in self.named_parameters():
            if "words" not in name:
                nn.init.uniform_(weight, -0.1, 0.1)

net = models.resnet18(pretrained=True)
net.fc = nn.Linear(512, 4)
for part in net.modules():
    if isinstance(part, nn.Linear):
        nn.init.xavier_normal_(part.weight)
    if isinstance(part, nn.Conv2d):
        part.padding_mode = "reflect"

=== example: given other names, and not loaded
import torch
from collections import OrderedDict

saved = torch.load("parallel.pt")
plain = OrderedDict()
for name, w in saved["state_dict"].items():
    plain[name.replace("module.", "")] = w
+ net.load_state_dict(plain)
net.eval()
print(net(x))

=== finds: a function that gives the network back as it was
def segmenter(path):
    net = Segmenter()
    weights = torch.load(path)
    print("loaded", path)
    return net

=== reject: other names, and loaded or handed on
import torch

saved = torch.load("parallel.pt")
plain = {name[7:]: w for name, w in saved.items()}
torch.save(plain, "plain.pt")
sizes = {}
for name, w in saved.items():
    sizes[name] = w.shape
print(sizes)
net.eval()
net(x)

=== finds: vectors that nobody takes
class Tagger(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.words = nn.Embedding(*vectors.shape)
        self.words.from_pretrained(vectors)

=== finds: a network that is given its own weights
import torch

online, target = Net(), Net()
target.load_state_dict(target.state_dict())

=== finds: into a copy
import copy
import torch

net = Net()
copy.deepcopy(net).load_state_dict(torch.load("net.pt"))
print(net(x))

=== reject: a method of this text, vectors that are kept, and a state that was changed before
import torch
from torch import nn

class Encoder(nn.Module):
    def from_pretrained(self, path):
        self.load_state_dict(torch.load(path))

encoder = Encoder()
encoder.from_pretrained("encoder.pt")
words = nn.Embedding(100, 20)
words = words.from_pretrained(vectors)
encoder.load_state_dict(average(encoder.state_dict()))
wrapper.from_pretrained("model")

=== example: pretrained, and made anew for the classes
from torchvision import models

model = models.resnet18(pretrained=True)
- model = models.resnet18(num_classes=7)
train(model)

=== reject: weights that are used
import torch

net = Net()
state = torch.load("net.pt")
net.load_state_dict(state)
own = other.state_dict()
own.update(state)
other.load_state_dict(own)
checkpoint = torch.load("all.pt")
for name, part in checkpoint.items():
    print(name)
net = Net()
net.load_state_dict(checkpoint)

=== example: another network gets them
import torch

model = Net(10)
trained = Net(10)
- trained.load_state_dict(torch.load("net.pt"))
+ model.load_state_dict(torch.load("net.pt"))
model.eval()
print(model(x))

=== example: a pretrained network is initialized
from torchvision import models

model = models.resnet18(pretrained=True)
- model.apply(init_weights)
train(model)

=== example: vectors that are initialized over
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.embed = nn.Embedding(*vectors.shape)
        self.embed.weight.data.copy_(vectors)
        self.fc = nn.Linear(vectors.shape[1], 3)
        self.init_weights()

    def init_weights(self):
-         self.embed.weight.data.uniform_(-0.1, 0.1)
        self.fc.weight.data.uniform_(-0.1, 0.1)

    def load(self, path):
        self.load_state_dict(torch.load(path))

=== reject: several networks that are used, and one that is given back
import torch

def load(path):
    net = Net()
    net.load_state_dict(torch.load(path))
    return net

def copies(path):
    net = Net()
    nets.append(net)
    net.load_state_dict(torch.load(path))

teacher, student = Net(), Net()
teacher.load_state_dict(torch.load("teacher.pt"))
for x, y in loader:
    loss = criterion(student(x), teacher(x))

=== reject: one network after the other
import torch

for path in paths:
    net = Net()
    net.load_state_dict(torch.load(path))
    print(net(x))
net = Net()
net.load_state_dict(torch.load("last.pt"))

=== reject: only the head is initialized
import torch

net.load_state_dict(torch.load("net.pt"))
net.fc.apply(init_weights)
state = torch.load("state.pt")
"""


def _into_nothing(source: Source) -> Iterator[Fault]:
    """Weights that are loaded into a network which is made for it and not kept."""
    for name, call in checkpoints.restored(source):
        made = call.func.value if isinstance(call.func, ast.Attribute) else None
        while (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Attribute)
            and made.func.attr in ("cuda", "to", "cpu")
        ):
            made = made.func.value
        if not isinstance(made, ast.Call) or not isinstance(source.parent(call), ast.Expr):
            continue
        last = ast.unparse(made.func).rpartition(".")[2]
        is_copy = source.qualified(made.func) == "copy.deepcopy"
        if not last[:1].isupper() and not is_copy and not structure.is_network_class(source, made.func):
            continue
        same = [
            ast.unparse(node.targets[0])
            for node in source.nodes(ast.Assign)
            if isinstance(node.targets[0], (ast.Name, ast.Attribute))
            and f"{ast.unparse(made.func)}(" in ast.unparse(node.value)
        ]
        edits = (Replace(source.site(call.func), f"{same[0]}.load_state_dict"),) if len(same) == 1 else None
        what = f"`{ast.unparse(made)}` is another network, which is not kept"
        yield Fault(source.site(call), {"what": what}, (("Load them into the network that is used", edits, 0.9),))


def _never_given(source: Source) -> Iterator[Fault]:
    """States that are read or brought up to date, and that nothing is done with afterwards."""
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Name):
            continue
        around = function_around(source, node)
        name = source.qualified(node.value.func) if isinstance(node.value, ast.Call) else None
        network = checkpoints.state_of(node.value)
        loaded = bool(OF_STATES.search(target.id)) and (name == "torch.load" or _is_part_of_loaded(source, node))
        loaded = loaded or _is_made_of_loaded(source, node, target.id)
        if not loaded and (not network or checkpoints.is_optimizer_name(network)):
            continue
        where: ast.AST = around or source.tree
        uses = [use for use in within(where, ast.Name) if use.id == target.id and isinstance(use.ctx, ast.Load)]
        if any(not _is_change(source, use) for use in uses) or (
            network and not any(_puts_in(source, use) for use in uses)
        ):
            continue
        if network and any(
            call.lineno > node.lineno and call in within(where, ast.Call)
            for on, call in checkpoints.restored(source)
            if on == network
        ):
            continue
        last = max((source.statement_of(use) for use in (*uses, target)), key=lambda one: one.lineno)
        owner = network or _only_network(source, where)
        while isinstance(above := source.parent(last), (ast.For, ast.If, ast.With)) and above is not source.parent(
            node
        ):
            last = above
        edits: tuple[Edit, ...] | None = (
            (InsertAfter(source.site(last), f"{owner}.load_state_dict({target.id})"),) if owner else None
        )
        if not owner or (loaded and not _goes_on(source, where, last, owner)):
            continue
        changed = "what was put into it changes no network" if network else "nothing is done with them"
        what = f"`{target.id}` is not given to `load_state_dict`, and {changed}"
        site = source.site(source.statement_of(uses[-1])) if uses else source.site(node)
        yield Fault(site, {"what": what}, (("Load them into the network", edits, 0.8),))


def _is_part_of_loaded(source: Source, node: ast.Assign) -> bool:
    """Whether a statement takes the weights out of a checkpoint that was loaded."""
    value = node.value
    if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Constant):
        return False
    name, key = ast.unparse(value.value), str(value.slice.value)
    return bool(re.search(r"model|state_dict|net|weights", key)) and any(
        load.name == name and function_around(source, load.call) is function_around(source, node)
        for load in checkpoints.loads(source)
    )


def _is_made_of_loaded(source: Source, node: ast.Assign, name: str) -> bool:
    """Whether a statement begins a dictionary that gets what is in loaded weights, as under other names."""
    made = source.qualified(node.value.func) if isinstance(node.value, ast.Call) and not node.value.args else ""
    if isinstance(node.value, ast.DictComp):
        over = [node.value.generators[0].iter]
    elif made in ("collections.OrderedDict", "builtins.dict") or ast.unparse(node.value) in ("{}", "OrderedDict()"):
        around = function_around(source, node)
        over = [
            loop.iter
            for loop in source.nodes(ast.For)
            if function_around(source, loop) is around
            and any(
                ast.unparse(each).startswith(f"{name}[") for one in within(loop, ast.Assign) for each in one.targets
            )
        ]
    else:
        return False
    loaded = {load.name for load in checkpoints.loads(source) if load.name}
    asked = r"(\[['\"](\w*state_dict|model\w*|net\w*)['\"]\])?\.items\(\)"
    return any(re.fullmatch(rf"{re.escape(one)}{asked}", ast.unparse(each)) for one in loaded for each in over)


def _puts_in(source: Source, use: ast.Name) -> bool:
    """Whether a use puts something into a dictionary, or takes it out."""
    above = source.parent(use)
    is_store = isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Store)
    return is_store or (isinstance(above, ast.Attribute) and above.attr in CHANGES)


def _is_change(source: Source, use: ast.Name) -> bool:
    """Whether a use only puts something into a dictionary, or asks what is in it."""
    above, statement = source.parent(use), source.statement_of(use)
    if isinstance(statement, ast.AugAssign) or re.search(r"[a-z]_\(", ast.unparse(statement).partition("\n")[0]):
        return False  # a tensor that is in it is changed in place
    if isinstance(above, ast.For) and above.iter is use:
        return True
    if isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Store):
        return True
    asked = source.parent(above) if isinstance(above, ast.Subscript) else None
    if isinstance(asked, ast.Attribute) and asked.attr in ("shape", "size", "numel"):
        return True
    if isinstance(above, ast.Subscript) and isinstance(statement, ast.Assign):
        kept = statement.targets[0]  # its own entry is put into it again
        return isinstance(kept, ast.Subscript) and ast.unparse(kept.value) == use.id
    if isinstance(above, ast.Attribute) and above.attr in CHANGES:
        return source.is_called_in_vain(above)
    if isinstance(above, ast.Attribute) and above.attr in ("keys", "items"):
        call = source.parent(above)
        return isinstance(source.parent(call), ast.Call) if call is not None else False
    return isinstance(above, ast.Compare) and use in above.comparators


def _only_network(source: Source, where: ast.AST) -> str:
    """The one network that a region makes or uses; empty where there are several, or none."""
    found = {
        ast.unparse(target)
        for node in within(where, ast.Assign)
        for target in node.targets[:1]
        if isinstance(target, (ast.Name, ast.Attribute)) and checkpoints.is_whole_network(source, target)
    }
    found = found or {ast.unparse(call.func) for call in structure.forward_calls(source, where)}  # made elsewhere
    return found.pop() if len(found) == 1 else ""


def _goes_on(source: Source, where: ast.AST, last: ast.stmt, network: str) -> bool:
    """Whether the network is used further down: what is not seen cannot be asked for."""
    return any(
        call.lineno > last.lineno and ast.unparse(call.func).partition("(")[0].startswith(network)
        for call in within(where, ast.Call)
    ) or any(node.value is not None and ast.unparse(node.value) == network for node in within(where, ast.Return))


def _lost_again(source: Source) -> Iterator[Fault]:
    """Networks that are made anew or initialized after their weights were loaded."""
    for name, call in checkpoints.restored(source):
        statement = source.statement_of(call)
        if checkpoints.is_optimizer_name(name) or checkpoints.is_schedule_name(name):
            continue
        block = training_loop.block_of(source, statement)
        for following in block[block.index(statement) + 1 :]:
            what, edits = _loses(source, following, name)
            if not what and isinstance(following, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
                break
            what = what or _loses_by_call(source, following, name)
            if what:
                repairs = (("Keep the weights that were loaded", (edits,), 0.7),) if edits is not None else ()
                yield Fault(source.site(following), {"what": what}, repairs)
                break
            if _reads_again(following, name):
                break


def _loses(source: Source, statement: ast.stmt, name: str) -> tuple[str, Edit | None]:
    """How a statement takes its weights from a network; empty where it does not."""
    if isinstance(statement, ast.Assign) and any(ast.unparse(target) == name for target in statement.targets):
        made = statement.value
        if isinstance(made, ast.Call) and not checkpoints.uses_name(made, name.partition(".")[0]):
            anew = _class_of(made)
            if (
                (anew[:1].isupper() or "models" in (source.qualified(made.func) or ast.unparse(made.func)).split("."))
                and "DataParallel" not in anew
                and not any(
                    word in ast.unparse(made) for word in ("load", "pretrained", "weights", "checkpoint", "ckpt")
                )
            ):
                return f"`{name}` is made anew after that", Delete(source.site(statement))
    if isinstance(statement, ast.For) and _goes_over_all(source, statement, name):
        return f"`{name}` is initialized after that", Delete(source.site(statement))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        called = ast.unparse(call.func)
        given = [ast.unparse(each) for each in call.args]
        applied = called == f"{name}.apply" and given and re.search(r"init|reset|xavier|kaiming", given[0])
        own = called.startswith(f"{name}.") and initialization.OF_INITIALIZER.search(called.removeprefix(f"{name}."))
        by_function = initialization.OF_INITIALIZER.search(called) and given[:1] == [name]
        if applied or own or by_function:
            return f"`{name}` is initialized after that", Delete(source.site(statement))
    return "", None


def _goes_over_all(source: Source, loop: ast.For, name: str) -> bool:
    """Whether a loop draws all weights of a network anew, or those of all its convolutions, and not of a new head alone."""
    over = re.fullmatch(rf"{re.escape(name)}\.(named_)?(parameters|modules)\(\)", ast.unparse(loop.iter))
    if over is None:
        return False
    for call in within(loop, ast.Call):
        if DRAWS.search(ast.unparse(call.func)):
            branch = source.enclosing(call, ast.If, ast.For)
            if not isinstance(branch, ast.If):
                return True
            asked, test = initialization.kinds_asked(source, branch.test), ast.unparse(branch.test)
            if any(kind.startswith("Conv") for kind in asked):
                return True
            if not asked and re.search(r"dim\(\) >|weight|requires_grad", test) and " not " not in test:
                return True
    return False


def _class_of(made: ast.expr) -> str:
    """The last name of what makes an object, which may be moved at once; empty where nothing is called."""
    while (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in MOVES
        and isinstance(made.func.value, ast.Call)
    ):
        made = made.func.value
    return ast.unparse(made.func).rpartition(".")[2] if isinstance(made, ast.Call) else ""


def _loses_by_call(source: Source, statement: ast.stmt, name: str) -> str:
    """How a function of the text that a statement calls initializes a network; empty where it does not."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    body = structure.callee(source, call) if isinstance(call, ast.Call) else None
    if body is None or not initialization.OF_INITIALIZER.search(body.name):
        return ""
    last = name.rpartition(".")[2]
    for each in within(body, ast.Call):
        on, _, called = ast.unparse(each.func).rpartition(".")
        if on.rpartition(".")[2] == last and (called == "apply" or initialization.OF_INITIALIZER.search(called)):
            return f"`{body.name}` initializes `{name}` after that"
    return ""


def _reads_again(statement: ast.stmt, name: str) -> bool:
    """Whether a network is used, so that its weights were not in vain: it is called, or given to what trains, asks, copies or saves it."""
    for call in within(statement, ast.Call):
        called = ast.unparse(call.func)
        if called == name:
            return True
        if OF_USES.search(called) and any(ast.unparse(each).startswith(name) for each in call.args):
            return True
    return False


def _not_called(source: Source) -> Iterator[Fault]:
    """`net.load_state_dict` without its call, and `torch.load(path)` whose result nobody takes."""
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        is_method = isinstance(target, ast.Attribute) and target.attr in ("state_dict", "load_state_dict")
        name = (
            (source.qualified(node.value.func) or ast.unparse(node.value.func))
            if isinstance(node.value, ast.Call)
            else ""
        )
        is_state = name.rpartition(".")[2] in (
            "load",
            "load_url",
            "load_state_dict_from_url",
            "state_dict",
            "load_file",
        )
        if is_method and is_state and not name.startswith(("numpy.", "pickle.", "json.", "yaml.")):
            yield Fault(source.site(node), {"what": f"`{ast.unparse(target)}` is a method, which is overwritten"}, ())
    for statement in source.nodes(ast.Expr):
        value = statement.value
        if isinstance(value, ast.Call) and (what := _from_nowhere(source, value)):
            yield Fault(source.site(statement), {"what": what}, ())
        if isinstance(value, ast.Attribute) and value.attr == "load_state_dict":
            yield Fault(source.site(statement), {"what": f"`{ast.unparse(value)}` is not called"}, ())
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "update":
            network = checkpoints.state_of(value.func.value)
            if network and not checkpoints.is_optimizer_name(network):
                what = f"`{ast.unparse(value.func.value)}` is a dictionary of its own, which nobody keeps"
                yield Fault(source.site(statement), {"what": what}, ())
        is_load = isinstance(value, ast.Call) and source.qualified(value.func) == "torch.load"
        if is_load and source.enclosing(value, ast.Try, ast.With) is None:
            yield Fault(source.site(statement), {"what": "what `torch.load` returns is not kept"}, ())


def _from_nowhere(source: Source, call: ast.Call) -> str:
    """Why a call gives a network nothing, by whose weights it loads or what becomes of them; empty where it may give it some."""
    if not isinstance(call.func, ast.Attribute):
        return ""
    on = call.func.value
    if call.func.attr == "load_state_dict" and len(call.args) == 1 and not isinstance(on, ast.Call):
        given = call.args[0]
        own = isinstance(given, ast.Call) and checkpoints.state_of(given) == ast.unparse(on)
        return f"`{ast.unparse(on)}` is given its own" if own else ""
    made = source.constructor(on) if call.func.attr == "from_pretrained" else None
    name = (source.qualified(made.func) or "") if made is not None else ""
    if name.startswith(("torch.nn.Embedding", "transformers.")) and call.args:
        return f"`{ast.unparse(call.func)}` makes another object, which nobody keeps"
    return ""


def _of_another(source: Source) -> Iterator[Fault]:
    """Weights that one network gets which the text does nothing else with, while it uses another one that it made."""
    for name, call in checkpoints.restored(source):
        function = function_around(source, call)
        where: ast.AST = function or source.tree
        made = [node for node in within(where, ast.Assign) if any(ast.unparse(each) == name for each in node.targets)]
        if not isinstance(source.parent(call), ast.Expr):
            continue
        if "." in name or not made or checkpoints.is_optimizer_name(name) or checkpoints.is_schedule_name(name):
            continue
        last = source.statement_of(call)
        if training_loop.loops_around(source, call) != training_loop.loops_around(source, made[-1]):
            continue
        after = [
            use
            for use in within(where, ast.Name)
            if use.id == name and isinstance(use.ctx, ast.Load) and use.lineno > (last.end_lineno or last.lineno)
        ]
        value = made[-1].value
        anew = _class_of(value)[:1].isupper() and not re.search(
            r"layers|modules?\b|\bnet\b|\bmodel\b|backbone", ast.unparse(value).partition("(")[2]
        )
        if any(not _only_prepares(source, use) for use in after) or not anew or _is_shared(source, name, where):
            continue
        other = _used_instead(source, where, name, last)
        loads = function is not None and re.search(r"^_?(?!test).*(load|restore|resume)", function.name)
        if function is not None and loads and not other and not _gives_back(function):
            what = f"`{name}` is gone at the end of `{function.name}`"
            yield Fault(source.site(call), {"what": what}, ())
        elif other:
            edits = (Replace(source.site(call.func), f"{other}.load_state_dict"),)
            what = f"`{name}` gets them, and `{other}` is used"
            yield Fault(source.site(call), {"what": what}, (("Load them into the network that is used", edits, 0.7),))


def _only_prepares(source: Source, use: ast.Name) -> bool:
    """Whether a use of a network only moves it or puts it in a mode."""
    above = source.parent(use)
    return (
        isinstance(above, ast.Attribute)
        and above.attr in ("eval", "train", "cuda", "to", "cpu", "load_state_dict")
        and (source.is_called_in_vain(above))
    )


def _is_shared(source: Source, name: str, where: ast.AST) -> bool:
    """Whether something else holds a network that was made in a region: it was given on, or is seen from elsewhere."""
    declared = any(name in node.names for node in within(where, ast.Global))
    given = any(
        isinstance(
            source.parent(use),
            (ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Dict, ast.Assign, ast.Return, ast.Yield),
        )
        for use in within(where, ast.Name)
        if use.id == name and isinstance(use.ctx, ast.Load)
    )
    return declared or given


def _gives_back(function: ast.AST) -> bool:
    """Whether a function returns something, or a part of the text is left out of it."""
    left_out = any(
        isinstance(node.value, ast.Constant) and node.value.value is ... for node in within(function, ast.Expr)
    )
    return left_out or any(node.value is not None for node in within(function, ast.Return))


def _used_instead(source: Source, where: ast.AST, name: str, last: ast.stmt) -> str:
    """The network that a region makes and asks below a statement, and that has got no weights; empty where there is none, or several."""
    loaded = {on for on, _ in checkpoints.restored(source)}
    made = {ast.unparse(node.targets[0]): node.value for node in within(where, ast.Assign)}
    asked = {
        ast.unparse(call.func)
        for call in within(where, ast.Call)
        if call.lineno > last.lineno and ast.unparse(call.func) in made and structure.is_network(source, call.func)
    }
    fresh = {
        one for one in asked - loaded if one != name and isinstance(made[one], ast.Call) and not _has_weights(made[one])
    }
    own = ast.unparse(made[name]) if name in made else ""
    same = {one for one in fresh if ast.unparse(made[one]).partition("(")[0] == own.partition("(")[0]}
    return same.pop() if len(same) == 1 and len(asked) == 1 else ""


def _has_weights(made: ast.expr) -> bool:
    """Whether what makes a network also gives it weights from elsewhere."""
    return bool(re.search(r"load|pretrained\s*=\s*True|weights\s*=|checkpoint|ckpt|from_", ast.unparse(made)))


def _trained_before(source: Source) -> Iterator[Fault]:
    """Pretrained networks that are initialized as a whole right after they were made."""
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        is_pretrained = re.search(
            r"pretrained\s*=\s*True|weights\s*=\s*(?!None)|from_pretrained\(", ast.unparse(node.value)
        )
        if (
            not is_pretrained
            or not isinstance(node.value, ast.Call)
            or not isinstance(target, (ast.Name, ast.Attribute))
        ):
            continue
        block = training_loop.block_of(source, node)
        name = ast.unparse(target)
        for following in block[block.index(node) + 1 :]:
            what, edit = _loses(source, following, name)
            if what and edit is not None:
                yield Fault(
                    source.site(following), {"what": what}, (("Keep the weights that were loaded", (edit,), 0.7),)
                )
                break
            if _reads_again(following, name):
                break


def _set_over(source: Source) -> Iterator[Fault]:
    """Weights that `__init__` copies into a layer, and that a method which it calls after that initializes again."""
    for owner in source.nodes(ast.ClassDef):
        methods = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)}
        given: dict[str, ast.stmt] = {}
        for statement in methods["__init__"].body if "__init__" in methods else ():
            layer = GIVEN.match(ast.unparse(statement))
            if layer is not None:
                given[layer.group(1) or layer.group(2) or layer.group(3)] = statement
            pretrained = PRETRAINED.match(ast.unparse(statement))
            if pretrained is not None:
                given[f"{pretrained.group(1)}."] = statement
            if isinstance(statement, ast.For) and _goes_over_all(source, statement, "self"):
                for layer_name, place in given.items():
                    what = f"the loop over all weights initializes `self.{layer_name.rstrip('.')}` again"
                    yield Fault(source.site(place), {"what": what}, ())
                given.clear()
            called = re.fullmatch(r"self\.(\w+)\(\)", ast.unparse(statement))
            body = methods.get(called.group(1)) if called is not None else None
            if body is None:
                continue
            for part in [one for one in given if one.endswith(".")]:
                loop = next((one for one in body.body if isinstance(one, ast.For)), None)
                over = ast.unparse(loop.iter) if loop is not None else ""
                if over in ("self.modules()", "self.named_modules()") and initialization.sets_values(source, body):
                    what = f"`{ast.unparse(statement)}` initializes the pretrained `self.{part[:-1]}` again"
                    yield Fault(source.site(given[part]), {"what": what}, ())
            sets = [one for one in body.body if isinstance(one, ast.Expr)]
            for layer_name, place in given.items():
                own = re.compile(
                    rf"self\.{layer_name}\.weight(\.data)?\.\w+_\(|init\.\w+_?\(self\.{layer_name}\.weight"
                )
                again = next((one for one in sets if own.search(ast.unparse(one))), None)
                if again is not None:
                    what = f"`{ast.unparse(statement)}` initializes `self.{layer_name}` again"
                    edit = Delete(source.site(again))
                    repairs = (("Keep the weights that were given", (edit,), 0.7),)
                    yield Fault(source.site(place), {"what": what}, repairs)


def _filtered_by_nothing(source: Source) -> Iterator[Fault]:
    """Weights that are taken if a dictionary has their names which is empty, as it is filled with those weights alone."""
    for loop in source.nodes(ast.For):
        for test in within(loop, ast.If):
            compare = test.test
            if not isinstance(compare, ast.Compare) or not isinstance(compare.ops[0], ast.In):
                continue
            asked = compare.comparators[0]
            made = source.bindings(asked) if isinstance(asked, ast.Name) else ()
            is_empty = len(made) == 1 and isinstance(made[0], ast.Dict) and not made[0].keys
            if isinstance(asked, ast.Name) and is_empty and _is_filled_in(source, asked.id, test):
                what = f"`{asked.id}` is empty, and has none of their names"
                yield Fault(source.site(compare), {"what": what}, ())


def _is_filled_in(source: Source, name: str, test: ast.If) -> bool:
    """Whether a dictionary gets entries, and all of them in one branch."""
    stored = [
        node
        for node in source.nodes(ast.Subscript)
        if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == name
    ]
    inside = {node for statement in test.body for node in within(statement, ast.Subscript)}
    updated = any(ast.unparse(call.func) in (f"{name}.update", f"{name}.setdefault") for call in source.all_calls)
    return bool(stored) and not updated and all(node in inside for node in stored) and "load_state_dict" in source.words
