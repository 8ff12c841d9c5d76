"""Structure of a program's classes, data flow and network: modules, tensors, later uses, producers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.loops.loaders import LOADER
from dnnfix.network.facts import component_kind, is_loss
from dnnfix.records import Call, Network, Site
from dnnfix.source.program import Source, once
from dnnfix.source.public_names import words
from dnnfix.source.tree import is_self, names_in, within
from dnnfix.subject import Subject

Function = ast.FunctionDef | ast.AsyncFunctionDef

_STATEMENTS = tuple(ast.stmt.__subclasses__())

TENSOR_MAKERS = words("""torch.tensor torch.as_tensor torch.from_numpy torch.zeros torch.ones torch.full torch.empty torch.eye
    torch.arange torch.linspace torch.rand torch.randn torch.randint torch.randperm torch.zeros_like torch.ones_like
    torch.full_like torch.empty_like torch.rand_like torch.randn_like torch.cat torch.concat torch.stack
    torch.FloatTensor torch.LongTensor torch.DoubleTensor torch.IntTensor torch.ByteTensor torch.Tensor
    torch.autograd.Variable torch.matmul torch.mm torch.bmm""")
"""Functions of torch whose result is a tensor whatever they are given."""


def torch_modules(source: Source) -> tuple[ast.ClassDef, ...]:
    """The classes of the program that are torch modules, directly or through another class of the program."""
    return _subclasses(source, frozenset({"torch.nn.Module"}))


def keras_modules(source: Source) -> tuple[ast.ClassDef, ...]:
    """The classes of the program that are Keras models or layers."""
    return _subclasses(source, frozenset({"keras.Model", "keras.models.Model", "keras.Layer", "keras.layers.Layer"}))


@once
def _subclasses(source: Source, roots: frozenset[str]) -> tuple[ast.ClassDef, ...]:
    known: dict[str, ast.ClassDef] = {}
    for node in source.nodes(ast.ClassDef):
        own = {base.id for base in node.bases if isinstance(base, ast.Name)}
        if own & known.keys() or {source.qualified(base) for base in node.bases} & roots:
            known[node.name] = node
    return tuple(known.values())


def is_module_made_by(source: Source, call: ast.Call) -> bool:
    """Whether the call constructs a layer, a loss or a model: of a library, or a class of the program."""
    name = source.qualified(call.func)
    if name is None:
        return isinstance(source.definition(call.func), ast.ClassDef)
    return component_kind(name) is not None


def holds_tensor(source: Source, expr: ast.expr) -> bool:
    """Whether the source alone shows that `expr` holds a torch tensor: made by a constructor, or a loader's batch."""
    if isinstance(expr, ast.Name):
        loop = source.enclosing(expr, ast.For)
        while loop is not None:
            if expr.id in names_in(loop.target):
                return _from_loader(source, loop.iter) and not _is_mapping(loop, expr.id)
            loop = source.enclosing(loop, ast.For)
    values = source.bindings(expr)
    made = [source.constructor(value) for value in values] if values else [source.constructor(expr)]
    return bool(made) and all(call is not None and source.qualified(call.func) in TENSOR_MAKERS for call in made)


def _is_mapping(loop: ast.For, name: str) -> bool:
    """Whether the body of a loop uses a name for a mapping, such as the batches of transformers, which move in place."""
    for node in ast.walk(loop):
        match node:
            case ast.keyword(arg=None, value=ast.Name(id=used)) if used == name:
                return True
            case ast.Subscript(value=ast.Name(id=used), slice=ast.Constant(value=str())) if used == name:
                return True
    return False


def _from_loader(source: Source, iterated: ast.expr) -> bool:
    if isinstance(iterated, ast.Call) and source.qualified(iterated.func) in ("builtins.enumerate", "tqdm.tqdm"):
        return bool(iterated.args) and _from_loader(source, iterated.args[0])
    made = source.constructor(iterated)
    return made is not None and source.qualified(made.func) == LOADER


def read_again(source: Source, statement: ast.stmt, expr: ast.expr) -> bool:
    """Whether what `expr` names is read after the statement before it surely gets another value; loops go round."""
    if next_use(source, statement, expr, rounds=True)[0]:
        return True
    return isinstance(expr, ast.Attribute | ast.Subscript)


def next_use(
    source: Source, statement: ast.stmt, expr: ast.expr, rounds: bool = False
) -> tuple[ast.stmt | None, ast.stmt | None]:
    """The statement that first reads what `expr` names after `statement`, and the one that gives it another value.

    At most one of them is not `None`. With `rounds`, a loop around the statement is followed back to its start as well.
    """
    where: ast.AST = source.enclosing(statement, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree
    blocks = _blocks(source, statement, where)
    after = [each for each in _statements(where) if each.lineno > (statement.end_lineno or 0)]
    found = _first_use(source, after, expr, blocks)
    loop = source.enclosing(statement, ast.For, ast.While) if rounds and found[0] is None else None
    while loop is not None and where in _blocks(source, loop, where):
        again = _first_use(source, list(_statements(loop)), expr, blocks)
        if again[0] is not None and again[0] is not statement:
            return again
        loop = source.enclosing(loop, ast.For, ast.While)
    return found


def _first_use(
    source: Source, statements: list[ast.stmt], expr: ast.expr, blocks: list[ast.AST]
) -> tuple[ast.stmt | None, ast.stmt | None]:
    for each in statements:
        mentioned = _mentions(each, expr)
        if mentioned:
            return each, None
        if mentioned is False and _surely_runs(source, each, blocks):
            return None, each
    return None, None


def _surely_runs(source: Source, statement: ast.stmt, blocks: list[ast.AST]) -> bool:
    """Whether a later statement is no matter of a condition, seen from the blocks that an earlier one stands in."""
    above = source.parent(statement)
    while isinstance(above, ast.For | ast.With) and above not in blocks:
        above = source.parent(above)
    if isinstance(above, ast.If | ast.Try) and above in blocks:
        return False
    return above in blocks


def _blocks(source: Source, statement: ast.stmt, where: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    above = source.parent(statement)
    while above is not None:
        found.append(above)
        if above is where:
            break
        above = source.parent(above)
    return found


def _statements(where: ast.AST) -> Iterator[ast.stmt]:
    """The statements under a node in source order; each stands for itself, without the bodies it has."""
    yield from (node for node in within(where, *_STATEMENTS) if node is not where)


def _mentions(node: ast.stmt, expr: ast.expr) -> bool | None:
    """Whether a statement reads the thing (`True`), only gives it another value (`False`), or neither (`None`)."""
    found: bool | None = None
    for part in _own_parts(node):
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and _same(part, expr):
            if isinstance(part.ctx, ast.Load) or isinstance(node, ast.AugAssign):
                return True
            found = False
    return found


def _own_parts(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement itself names, without the statements of its bodies."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from within(child, ast.Name, ast.Attribute, ast.Subscript)
        elif not isinstance(child, ast.stmt):
            yield from _own_parts(child)


def _same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions name the same place, whether they read it or give it a value."""
    if isinstance(one, ast.Name):
        return isinstance(other, ast.Name) and one.id == other.id
    if isinstance(one, ast.Attribute):
        return isinstance(other, ast.Attribute) and one.attr == other.attr and _same(one.value, other.value)
    if isinstance(one, ast.Subscript):
        return isinstance(other, ast.Subscript) and _same(one.value, other.value) and _same(one.slice, other.slice)
    return ast.dump(one) == ast.dump(other)


@once
def imported(source: Source) -> frozenset[str]:
    """The names that import statements bind anywhere in the program, relative ones too."""
    found: tuple[ast.Import | ast.ImportFrom, ...] = (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom))
    return frozenset((alias.asname or alias.name).partition(".")[0] for node in found for alias in node.names)


def is_display(source: Source, statement: ast.stmt) -> bool:
    """Whether a bare expression at the top of a program may be there to be displayed, as in a notebook's cell."""
    if source.enclosing(statement, ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While) is not None:
        return False
    if source.path.endswith(".ipynb") or "# In[" in source.text or "# %%" in source.text or "#%%" in source.text:
        return True
    return any(
        isinstance(other, ast.Expr) and isinstance(other.value, (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp))
        for other in source.tree.body
    )


def run_by(source: Source, owner: ast.ClassDef, entry: str) -> tuple[Function, ...]:
    """The methods of a class that its method `entry` runs, itself first, through calls of `self.…`; none without it."""
    methods = {node.name: node for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    found: dict[str, Function] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop(0)
        if name in found or name not in methods or name == "__init__":
            continue
        found[name] = methods[name]
        for node in within(methods[name], ast.Call):
            if isinstance(node.func, ast.Attribute) and is_self(node.func.value):
                waiting.append(node.func.attr)
    return tuple(found.values())


def method(owner: ast.ClassDef, name: str) -> Function | None:
    """The method of that name in the body of a class."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    return None


def last_of_setup(constructor: Function) -> ast.stmt | None:
    """The statement of an `__init__` after which all of `self` is there: the last that gives it an attribute, else the
    call of the base's `__init__`."""
    last: ast.stmt | None = None
    for statement in constructor.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                last = statement
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
                last = statement
    return last


def attributes_of(owner: ast.ClassDef) -> frozenset[str]:
    """Every attribute of `self` that a class names, and its methods."""
    named = {node.attr for node in within(owner, ast.Attribute) if is_self(node.value)}
    return frozenset(named | {node.name for node in owner.body if isinstance(node, ast.FunctionDef)})


def kept_in_self(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """The attributes that a class assigns on `self`, and their values, in source order."""
    for node in within(owner, ast.Assign):
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Attribute) and is_self(target.value):
            yield target.attr, node.value


def bound_in(function: Function) -> frozenset[str]:
    """The names that a function binds: its parameters and what it assigns, loops over or catches."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    stored = {node.id for node in within(function, ast.Name) if isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {each.arg for each in every if each is not None})


def upstream(network: Network, call: Call) -> dict[int, Call]:
    """The calls that the inputs of a call come from, itself included, by id."""
    known = {each.id: each for each in network.calls}
    found: dict[int, Call] = {call.id: call}
    waiting = [value.producer for value in call.inputs]
    while waiting:
        number = waiting.pop()
        if number is None or number in found or number not in known:
            continue
        found[number] = known[number]
        waiting.extend(value.producer for value in known[number].inputs)
    return found


def loss_ends(subject: Subject) -> list[Call]:
    """The calls of the training steps whose result a loss is, or that a loss is made of; the last of a step first."""
    network = subject.network
    at_backward = [event.site for event in subject.trace.loop if event.name == "backward"] if subject.trace else []
    crashed = subject.crash.call if subject.crash is not None else None
    if crashed is not None and crashed.name == "torch.Tensor.backward":
        return [crashed]
    places: list[Site] = []
    for site in dict.fromkeys(at_backward):
        node = subject.node(site)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            places += [subject.source.site(value) for value in subject.source.bindings(node.func.value)]
    ends = [call for call in network.calls if call.phase != "eval" and (is_loss(call) or _stands_at(call, places))]
    return sorted(ends, key=lambda call: (call.step, -call.id))


def _stands_at(call: Call, places: list[Site]) -> bool:
    return call.site is not None and any(place.encloses(call.site) for place in places)


def held_by(source: Source, made: Site) -> ast.expr | None:
    """The name or attribute that the object constructed at `made` is assigned to, directly, moved or cast."""
    node = source.node_at(made) if not made.path else None
    if node is None:
        return None
    statement = source.statement_of(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, given in zip(target.elts, value.elts, strict=True):
            if source.constructor(given) is node and isinstance(one, ast.Name | ast.Attribute):
                return one
        return None
    own = source.constructor(value) is node
    return target if own and isinstance(target, ast.Name | ast.Attribute) else None
