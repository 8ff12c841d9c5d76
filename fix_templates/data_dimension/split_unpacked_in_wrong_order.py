"""The parts of a split are unpacked into names in another order."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
)

LOADED = ("keras.datasets.", "tensorflow.keras.datasets.")

INPUTS = re.compile(r"^(x+|xs|inputs?|features?|data|images?|imgs?|texts?|samples?)$", re.IGNORECASE)
TARGETS = re.compile(r"^(y+|ys|labels?|targets?|outputs?|classes)$", re.IGNORECASE)
FIRST = re.compile(r"^(train|training|tr)$", re.IGNORECASE)
SECOND = re.compile(r"^(test|testing|te|val|valid|validation|eval|dev)$", re.IGNORECASE)

Role = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The targets of a split, the right order of them, and the function that returns the parts."""

    target: ast.expr
    right: str
    function: str


class SplitUnpackedInWrongOrder(FaultTemplate[Unpacked]):
    """`X_train, y_train, X_test, y_test = train_test_split(X, y)`: the second part is the rest of `X`, not labels.

    `train_test_split` returns both parts of its first array and then both parts of the second. `load_data` of Keras
    returns a pair for training and a pair for testing. Reported where the names show a different order.

    Fix safety: unsafe. Every name gets the part that it is named after.

    References: sklearn.model_selection.train_test_split; keras.datasets.
    """

    code = "DNF161"
    name = "split-unpacked-in-wrong-order"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    message = "{function} returns its parts in the order {right}, and they are unpacked in another order"
    triggers = ("train_test_split", "load_data")
    declined = "the names do not show what they are for"

    def faults(self, subject: Subject) -> Faults[Unpacked]:
        source = subject.source
        for statement in source.nodes(ast.Assign):
            if len(statement.targets) == 1 and isinstance(statement.value, ast.Call):
                found = _split(source, statement.targets[0], statement.value)
                found = found or _loaded(source, statement.targets[0], statement.value)
                if found is not None:
                    yield source.site(found.target), found

    def report(self, site: Site, fault: Unpacked) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, function=fault.function, right=fault.right)

    def repairs(self, subject: Subject, fault: Unpacked) -> Repairs:
        yield f"Unpack in the order {fault.right}", (Replace(subject.source.site(fault.target), fault.right),), 0.9

    programs = """
=== example: pairs where the function returns parts
from sklearn.model_selection import train_test_split

- X_train, y_train, X_test, y_test = train_test_split(X, y, test_size=0.2)
+ X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
model.fit(X_train, y_train)

=== example: a data set of Keras
from keras.datasets import mnist

- (x_train, x_test), (y_train, y_test) = mnist.load_data()
+ (x_train, y_train), (x_test, y_test) = mnist.load_data()

=== reject: the order of the function
from sklearn.model_selection import train_test_split
from keras.datasets import cifar10

X_train, X_test, y_train, y_test = train_test_split(X, y)
y_train, y_val, X_train, X_val = train_test_split(y_train, X_train)
(x_train, y_train), (x_test, y_test) = cifar10.load_data()

=== reject: names that do not say it
from sklearn.model_selection import train_test_split

a, b, c, d = train_test_split(X, y)
train, test = train_test_split(rows)
X_train, X_rest, y_train, y_rest = train_test_split(X, y)

=== reject: the smaller part trains
from sklearn.model_selection import train_test_split

X_test, X_train, y_test, y_train = train_test_split(X, y, test_size=0.1)
"""


def _split(source: Source, target: ast.expr, call: ast.Call) -> Unpacked | None:
    name = source.qualified(call.func) or ""
    if not name.endswith(".train_test_split") or not name.startswith("sklearn.") or len(call.args) != 2:
        return None
    if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 4:
        return None
    roles = {role: ast.unparse(each) for each in target.elts if (role := _role(each)) is not None}
    given = [_kind(each) for each in call.args]
    kinds = given if set(given) == {"x", "y"} else ["x", "y"]
    parts = [_role(each) for each in target.elts]
    swapped = [(kind, part) for kind in kinds for part in ("second", "first")]
    right = [(kind, part) for kind in kinds for part in ("first", "second")]
    if len(roles) != 4 or parts in (right, swapped) or any(role not in roles for role in right):
        return None
    if set(given) != {"x", "y"} and parts == [("y", "first"), ("y", "second"), ("x", "first"), ("x", "second")]:
        return None
    return Unpacked(target, ", ".join(roles[role] for role in right), "train_test_split")


def _loaded(source: Source, target: ast.expr, call: ast.Call) -> Unpacked | None:
    name = source.qualified(call.func) or ""
    if not name.startswith(LOADED) or not name.endswith(".load_data") or not isinstance(target, ast.Tuple):
        return None
    pairs = [each.elts for each in target.elts if isinstance(each, ast.Tuple) and len(each.elts) == 2]
    if len(pairs) != 2 or len(target.elts) != 2:
        return None
    flat = [each for pair in pairs for each in pair]
    roles = {role: ast.unparse(each) for each in flat if (role := _role(each)) is not None}
    right = [("x", "first"), ("y", "first"), ("x", "second"), ("y", "second")]
    found = [_role(each) for each in flat]
    if found != [("x", "first"), ("x", "second"), ("y", "first"), ("y", "second")]:
        return None
    names = [roles[role] for role in right]
    return Unpacked(target, f"({names[0]}, {names[1]}), ({names[2]}, {names[3]})", name.rpartition(".")[2])


def _role(expr: ast.expr) -> Role | None:
    """Whether a name means inputs or targets, and of which part; `None` if it does not show both."""
    kind = _kind(expr)
    words = _words(expr)
    first, second = any(FIRST.match(w) for w in words), any(SECOND.match(w) for w in words)
    return (kind, "first" if first else "second") if kind and first != second else None


def _kind(expr: ast.expr) -> str:
    words = _words(expr)
    inputs, targets = any(INPUTS.match(w) for w in words), any(TARGETS.match(w) for w in words)
    return "" if inputs == targets else "x" if inputs else "y"


def _words(expr: ast.expr) -> list[str]:
    """The words of a name, also of `xtrain` and `y_tr`."""
    name = expr.attr if isinstance(expr, ast.Attribute) else expr.id if isinstance(expr, ast.Name) else ""
    joined = re.match(r"^([xy])(train|test|val|valid)$", name, re.IGNORECASE)
    return list(joined.groups()) if joined else re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
