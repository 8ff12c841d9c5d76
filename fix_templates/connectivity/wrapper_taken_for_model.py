"""A model that was wrapped for several devices, or compiled, is used as if it were the model itself."""

from __future__ import annotations

import ast
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
    Wrap,
    function_around,
    training_loop,
    trees,
    within,
    words,
)

PARALLEL = words("""torch.nn.DataParallel torch.nn.parallel.DataParallel torch.nn.parallel.DistributedDataParallel
    torch.nn.parallel.data_parallel.DataParallel torch.nn.parallel.distributed.DistributedDataParallel""")
COMPILE = "torch.compile"

OF_MODELS = words(
    "save_pretrained push_to_hub generate config resize_token_embeddings get_input_embeddings generation_config"
)
"""What models of `transformers` have, and no wrapper of torch."""

OF_MODULES = words("""forward train eval parameters named_parameters state_dict load_state_dict to cuda cpu half float double zero_grad
    requires_grad_ modules named_modules children named_children buffers named_buffers apply register_buffer add_module""")
"""Methods that a wrapper has as well: it is a module itself."""

KNOWING = ("module", "isinstance", "hasattr", "n_gpu", "parallel", "unwrap")
"""Parts of conditions that may ask whether a model is wrapped."""


class WrapperTakenForModel(ReadTemplate):
    """A method or attribute of a model is asked of the wrapper around it, or the wrapper's weights are saved for the model.

    `nn.DataParallel(model)` and `DistributedDataParallel` are modules of their own, with the model under `.module`: they have neither its
    `save_pretrained` nor its `config` nor its own methods, and the program ends in an `AttributeError`, often after hours, and only
    where there are several devices. `torch.compile(model)` passes attributes on, but its `state_dict()` has `_orig_mod.` before each
    name, which a model that isn't compiled refuses.

    Fix safety: unsafe. The program could not come to its end before.

    References: torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel (`module`); torch.compile.
    """

    code = "DNF456"
    name = "wrapper-taken-for-model"
    message = "{what}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.API_CONTRACT
    triggers = ("DataParallel", "DistributedDataParallel", "DDP", "compile")
    declined = "the program does not show where the model is wrapped"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for assign in source.nodes(ast.Assign):
            if _wraps(source, assign):
                yield from _asked_of_wrapper(source, assign)
        if subject.crash is None or "state_dict" not in subject.crash.message:
            yield from _saved_compiled(source)

    programs = """
=== example: saved while it may be wrapped
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
if torch.cuda.device_count() > 1:
    model = torch.nn.DataParallel(model)
for batch in loader:
    loss = model(**batch).loss.mean()
    loss.backward()
    optimizer.step()
- model.save_pretrained("out")
+ (model.module if hasattr(model, "module") else model).save_pretrained("out")

=== example: a method of the program's own
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def forward(self, x):
        return self.layers(x)

    def penalty(self):
        return sum(p.abs().sum() for p in self.parameters())


def main(rank):
    net = Net().to(rank)
    net = DDP(net, device_ids=[rank])
    for x, y in loader:
-         loss = criterion(net(x), y) + net.penalty()
+         loss = criterion(net(x), y) + net.module.penalty()
        loss.backward()
        optimizer.step()

=== example: a compiled model, saved for one that is not
import torch
from nets import Net

net = torch.compile(Net())
train(net)
- torch.save(net.state_dict(), "net.pt")
+ torch.save(net._orig_mod.state_dict(), "net.pt")
again = Net()
again.load_state_dict(torch.load("net.pt"))

=== example: compiled where it is trained
import torch
from torch import nn


class Net(nn.Module):
    pass


def main(loader):
    model = Net()
    model = torch.compile(model)
    model.to("cuda")
    losses = train(model, loader)
    return losses, model


losses, model = main(loader)
- torch.save(model.state_dict(), "model.pth")
+ torch.save(model._orig_mod.state_dict(), "model.pth")
model = Net()
model.load_state_dict(torch.load("model.pth", weights_only=True))

=== reject: the inner model is asked
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
model.resize_token_embeddings(50300)
if torch.cuda.device_count() > 1:
    model = torch.nn.DataParallel(model)
print(model.module.config if hasattr(model, "module") else model.config)
if isinstance(model, torch.nn.DataParallel):
    model.module.save_pretrained("out")
else:
    model.save_pretrained("out")
model = model.module if hasattr(model, "module") else model
model.push_to_hub("me/mine")

=== reject: what a wrapper has too, and a name for the wrapper
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
parallel = torch.nn.DataParallel(model)
parallel.train()
torch.save(parallel.state_dict(), "all.pt")
model.save_pretrained("out")

=== reject: compiled again before it is loaded, and a prefix that is cut
import torch
from nets import Net

net = torch.compile(Net())
torch.save(net.state_dict(), "net.pt")
again = torch.compile(Net())
again.load_state_dict(torch.load("net.pt"))
third = Net()
third.load_state_dict({key.removeprefix("_orig_mod."): value for key, value in torch.load("net.pt").items()})

=== reject: a model that may be compiled, and attributes that a compiled one passes on
import torch
from nets import Net

net = Net()
if args.compile:
    net = torch.compile(net)
torch.save(net.state_dict(), "net.pt")
net.generate(3)
again = Net()
again.load_state_dict(torch.load("net.pt"))
"""


def _wraps(source: Source, assign: ast.Assign) -> bool:
    """Whether a statement puts a wrapper of several devices in the place of the model, under the model's name."""
    call = assign.value
    if not isinstance(call, ast.Call) or source.qualified(call.func) not in PARALLEL or not call.args:
        return False
    return len(assign.targets) == 1 and _names(assign.targets[0]) == ast.unparse(call.args[0])


def _names(target: ast.expr) -> str:
    return ast.unparse(target) if isinstance(target, ast.Name) else ""


def _asked_of_wrapper(source: Source, assign: ast.Assign) -> Iterator[Fault]:
    name = _names(assign.targets[0])
    around = function_around(source, assign)
    later = [node for node in source.nodes(ast.Assign) if name in trees.stored_names(node) and node is not assign]
    ends = [each.lineno for each in later if function_around(source, each) is around and each.lineno > assign.lineno]
    is_sure = training_loop.block_of(source, assign) is (around.body if around is not None else source.tree.body)
    asked = OF_MODELS | _own_methods(source, name, assign)
    found: dict[str, list[ast.Attribute]] = {}
    for node in source.nodes(ast.Attribute):
        is_asked = isinstance(node.value, ast.Name) and node.value.id == name and node.attr in asked
        is_later = assign.lineno < node.lineno < min(ends, default=10**9)
        if is_asked and is_later and function_around(source, node) is around and not _knows(source, node, assign):
            found.setdefault(node.attr, []).append(node)
    for attribute, nodes in found.items():
        inner = f"{name}.module" if is_sure else f'{name}.module if hasattr({name}, "module") else {name}'
        edits: tuple[Edit, ...] = tuple(Replace(source.site(node.value), inner) for node in nodes)
        kind = ast.unparse(assign.value.func) if isinstance(assign.value, ast.Call) else ""
        what = f"`{name}` is wrapped by `{kind}`, which has no `{attribute}`: the model is under `{name}.module`"
        yield Fault.with_repair(source.site(nodes[0]), what, "Ask the model in the wrapper", *edits)


def _own_methods(source: Source, name: str, assign: ast.Assign) -> frozenset[str]:
    """Methods of the program's class that the model is made of, which no module has."""
    around = function_around(source, assign)
    made = [
        node.value
        for node in source.nodes(ast.Assign)
        if node is not assign and _names(node.targets[0]) == name and function_around(source, node) is around
    ]
    found: set[str] = set()
    for value in made:
        call = value
        while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in OF_MODULES:
            call = call.func.value
        owner = source.definition(call.func) if isinstance(call, ast.Call) else None
        if isinstance(owner, ast.ClassDef):
            methods = {each.name for each in owner.body if isinstance(each, ast.FunctionDef)}
            found |= {each for each in methods - OF_MODULES if not each.startswith("__")}
    return frozenset(found)


def _knows(source: Source, node: ast.AST, assign: ast.Assign) -> bool:
    """Whether a place is under a condition that may ask whether the model is wrapped."""
    own = source.parent(assign)
    wrapped_if = ast.unparse(own.test) if isinstance(own, ast.If) else None
    above = source.parent(node)
    while above is not None and not isinstance(above, training_loop.FUNCTIONS):
        if isinstance(above, ast.If | ast.IfExp):
            test = ast.unparse(above.test)
            if any(each in test for each in KNOWING) or test == wrapped_if or above is own:
                return True
            others = above.orelse if isinstance(above.orelse, list) else [above.orelse]
            if any(".module" in ast.unparse(each) for each in (*others, *_body(above))):
                return True
        if isinstance(above, ast.Try):
            return True
        above = source.parent(above)
    return False


def _body(branch: ast.If | ast.IfExp) -> list[ast.stmt] | list[ast.expr]:
    return branch.body if isinstance(branch, ast.If) else [branch.body]


def _saved_compiled(source: Source) -> Iterator[Fault]:
    """Weights of a compiled model that are saved to a file, and loaded into a model that isn't compiled."""
    for call in source.calls("torch.save"):
        state = call.args[0] if len(call.args) == 2 else None
        network = state.func.value if isinstance(state, ast.Call) and isinstance(state.func, ast.Attribute) else None
        is_state = isinstance(state, ast.Call) and ast.unparse(state.func).endswith(".state_dict")
        if not is_state or not isinstance(network, ast.Name) or not _is_compiled(source, network, call):
            continue
        loading = [one for one in training_loop.method_calls(source, "load_state_dict") if one.lineno > call.lineno]
        for load in loading:
            target = load.func.value if isinstance(load.func, ast.Attribute) else None
            given = load.args[0] if load.args else None
            is_same_file = (
                isinstance(given, ast.Call)
                and source.qualified(given.func) == "torch.load"
                and bool(given.args)
                and ast.unparse(given.args[0]) == ast.unparse(call.args[1])
            )
            made = _last(source, target, load) if isinstance(target, ast.Name) else None
            is_class = isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2][:1].isupper()
            is_wrapped = isinstance(made, ast.Call) and source.qualified(made.func) in PARALLEL
            if is_same_file and is_class and not is_wrapped:
                what = (
                    f"`{network.id}` is compiled, so that its weights are saved with `_orig_mod.` before each name, and "
                    f"`{ast.unparse(load.func)}` of a model that is not compiled refuses them"
                )
                edit = Wrap(source.site(network), "", "._orig_mod")
                yield Fault.with_repair(source.site(call), what, "Save the weights of the model itself", edit)
                break


def _last(source: Source, name: ast.Name, before: ast.AST) -> ast.expr | None:
    """The value that a name was given last before a place, in the same function and under no condition."""
    around = function_around(source, before)
    line = source.statement_of(before).lineno
    found = [
        node
        for node in source.nodes(ast.Assign)
        if name.id in trees.stored_names(node) and node.lineno < line and function_around(source, node) is around
    ]
    if not found:
        return None
    last = max(found, key=lambda one: one.lineno)
    is_plain = training_loop.block_of(source, last) is training_loop.block_of(source, source.statement_of(before))
    target = last.targets[0]
    if not is_plain or len(last.targets) != 1:
        return None
    if isinstance(target, ast.Name):
        return last.value
    return _returned(source, last.value, target, name.id)


def _returned(source: Source, value: ast.expr, target: ast.expr, name: str) -> ast.expr | None:
    """What a function of the program returns for one of the names that its result is unpacked to."""
    function = source.definition(value.func) if isinstance(value, ast.Call) else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(target, ast.Tuple):
        return None
    returns = [each.value for each in within(function, ast.Return)]
    each = returns[0] if len(returns) == 1 else None
    index = next((i for i, one in enumerate(target.elts) if isinstance(one, ast.Name) and one.id == name), None)
    if not isinstance(each, ast.Tuple) or index is None or len(each.elts) != len(target.elts):
        return None
    element = each.elts[index]
    return _last(source, element, element) if isinstance(element, ast.Name) else None


def _is_compiled(source: Source, network: ast.Name, at: ast.AST) -> bool:
    made = _last(source, network, at)
    return isinstance(made, ast.Call) and source.qualified(made.func) == COMPILE
