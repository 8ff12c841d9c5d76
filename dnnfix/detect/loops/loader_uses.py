"""What the data loaders of a text are for: training, evaluation or both, by their names, their data, and the loops over them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.detect.loops import structure
from dnnfix.detect.loops.loaders import LOADER
from dnnfix.detect.loops.structure import Kind
from dnnfix.detect.loops.training_loop import function_around
from dnnfix.records.record import record
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import last_name, within

OF_TRAINING = re.compile(r"(^|[^a-z])(re)?train(?!er|able)|^(tr|trn)(_|$)|_(tr|trn)$", re.IGNORECASE)
OF_TRAINING_STEP = re.compile(
    r"^_?(fit|training|train(?!_?(test|val|load|data|set|dl|split))(_\w+)?|run_training)$", re.IGNORECASE
)
OF_EVALUATION = re.compile(
    r"(^|[^a-z])(x?test|val(?!ue)|valid|validation|eval|dev(?!ice)|infer|pred|submission|holdout)|^va$", re.IGNORECASE
)
OF_NO_USE = re.compile(
    r"^(\w+\.)?(my|the|_)?_?(torch_?)?(data)?_?(loaders?|iter|iterator|dls?|gen|generator|batches)(_?[a-c\d])?$|^(get|make|build|create)(_|$)|^load_?data|^load$",
    re.IGNORECASE,
)
"""Names of loaders that say nothing of what they are for."""
OF_LOADER = re.compile(
    r"loader|(^|[._])(dl|batches)$|_dl$|_iter$|generator$|(train|val|test)_?(gen|ds|data|set)$", re.IGNORECASE
)
OF_GPU = re.compile(r"cuda|gpu|accel|mps|device", re.IGNORECASE)
LEARNS = words("backward fit optim optimizer optimizers Trainer training_step")
_PLACES = {"batch_size": 1, "shuffle": 2, "sampler": 3, "batch_sampler": 4, "num_workers": 5, "drop_last": 8}
"""The positions of the arguments of a loader, from 0."""


@record
class Use:
    """A loader: the call that makes it, the text of what holds it, and whether it is trained on or evaluated with.

    `loops` are the loops of the text over it.
    """

    call: ast.Call
    name: str
    data: ast.expr
    trains: bool | None
    evaluates: bool | None
    loops: tuple[ast.For, ...]
    options: tuple[tuple[str, ast.expr], ...]
    is_open: bool
    """Whether options come from elsewhere."""

    @property
    def adds(self) -> bool:
        """Whether options come in a dictionary."""
        return any(keyword.arg is None for keyword in self.call.keywords)

    def option(self, name: str) -> ast.expr | None:
        """The value of an option, or `None`; one that says `None` says nothing."""
        found = argument_value(self.call, name, _PLACES.get(name)) or dict(self.options).get(name)
        return None if isinstance(found, ast.Constant) and found.value is None else found

    def says(self, name: str, value: bool) -> bool:
        """Whether an option is this constant, `1` and `0` included."""
        found = self.option(name)
        return isinstance(found, ast.Constant) and isinstance(found.value, int) and bool(found.value) is value


@once
def uses(source: Source) -> tuple[Use, ...]:
    """The loaders of a text, in its order."""
    return tuple(
        _use(source, call) for call in source.all_calls if is_loader(source, call) and call.args + call.keywords
    )


def is_loader(source: Source, call: ast.Call) -> bool:
    """Whether a call makes a `DataLoader` of torch, as far as is seen."""
    name = source.qualified(call.func)
    if name == LOADER:
        return True
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return (
        last == "DataLoader"
        and (name is None or name.endswith(("data.DataLoader", "loader.DataLoader")))
        and source.definition(call.func) is None
    )


def _use(source: Source, call: ast.Call) -> Use:
    name = _name(source, call)
    options, is_open = _options(source, call)
    loops = tuple(_loops(source, call, name))
    data = argument_value(call, "dataset", 0) or call.func
    trains, evaluates = role(name)
    if trains is None and evaluates is None:
        trains, evaluates = _by_loops(source, loops)
    if trains is None and evaluates is None:
        trains, evaluates = _by_receivers(source, call, name)
    if trains is None and evaluates is None and (not name or OF_NO_USE.search(name)):
        trains, evaluates = role(_around(source, call, name))
        if trains is None and evaluates is None:
            trains, evaluates = _by_callers(source, call, name)
        if trains is None and evaluates is None:
            trains, evaluates = role(_of_data(source, call, ast.unparse(data)))
            if trains and (
                not all(is_cut(source, loop) for loop in loops) or (evaluates and not within(data, ast.IfExp))
            ):
                trains = evaluates = None  # such as the training data, with the transforms of a test
    return Use(call, name, data, trains, evaluates, loops, options, is_open)


def role(text: str) -> tuple[bool | None, bool | None]:
    """Whether a text speaks of training and of evaluation."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text)
    trains, evaluates = bool(OF_TRAINING.search(parted)), bool(OF_EVALUATION.search(parted))
    return (trains, evaluates) if trains or evaluates else (None, None)


def _name(source: Source, call: ast.Call) -> str:
    """The text of what holds a loader: a name, a key of a dictionary, or the function that gives it back."""
    child: ast.AST = call
    above = source.parent(call)
    while above is not None:
        if isinstance(above, ast.Assign):
            return _target(above, call)
        if isinstance(above, ast.AnnAssign):
            return ast.unparse(above.target)
        if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.attr == "append":
            return ast.unparse(above.func.value)
        if isinstance(above, ast.Dict):
            place = next((i for i, value in enumerate(above.values) if value is child), None)
            key = above.keys[place] if place is not None else None
            return ast.unparse(key) if key is not None else ""
        if isinstance(above, ast.DictComp):
            return " ".join(ast.unparse(part.iter) for part in above.generators)
        if isinstance(above, ast.keyword):
            return above.arg or ""
        if isinstance(above, (ast.For, ast.AsyncFor)):
            return ""
        if isinstance(above, ast.Return):
            function = source.enclosing(above, ast.FunctionDef)
            return function.name if function is not None and not isinstance(child, ast.Tuple) else ""
        if isinstance(above, ast.stmt):
            return ""
        child, above = above, source.parent(above)
    return ""


def _target(node: ast.Assign, call: ast.Call) -> str:
    """The text of what an assignment gives a loader to, also where it gives several values at once."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, each in zip(target.elts, value.elts, strict=True):
            if call in within(each, ast.Call):
                return ast.unparse(one)
    return ast.unparse(target)


def is_cut(source: Source, loop: ast.For) -> bool:
    """Whether a loop may go on after the end of the text: it is the last of a fragment."""
    ends = not source.text.split("\n", loop.end_lineno or loop.lineno)[-1].strip()
    return ends and not source.nodes(ast.Import) and not source.nodes(ast.ImportFrom)


def _by_receivers(source: Source, call: ast.Call, name: str) -> tuple[bool | None, bool | None]:
    """Whether a loader is given to functions that train or evaluate, by their loops, or by their names where they are not seen."""
    trains = evaluates = False
    for each, place in receivers(source, call, name):
        if structure.callee(source, each) is not None:
            trains_here, evaluates_here = _by_loops(source, _loops_of(source, each, place))
            trains, evaluates = trains or bool(trains_here), evaluates or bool(evaluates_here)
        elif OF_TRAINING_STEP.search(last_name(each.func)):
            held_out = role(place) if isinstance(place, str) else (None, None)
            trains = trains or (
                not held_out[1] and not (isinstance(place, int) and place > _first_loader(source, each))
            )
    return (trains, evaluates) if trains or evaluates else (None, None)


def _by_callers(source: Source, call: ast.Call, name: str) -> tuple[bool | None, bool | None]:
    """Whether the loaders that a function makes are trained on or evaluated with, by the names that its callers give them."""
    function = source.enclosing(call, ast.FunctionDef)
    backs = within(function, ast.Return) if function is not None else ()
    if function is None or not any(
        back.value is call or (isinstance(back.value, ast.Name) and back.value.id == name) for back in backs
    ):
        return None, None
    holders = [source.parent(each) for each in structure.callers(source, function)]
    roles = [role(ast.unparse(node.targets[0])) for node in holders if isinstance(node, ast.Assign)]
    trains, evaluates = any(one[0] for one in roles), any(one[1] for one in roles)
    return (trains, evaluates) if trains or evaluates else (None, None)


def loops_elsewhere(source: Source, use: Use) -> Iterator[tuple[ast.Call, ast.For]]:
    """The loops over a loader in functions of the text that are given it, each with the call of the function."""
    for each, place in receivers(source, use.call, use.name):
        for loop in _loops_of(source, each, place):
            yield each, loop


def _loops_of(source: Source, call: ast.Call, place: int | str) -> tuple[ast.For, ...]:
    """The loops of a function of this text over what a call gives it at a place."""
    body = structure.callee(source, call)
    if body is None:
        return ()
    own = [one.arg for one in (*body.args.posonlyargs, *body.args.args) if one.arg not in ("self", "cls")]
    taken = place if isinstance(place, str) else own[place] if place < len(own) else ""
    loops = (loop for loop in within(body, ast.For) if any(one.id == taken for one in within(loop.iter, ast.Name)))
    return tuple(loops)


def receivers(source: Source, call: ast.Call, name: str) -> Iterator[tuple[ast.Call, int | str]]:
    """The calls that are given a loader, in the function where it is made or anywhere for an attribute, each with the place or keyword."""
    around = function_around(source, call)
    for each in source.all_calls:
        given: list[tuple[int | str, ast.expr]] = [*enumerate(each.args)]
        given += [(keyword.arg or "", keyword.value) for keyword in each.keywords]
        for place, value in given:
            is_it = value is call or (
                bool(name) and isinstance(value, (ast.Name, ast.Attribute)) and ast.unparse(value) == name
            )
            if is_it and (isinstance(value, ast.Attribute) or function_around(source, each) is around):
                yield each, place


def _first_loader(source: Source, call: ast.Call) -> int:
    """The place of the first loader that a call is given: that of the training data in `fit(net, loader, held_out)`."""
    for place, value in enumerate(call.args):
        made = source.constructor(value)
        if OF_LOADER.search(ast.unparse(value)) if made is None else is_loader(source, made):
            return place
    return len(call.args)


def _around(source: Source, call: ast.Call, name: str) -> str:
    """What is said of a loader around the place where it is made: the branch it is in, and the function that gives it back."""
    child: ast.AST = call
    above = source.parent(call)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(above, ast.If) and child in above.body:
            asked = ast.unparse(above.test)
            if not re.search(r"\bnot\b|!=|\bor\b|None", asked) and any(role(asked)):
                return asked
        child, above = above, source.parent(above)
    gives = isinstance(above, ast.FunctionDef) and any(
        isinstance(back.value, (ast.Name, ast.Attribute)) and ast.unparse(back.value) == name
        for back in within(above, ast.Return)
    )
    return above.name if isinstance(above, ast.FunctionDef) and gives else ""


def _of_data(source: Source, call: ast.Call, data: str) -> str:
    """What the text says of the data of a loader."""
    given = argument_value(call, "dataset", 0)
    made = source.constructor(given) if given is not None else None
    if made is None:
        values = source.bindings(given) if given is not None else ()
        return " ".join([data, *(ast.unparse(value) for value in values if isinstance(value, ast.IfExp))])
    for keyword in made.keywords:
        if keyword.arg == "train" and isinstance(keyword.value, ast.Constant):
            return "train" if keyword.value.value else "test"
        if keyword.arg in ("split", "mode", "subset", "phase"):
            return ast.unparse(keyword.value)
    is_table = ast.unparse(made.func).rpartition(".")[2] == "TensorDataset"
    return ast.unparse(made) if is_table else data


def _options(source: Source, call: ast.Call) -> tuple[tuple[tuple[str, ast.expr], ...], bool]:
    """The options that come in a dictionary of the text; whether some come from elsewhere."""
    found: list[tuple[str, ast.expr]] = []
    is_open = any(isinstance(each, ast.Starred) for each in call.args)
    for keyword in call.keywords:
        if keyword.arg is not None:
            continue
        values = source.bindings(keyword.value) or (keyword.value,)
        for value in values:
            pairs = _pairs(value)
            is_open = is_open or pairs is None or len(values) > 1
            found += pairs or []
        added = _added(source, call, ast.unparse(keyword.value))
        is_open = is_open or added is None
        found += added or []
    return tuple(found), is_open


def _added(source: Source, call: ast.Call, name: str) -> list[tuple[str, ast.expr]] | None:
    """The keys that a dictionary gets later on; `None` where they are not seen, or a condition decides which.

    What is added where there is a GPU counts for nothing: without one, these keys are not there.
    """
    found: list[tuple[str, ast.expr]] = []
    changes: list[tuple[ast.expr, list[tuple[str, ast.expr]] | None]] = [
        (node, [(str(node.slice.value), above.value)])
        if isinstance(above := source.parent(node), ast.Assign) and isinstance(node.slice, ast.Constant)
        else (node, None)
        for node in source.nodes(ast.Subscript)
        if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == name
    ]
    for node in source.nodes(ast.Attribute):
        if node.attr in ("update", "setdefault") and ast.unparse(node.value) == name:
            changes.append((node, _updated(source, source.parent(node))))
    for place, pairs in changes:
        asked = source.enclosing(place, ast.If)
        if asked is None or call in within(asked, ast.Call):
            if pairs is None:
                return None
            found += pairs
        elif (
            pairs is None
            or asked.orelse
            or not OF_GPU.search(ast.unparse(asked.test))
            or not {"sampler", "batch_sampler"}.isdisjoint(dict(pairs))
        ):
            return None
    return found


def _updated(source: Source, call: ast.AST | None) -> list[tuple[str, ast.expr]] | None:
    """The keys and values that a call of `update` adds; `None` where they are not seen."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "update":
        return None
    if not call.args:
        return _pairs(ast.Call(ast.Name("dict", ast.Load()), [], call.keywords))
    values = source.bindings(call.args[0]) or (call.args[0],)
    return _pairs(values[0]) if len(values) == 1 and not call.keywords else None


def _pairs(value: ast.expr) -> list[tuple[str, ast.expr]] | None:
    """The keys and values of a dictionary; `None` where they are not seen."""
    if isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys):
        return [
            (str(key.value), one)
            for key, one in zip(value.keys, value.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
    if isinstance(value, ast.IfExp):
        sides = [_pairs(value.body), _pairs(value.orelse)]
        return None if None in sides else [pair for side in sides for pair in side or []]
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "dict" and not value.args:
        return [(keyword.arg, keyword.value) for keyword in value.keywords if keyword.arg is not None]
    return None


def _loops(source: Source, call: ast.Call, name: str) -> Iterator[ast.For]:
    """The loops over a loader, or over what is made of it, such as a progress bar."""
    names = {name} if name else set()
    for node in source.nodes(ast.Assign):
        wraps = isinstance(node.targets[0], ast.Name) and node.value is not call
        inside = {ast.unparse(arg) for one in within(node.value, ast.Call) for arg in one.args}
        if name and wraps and name in inside and len(node.targets) == 1 and _wraps(node.value):
            names.add(ast.unparse(node.targets[0]))
    around = function_around(source, call)
    for loop in source.nodes(ast.For):
        if around is not None and name.isidentifier() and function_around(source, loop) is not around:
            continue  # another function's name
        parts = within(loop.iter, ast.Name, ast.Attribute, ast.Subscript, ast.Call)
        if any(each is call or ast.unparse(each) in names for each in parts):
            yield loop


def _wraps(value: ast.expr) -> bool:
    """Whether an expression goes over something as it is, by `tqdm`, `enumerate` and their like."""
    called = {ast.unparse(call.func).rpartition(".")[2] for call in within(value, ast.Call)}
    return bool(called & {"tqdm", "enumerate", "trange", "Bar", "progress_bar", "track", "islice", "cycle", "prepare"})


def _by_loops(source: Source, loops: tuple[ast.For, ...]) -> tuple[bool | None, bool | None]:
    """Whether loops train or evaluate."""
    trains = any(structure.has(source, loop, kind) for loop in loops for kind in (Kind.BACKWARD, Kind.UPDATE))
    evaluates = any(structure.evaluates(source, loop) or structure.without_gradients(source, loop) for loop in loops)
    if not trains and not evaluates:
        functions = [source.enclosing(loop, ast.FunctionDef) for loop in loops]
        trains = any(each is not None and OF_TRAINING_STEP.search(each.name) for each in functions)
    return (trains, evaluates and not trains) if trains or evaluates else (None, None)


def trained_by(source: Source, use: Use) -> bool:
    """Whether a loader is trained on, as far as is seen: nothing in sight only looks at its batches."""
    looked = [
        loop for loop in use.loops if structure.without_gradients(source, loop) or structure.evaluates(source, loop)
    ]
    return bool(use.trains) and not (use.loops and len(looked) == len(use.loops))
