"""A line was copied for another part of the program, and one name in it was not changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Source, Subject, graph, once, trees

_NEAR = 6
"""How many statements after the original a copy is searched for."""

_HANDED_OUT = frozenset({"parameters", "named_parameters", "trainable_variables", "trainable_weights"})
"""What only an optimizer reads from a model."""

_WITHOUT_NAMES = frozenset((type(None), ast.Load, ast.Store))
"""Values of syntax fields that hold no names."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|_+|.")


class CopiedLineNotChanged(ReadTemplate):
    """A line was copied for another part of the program, and one name in the copy was not changed.

    After `optimizer_a = SGD(net_a.parameters())`, the target of `optimizer_b = SGD(net_a.parameters())` shows that
    `net_b` is meant. Reported only where that name exists and is never used in this way: a branch that reaches no
    output, a network without an optimizer, a layer that is never called. Names of constants are left alone, since two
    parts may share a size.

    Fix safety: unsafe. Another tensor, layer or network is used.

    References: Li et al., CP-Miner (2004), a study of such copies.
    """

    code = "DNF422"
    name = "copied-line-not-changed"
    message = "`{kept}` is used here as in line {line}, and `{meant}` is not used in this step: the copied line was not changed"
    confidence = 0.85
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("torch", "keras", "tensorflow")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        seen: set[ast.expr] = set()
        for block in _blocks(source):
            forms = [_form(statement) for statement in block]
            for index, first in enumerate(block):
                for place in range(index + 1, min(index + 1 + _NEAR, len(block))) if forms[index] else ():
                    found = _kept(source, first, block[place]) if forms[place] == forms[index] else None
                    if found is None or found[0] in seen or _is_a_number(source, found[0]):
                        continue
                    kept, meant = found
                    seen.add(kept)
                    words = {"kept": ast.unparse(kept), "line": first.lineno, "meant": meant}
                    site = source.site(kept)
                    yield Fault.with_repair(site, words, f"Use `{meant}`", Replace(site, meant), prior=0.85)

    programs = """
=== example: the optimizer of another network
import torch

actor = torch.nn.Linear(4, 2)
critic = torch.nn.Linear(4, 1)
print(sum(weight.numel() for weight in critic.parameters()))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
- critic_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
+ critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
print(critic(torch.randn(1, 4)))

=== example: names of one letter next to whole words
from torch import nn, optim

def train(noise, real, config):
    generator = nn.Linear(2, 4)
    discriminator = nn.Linear(4, 1)
    optimizer_g = optim.Adam(generator.parameters(), lr=config["generator_lr"])
-     optimizer_d = optim.Adam(generator.parameters(), lr=config["discriminator_lr"])
+     optimizer_d = optim.Adam(discriminator.parameters(), lr=config["discriminator_lr"])
    return discriminator(generator(noise)), discriminator(real), optimizer_g, optimizer_d

=== example: one layer for two branches
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 8)
        self.fc2 = nn.Linear(3, 8)
        self.out = nn.Linear(16, 1)

    def forward(self, x1, x2):
        h1 = torch.relu(self.fc1(x1))
-         h2 = torch.relu(self.fc1(x2))
+         h2 = torch.relu(self.fc2(x2))
        return self.out(torch.cat([h1, h2], dim=1))

=== example: a branch of a functional model
from keras import layers

def build():
    left_in = layers.Input((4,))
    right_in = layers.Input((4,))
    left = layers.Dense(8)(left_in)
    right = layers.Dense(8)(right_in)
    left_code = layers.Dense(4, activation="relu")(left)
-     right_code = layers.Dense(4, activation="relu")(left)
+     right_code = layers.Dense(4, activation="relu")(right)
    return left_in, right_in, layers.concatenate([left_code, right_code])

=== example: the variables of another part, in a graph
import tensorflow.compat.v1 as tf

def trainers(loss_d, loss_g):
    vars_d = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="d")
    vars_g = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="g")
    train_d = tf.train.AdamOptimizer().minimize(loss_d, var_list=vars_d)
-     train_g = tf.train.AdamOptimizer().minimize(loss_g, var_list=vars_d)
+     train_g = tf.train.AdamOptimizer().minimize(loss_g, var_list=vars_g)
    return train_d, train_g

=== reject: two optimizers of one network, and one layer that is shared
import torch
from torch import nn

class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 8)
        self.fc2 = nn.Linear(8, 8)

    def forward(self, x1, x2):
        h1 = self.fc1(x1)
        h2 = self.fc1(x2)
        return self.fc2(h1 - h2)

net = Siamese()
target_net = Siamese()
target_net.load_state_dict(net.state_dict())
slow_optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
fast_optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)

=== reject: a scaler that is fitted on one part alone
import torch
from sklearn.preprocessing import StandardScaler

def scale(x_train, x_test):
    train_scaler = StandardScaler()
    train_scaler.fit(x_train)
    x_train = train_scaler.transform(x_train)
    x_test = train_scaler.transform(x_test)
    return torch.tensor(x_train), torch.tensor(x_test)

=== reject: sizes of two parts
import numpy as np
import keras

n_train = 100
n_val = 100
x_train = np.zeros((n_train, 4))
x_val = np.zeros((n_train, 4))
print(keras.layers.Dense(2)(x_train).shape, x_val.shape)

=== reject: a chain, and sizes that go on from one another
from keras import layers

def build(inputs, width1=8):
    width2 = width1 * 2
    x1 = layers.Dense(width1)(inputs)
    x2 = layers.Dense(width2)(x1)
    mean_1 = layers.Dense(2)(x2)
    scale_1 = layers.Dense(2)(x2)
    return mean_1, scale_1
"""


def _blocks(source: Source) -> Iterator[list[ast.stmt]]:
    yield source.tree.body
    yield from (node.body for node in source.nodes(ast.FunctionDef))
    yield from (node.body for node in source.nodes(ast.For))
    yield from (node.body for node in source.nodes(ast.While))
    yield from (node.body for node in source.nodes(ast.If))
    yield from (node.body for node in source.nodes(ast.With))


def _is_a_number(source: Source, kept: ast.expr) -> bool:
    """Whether a name is bound to a constant: two parts may share a size."""
    bound = source.bindings(kept, kept) or source.bindings(kept)
    return bool(bound) and all(isinstance(value, ast.Constant) for value in bound)


def _form(statement: ast.stmt) -> tuple[object, ...]:
    """What two copies have in common at least; empty for statements that are not compared."""
    if not isinstance(statement, (ast.Assign, ast.Expr)):
        return ()
    value = statement.value
    targets = [type(target) for target in statement.targets] if isinstance(statement, ast.Assign) else []
    if isinstance(value, ast.Call):
        keywords = [keyword.arg for keyword in value.keywords]
        return (*targets, ast.Call, type(value.func), *[type(given) for given in value.args], *keywords)
    return (*targets, type(statement), type(value))


def _kept(source: Source, first: ast.stmt, second: ast.stmt) -> tuple[ast.Name | ast.Attribute, str] | None:
    """The one name of the second statement that was not changed, and the name that is meant."""
    pairs = _leaves(first, second)
    if pairs is None:
        return None
    changes: set[tuple[str, str]] = set()
    for one, other in pairs:
        if one[1] != other[1]:
            change = _change(one[1], other[1])
            if change is None:
                return None
            changes.add(change)
    if not changes or len({(old[:1].lower(), new[:1].lower()) for old, new in changes}) != 1:
        return None
    found: list[tuple[ast.Name | ast.Attribute, str]] = []
    for (_, kept), (node, _) in pairs:
        if node is None or trees.last_name(node) != kept or not isinstance(node.ctx, ast.Load):
            continue
        for meant in dict.fromkeys(each for change in changes for each in _meant(source, node, second, *change)):
            text = f"{ast.unparse(node.value)}.{meant}" if isinstance(node, ast.Attribute) else meant
            if _is_idle(source, node, meant, second):
                found.append((node, text))
    return found[0] if len(found) == 1 else None


def _meant(source: Source, node: ast.Name | ast.Attribute, where: ast.stmt, old: str, new: str) -> list[str]:
    """The names that may be meant: with the differing part replaced or, for one letter, those that begin with it."""
    label = trees.last_name(node)
    if old not in label and not label.lower().startswith(old.lower()):
        return []
    parts = _parts(label)
    if parts.count(old) == 1:
        return ["".join(new if part == old else part for part in parts)]
    asked = source.parent(node)
    whole = isinstance(node, ast.Name) and isinstance(asked, ast.Attribute) and asked.attr in _HANDED_OUT
    if not whole or len(old) != 1 or not label.lower().startswith(old.lower()):
        return []
    likely = [name for name in _called(source) if name.lower().startswith(new.lower())]
    return sorted(name for name in likely if _stored_before(source, name, where))


def _leaves(
    first: ast.AST, second: ast.AST
) -> list[tuple[tuple[ast.expr | None, str], tuple[ast.Name | ast.Attribute | None, str]]] | None:
    """Pairs of the names at the same positions of two statements; `None` if their forms differ."""
    found: list[tuple[tuple[ast.expr | None, str], tuple[ast.Name | ast.Attribute | None, str]]] = []
    waiting: list[tuple[object, object]] = [(first, second)]
    while waiting:
        one, other = waiting.pop()
        if one.__class__ is not other.__class__:
            return None
        if one.__class__ in _WITHOUT_NAMES:
            continue
        if isinstance(one, ast.Name) and isinstance(other, ast.Name):
            found.append(((one, one.id), (other, other.id)))
        elif isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
            found.append(((one, one.attr), (other, other.attr)))
            waiting.append((one.value, other.value))
        elif isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
            if one.value == other.value:
                continue
            if not isinstance(one.value, str) or not isinstance(other.value, str):
                continue
            found.append(((None, one.value), (None, other.value)))
        elif isinstance(one, ast.AST) and isinstance(other, ast.AST):
            waiting += [(getattr(one, field), getattr(other, field)) for field in one._fields]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return None
            waiting += zip(one, other, strict=True)
        elif one != other:
            return None
    return found


def _parts(name: str) -> list[str]:
    return _PART.findall(name)


def _change(one: str, other: str) -> tuple[str, str] | None:
    """The one part in which two names differ."""
    first, second = _parts(one), _parts(other)
    if len(first) != len(second) or not first:
        return None
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return differing[0] if len(differing) == 1 else None


def _is_idle(source: Source, kept: ast.Name | ast.Attribute, meant: str, where: ast.stmt) -> bool:
    """Whether the meant name exists and is never used in the way the kept one is used here."""
    if isinstance(kept, ast.Attribute):
        owner = source.enclosing(kept, ast.ClassDef)
        if not isinstance(kept.value, ast.Name) or kept.value.id != "self" or owner is None:
            return False
        every = _attributes(source).get(meant, [])
        stored = bool(every) and all(isinstance(n.ctx, ast.Store) and _is_in(source, n, owner) for n in every)
        return stored and meant not in _strings(source) and meant in graph.attributes_of(owner)
    arguments = _arguments(source.enclosing(where, ast.FunctionDef))
    if meant in graph.imported(source) or not _stored_before(source, meant, where) and meant not in arguments:
        return False
    named = _names(source).get(meant, [])
    asked = source.parent(kept)
    if isinstance(asked, ast.Attribute) and asked.attr in _HANDED_OUT:
        uses = [n for n in named if isinstance(source.parent(n), ast.Attribute)]
        asked_for = [n for n in uses if getattr(source.parent(n), "attr", "") in _HANDED_OUT | {"load_state_dict"}]
        return all(source.enclosing(n, ast.GeneratorExp, ast.ListComp) is not None for n in asked_for)
    return not any(isinstance(n.ctx, ast.Load) for n in named)


def _stored_before(source: Source, name: str, where: ast.stmt) -> bool:
    """Whether the function around a statement, or else the program, gives the name a value in a line above it."""
    function = source.enclosing(where, ast.FunctionDef)
    above = [n for n in _names(source).get(name, ()) if isinstance(n.ctx, ast.Store) and n.lineno < where.lineno]
    return any(function is None or _is_in(source, n, function) for n in above)


def _is_in(source: Source, node: ast.AST, outer: ast.AST) -> bool:
    """Whether a node is a part of another."""
    above = source.parent(node)
    while above is not None and above is not outer:
        above = source.parent(above)
    return above is not None


@once  # files of ten thousand lines have hundreds of copies to be looked at
def _names(source: Source) -> Mapping[str, Sequence[ast.Name]]:
    found: dict[str, list[ast.Name]] = {}
    for node in source.nodes(ast.Name):
        found.setdefault(node.id, []).append(node)
    return found


@once
def _attributes(source: Source) -> Mapping[str, Sequence[ast.Attribute]]:
    found: dict[str, list[ast.Attribute]] = {}
    for node in source.nodes(ast.Attribute):
        found.setdefault(node.attr, []).append(node)
    return found


@once
def _strings(source: Source) -> frozenset[str]:
    return frozenset(node.value for node in source.nodes(ast.Constant) if isinstance(node.value, str))


@once
def _called(source: Source) -> frozenset[str]:
    return frozenset(call.func.id for call in source.all_calls if isinstance(call.func, ast.Name))


def _arguments(function: ast.FunctionDef | None) -> list[str]:
    return [each.arg for each in function.args.args] if function is not None else []
