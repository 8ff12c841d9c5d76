"""Values are given to a copy or to a name, and the weights that are meant keep theirs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    checkpoints,
    initialization,
    spell,
    training_loop,
    trees,
    within,
)

OF_INITIALIZING = re.compile(r"init|reset_param|xavier|kaiming|weight", re.IGNORECASE)
"""Parts of the names of functions that are applied to initialize a network."""
OF_VALUES = re.compile(r"rand|normal|uniform|zero|one|weight|value|init|xavier|kaiming", re.IGNORECASE)
"""Parts of the names of functions that give values for a size."""

SETS = re.compile(
    r"(?:\w+\.)*init\.\w+_\(([\w.]+)\.(?:weight|bias)\b|([\w.]+)\.(?:weight|bias)(?:\.data)?\.[a-z]\w*_\(|([\w.]+)\.apply\("
)
"""A statement that gives a layer or a network values."""


class ValuesSetOnCopy(ReadTemplate):
    """`for p in net.parameters(): p = torch.randn(3)` binds a name, and `net.state_dict()["fc.weight"] = w` changes a dictionary that is gone.

    Neither changes a weight. Values are copied into the weight under `torch.no_grad()`. `m.weight.clone().normal_()` changes a copy,
    `Net().apply(init_weights)` a network that nobody keeps, and `torch.randn(m.weight.shape)` gives new values that are dropped.

    Fix safety: unsafe. The weights change, which is the point.

    References: torch.Tensor.copy_; torch.nn.Module.state_dict.
    """

    code = "DNF476"
    name = "values-set-on-copy"
    message = "this changes no weight: {what}"
    confidence = 0.9
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    silent = 1
    default = False
    triggers = ("parameters", "named_parameters", "state_dict", "weight", "apply")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        header = spell(subject, "torch.no_grad")
        for node in source.nodes(ast.Assign):
            target = node.targets[0]
            what = code = ""
            if isinstance(target, ast.Subscript) and checkpoints.state_of(target.value):
                what = f"`{ast.unparse(target.value)}` is made for this statement alone"
                code = f"{source.segment(source.site(target))}.copy_({source.segment(source.site(node.value))})"
            elif isinstance(target, ast.Name) and len(node.targets) == 1 and _is_weight(source, node, target.id):
                what = f"`{target.id}` is another tensor from here on, and the network keeps its own"
                code = f"{target.id}.copy_({source.segment(source.site(node.value))})"
            if what:
                edits: tuple[Edit, ...] = (
                    Replace(source.site(node), f"with {header.code}():\n    {code}"),
                    *header.imports,
                )
                yield Fault(source.site(node), {"what": what}, (("Copy the values into the weight", edits, 0.8),))
        for statement in source.nodes(ast.Expr):
            if not isinstance(statement.value, (ast.Call, ast.BinOp)):
                continue
            if what := _dropped(source, statement.value):
                yield Fault(source.site(statement), {"what": what}, ())
            elif again := _made_again(source, statement):
                on = ast.unparse(again.targets[0])
                yield Fault(
                    source.site(statement), {"what": f"`{on}` is made anew after it, on line {again.lineno}"}, ()
                )

    programs = """
=== example: a name
import torch

for p in net.parameters():
-     p = torch.randn(p.shape)
+     with torch.no_grad():
+         p.copy_(torch.randn(p.shape))

=== example: a dictionary
+ import torch
for name, w in new.items():
-     model.state_dict()[name] = w
+     with torch.no_grad():
+         model.state_dict()[name].copy_(w)

=== finds: a clamped weight under a name
import torch

for p in critic.parameters():
    p = torch.clamp(p, -0.01, 0.01)

=== finds: a copy that is initialized
from torch import nn

for layer in net.modules():
    if isinstance(layer, nn.Linear):
        nn.init.orthogonal_(layer.weight.clone())

=== finds: a copy, by a name without an underscore
from torch import nn

first = nn.Linear(4, 2)
nn.init.uniform(first.weight.data.clone(), -0.1, 0.1)

=== finds: values that are drawn for the size of a weight, and dropped
def init_weights(layer):
    if isinstance(layer, nn.Linear):
        small_values(layer.weight.shape)

net.apply(init_weights)

=== finds: another network is initialized
import torch

net = Net()
Net().apply(init_weights)
train(net)

=== finds: a layer that is initialized, and made anew then
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
        nn.init.xavier_uniform_(self.head.weight)
        self.head = nn.Linear(8, 4)

=== finds: a network that is initialized, and made anew then
net = Net(3)
net.apply(init_weights)
net = Net(5).to(device)
fit(net)

=== reject: another network under a name, and a wrapper
net = Net()
net.apply(init_weights)
train(net)
net = Net()
net.fc.weight.data.fill_(0.5)
net = nn.DataParallel(net)
net.apply(init_weights)
out = net(x)
net = Other()

=== reject: sizes that are told, copies that are kept, networks that are handed on
import torch

def init_weights(layer):
    print(layer.weight.size())
    sizes.append(layer.weight.shape)
    logger.info(layer.weight.shape)
    check_shape(layer.weight.shape)
    layer.weight.data.normal_(0, 0.02)
    kept = layer.weight.clone().fill_(1)
    layer.register_buffer("mask", torch.ones(layer.weight.shape))

net = Net().apply(init_weights)
Net().apply(print)
evaluate(Net().apply(init_weights))

=== reject: weights that change, and names that are used
import torch

for p in net.parameters():
    p.data = torch.randn(p.shape)
for p in net.parameters():
    p = p.detach()
    total += p.sum()

=== reject: a dictionary that is loaded
state = net.state_dict()
state["fc.weight"] = w
net.load_state_dict(state)

=== reject: a name for what is changed in place
import torch

for name, p in net.named_parameters():
    p = torch.nn.init.xavier_uniform_(p)
"""


def _is_weight(source: Source, node: ast.Assign, name: str) -> bool:
    """Whether a statement binds the name of a loop over parameters, to new values, and nothing reads them."""
    loop = source.enclosing(node, ast.For)
    if loop is None or name not in trees.names_in(loop.target) or not isinstance(node.value, (ast.Call, ast.BinOp)):
        return False
    if not re.search(r"\.(named_)?parameters\(\)", ast.unparse(loop.iter)):
        return False
    given = [ast.unparse(each) for each in node.value.args] if isinstance(node.value, ast.Call) else []
    if not _is_pure(source, node.value) and any(
        each.partition(".")[0] == name and each.removesuffix(".data") == name for each in given
    ):
        return False  # what it is given is changed in place
    read = [use for use in within(loop, ast.Name) if use.id == name and isinstance(use.ctx, ast.Load)]
    return not any(use.lineno > (node.end_lineno or node.lineno) for use in read)


def _is_pure(source: Source, value: ast.expr) -> bool:
    """Whether an expression is a function of torch that gives a new tensor, and changes none."""
    name = (source.qualified(value.func) or "") if isinstance(value, ast.Call) else ""
    return name.startswith("torch.") and name.count(".") == 1 and not name.endswith("_")


def _dropped(source: Source, value: ast.expr) -> str:
    """What an expression that is a statement gives its values to in place of a weight; empty where that is not told."""
    text = ast.unparse(value)
    if not isinstance(value, ast.Call):
        draws = any(_is_pure(source, call) and _of_size(call) for call in within(value, ast.Call))
        return f"what `{text}` gives is dropped" if draws and _in_initializer(source, value) else ""
    name = source.qualified(value.func) or ast.unparse(value.func)
    last = name.rpartition(".")[2]
    if last == "apply" and isinstance(value.func, ast.Attribute) and len(value.args) == 1:
        made = value.func.value
        is_new = isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2][:1].isupper()
        is_copy = isinstance(made, ast.Call) and source.qualified(made.func) == "copy.deepcopy"
        if (is_new or is_copy) and OF_INITIALIZING.search(ast.unparse(value.args[0])):
            return f"`{ast.unparse(made)}` is another network, which is not kept"
        return ""
    changed: ast.expr | None = None
    by_function = name.startswith("torch.nn.init.") and value.args
    if by_function or (last.endswith("_") and not last.endswith("__")):
        changed = value.args[0] if by_function else value.func.value if isinstance(value.func, ast.Attribute) else None
    if changed is not None:
        copies = [call for call in within(changed, ast.Call) if ast.unparse(call.func).endswith((".clone", "deepcopy"))]
        is_weight = bool(re.search(r"\.(weight|bias)\b", ast.unparse(changed)))
        return f"`{ast.unparse(changed)}` is a copy, which is not kept" if copies and is_weight else ""
    plain = isinstance(value.func, ast.Name) and not source.definition(value.func) and OF_VALUES.search(last)
    if (plain or _is_pure(source, value)) and _of_size(value) and _in_initializer(source, value):
        return f"`{text}` is not told of the weight but its size, and what it gives is dropped"
    return ""


def _of_size(call: ast.Call) -> bool:
    """Whether a call knows of a weight no more than its size, or makes a tensor like it."""
    sized = [ast.unparse(each) for each in call.args]
    is_like = ast.unparse(call.func).endswith("_like")
    return bool(sized) and bool(
        re.fullmatch(r"\*?[\w.]+\.(weight|bias)(\.data)?(\.shape|\.size\(\))", sized[0])
        or (is_like and re.search(r"\.(weight|bias)(\.data)?$", sized[0]))
    )


def _in_initializer(source: Source, node: ast.AST) -> bool:
    """Whether a node stands in a function that initializes weights, by its name."""
    around = source.enclosing(node, ast.FunctionDef)
    return around is not None and bool(initialization.OF_INITIALIZER.search(around.name))


def _made_again(source: Source, statement: ast.Expr) -> ast.Assign | None:
    """The statement that makes anew what another one initializes, where nothing reads it between them; `None` where there is none."""
    text = ast.unparse(statement)
    found = SETS.match(text)
    on = next((each for each in found.groups() if each), "") if found is not None else ""
    given = text.partition(".apply(")[2]
    if not on or (given and not OF_INITIALIZING.search(given)):
        return None
    block = training_loop.block_of(source, statement)
    for following in block[block.index(statement) + 1 :]:
        says = ast.unparse(following)
        if isinstance(following, ast.Assign) and says.startswith(f"{on} = "):
            made = checkpoints.bare(source, following.value)
            is_new = isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2][:1].isupper()
            return following if is_new and on not in ast.unparse(made) else None
        again = SETS.match(says)
        if on in says and not (again is not None and on in again.groups()):
            return None
    return None
