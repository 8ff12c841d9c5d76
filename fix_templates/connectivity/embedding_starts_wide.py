"""An embedding keeps its default of N(0, 1) where its vectors are multiplied with each other or give the logits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    initialization,
    spell,
    trees,
    within,
)

EMBEDDINGS = ("torch.nn.Embedding", "torch.nn.EmbeddingBag")
WIDTH = 16
"""Up to so many axes a product of two vectors is no larger than what a sigmoid takes."""


class EmbeddingStartsWide(ReadTemplate):
    """`nn.Embedding` starts at N(0, 1), and a product of two such vectors of 100 axes is of the order of 10: sigmoid and softmax saturate.

    Keras starts its embeddings within 0.05. Reported where the text compares the network with one of Keras, multiplies the vectors of two embeddings, or uses the weight of one as
    that of the layer which gives the logits, and where nothing sets it. An embedding that a layer follows may keep the default.

    Fix safety: unsafe. Training starts from other weights, which is the point.

    References: torch.nn.Embedding ("initialized from N(0, 1)").
    """

    code = "DNF478"
    name = "embedding-starts-wide"
    message = "`{embedding}` starts at N(0, 1), and {use}: its vectors are large for what comes after them"
    confidence = 0.7
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    nature = Nature.RISK
    silent = 1
    default = False
    triggers = ("Embedding",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for owner in source.nodes(ast.ClassDef):
            made = _made(source, owner)
            if (
                not made
                or initialization.set_somewhere(source, "weight", of_layers=True)
                or initialization.sets_all(source)
            ):
                continue
            said = _multiplied(source, owner, set(made)) or _tied(owner, set(made)) or _of_keras(source, owner, made)
            if said is not None:
                name, use = said
                function = spell(subject, "torch.nn.init.normal_")
                edits: tuple[Edit, ...] = (
                    InsertAfter(source.site(made[name]), f"{function.code}(self.{name}.weight, std=0.02)"),
                    *function.imports,
                )
                yield Fault(
                    source.site(made[name].value),
                    {"embedding": f"self.{name}", "use": use},
                    (("Start with small vectors", edits, 0.7),),
                )

    programs = """
=== example: the product of two embeddings
import torch
from torch import nn

class Factors(nn.Module):
    def __init__(self, users, items, size=64):
        super().__init__()
        self.user = nn.Embedding(users, size)
+         nn.init.normal_(self.user.weight, std=0.02)
        self.item = nn.Embedding(items, size)

    def forward(self, u, i):
        return torch.sigmoid((self.user(u) * self.item(i)).sum(1))

=== example: the weight of the logits
import torch
from torch import nn

class Language(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.encoder = nn.Embedding(words, size)
+         nn.init.normal_(self.encoder.weight, std=0.02)
        self.rnn = nn.LSTM(size, size)
        self.decoder = nn.Linear(size, words)
        self.decoder.weight = self.encoder.weight

=== reject: the vectors are no factors
class Language(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.encoder = nn.Embedding(words, size)
        self.rnn = nn.LSTM(size, size)

    def forward(self, x):
        return self.rnn(self.encoder(x) * self.scale)

=== reject: set, and followed by a layer
import torch
from torch import nn

class Factors(nn.Module):
    def __init__(self, users, items):
        super().__init__()
        self.user = nn.Embedding(users, 8)
        self.item = nn.Embedding(items, 8)
        self.user.weight.data.uniform_(-0.05, 0.05)
        self.item.weight.data.uniform_(-0.05, 0.05)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1)

class Given(nn.Module):  # as in Keras
    def __init__(self, vectors):
        super().__init__()
        self.embedding = nn.Embedding(*vectors.shape)
        self.embedding.weight = nn.Parameter(vectors)

    def forward(self, x):
        return self.embedding(x).sum(1)

class Tagger(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 64)
        self.fc = nn.Linear(64, 5)

    def forward(self, x):
        return self.fc(self.embedding(x))
"""


def _made(source: Source, owner: ast.ClassDef) -> dict[str, ast.Assign]:
    """The embeddings of a class, by their attributes, that are wide enough."""
    found = {}
    for node in within(owner, ast.Assign):
        target, call = node.targets[0], node.value
        if isinstance(target, ast.Attribute) and trees.is_self(target.value) and isinstance(call, ast.Call):
            size = call.args[1] if len(call.args) > 1 else None
            narrow = isinstance(size, ast.Constant) and isinstance(size.value, int) and size.value < WIDTH
            if source.qualified(call.func) in EMBEDDINGS and not narrow:
                found[target.attr] = node
    given = {ast.unparse(each) for node in within(owner, ast.Assign) for each in node.targets}
    return {name: node for name, node in found.items() if f"self.{name}.weight" not in given}


def _multiplied(source: Source, owner: ast.ClassDef, names: set[str]) -> tuple[str, str] | None:
    """The first of two embeddings whose vectors are multiplied and summed."""
    for function in owner.body:
        if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
            continue
        held = {
            ast.unparse(node.targets[0]): name
            for node in within(function, ast.Assign)
            for name in names
            if re.match(rf"self\.{name}\(", ast.unparse(node.value))
        }
        for node in (*within(function, ast.BinOp), *within(function, ast.Call)):
            pair = _factors(node)
            of = [held.get(text) or _own(text, names) for text in pair]
            if len(of) == 2 and all(of) and _is_summed(source, node):
                return str(of[0]), f"its vectors are multiplied with those of `self.{of[1]}`"
    return None


def _own(text: str, names: set[str]) -> str:
    """The embedding that an expression is a call of; empty where it is none."""
    found = re.match(r"self\.(\w+)\(", text)
    return found.group(1) if found is not None and found.group(1) in names else ""


def _factors(node: ast.expr) -> list[str]:
    """The texts of the two factors of a product; empty where it is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.MatMult)):
        return [_plain(node.left), _plain(node.right)]
    if isinstance(node, ast.Call):
        last = ast.unparse(node.func).rpartition(".")[2]
        if last in ("bmm", "matmul", "mm", "mul", "dot"):
            parts = list(node.args)
            if len(parts) == 1 and isinstance(node.func, ast.Attribute):
                parts = [node.func.value, *parts]
            return [_plain(each) for each in parts[:2]]
    return []


def _plain(expr: ast.expr) -> str:
    """A tensor without the methods that change its shape alone."""
    while (
        isinstance(expr, ast.Call)
        and isinstance(expr.func, ast.Attribute)
        and expr.func.attr in ("t", "transpose", "unsqueeze", "squeeze", "view", "permute", "reshape")
    ):
        expr = expr.func.value
    return ast.unparse(expr).removesuffix(".T")


def _is_summed(source: Source, node: ast.AST) -> bool:
    """Whether a product is summed over an axis: it is one of matrices, or what holds it is asked for its sum."""
    if isinstance(node, ast.Call) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        return not ast.unparse(node).endswith(".mul")
    above = source.parent(node)
    if isinstance(above, ast.Attribute) and above.attr == "sum":
        return True
    if isinstance(above, ast.Call) and ast.unparse(above.func).endswith("sum"):
        return True
    if isinstance(above, ast.Assign):
        name = ast.unparse(above.targets[0])
        around = source.enclosing(node, ast.FunctionDef)
        text = ast.unparse(around) if around is not None else ""
        return f"{name}.sum(" in text or f"sum({name}" in text
    return False


def _of_keras(source: Source, owner: ast.ClassDef, made: dict[str, ast.Assign]) -> tuple[str, str] | None:
    """The first embedding of a network in a text that compares it with one of Keras."""
    is_network = any(isinstance(one, ast.FunctionDef) and one.name == "forward" for one in owner.body)
    compared = is_network and re.search(r"\bkeras\b", source.text, re.IGNORECASE)
    return (next(iter(made)), "Keras, which the text speaks of, starts within 0.05") if compared else None


def _tied(owner: ast.ClassDef, names: set[str]) -> tuple[str, str] | None:
    """The embedding whose weight is that of the layer which gives the logits."""
    for node in within(owner, ast.Assign):
        target, value = ast.unparse(node.targets[0]), ast.unparse(node.value)
        for name in names:
            if value == f"self.{name}.weight" and target.endswith(".weight"):
                return name, f"`{target}` is the same weight"
    return None
