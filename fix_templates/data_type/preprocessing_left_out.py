"""Preprocessing that the text has written is not done: a transform that is kept and never called, a deviation that is never used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Repair,
    Replace,
    Source,
    Subject,
    scaling,
    trees,
    within,
)
from dnnfix.api import picture_scales as pictures

PRETRAINED = re.compile(r"pretrained=True|weights=[^N\s]")
TENSOR = re.compile(r"from_numpy\(|(?i:tensor)\(")
SCALES = re.compile(r"scal|transform|norm| / |/=|prep")
HARMLESS = re.compile(r"^print\(|\.shape|train_test_split|load|len\(|reshape|astype")
NORMALIZING = re.compile(r"^(normali[sz]e|standardi[sz]e|scale)(_\w+)?$", re.IGNORECASE)


class PreprocessingLeftOut(ReadTemplate):
    """Preprocessing is written and not done, or half done.

    A data set keeps its `transform` and `__getitem__` never calls it; a function is given a mean and a deviation and uses one of them; a
    function that normalizes is called nowhere, and the transform that is passed on is `None`; a network with weights of ImageNet is
    given pictures that are not normalized.

    Fix safety: unsafe. The network sees other values.

    References: torchvision.models ("the images have to be normalized"), torch.utils.data.Dataset.
    """

    code = "DNF663"
    name = "preprocessing-left-out"
    message = "{what}"
    confidence = 0.75
    family = Family.DATA_TYPE
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.RISK
    silent = 8
    default = False
    declined = "where the preprocessing belongs is not told by the text"
    triggers = (
        "fit_transform",
        "from_numpy",
        "tensor",
        "Tensor",
        "transform",
        "transforms",
        "mean",
        "std",
        "normalize",
        "Compose",
        "ToTensor",
    )

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for node, what in (
            *_never_called(source),
            *_half(source),
            *_unused(source),
            *_unnormalized(source),
            *_one_sided(source),
        ):
            yield Fault(source.site(node), {"what": what}, (*_repairs(source, node), Decline(self.declined)))

    programs = """
=== example: by half
import torch
import numpy as np

def normalize(img, mean, std):
    img = img.astype(np.float32) / 255.0
    img = img - mean
-     return img
+     return img / std

=== finds: for training alone, by hand
import torch

x_train = torch.from_numpy(x_train).float() / 255
x_test = torch.from_numpy(x_test).float()
print(net(x_test))

=== finds: for training alone, by a scaler
import torch
from sklearn.preprocessing import StandardScaler

scaler = StandardScaler()
rows = torch.tensor(scaler.fit_transform(X_train))
print(net(torch.tensor(X_test)))

=== reject: for both, one of them elsewhere
import torch

x_train = torch.from_numpy(x_train).float() / 255
x_test = prepared(x_test)
x_test = torch.from_numpy(x_test).float()

=== reject: called
import torch
from torch.utils.data import Dataset

class Pictures(Dataset):
    def __init__(self, paths, transform=None):
        self.paths, self.transform = paths, transform

    def __getitem__(self, i):
        picture = load(self.paths[i])
        return self.transform(picture) if self.transform else picture

=== reject: normalized
import torch
from torchvision import models, transforms

net = models.resnet18(pretrained=True)
transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
"""


def _repairs(source: Source, node: ast.AST) -> tuple[Repair, ...]:
    """Divide by the deviation what is returned without it."""
    function = source.enclosing(node, ast.FunctionDef)
    if not isinstance(node, ast.Return) or node.value is None or function is None:
        return ()
    read = {name.id for name in within(function, ast.Name)}
    deviation = next(
        (one.arg for one in function.args.args if one.arg in ("std", "sigma", "stds") and one.arg not in read), None
    )
    if deviation is None:
        return ()
    text = source.segment(source.site(node.value))
    divided = f"{text} / {deviation}" if isinstance(node.value, (ast.Name, ast.Call)) else f"({text}) / {deviation}"
    return (("Divide by the deviation", (Replace(source.site(node.value), divided),), 0.7),)


def _never_called(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """A transform that a data set keeps and never calls."""
    for owner in source.nodes(ast.ClassDef):
        methods = {s.name: s for s in owner.body if isinstance(s, ast.FunctionDef)}
        first, get = methods.get("__init__"), methods.get("__getitem__")
        if first is None or get is None or not isinstance(get.body[-1], ast.Return):
            continue
        for node in within(first, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, ast.Attribute) or not trees.is_self(target.value):
                continue
            if not re.fullmatch(r"transforms?|img_transform|image_transform|preprocess", target.attr):
                continue
            if isinstance(node.value, ast.Constant):
                continue
            reads = [n for n in within(owner, ast.Attribute) if n.attr == target.attr and n is not target]
            if not reads and source.text.count(f".{target.attr}") <= 1:
                yield node, f"`self.{target.attr}` is kept, and never applied in `__getitem__`"


def _half(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """A function that is given a mean and a deviation, and uses one of them."""
    for function in source.nodes(ast.FunctionDef):
        given = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        read = {node.id for node in within(function, ast.Name) if isinstance(node.ctx, ast.Load)}
        for pair in (("mean", "std"), ("mu", "sigma"), ("means", "stds")):
            used = set(pair) & read
            if set(pair) <= given and len(used) == 1 and isinstance(function.body[-1], ast.Return):
                (other,) = set(pair) - used
                yield (
                    function.body[-1],
                    f"`{function.name}` is given `{other}` and does not use it: the values are normalized by half",
                )


def _unused(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """A function that normalizes and is called nowhere, where the transform that is passed on is `None`."""
    functions = [f for f in source.nodes(ast.FunctionDef) if NORMALIZING.match(f.name)]
    unused = [f for f in functions if not any(n.id == f.name for n in source.nodes(ast.Name))]
    for node in source.nodes(ast.Assign):
        target = node.targets[0]
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        if is_none and unused and isinstance(target, ast.Name) and "transform" in target.id:
            yield node, f"`{unused[0].name}` is called nowhere, and `{target.id}` is None"


def _unnormalized(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Pictures for a network with weights of ImageNet that are scaled and not normalized."""
    names = {one.name.lower() for one in pictures.composed(source)}
    does = {found.group().lower() for found in pictures.OWN.finditer(source.text)} - names
    if does or not re.search(r"models\.\w+\(", source.text):
        return
    made = [
        c
        for c in source.all_calls
        if re.search(r"(^|\.)models\.\w+$", ast.unparse(c.func)) and PRETRAINED.search(ast.unparse(c))
    ]
    for each in pictures.composed(source):
        if made and not each.alone and each.step("ToTensor") is not None and "Lambda" not in each.names:
            yield each.call, f"`{ast.unparse(made[0].func)}` was trained on normalized pictures, and these are not"
            return


def _one_sided(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Data to test that become tensors as they are, where those to train on, named alike, are scaled."""
    scaled = {ast.unparse(value) for node in source.nodes(ast.BinOp) if (value := pictures.divided(node)) is not None}
    scaled |= {
        ast.unparse(_without_cast(value))
        for node in source.nodes(ast.BinOp)
        if (value := pictures.divided(node)) is not None
    }
    scaled |= {
        ast.unparse(node.target)
        for node in source.nodes(ast.AugAssign)
        if isinstance(node.op, ast.Div) and ast.unparse(node.value).startswith("255")
    }
    if not any(trees.last_name(call.func) == "transform" for call in source.all_calls):
        scaled |= {ast.unparse(each.data) for each in scaling.fittings(source) if each.function == "fit_transform"}
    for name in sorted(scaled):
        other = re.sub(r"train(ing)?", "test", name)
        if (
            other == name
            or not name.isidentifier()
            or name in {n.id for f in source.nodes(ast.FunctionDef) for n in within(f, ast.Name)}
        ):
            continue
        reads = [n for n in source.nodes(ast.Name) if n.id == other and isinstance(n.ctx, ast.Load)]
        statements = [ast.unparse(source.statement_of(n)) for n in reads]
        if any(
            pictures.BY_HAND.search(text) or pictures.OWN.search(text) or SCALES.search(text) for text in statements
        ):
            continue
        made = [n for n, text in zip(reads, statements, strict=True) if TENSOR.search(text)]
        before = [text for n, text in zip(reads, statements, strict=True) if made and n.lineno < made[0].lineno]
        if made and all(HARMLESS.search(text) for text in before):
            yield made[0], f"`{name}` is scaled, and `{other}` becomes a tensor as it is"


def _without_cast(expr: ast.expr) -> ast.expr:
    """What a cast or a conversion to a tensor is given: `x` in `torch.tensor(x).float()`."""
    while isinstance(expr, ast.Call):
        is_made = trees.last_name(expr.func) in ("tensor", "Tensor", "from_numpy", "FloatTensor", "array")
        inner = expr.args[0] if is_made and expr.args else getattr(expr.func, "value", None)
        if not isinstance(inner, ast.expr):
            return expr
        expr = inner
    return expr
