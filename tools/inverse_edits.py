"""Faults that people make, put into a healthy program: the inverses of what the search at a crash tries.

A fault is an edit of the program's text. `faults` lists all that can be made in a program, `draws` gives them in a random
order in which each family of faults comes as often as people make it. Nothing of it looks at a run: whether a fault makes
the program crash is for the run to say.

`FAMILIES` are counts of Islam et al., "Repairing Deep Neural Networks: Fix Patterns and Challenges" (ICSE 2020): table 3, the
repairs on Stack Overflow of Keras (143), TensorFlow (119) and Torch (17), where a program most often crashes. What they call
activation, optimizer, monitor and the like changes what arguments are given, and is counted so. Within data dimension,
reshaping, reordering and resizing stand to one another as 38, 9 and 11 (section 3.1 there). How the statements of the 667
repairs change is counted in the labels that go with the study.
"""

from __future__ import annotations

import ast
import difflib
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dnnfix.errors import EditError
from dnnfix.records import Delete, DeleteElement, Edit, RemoveArgument, RenameArgument, Replace
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.synthesize.operators.operations import FUNCTIONS

FAMILIES = {
    "data dimension": 50,
    "neural connection": 53,
    "data type": 39,
    "layer dimension": 28,
    "versioning": 22,
    "arguments": 24,
    "add layer": 12,
    "loss function": 16,
    "data wrangling": 8,
}
"""How often each family of faults is made."""

FORMS = {"shape dropped": 19, "axes reordered": 9, "shape changed": 11, "shape added": 1, "axes added": 1, "kind added": 1,
         "kind around": 1, "argument more": 1, "arguments joined": 1}  # fmt: skip
"""How often each form of a fault is made among those of its family; 10 where nothing is said.

What is repaired by taking something away again is rare: of the 667 repairs, 288 add a call and 1 takes one away.
"""

SHAPES = frozenset(
    ["unsqueeze", "squeeze", "view", "reshape", "flatten", "permute", "transpose", "t", "expand_dims", "ravel", "contiguous"]
)  # fmt: skip
KINDS = frozenset(
    [
        "float", "long", "int", "double", "item", "numpy", "detach", "tolist", "type", "astype", "to", "cpu", "bool", "str",
        "list", "tuple", "dict", "set", "tensor", "FloatTensor", "LongTensor", "Tensor", "from_numpy", "as_tensor", "array",
        "asarray", "Variable", "values", "items", "to_categorical", "encode", "decode", "keys", "convert_to_tensor", "cast",
    ]
)  # fmt: skip

ADDED_SHAPES = (".unsqueeze(0)", ".unsqueeze(1)", ".squeeze()", "[0]", ".view(-1)", ".reshape(-1, 1)", "[None]", ".flatten()", "[:, 0]", ".mean()", ".sum(1)", ".argmax(1)")  # fmt: skip
ADDED_KINDS = (".long()", ".float()", ".int()", ".double()", ".numpy()", ".detach().numpy()", ".tolist()", ".item()", ".astype('int64')", ".astype('float64')")  # fmt: skip
AROUND = ("str({})", "[{}]", "({},)", "float({})", "int({})", "list({})", "iter({})", "map(float, {})", "{{0: {}}}")

OTHERS = {
    "size": "shape", "shape": "size", "append": "add", "extend": "append", "item": "items", "items": "iteritems", "view": "resize",
    "permute": "transpose", "transpose": "permute", "matmul": "dot", "mm": "dot", "numpy": "asnumpy", "unsqueeze": "expand_dims",
    "squeeze": "squeezed", "fit": "train", "predict": "predict_classes", "evaluate": "eval", "eval": "evaluate", "train": "training",
    "parameters": "params", "backward": "backwards", "zero_grad": "zero_grads", "state_dict": "get_state", "cat": "concatenate",
    "concatenate": "concat", "stack": "pack", "zeros": "zero", "arange": "range", "randn": "random", "rand": "random",
    "long": "int64", "float": "float32", "add_module": "add", "softmax": "Softmax", "relu": "ReLU", "log_softmax": "logsoftmax",
    "Linear": "Dense", "Dense": "Linear", "MSELoss": "MSE", "CrossEntropyLoss": "CrossEntropy", "DataLoader": "Dataloader",
    "sigmoid": "Sigmoid", "Conv2D": "Conv2d", "Conv2d": "Conv2D", "MaxPool2d": "MaxPooling2d", "MaxPooling2D": "MaxPool2d", "to": "cuda",
    "clip_grad_norm_": "clip_grad_norm", "lr": "learning_rate", "learning_rate": "lr", "kernel_size": "kernel", "epochs": "nb_epoch",
    "num_layers": "n_layers", "hidden_size": "hidden_dim", "input_size": "input_dim", "dim": "axis", "axis": "dim", "units": "output_dim",
}  # fmt: skip
"""What people write for a name: of another library, of another version, or as the class for the function."""

BRITISH = (("color", "colour"), ("ize", "ise"), ("izer", "iser"), ("center", "centre"), ("gray", "grey"), ("behavior", "behaviour"))  # fmt: skip

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


class Fault(NamedTuple):
    """One fault: its family, its form, and the edits that make it."""

    family: str
    form: str
    edits: tuple[Edit, ...]


Made = Iterator[tuple[str, tuple[Edit, ...]]]


def faults(source: Source) -> Iterator[Fault]:
    """Every fault that can be made in a program, in the order of families and places."""
    for family, made in _MAKERS.items():
        for form, edits in made(source):
            yield Fault(family, form, edits)


def draws(source: Source, seed: int) -> Iterator[tuple[Fault, Source]]:
    """Faults without end to all that there are, each once, with the program that has it; it can be parsed and differs."""
    chance = random.Random(seed)
    left: dict[str, dict[str, list[Fault]]] = defaultdict(lambda: defaultdict(list))
    for fault in faults(source):
        left[fault.family][fault.form].append(fault)
    known = ast.dump(source.tree)
    while left:
        family = _drawn(chance, {name: FAMILIES[name] for name in left})
        form = _drawn(chance, {name: FORMS.get(name, 10) for name in left[family]})
        there = left[family][form]
        fault = there.pop(chance.randrange(len(there)))
        if not there:
            del left[family][form]
        if not left[family]:
            del left[family]
        try:
            broken = Source.from_bytes(apply_edits(source, fault.edits), source.path)
        except EditError:
            continue
        if ast.dump(broken.tree) != known:
            yield fault, broken


def _drawn(chance: random.Random, weights: dict[str, int]) -> str:
    return chance.choices(list(weights), list(weights.values()))[0]


def _at(source: Source, node: ast.AST, code: str) -> tuple[Edit, ...]:
    return (Replace(source.site(node), code),)


def _text(source: Source, node: ast.AST) -> str:
    return source.segment(source.site(node))


def _named(call: ast.Call) -> str:
    """The last name of what a call calls."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _subject(source: Source, call: ast.Call) -> ast.expr | None:
    """What a conversion is of: the object of a method, the first argument of a function."""
    if isinstance(call.func, ast.Attribute) and source.qualified(call.func) is None:
        return call.func.value
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None


def _read(source: Source) -> Iterator[ast.Name | ast.Attribute]:
    """The names and attributes that are read."""
    nodes: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Attribute), *source.nodes(ast.Name)]
    return (node for node in nodes if isinstance(node.ctx, ast.Load))


def _used(source: Source) -> Iterator[ast.expr]:
    """Names and simple attributes that are given to a call, called upon, or combined with another value."""
    for node in _read(source):
        above = source.parent(node)
        if isinstance(above, ast.Call) and above.func is node:
            continue
        if source.qualified(node) is None and isinstance(above, ast.Call | ast.BinOp | ast.keyword):
            yield node


def _dropped(source: Source, names: frozenset[str], form: str) -> Made:
    for call in source.all_calls:
        of = _subject(source, call)
        if _named(call) in names and of is not None:
            yield form, _at(source, call, _text(source, of))
            statement = source.parent(call)
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == ast.unparse(of):
                yield f"statement of {form}", (Delete(source.site(statement)),)


def _data_dimension(source: Source) -> Made:
    yield from _dropped(source, SHAPES, "shape dropped")
    for node in _used(source):
        yield from (("shape added", _at(source, node, _text(source, node) + after)) for after in ADDED_SHAPES)
        yield "axes added", _at(source, node, f"{_text(source, node)}.transpose(0, 1)")
        yield "axes added", _at(source, node, f"{_text(source, node)}.T")
    for call in source.all_calls:
        if _named(call) in SHAPES:
            yield from _exchanged(source, call, "axes reordered")
            for arg in call.args:
                for edits in _other_numbers(source, arg):
                    yield "shape changed", edits
            for number in range(len(call.args)):
                if len(call.args) > 1:
                    yield "shape changed", (RemoveArgument(source.site(call), "", number),)
        for keyword in call.keywords:
            if keyword.arg in ("dim", "axis", "batch_first", "return_sequences", "keepdim", "keepdims"):
                yield "axis", (RemoveArgument(source.site(call), keyword.arg),)
                yield from (("axis", edits) for edits in _other_numbers(source, keyword.value))
    for node in source.nodes(ast.Subscript):
        if isinstance(node.slice, ast.Tuple) and isinstance(node.ctx, ast.Load):
            yield from (
                ("index of an axis", (DeleteElement(source.site(node.slice), n),)) for n in range(len(node.slice.elts))
            )


def _data_type(source: Source) -> Made:
    yield from _dropped(source, KINDS, "kind dropped")
    for node in _used(source):
        text = _text(source, node)
        yield from (("kind added", _at(source, node, text + after)) for after in ADDED_KINDS)
        yield from (("kind around", _at(source, node, around.format(text))) for around in AROUND)
    for call in source.all_calls:
        for keyword in call.keywords:
            if keyword.arg == "dtype":
                yield "dtype", (RemoveArgument(source.site(call), "dtype"),)
                text = _text(source, keyword.value)
                for one, other in (("long", "float32"), ("int64", "float32"), ("float32", "int64"), ("float", "int")):
                    if one in text:
                        yield "dtype", _at(source, keyword.value, text.replace(one, other))
    for node in source.nodes(ast.BinOp):
        if isinstance(node.op, ast.FloorDiv):
            yield "division", _at(source, node, f"{_text(source, node.left)} / {_text(source, node.right)}")
        if isinstance(node.op, ast.MatMult):
            yield "product", _at(source, node, f"{_text(source, node.left)} * {_text(source, node.right)}")
        if isinstance(node.op, ast.Mult):
            yield "product", _at(source, node, f"{_text(source, node.left)} @ {_text(source, node.right)}")


def _other_numbers(source: Source, node: ast.expr) -> Iterator[tuple[Edit, ...]]:
    """Another number for one: next to it, twice or half, of the other sign, or one that stands elsewhere in the program."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value: object = -node.operand.value if isinstance(node.operand.value, int) else None
    else:
        value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        yield _at(source, node, str(not value))
    elif isinstance(value, int):
        elsewhere = [
            other.value
            for other in source.nodes(ast.Constant)
            if isinstance(other.value, int) and not isinstance(other.value, bool) and 0 < other.value < 5000
        ]
        near = [value + 1, value - 1, value * 2, value // 2, *sorted(set(elsewhere))]
        for other in dict.fromkeys(near):
            if other != value and (other > 0 or abs(value) < 3):
                yield _at(source, node, str(other))


def _layer_dimension(source: Source) -> Made:
    for call in source.all_calls:
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            for each in (value, *(value.elts if isinstance(value, ast.Tuple | ast.List) else ())):
                yield from (("number", edits) for edits in _other_numbers(source, each))
        for name in ("padding", "stride", "input_shape", "kernel_size", "bidirectional", "padding_idx", "strides"):
            if any(keyword.arg == name for keyword in call.keywords):
                yield "option dropped", (RemoveArgument(source.site(call), name),)
        if _named(call)[:1].isupper():
            yield from _exchanged(source, call, "sizes exchanged")
            names = [arg for arg in call.args if isinstance(arg, ast.Name | ast.Attribute)]
            for arg in names:
                for other in {_text(source, other) for other in _used(source) if _is_size(source, other)}:
                    if (
                        other != _text(source, arg)
                        and difflib.SequenceMatcher(None, other, _text(source, arg)).ratio() > 0.3
                    ):
                        yield "size of another", _at(source, arg, other)
    for statement in source.nodes(ast.Assign):
        yield from (("number given", edits) for edits in _other_numbers(source, statement.value))


def _is_size(source: Source, node: ast.expr) -> bool:
    above = source.parent(node)
    return isinstance(above, ast.Call) and _named(above)[:1].isupper()


def _exchanged(source: Source, call: ast.Call, form: str) -> Made:
    for one, other in zip(call.args, call.args[1:], strict=False):
        starred = isinstance(one, ast.Starred) or isinstance(other, ast.Starred)
        if not starred and ast.unparse(one) != ast.unparse(other):
            yield form, (*_at(source, one, _text(source, other)), *_at(source, other, _text(source, one)))


def _neural_connection(source: Source) -> Made:
    yield from _other_names(source)
    for call in source.all_calls:
        statement = source.parent(call)
        first = call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None
        if first is not None:
            yield "call dropped", _at(source, call, _text(source, first))
        if not call.args and not call.keywords:
            yield "uncalled", _at(source, call, _text(source, call.func))
        if isinstance(call.func, ast.Call) and first is not None:
            yield "made of its input", _at(source, call, f"{_text(source, call.func.func)}({_text(source, first)})")
        if _named(call)[:1].isupper() and isinstance(statement, ast.Assign):
            yield "class for object", _at(source, call, _text(source, call.func))
        if isinstance(statement, ast.Expr | ast.Assign):
            yield "statement dropped", (Delete(source.site(statement)),)
        yield from _exchanged(source, call, "arguments exchanged")
    for node in source.nodes(ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "self" and isinstance(node.ctx, ast.Load):
            yield "without self", _at(source, node, node.attr)


def _other_names(source: Source) -> Made:
    """Another name of the same function for one that is read: one of the same statement, or one spelt much alike."""
    scopes: dict[ast.AST | None, set[str]] = defaultdict(set)
    for parameter in source.nodes(ast.arg):
        scopes[source.enclosing(parameter, ast.FunctionDef, ast.AsyncFunctionDef)].add(parameter.arg)
    for name in source.nodes(ast.Name):
        if isinstance(name.ctx, ast.Store):
            scopes[source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef)].add(name.id)
    for node in source.nodes(ast.Name):
        if not isinstance(node.ctx, ast.Load):
            continue
        near = (
            {n.id for n in ast.walk(source.statement_of(node)) if isinstance(n, ast.Name)}
            if _simple(source, node)
            else set()
        )
        for other in sorted(scopes[source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)] - {node.id}):
            if other in near:
                yield "name of the statement", _at(source, node, other)
            elif difflib.SequenceMatcher(None, other, node.id).ratio() > 0.6:
                yield "name alike", _at(source, node, other)


def _simple(source: Source, node: ast.AST) -> bool:
    return not hasattr(source.statement_of(node), "body")


def misspelt(name: str) -> Iterator[str]:
    """A name as people misspell it: plural, words joined or parted, British, letters exchanged, lost or doubled, or another's."""
    if name in OTHERS:
        yield OTHERS[name]
    yield name[:-1] if name.endswith("s") and len(name) > 3 else f"{name}s"
    if "_" in name.strip("_"):
        yield name.replace("_", "")
        yield "".join(word.capitalize() for word in name.split("_"))
    if name[:1].isupper():
        yield _WORD.sub("_", name).lower()
        yield name.lower()
    elif name.islower():
        yield name.capitalize()
    for here, there in BRITISH:
        for one, other in ((here, there), (there, here)):
            if one in name:
                yield name.replace(one, other)
    middle = len(name) // 2
    if len(name) > 3:
        yield name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]
        yield name[:middle] + name[middle + 1 :]
        yield name[:middle] + name[middle] + name[middle:]
    words = name.split("_")
    if len(words) > 1:
        yield "_".join(words[1:])
        yield "_".join(words[:-1])


def _versioning(source: Source) -> Made:
    for node in _read(source):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        before = f"{_text(source, node.value)}." if isinstance(node, ast.Attribute) else ""
        form = "misspelt attribute" if before else "misspelt name"
        for number, other in enumerate(dict.fromkeys(misspelt(name))):
            if other.isidentifier() and other != name:
                yield f"{form} of another" if not number and name in OTHERS else form, _at(source, node, before + other)
    for call in source.all_calls:
        for keyword in call.keywords:
            for number, other in enumerate(dict.fromkeys(misspelt(keyword.arg or ""))):
                if keyword.arg and other.isidentifier() and other != keyword.arg:
                    form = "keyword of another" if not number and keyword.arg in OTHERS else "misspelt keyword"
                    yield form, (RenameArgument(source.site(call), keyword.arg, other),)
    for statement in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        yield "import dropped", (Delete(source.site(statement)),)


def _arguments(source: Source) -> Made:
    for call in source.all_calls:
        site = source.site(call)
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield "keyword dropped", (RemoveArgument(site, keyword.arg),)
                yield from (("value", edits) for edits in _other_numbers(source, keyword.value))
        for number in range(len(call.args)):
            if len(call.args) + len(call.keywords) > 1:
                yield "argument dropped", (RemoveArgument(site, "", number),)
        if call.args and not any(isinstance(arg, ast.Starred) for arg in call.args):
            last = call.args[-1]
            yield "argument more", _at(source, last, f"{_text(source, last)}, {_text(source, last)}")
            yield "argument more", _at(source, last, f"{_text(source, last)}, 1")
            yield "argument more", _at(source, last, f"{_text(source, last)}, True")
        if len(call.args) > 1 and not call.keywords:
            arg = call.args[-1]
            yield "arguments joined", _at(source, arg, f"({_text(source, call.args[-2])}, {_text(source, arg)})")
    texts = sorted({ast.unparse(node) for node in source.nodes(ast.Constant) if isinstance(node.value, str)})
    for node in source.nodes(ast.Constant):
        if (
            isinstance(node.value, str)
            and isinstance(source.parent(node), ast.keyword | ast.Call)
            and len(node.value) < 20
        ):
            for other in texts[:20]:
                if len(other) < 22 and other != ast.unparse(node):
                    yield "text", _at(source, node, other)


def _add_layer(source: Source) -> Made:
    for call in source.all_calls:
        if _named(call) == "Sequential":
            held = call.args[0] if len(call.args) == 1 and isinstance(call.args[0], ast.List) else call
            many = len(held.elts) if isinstance(held, ast.List) else len(call.args)
            if many > 1:
                yield from (("layer", (DeleteElement(source.site(held), n),)) for n in range(many))
        statement = source.parent(call)
        if isinstance(statement, ast.Expr) and _named(call) == "add":
            yield "layer", (Delete(source.site(statement)),)
        inside = source.enclosing(call, ast.FunctionDef) is not None
        if inside and isinstance(statement, ast.Assign) and _named(call)[:1].isupper():
            yield "layer made", (Delete(source.site(statement)),)


def _loss_function(source: Source) -> Made:
    for node in _read(source):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        before = f"{_text(source, node.value)}." if isinstance(node, ast.Attribute) else ""
        for group in FUNCTIONS:
            if name in group:
                form = "loss" if "nll_loss" in group or "NLLLoss" in group else "function"
                yield from ((form, _at(source, node, before + other)) for other in group if other != name)


def _data_wrangling(source: Source) -> Made:
    for node in source.nodes(ast.Subscript):
        if not isinstance(node.ctx, ast.Load):
            continue
        whole, index = _text(source, node.value), node.slice
        yield "index dropped", _at(source, node, whole)
        if not isinstance(index, ast.Slice | ast.Tuple):
            yield "index too far", _at(source, index, f"{_text(source, index)} + 1")
            yield "called for index", _at(source, node, f"{whole}({_text(source, index)})")
        yield from (("index", edits) for edits in _other_numbers(source, index))
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            yield from (("key", _at(source, index, repr(other))) for other in misspelt(index.value))
    for targets in source.nodes(ast.Tuple):
        elements = [_text(source, element) for element in targets.elts]
        if isinstance(targets.ctx, ast.Store) and elements and not isinstance(source.parent(targets), ast.Tuple):
            yield "targets", _at(source, targets, ", ".join([*elements, "_"]))
            yield "targets", _at(source, targets, elements[0])
            yield "targets", _at(source, targets, elements[-1])
            if len(elements) > 2:
                yield "targets", _at(source, targets, ", ".join(elements[:-1]))
    rows: list[ast.Tuple | ast.List] = [*source.nodes(ast.Tuple), *source.nodes(ast.List)]
    for row in rows:
        if isinstance(row.ctx, ast.Load) and len(row.elts) > 1:
            yield from (("element", (DeleteElement(source.site(row), n),)) for n in range(len(row.elts)))
    for call in source.all_calls:
        if _named(call) == "range" and call.args:
            yield "range", _at(source, call.args[-1], f"{_text(source, call.args[-1])} + 1")
    for loop in source.nodes(ast.For):
        if isinstance(loop.target, ast.Name):
            yield "targets", _at(source, loop.target, f"_, {loop.target.id}")


_MAKERS: dict[str, Callable[[Source], Made]] = {
    "data dimension": _data_dimension,
    "neural connection": _neural_connection,
    "data type": _data_type,
    "layer dimension": _layer_dimension,
    "versioning": _versioning,
    "arguments": _arguments,
    "add layer": _add_layer,
    "loss function": _loss_function,
    "data wrangling": _data_wrangling,
}
