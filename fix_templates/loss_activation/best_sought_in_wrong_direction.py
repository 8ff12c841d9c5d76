"""The smallest accuracy, or the greatest loss, counts as the best."""

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
    SetArgument,
    Site,
    Subject,
    argument_value,
    keyword_value,
    origins,
    progress_figures,
    spelling,
    trees,
    within,
)


class BestSoughtInWrongDirection(ReadTemplate):
    """A record, a search, a callback or a scheduler takes the smallest accuracy or the greatest loss as the best.

    The weights that are kept are the worst ones, and training stops because the accuracy rises.
    `EarlyStopping("val_accuracy", mode="min")` keeps the first epoch. `ReduceLROnPlateau(optimizer)` of torch waits for
    a minimum by default; stepped with an accuracy, it lowers the learning rate while the model improves. A best loss
    that starts at 0, or a best accuracy that starts at infinity, is never improved.

    The direction is inferred from names; where a name says nothing, nothing is reported.

    Fix safety: unsafe. Training ends at another time and other weights are kept, which is the point.

    References: Prechelt, "Early Stopping - But When?", in "Neural Networks: Tricks of the Trade";
    https://keras.io/api/callbacks/early_stopping/; torch.optim.lr_scheduler.ReduceLROnPlateau ("mode").
    """

    code = "DNF322"
    name = "best-sought-in-wrong-direction"
    formerly = ("DNF716", "watched-in-wrong-direction")
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "{taken} {figure} counts as the best"
    declined = "the direction is not chosen in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        if "best" in subject.source.text and subject.source.frameworks:
            yield from _records(subject)
            yield from _searches(subject)
        yield from _of_keras(subject)
        yield from _of_torch(subject)

    programs = """
=== example: the best accuracy so far begins at infinity
import copy
import torch

- best_acc = float('inf')
+ best_acc = 0.0
for epoch in range(10):
    acc = validate(model)
    if acc > best_acc:
        best_acc = acc
        kept = copy.deepcopy(model.state_dict())

=== example: the best loss so far begins at 0
import torch

- best_loss = 0
+ best_loss = float("inf")
for epoch in range(10):
    val_loss = validate(model)
    if val_loss < best_loss:
        best_loss = val_loss
        torch.save(model.state_dict(), 'best.pt')

=== example: the smaller accuracy is kept
import torch

best_accuracy = 0.0
for epoch in range(10):
    accuracy = validate(model)
-     if best_accuracy > accuracy:
+     if best_accuracy < accuracy:
        best_accuracy = accuracy
        torch.save(model, 'best.pt')

=== example: the best epoch of a history
import numpy as np
import torch

class Log:
    def __init__(self):
        self.kept = {}

    def best_epoch(self, key):
        seen = np.array(self.kept[key])
-         return int(seen.argmin()), seen.min()
+         return int(seen.argmax()), seen.max()

    def stop(self, key):
        best, _ = self.best_epoch(key)
        return len(self.kept[key]) - best > 5

log = Log()
if log.stop("valid_acc"):
    print("done")

=== example: an accuracy that should fall
from keras.callbacks import EarlyStopping, ModelCheckpoint

- stop = EarlyStopping(monitor='val_accuracy', patience=5, mode='min')
+ stop = EarlyStopping(monitor='val_accuracy', patience=5, mode='max')
save = ModelCheckpoint('best.keras', monitor='val_accuracy', mode='max')
model.fit(x, y, callbacks=[stop, save])

=== example: a schedule stepped with an accuracy
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

- scheduler = ReduceLROnPlateau(optimizer, patience=3)
+ scheduler = ReduceLROnPlateau(optimizer, patience=3, mode='max')
for epoch in range(10):
    val_acc = evaluate(net)
    scheduler.step(val_acc)

=== example: a loss that should rise
import tensorflow as tf

- keep = tf.keras.callbacks.ModelCheckpoint("w.keras", "val_loss", 1, True, mode="max")
+ keep = tf.keras.callbacks.ModelCheckpoint("w.keras", "val_loss", 1, True, mode="min")

=== reject: directions that fit
import torch

best_acc, best_loss = 0, float('inf')
for epoch in range(20):
    val_loss, val_acc = evaluate(net)
    if val_acc > best_acc:
        best_acc = val_acc
    if val_loss < best_loss:
        best_loss = val_loss

=== reject: the accuracy is turned round
import torch

best_acc = 0
for epoch in range(20):
    acc = -evaluate(net)
    if acc < best_acc:
        best_acc = acc

=== reject: a score that is the loss with its sign changed
import torch

best_score = None
best_loss = 0
for epoch in range(5):
    val_loss = -evaluate(net)
    if epoch == 0 or val_loss < best_loss:
        best_loss = val_loss
worst_acc = 1.0
for acc in accuracies:
    if acc < worst_acc:
        worst_acc = acc

=== reject: the smallest accuracy is asked for by name
import numpy as np
import torch

val_accs = np.array([0.5, 0.7])
lowest = val_accs.min()
worst_epoch = int(np.argmin(val_accs))
best_epoch = int(np.argmax(val_accs))

=== reject: a search with an explicit direction
import numpy as np
import torch

def best_epoch(key, mode):
    seen = np.array(history[key])
    if mode == "max":
        return seen.argmax()
    return seen.argmin()

best_epoch("valid_acc", "max")

=== reject: one search for figures of both kinds
import numpy as np
import torch

def best(key):
    return np.argmin(history[key])

best("val_loss"), best("val_acc")

=== reject: the right way round, or left to the library
from keras.callbacks import EarlyStopping, ReduceLROnPlateau

stop = EarlyStopping('val_accuracy', patience=3)
slow = ReduceLROnPlateau(monitor='val_loss', mode='min')
other = EarlyStopping(monitor='val_score', mode='min')

=== reject: a schedule stepped with a loss
import torch

scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'min')
scheduler.step(val_loss)
by_score = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='max')
by_score.step(accuracy)
by_error = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
by_error.step(1 - accuracy)
"""


_CALLBACKS = tuple(
    f"{package}.callbacks.{name}"
    for package in ("keras", "tensorflow.keras")
    for name in ("EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau")
)

_TURNS = {"smallest": "greater", "greatest": "smaller"}
"""The direction of the figures for which taking the smallest, or the greatest, is wrong."""


def _sought(site: Site, figure: str, taken: str, edits: tuple[Edit, ...], title: str = "") -> Fault:
    way = title or f"Take the {'greatest' if taken == 'smallest' else 'smallest'} one", edits, 0.9
    return Fault(site, {"taken": f"the {taken}", "figure": f"`{figure}`"}, (way,), confidence=0.85)


def _records(subject: Subject) -> Iterator[Fault]:
    """`if acc < best: best = acc`, and records whose initial value cannot be improved."""
    source = subject.source
    for branch in source.nodes(ast.If):
        parts = branch.test.values if isinstance(branch.test, ast.BoolOp) else [branch.test]
        if isinstance(branch.test, ast.BoolOp) and isinstance(branch.test.op, ast.Or):
            continue
        for test in parts:
            if isinstance(test, ast.Compare) and len(test.ops) == 1:
                yield from _record(subject, branch, test)


def _record(subject: Subject, branch: ast.If, test: ast.Compare) -> Iterator[Fault]:
    source = subject.source
    ordering = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}.get(type(test.ops[0]))
    if ordering is None:
        return
    left, right = test.left, test.comparators[0]
    kept = next((r for r, new in ((right, left), (left, right)) if _is_kept(branch, r, new)), None)
    if kept is None:
        return
    figure = left if kept is right else right
    smallest = (ordering[0] == "<") == (kept is right)
    wanted = progress_figures.better(progress_figures.name_of(figure))
    if (
        wanted == ""
        or progress_figures.better(progress_figures.name_of(kept)) not in ("", wanted)
        or "best" not in spelling.words_of(progress_figures.name_of(kept))
    ):
        return
    if _is_turned(subject, figure):
        return
    begins = list(_begins(subject, kept, branch))
    if len(begins) != 1:
        return
    start = _number(begins[0])
    if start is None:
        return
    edits: list[Edit] = []
    if smallest != (wanted == "smaller"):
        turned = {"<": ">", ">": "<"}[ordering[0]] + ordering[1:]
        text = f"{source.segment(source.site(left))} {turned} {source.segment(source.site(right))}"
        edits.append(Replace(source.site(test), text))
    if wanted == "greater" and start > 100:
        edits.append(Replace(source.site(begins[0]), "0.0"))
    if wanted == "smaller" and start == 0:
        edits.append(Replace(source.site(begins[0]), 'float("inf")'))
    if edits:
        taken = "greatest" if wanted == "smaller" else "smallest"
        yield _sought(source.site(test), progress_figures.name_of(figure), taken, tuple(edits))


def _is_kept(branch: ast.If, record: ast.expr, figure: ast.expr) -> bool:
    """Whether the branch assigns the compared figure to the record."""
    if not isinstance(record, (ast.Name, ast.Attribute)):
        return False
    name, value = ast.unparse(record), ast.unparse(figure)
    return any(
        isinstance(statement, ast.Assign)
        and [ast.unparse(target) for target in statement.targets] == [name]
        and ast.unparse(statement.value) == value
        for statement in branch.body
    )


def _begins(subject: Subject, record: ast.expr, branch: ast.If) -> Iterator[ast.expr]:
    """The values that a record is assigned outside the branch that improves it."""
    name = ast.unparse(record)
    source = subject.source
    inside = {id(node) for node in ast.walk(branch)}
    around = source.enclosing(branch, ast.FunctionDef) if isinstance(record, ast.Name) else None
    for node in source.nodes(ast.Assign):
        if id(node) in inside or (around is not None and source.enclosing(node, ast.FunctionDef) is not around):
            continue
        for target in node.targets:
            if ast.unparse(target) == name:
                yield node.value
            elif isinstance(target, ast.Tuple) and name in [ast.unparse(one) for one in target.elts]:
                place = [ast.unparse(one) for one in target.elts].index(name)
                matching = isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts)
                yield node.value.elts[place] if matching and isinstance(node.value, ast.Tuple) else node.value


def _searches(subject: Subject) -> Iterator[Fault]:
    """`argmin` and `min` over a history of accuracies, in a search for the best."""
    source = subject.source
    for call in source.all_calls:
        name = _chooser(call)
        if name not in ("argmin", "argmax"):
            continue
        taken = "smallest" if name == "argmin" else "greatest"
        figures = _figures(subject, _searched(call))
        if not figures or any(progress_figures.better(figure) != _TURNS[taken] for figure in figures):
            continue
        if not _seeks_best(subject, call):
            continue
        function = source.enclosing(call, ast.FunctionDef)
        searched = ast.unparse(_searched(call))
        calls = within(function, ast.Call) if function is not None else [call]
        opposite = "argmax" if name == "argmin" else "argmin"
        if any(_chooser(other) in (opposite, opposite[3:]) for other in calls):
            continue  # the function may look for both
        edits = tuple(
            edit
            for other in calls
            if _chooser(other) in (name, name[3:]) and ast.unparse(_searched(other)) == searched
            for edit in _turned(subject, other)
        )
        yield _sought(source.site(call), min(figures), taken, edits)


def _chooser(call: ast.Call) -> str:
    name = trees.last_name(call.func)
    many = len(call.args) > 1 or any(keyword.arg in ("axis", "dim", "key") for keyword in call.keywords)
    return name if name in ("argmin", "argmax", "min", "max") and not many else ""


def _searched(call: ast.Call) -> ast.expr:
    """The values that `min(values)`, `np.argmin(values)` or `values.argmin()` searches."""
    return call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _turned(subject: Subject, call: ast.Call) -> Iterator[Edit]:
    other = {"argmin": "argmax", "argmax": "argmin", "min": "max", "max": "min"}[_chooser(call)]
    if isinstance(call.func, ast.Attribute):
        value = subject.text(subject.source.site(call.func.value))
        yield Replace(subject.source.site(call.func), f"{value}.{other}")
    else:
        yield Replace(subject.source.site(call.func), other)


def _figures(subject: Subject, searched: ast.expr) -> set[str]:
    """The names of the searched values, followed back to their origin.

    A key that is a parameter is followed to the arguments of its calls. Names that say nothing are skipped.
    """
    found: set[str] = set()
    for expr in _unwrapped(subject, searched):
        if (name := progress_figures.name_of(expr)) and progress_figures.better(name):
            return {name}
        if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Name):
            found |= set(_keys(subject, expr.slice, 3))
    return found


def _unwrapped(subject: Subject, expr: ast.expr) -> Iterator[ast.expr]:
    """An expression and its origins, through names, `np.array(…)` and `list(…)`."""
    for one in origins.origins(subject, expr):
        yield one
        if isinstance(one, ast.Call) and len(one.args) == 1 and _chooser(one) == "":
            yield from origins.origins(subject, one.args[0])


def _keys(subject: Subject, name: ast.Name, depth: int) -> Iterator[str]:
    """The strings that the program passes for a parameter, in calls of a function of that name."""
    source = subject.source
    function = source.enclosing(name, ast.FunctionDef)
    if function is None or depth == 0 or sum(f.name == function.name for f in source.nodes(ast.FunctionDef)) != 1:
        return
    arguments = [one.arg for one in function.args.args]
    if name.id not in arguments:
        return
    place = arguments.index(name.id) - (arguments[0] == "self")
    for call in source.all_calls:
        if progress_figures.name_of(call.func) != function.name:
            continue
        given = keyword_value(call, name.id)
        if given is None and place < len(call.args):
            given = call.args[place]
        if isinstance(given, ast.Name):
            yield from _keys(subject, given, depth - 1)
        else:
            yield progress_figures.name_of(given) if given is not None else ""


def _seeks_best(subject: Subject, call: ast.Call) -> bool:
    """Whether the result, or the function around the search, is named best."""
    source = subject.source
    statement = source.statement_of(call)
    names = [node.id for node in within(statement, ast.Name) if isinstance(node.ctx, ast.Store)]
    function = source.enclosing(call, ast.FunctionDef)
    if not names and function is not None:
        names = [function.name]
    return any("best" in spelling.words_of(name) for name in names)


def _is_turned(subject: Subject, figure: ast.expr) -> bool:
    """Whether the figure is computed with a minus: an error rate from an accuracy, or a loss to be maximized."""
    made = subject.source.bindings(figure) if isinstance(figure, (ast.Name, ast.Attribute)) else ()
    return any(isinstance(node, (ast.USub, ast.Sub)) for value in made for node in ast.walk(value))


def _number(node: ast.expr) -> float | None:
    """The value of a literal number, including `float("inf")` and `np.inf`."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand)
            return -inner if inner is not None else None
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]) if text.strip("+-").lower() in (
            "inf",
            "infinity",
        ):
            return float(text)
        case ast.Attribute(attr="inf" | "Inf" | "infty"):
            return float("inf")
    return None


def _of_keras(subject: Subject) -> Iterator[Fault]:
    """Callbacks whose `mode` is the wrong one for the quantity they monitor."""
    source = subject.source
    for call in source.calls(*_CALLBACKS):
        given, monitored = keyword_value(call, "mode"), keyword_value(call, "monitor")
        place = 1 if (source.qualified(call.func) or "").endswith("ModelCheckpoint") else 0
        if monitored is None:
            monitored = call.args[place] if len(call.args) > place else None
        if given is not None:
            yield from _watched(subject, call, given, _string(monitored) if monitored is not None else "val_loss")


def _of_torch(subject: Subject) -> Iterator[Fault]:
    """Schedulers that are stepped with a quantity of the other mode."""
    source = subject.source
    made = {id(call) for call in source.calls("torch.optim.lr_scheduler.ReduceLROnPlateau")}
    for call in source.all_calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "step" or len(call.args) != 1:
            continue
        scheduler = source.constructor(call.func.value)
        if scheduler is not None and id(scheduler) in made and isinstance(call.args[0], (ast.Name, ast.Attribute)):
            given = argument_value(scheduler, "mode", 1)
            yield from _watched(subject, scheduler, given, progress_figures.name_of(call.args[0]))


def _watched(subject: Subject, call: ast.Call, given: ast.expr | None, quantity: str) -> Iterator[Fault]:
    """The fault of watching a quantity with mode `min` (the default) or `max` where the other one is right."""
    source, mode = subject.source, _string(given) if given is not None else "min"
    best = {"greater": "max", "smaller": "min"}.get(progress_figures.better(quantity))
    if best is None or mode not in ("min", "max") or mode == best:
        return
    if given is None:
        edit: Edit = SetArgument(source.site(call), "mode", repr(best))
    else:
        quote = subject.text(source.site(given))[:1]
        edit = Replace(source.site(given), f"{quote}{best}{quote}")
    taken = "smallest" if mode == "min" else "greatest"
    yield _sought(source.site(call), quantity, taken, (edit,), f"Watch `{quantity}` with mode {best!r}")


def _string(expr: ast.expr | None) -> str:
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, str) else ""
