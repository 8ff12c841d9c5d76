"""The text gives all weights of a hidden layer the same value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Repair,
    Replace,
    Source,
    Subject,
    function_around,
    initialization,
    spell,
    trees,
    within,
    words,
)

WEIGHTED = re.compile(r"\b(Linear|Conv(Transpose)?[123]d|LSTM|GRU|RNN|Bilinear)\b|['\"](Linear|Conv\w*|Dense)['\"]")
NORMALIZED = re.compile(r"Norm|\bBN|bn\b")
LAYERS = re.compile(r"^torch\.nn\.(Linear|Conv(Transpose)?[123]d|Bilinear|LazyLinear)$")
PRODUCTS = words(
    "torch.matmul torch.mm torch.bmm torch.nn.functional.linear torch.nn.functional.conv2d torch.nn.functional.conv1d"
)
VARIABLE = "torch.autograd.Variable"
FILLED = words("torch.zeros torch.ones torch.full torch.zeros_like torch.ones_like")
ADAPTERS = re.compile(
    r"lora|adapter|prompt|residual|zero_?(init|module|conv)|adaln|modulation|hyper|offset|control", re.IGNORECASE
)
"""Words of networks that begin as if a part of them were not there."""


class ConstantWeights(ReadTemplate):
    """All weights of a hidden layer start with the same value, by the text: units that start equal stay equal.

    Each unit of the layer computes the same and gets the same gradient, so that it works like one unit; with zeros, nothing before it
    learns at first. Reported for functions that set the weights of each layer of a kind, for loops over all parameters, for a layer
    that others follow, and for matrices of one's own that are multiplied one after the other. Biases, normalization, the
    last layer, the last layer of a residual branch and adapters may start with zeros. What a run shows, constant-initialization reports.

    Fix safety: unsafe. Training starts from other weights, which is the point.

    References: torch.nn.init; Goodfellow et al., Deep Learning, section 8.4.
    """

    code = "DNF473"
    name = "constant-weights"
    message = "{layer} start with the same values, so that the units compute and learn the same"
    confidence = 0.9
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 1
    default = False
    triggers = ("constant_", "constant", "zeros_", "ones_", "fill_", "zero_", "zeros", "ones", "full")
    declined = "the weights are set within another expression"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if (source.frameworks and "torch" not in source.frameworks) or ADAPTERS.search(source.text):
            return
        for call in source.all_calls:
            filled = _filled(source, call)
            around = function_around(source, call)
            if filled is None or (around is not None and "zero" in around.name):
                continue
            target, value = filled
            layer = _set_of_all(source, call, target, value) or _of_hidden(source, target, value)
            if layer:
                yield Fault(
                    source.site(call), {"layer": f"all weights of {layer}"}, tuple(_at_random(subject, call, target))
                )
        yield from _matrices(subject)
        yield from _repeated(source)

    programs = """
=== example: each layer of a kind
import torch
from torch import nn

def init_weights(m):
    if isinstance(m, nn.Linear):
-         nn.init.constant_(m.weight, 0.1)
+         nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)

=== example: by the name of the class, through data
from torch import nn

def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
-         m.weight.data.fill_(1)
+         nn.init.xavier_uniform_(m.weight)
    elif classname.find('BatchNorm') != -1:
        m.weight.data.fill_(1)

=== example: a hidden layer
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 1)
-         nn.init.zeros_(self.fc1.weight)
+         nn.init.xavier_uniform_(self.fc1.weight)
        nn.init.zeros_(self.fc2.weight)

=== finds: each layer of a list
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
        for one in self.steps:
            one.weight.data.fill_(0.5)

=== example: all parameters
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for p in net.parameters():
-     nn.init.constant_(p, 0.5)
+     nn.init.normal_(p, std=0.02)

=== finds: a tensor of ones in place of each weight
import torch
from torch import nn

def start(m):
    if isinstance(m, nn.Linear):
        m.weight.data = torch.ones(m.out_features, m.in_features)

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
net.apply(start)

=== reject: normalization, biases, the last layer
from torch import nn

def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.constant_(m.bias, 0)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.constant_(m.weight, 1)
        nn.init.constant_(m.bias, 0)
    elif isinstance(m, (nn.GroupNorm, nn.LayerNorm)):
        m.weight.data.fill_(1.0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.fc2 = nn.Linear(8, 1)
        nn.init.zeros_(self.fc2.weight)
        nn.init.ones_(self.norm.weight)
        for name, p in self.named_parameters():
            if "bias" in name:
                nn.init.constant_(p, 0.0)

=== reject: one matrix, and gradients
import torch

w = torch.zeros(4, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
y = x @ w + b
for p in net.parameters():
    p.grad.zero_()

=== example: matrices of one's own
import torch

- W1 = torch.zeros(784, 64, requires_grad=True)
+ W1 = torch.nn.init.xavier_uniform_(torch.zeros(784, 64, requires_grad=True))
b1 = torch.zeros(64, requires_grad=True)
W2 = torch.zeros(64, 10, requires_grad=True)
h = torch.relu(x @ W1 + b1)
y = h @ W2
"""


def _filled(source: Source, call: ast.Call) -> tuple[ast.expr, float | None] | None:
    """The weight that a call fills with one value, and that value where it is written there."""
    name = source.qualified(call.func) or ast.unparse(call.func)
    last = name.rpartition(".")[2]
    target: ast.expr | None = None
    given: ast.expr | None = ast.Constant(0.0 if "zero" in last else 1.0)
    if re.search(r"(^|\.)init\.(constant_?|zeros_|ones_|zeros|ones)$", name) and call.args:
        target = call.args[0]
        if "constant" in last:
            given = (
                call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "val"), None)
            )
    elif isinstance(call.func, ast.Attribute) and last in ("fill_", "zero_"):
        target = call.func.value
        if last == "fill_":
            given = call.args[0] if call.args else None
    elif name in FILLED and (target := _assigned_to(source, call)) is not None:
        given = None if "full" in last else given
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    if target is None:
        return None
    value = given.value if isinstance(given, ast.Constant) and isinstance(given.value, (int, float)) else None
    return target, value


def _assigned_to(source: Source, call: ast.Call) -> ast.expr | None:
    """The weight of a layer that is given a new tensor as a whole, itself or as a parameter; `None` where it is none."""
    above = source.parent(call)
    if isinstance(above, ast.Call) and source.qualified(above.func) in initialization.PARAMETER:
        above = source.parent(above)
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    whole = isinstance(target, ast.Attribute) and ast.unparse(target).endswith((".weight", ".weight.data"))
    return target if whole else None


def _set_of_all(source: Source, call: ast.Call, target: ast.expr, value: float | None) -> str:
    """What a function or loop sets the weights of: each layer of a kind, or all parameters; empty where it is less."""
    is_weight = isinstance(target, ast.Attribute) and target.attr == "weight"
    if isinstance(target, ast.Attribute) and is_weight and isinstance(target.value, ast.Name):
        test = _condition(source, call, target.value.id)
        if value == 0 and _is_of_part(source, call):
            return ""
        if test and WEIGHTED.search(test) and not NORMALIZED.search(test) and not _set_again(source, call, target):
            return "each " + " and ".join(
                dict.fromkeys(found.group(0).strip("'\"") for found in WEIGHTED.finditer(test))
            )
        loop = source.enclosing(call, ast.For)
        over = ast.unparse(loop.iter) if loop is not None and target.value.id in trees.names_in(loop.target) else ""
        if (
            not test
            and over
            and (
                re.search(r"layers|children\(\)|\bself\.\w*(fc|linear|conv|dense)", over)
                or _is_list_of_layers(source, loop)
            )
            and not _set_again(source, call, target)
        ):
            return "each layer"
    if isinstance(target, ast.Name):
        loop = source.enclosing(call, ast.For)
        is_own = loop is not None and target.id in trees.names_in(loop.target)
        if loop is None or not is_own or not re.search(r"parameters\(", ast.unparse(loop.iter)):
            return ""
        test = _condition(source, call, "")
        around = function_around(source, call)
        starts = around is None or initialization.OF_INITIALIZER.search(around.name) or around.name == "__init__"
        own_weight = "weight" in test and "not" not in test
        if (not test or own_weight) and starts and not _is_average(loop):
            return "each layer"
    return ""


def _is_list_of_layers(source: Source, loop: ast.For | None) -> bool:
    """Whether a loop goes over layers with weights that are made in a list."""
    over = source.bindings(loop.iter) if loop is not None else ()
    return len(over) == 1 and bool(initialization.kinds_made(source, over[0]))


def _is_of_part(source: Source, call: ast.Call) -> bool:
    """Whether a call stands in a loop over the modules of a part of a network, which may begin as if it were not there."""
    loop = source.enclosing(call, ast.For)
    over = ast.unparse(loop.iter) if loop is not None else ""
    return bool(re.match(r"\w+\.\w+\.(named_)?(modules|children)\(", over))


def _is_average(loop: ast.For) -> bool:
    """Whether a loop goes over what sums are made in: gradients, averages, copies."""
    return bool(re.search(r"ema|avg|average|shadow|meta|grad|target|sum", ast.unparse(loop.iter)))


def _condition(source: Source, node: ast.AST, name: str) -> str:
    """The conditions under which a node runs within its function, those of branches not taken left out."""
    found = []
    child, above = node, source.parent(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        if isinstance(above, ast.If) and child in above.body:
            test = ast.unparse(above.test)
            if not name or re.search(rf"\b{re.escape(name)}\b|class_?name", test, re.IGNORECASE):
                found.append(test)
        elif isinstance(above, ast.If) and child in above.orelse and not name:
            found.append("not " + ast.unparse(above.test))
        child, above = above, source.parent(above)
    return " and ".join(found)


def _set_again(source: Source, call: ast.Call, target: ast.Attribute) -> bool:
    """Whether the same weight gets other values further down in the function."""
    around: ast.AST = function_around(source, call) or source.tree
    text = ast.unparse(target)
    for other in within(around, ast.Call):
        later = other.lineno > call.lineno and _filled(source, other) is None
        name = ast.unparse(other.func)
        sets = (
            name.startswith(f"{text}.")
            and name.endswith("_")
            or any(ast.unparse(each).startswith(text) for each in other.args)
        )
        if later and sets:
            return True
    return False


def _of_hidden(source: Source, target: ast.expr, value: float | None) -> str:
    """The layer of a class whose weight is set, where another one is asked with what it gives."""
    if not isinstance(target, ast.Attribute) or target.attr != "weight":
        return ""
    owner: ast.AST = source.enclosing(target, ast.ClassDef) or source.tree
    layer, made = ast.unparse(target.value), _layers(source, owner)
    later = layer in made and any(line > made[layer] for line in made.values())
    if not later or not layer.startswith("self.") or (value == 0 and OF_ENDS.search(layer)):
        return ""
    is_all = not made.keys() - _filled_layers(source, owner)
    return f"`{layer}`" if value or is_all or _feeds(owner, layer, made) else ""


OF_ENDS = re.compile(r"score|head|out|final|last|pred|cls|logit|proj", re.IGNORECASE)
"""Parts of the names of layers that end a network or a branch, which may begin with zeros."""


def _filled_layers(source: Source, owner: ast.AST) -> set[str]:
    """The layers of a class whose weights are filled with one value."""
    filled = [found[0] for call in within(owner, ast.Call) if (found := _filled(source, call)) is not None]
    return {ast.unparse(each).removesuffix(".weight") for each in filled}


def _feeds(owner: ast.AST, layer: str, made: dict[str, int]) -> bool:
    """Whether another layer is given what a layer computes, and nothing is added to that before."""
    if _in_sum(owner, layer):
        return False
    others = tuple(f"{other}(" for other in made if other != layer)
    for function in within(owner, ast.FunctionDef):
        held = ""
        for statement in function.body:
            text = ast.unparse(statement)
            called = f"{layer}(" in text
            asks = [one for one in others if one in text]
            if called and any(text.index(one) < text.index(f"{layer}(") for one in asks):
                return True  # one within the other
            if held and asks and re.search(rf"\(.*\b{re.escape(held)}\b", text):
                return True
            if held and re.search(rf"\b{re.escape(held)}\b\s*[+*]|[+*]=?\s*{re.escape(held)}\b", text):
                held = ""
            if called and isinstance(statement, ast.Assign):
                held = ast.unparse(statement.targets[0])
    return False


def _layers(source: Source, owner: ast.AST) -> dict[str, int]:
    """The layers with weights that a class or a text makes, with their lines."""
    return {
        ast.unparse(node.targets[0]): node.lineno
        for node in within(owner, ast.Assign)
        if isinstance(node.value, ast.Call) and LAYERS.search(source.qualified(node.value.func) or "")
    }


def _in_sum(owner: ast.AST, layer: str) -> bool:
    """Whether what a layer computes is added to or multiplied with something else."""
    called = f"{layer}("
    return any(
        isinstance(node.op, (ast.Add, ast.Mult)) and called in ast.unparse(node) for node in within(owner, ast.BinOp)
    ) or any(called in ast.unparse(node.value) for node in within(owner, ast.AugAssign))


def _matrices(subject: Subject) -> Iterator[Fault]:
    """Matrices of the text's own, of which several are filled with one value and multiplied one after the other."""
    source = subject.source
    found: dict[ast.AST | None, list[tuple[str, ast.expr]]] = {}
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        if (
            len(node.targets) == 1
            and isinstance(target, (ast.Name, ast.Attribute))
            and _is_filled_matrix(source, node.value, _is_trained_later(source, target))
        ):
            name = ast.unparse(target)
            if not initialization.set_somewhere(source, name.rpartition(".")[2]) and _is_multiplied(source, name):
                found.setdefault(function_around(source, node), []).append((name, node.value))
    for several in found.values():
        if len(several) < 2 and not _is_layer(source, several[0][1]):
            continue
        name, value = several[0]
        function = spell(subject, "torch.nn.init.xavier_uniform_")
        code = f"{function.code}({source.segment(source.site(value))})"
        repair: Repair = (
            "Initialize the weights at random",
            (Replace(source.site(value), code), *function.imports),
            0.7,
        )
        yield Fault(source.site(value), {"layer": f"all weights of `{name}`"}, (repair,))


def _is_layer(source: Source, value: ast.expr) -> bool:
    """Whether a weight belongs to a class that by its name is one layer of several."""
    owner = source.enclosing(value, ast.ClassDef)
    return owner is not None and bool(re.search(r"(Linear|Layer|Dense|Conv\w*|Attention|Cell)\d*$", owner.name))


def _is_trained_later(source: Source, target: ast.expr) -> bool:
    """Whether the text asks for gradients of a tensor after it was made."""
    text = f"{ast.unparse(target)}.requires_grad"
    assigned = any(ast.unparse(each) == text for node in source.nodes(ast.Assign) for each in node.targets)
    return assigned or any(ast.unparse(call.func) == f"{text}_" for call in source.all_calls)


def _repeated(source: Source) -> Iterator[Fault]:
    """Matrices of one row of random numbers that is repeated: each unit gets the same weights."""
    for call in source.calls(*initialization.PARAMETER):
        node = source.statement_of(call)
        given: ast.AST | None = call.args[0] if call.args else None
        repeats = False
        while (
            isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and not source.qualified(given.func)
        ):
            repeats = repeats or given.func.attr in ("repeat", "expand", "tile")
            given = given.func.value
        drawn = isinstance(given, ast.Call) and (source.qualified(given.func) or "").startswith(
            ("torch.rand", "torch.normal")
        )
        if repeats and drawn and isinstance(node, ast.Assign) and _is_multiplied(source, ast.unparse(node.targets[0])):
            yield Fault(source.site(call), {"layer": f"all units of `{ast.unparse(node.targets[0])}`"}, ())


def _is_filled_matrix(source: Source, value: ast.expr, trained_later: bool) -> bool:
    """Whether an expression is a trained matrix of zeros, ones or another number."""
    trained = trained_later
    while isinstance(value, (ast.Call, ast.BinOp)):
        if isinstance(value, ast.BinOp):
            if not isinstance(value.op, (ast.Mult, ast.Div)) or not isinstance(value.right, ast.Constant):
                return False
            value = value.left
            continue
        name = source.qualified(value.func) or ""
        if name in initialization.PARAMETER and value.args:
            trained, value = True, value.args[0]
        elif name == VARIABLE and value.args:
            trained = trained or any(k.arg == "requires_grad" and trees.is_true(k.value) for k in value.keywords)
            value = value.args[0]
        elif isinstance(value.func, ast.Attribute) and value.func.attr in initialization.MOVES and not name:
            trained = trained or value.func.attr == "requires_grad_"
            value = value.func.value
        else:
            trained = trained or any(k.arg == "requires_grad" and trees.is_true(k.value) for k in value.keywords)
            return trained and name in FILLED and _is_matrix(value)
    return False


def _is_matrix(call: ast.Call) -> bool:
    """Whether a tensor is made with two sizes, neither of which is 1."""
    sizes: Sequence[ast.expr] = call.args
    if len(sizes) >= 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    return len(sizes) == 2 and all(not (isinstance(each, ast.Constant) and each.value == 1) for each in sizes)


def _is_multiplied(source: Source, name: str) -> bool:
    """Whether a tensor is a factor of a product of matrices."""
    for product in source.nodes(ast.BinOp):
        factors = {ast.unparse(each).partition("[")[0] for each in (product.left, product.right)}
        if isinstance(product.op, ast.MatMult) and name in factors:
            return True
    for call in source.all_calls:
        known = (source.qualified(call.func) or "") in PRODUCTS
        method = isinstance(call.func, ast.Attribute) and call.func.attr in ("mm", "matmul", "dot", "bmm")
        if (known or method) and any(
            ast.unparse(each).removesuffix(".t()").removesuffix(".T") == name for each in call.args
        ):
            return True
    return False


def _at_random(subject: Subject, call: ast.Call, target: ast.expr) -> Iterator[Repair]:
    """The repair that initializes the weights at random."""
    source = subject.source
    whole = isinstance(target, ast.Name)
    function = spell(subject, "torch.nn.init.normal_" if whole else "torch.nn.init.xavier_uniform_")
    if isinstance(source.parent(call), ast.Expr):
        text = f"{function.code}({source.segment(source.site(target))}{', std=0.02' if whole else ''})"
        yield f"Initialize the weights with {text}", (Replace(source.site(call), text), *function.imports), 0.8
