"""Parses a TensorFlow 1 program into placeholders, variables, tensors, training and runs of the session.

Only programs that are one straight line of statements at their top are read; for every other one the error says what
stands in the way. What is read here may be written as functions that TensorFlow 2 calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from dnnfix.records import Site
from dnnfix.source.program import Source
from dnnfix.source.tree import within

_PLACEHOLDER = "placeholder"
_INITIALIZERS = frozenset(
    {
        "global_variables_initializer",
        "initialize_all_variables",
        "local_variables_initializer",
        "initialize_local_variables",
    }
)
_SESSIONS = frozenset({"Session", "InteractiveSession"})
_VARIABLES = frozenset({"Variable", "get_variable"})
_DRAWS = ("random.", "random_", "truncated_normal", "nn.dropout", "multinomial")
_IN_THE_WAY = {
    "control_dependencies": "an operation has to wait for another",
    "variable_scope": "variables are shared by scope",
    "get_collection": "the graph's collections are read",
    "trainable_variables": "the graph's variables are read",
    "global_variables": "the graph's variables are read",
    "add_to_collection": "the graph's collections are used",
    "Graph": "the program creates its own graphs",
    "get_default_graph": "the program reads its graph",
    "Saver": "the variables are saved and restored with the session",
    "FileWriter": "summaries are written",
    "SummaryWriter": "summaries are written",
    "merge_all": "summaries are written",
    "merge_all_summaries": "summaries are written",
    "start_queue_runners": "data comes from queues",
    "Coordinator": "data comes from queues",
    "assign": "a variable is assigned to by an operation of the graph",
    "assign_add": "a variable is assigned to by an operation of the graph",
    "assign_sub": "a variable is assigned to by an operation of the graph",
    "compute_gradients": "gradients are changed before they are applied",
    "apply_gradients": "gradients are changed before they are applied",
    "gradients": "the program computes gradients itself",
    "while_loop": "a loop is part of the graph",
    "get_tensor_by_name": "tensors are looked up by name",
    "py_func": "Python is called by the graph",
}
"""By word, why a program is left as a graph."""


_REPEATABLE = frozenset(
    {"get_shape", "as_list", "format", "items", "keys", "values", "astype", "reshape", "with_suffix", "join", "index"}
)
"""Methods that give the same whenever they are called, so that functions may call them again."""


class InTheWay(Exception):
    """Why the program cannot be read as such functions, and where."""

    def __init__(self, reason: str, site: Site | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.site = site


@dataclass(frozen=True)
class Tensor:
    """A statement that makes a part of the graph: the names that it reads and those that it binds."""

    statement: ast.stmt
    reads: frozenset[str]
    binds: tuple[str, ...]


@dataclass(frozen=True)
class Training:
    """`train = Optimizer(…).minimize(loss)`."""

    name: str
    statement: ast.Assign
    optimizer: ast.expr
    loss: ast.expr
    variables: ast.expr | None
    counter: ast.expr | None


@dataclass(frozen=True)
class Run:
    """One run of the session: what is fetched, in its order, what is fed, and whether the fetches are a list."""

    call: ast.Call
    fetches: tuple[ast.expr, ...]
    feed: dict[str, ast.expr]
    listed: bool


@dataclass
class Statements:
    """The program as it was read."""

    source: Source
    straight: list[ast.stmt] = field(default_factory=list)
    """The statements of the program's top, those of the session's block among them."""
    blocks: list[ast.With] = field(default_factory=list)
    """The blocks of the session, which are opened up."""
    placeholders: dict[str, ast.Assign] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    tensors: list[Tensor] = field(default_factory=list)
    tainted: set[str] = field(default_factory=set)
    """The names of tensors."""
    trainings: dict[str, Training] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    dropped: list[ast.stmt] = field(default_factory=list)
    """Statements of the session alone."""
    optimizers: dict[str, ast.Call] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)
    inits: set[str] = field(default_factory=set)

    def at(self, node: ast.AST) -> Site:
        """The site of a node."""
        return self.source.site(node)


def read_statements(source: Source) -> Statements:
    """The program's statements. Raises `InTheWay`."""
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.found = Statements(source)
        self.opened = 0
        self.functions = {n.name: n for n in source.tree.body if isinstance(n, ast.FunctionDef)}

    def read(self) -> Statements:
        found = self.found
        for word, reason in _IN_THE_WAY.items():
            if word in self.source.words and self._names(word):
                raise InTheWay(reason, self._names(word)[0])
        self._open(self.source.tree.body)
        for statement in found.straight:
            self._session(statement)
        if not found.sessions:
            raise InTheWay("no session is opened at the top of the program")
        if self.opened > 1:
            raise InTheWay("more than one session is opened, each with variables of its own")
        for statement in found.straight:
            if statement not in found.dropped:
                self._statement(statement)
        if not found.placeholders or not found.runs:
            raise InTheWay("no placeholder is fed by a run at the top of the program")
        self._in_order()
        return found

    def _in_order(self) -> None:
        """The variables begin once, before all runs; and definitions take nothing of the graph from outside."""
        found = self.found
        first = min(self.source.site(run.call).line for run in found.runs)
        for statement in found.dropped:
            if statement.lineno > first and not self._closes(statement):
                raise InTheWay("variables are initialized again between runs", self.source.site(statement))
        graph = found.sessions | found.trainings.keys() | found.placeholders.keys() | found.inits
        graph |= {name for tensor in found.tensors for name in tensor.binds}
        for statement in found.straight:
            if (
                isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                and _free(statement) & graph
            ):
                raise InTheWay("a function takes a tensor or the session from outside", self.source.site(statement))
        shared = [t.optimizer.id for t in found.trainings.values() if isinstance(t.optimizer, ast.Name)]
        if len(shared) > len(set(shared)):
            raise InTheWay("one optimizer trains two losses")

    def _closes(self, statement: ast.stmt) -> bool:
        value = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "close"

    def _names(self, word: str) -> list[Site]:
        """Where a word is an attribute, or a name that was imported."""
        uses = [n for n in self.source.nodes(ast.Attribute) if n.attr == word]
        tensorflow = [n for n in uses if (self.name(n) or "").startswith("tensorflow")]
        methods = [n for n in uses if self.name(n) is None and word not in ("Graph", "assign", "Saver")]
        return [self.source.site(n) for n in (*tensorflow, *methods)]

    def name(self, node: ast.expr) -> str | None:
        """The name of TensorFlow that an expression has, as version 1 wrote it."""
        written = self.source.written(node)
        return written.replace("tensorflow.compat.v1.", "tensorflow.") if written else None

    def calls(self, node: ast.AST | None, names: frozenset[str]) -> bool:
        """Whether an expression is a call of one of these functions of TensorFlow."""
        if not isinstance(node, ast.Call):
            return False
        package, _, leaf = (self.name(node.func) or "").partition(".")
        return package == "tensorflow" and leaf in names

    # --- the session

    def _open(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.With) and any(self.calls(i.context_expr, _SESSIONS) for i in statement.items):
                item = statement.items[0]
                if len(statement.items) != 1 or not isinstance(item.optional_vars, ast.Name):
                    raise InTheWay("the session's block opens something else too", self.source.site(statement))
                self.found.sessions.add(item.optional_vars.id)
                self.found.blocks.append(statement)
                self.opened += 1
                self._open(statement.body)
            else:
                self.found.straight.append(statement)

    def _session(self, statement: ast.stmt) -> None:
        """Sessions, initializers, and the statements that are about nothing else."""
        found = self.found
        value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if isinstance(target, ast.Name) and self.calls(value, _SESSIONS):
            found.sessions.add(target.id)
            found.dropped.append(statement)
            self.opened += 1
        elif isinstance(target, ast.Name) and self.calls(value, _INITIALIZERS):
            found.inits.add(target.id)
            found.dropped.append(statement)
        elif isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and self._about_session(value):
            found.dropped.append(statement)
        elif isinstance(statement, ast.Expr) and self.calls(value, frozenset({"reset_default_graph"})):
            if any(
                self.calls(c, _VARIABLES | {_PLACEHOLDER}) and c.lineno < statement.lineno
                for c in self.source.all_calls
            ):
                raise InTheWay("the program makes more than one graph", self.source.site(statement))
            found.dropped.append(statement)

    def _about_session(self, call: ast.Call) -> bool:
        function = call.func
        if not isinstance(function, ast.Attribute):
            return False
        owner = function.value
        if function.attr == "run" and self._is_init(owner):
            return True
        if not isinstance(owner, ast.Name) or owner.id not in self.found.sessions:
            return False
        if function.attr == "close":
            return True
        if function.attr != "run" or len(call.args) != 1:
            return False
        given = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else [call.args[0]]
        return all(self._is_init(each) for each in given)

    def _is_init(self, node: ast.expr) -> bool:
        return self.calls(node, _INITIALIZERS) or isinstance(node, ast.Name) and node.id in self.found.inits

    # --- the graph

    def _statement(self, statement: ast.stmt) -> None:
        found = self.found
        runs = list(self._runs(statement))
        if runs:
            found.runs += runs
            self._outside_runs(statement, runs)
            found.tainted -= stores(statement)  # `loss = session.run(loss)`: an array from here on
            return
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            free = _free(statement)
            if free & (found.tainted | found.sessions):
                raise InTheWay("a function takes a tensor or the session from outside", self.source.site(statement))
            return
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and self._assigned(statement, target.id, value):
                return
        reads = _reads(statement)
        if not reads & found.tainted and not self._of_graph(statement, reads):
            self._plain(statement, reads)
            return
        if found.sessions & reads:
            raise InTheWay("the session is passed on", self.source.site(statement))
        binds = _bound(statement)
        if isinstance(statement, ast.With):
            if any(self._makes_variables(inner) for inner in statement.body):
                raise InTheWay("variables are created in a block of the graph", self.source.site(statement))
        elif binds is None:
            raise InTheWay("a tensor is used by a statement that is not an assignment", self.source.site(statement))
        if self._makes_variables(statement):
            raise InTheWay("variables are created along with tensors", self.source.site(statement))
        self._repeatable(statement)
        names = binds if binds is not None else tuple(sorted(stores(statement)))
        found.tensors.append(Tensor(statement, frozenset(reads), names))
        found.tainted.update(names)
        if set(names) & found.variables:
            raise InTheWay("a name holds a variable first and a tensor later", self.source.site(statement))

    def _assigned(self, statement: ast.Assign, name: str, value: ast.expr) -> bool:
        """Placeholders, optimizers and training; whether the assignment is one."""
        found = self.found
        if self.calls(value, frozenset({_PLACEHOLDER})):
            found.placeholders[name] = statement
            found.tainted.add(name)
            return True
        if not isinstance(value, ast.Call):
            return False
        written = self.name(value.func) or ""
        if written.startswith("tensorflow.train.") and written.endswith("Optimizer"):
            found.optimizers[name] = value
            return True
        if not isinstance(value.func, ast.Attribute) or value.func.attr != "minimize":
            return False
        given = dict(zip(("loss", "global_step", "var_list"), value.args, strict=False))
        given.update({k.arg: k.value for k in value.keywords if k.arg})
        unknown = given.keys() - {"loss", "global_step", "var_list", "name"}
        if "loss" not in given or unknown:
            raise InTheWay("the training has settings that have no counterpart", self.source.site(value))
        found.trainings[name] = Training(
            name, statement, value.func.value, given["loss"], given.get("var_list"), given.get("global_step")
        )
        return True

    def _plain(self, statement: ast.stmt, reads: set[str]) -> None:
        """A statement beside the graph; it may make variables or hold them."""
        found = self.found
        names = stores(statement)
        if reads & (found.sessions | found.trainings.keys()):
            raise InTheWay("the session or the training is used outside of a run", self.source.site(statement))
        if names & found.tainted:
            raise InTheWay("a name holds a tensor first and something else later", self.source.site(statement))
        if self._makes_variables(statement):
            if not isinstance(statement, ast.Assign):
                raise InTheWay("variables are created in a loop or condition", self.source.site(statement))
            found.variables |= names
        elif reads & found.variables and isinstance(statement, ast.Assign):
            found.variables |= names
        elif (reads & found.variables or names & found.variables) and not isinstance(statement, ast.Assign):
            raise InTheWay("a variable is used outside of the graph", self.source.site(statement))

    def _of_graph(self, statement: ast.stmt, reads: set[str]) -> bool:
        """Whether a statement computes with variables or draws numbers, so that each run has to do it anew."""
        if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or statement.value is None:
            return False
        value = statement.value
        if self._makes_variables(statement):
            return False
        if reads & self.found.variables:
            plain = (ast.Name, ast.List, ast.Tuple, ast.Dict)
            return not isinstance(value, plain) or any(isinstance(n, ast.Call) for n in ast.walk(value))
        return any(
            (self.name(call.func) or "").removeprefix("tensorflow.").startswith(_DRAWS)
            for call in within(value, ast.Call)
            if (self.name(call.func) or "").startswith("tensorflow.")
        )

    def _makes_variables(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
        for call in within(node, ast.Call):
            if self.calls(call, _VARIABLES):
                return True
            made = (self.name(call.func) or "").startswith(("tensorflow.layers.", "tensorflow.keras.layers."))
            if made:
                return True
            inner = self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if inner is not None and inner.name not in seen and self._makes_variables(inner, seen | {inner.name}):
                return True
        return False

    def _repeatable(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> None:
        """What a statement of the graph calls, once until now, has to give the same in each function that calls it."""
        for call in within(node, ast.Call):
            function = call.func
            name = self.source.written(function) or ""
            if name.startswith("tensorflow.") or name.partition(".")[0] == "math":
                continue
            if name.startswith("builtins.") and name not in ("builtins.next", "builtins.input", "builtins.open"):
                continue
            if name.startswith("numpy.") and not name.startswith("numpy.random."):
                continue
            inner = self.functions.get(function.id) if isinstance(function, ast.Name) else None
            if inner is not None:
                if inner.name not in seen:
                    self._repeatable(inner, seen | {inner.name})
                continue
            method = not name and isinstance(function, ast.Attribute) and function.attr in _REPEATABLE
            if not method and not self._is_parameter(function):
                raise InTheWay(
                    "a tensor is created by a call that may return another one next time", self.source.site(call)
                )

    def _is_parameter(self, function: ast.expr) -> bool:
        """Whether what is called was handed to the function around it: an activation."""
        around = self.source.enclosing(function, ast.FunctionDef)
        return (
            isinstance(function, ast.Name)
            and around is not None
            and function.id in {argument.arg for argument in ast.walk(around.args) if isinstance(argument, ast.arg)}
        )

    # --- runs

    def _runs(self, statement: ast.stmt) -> Iterator[Run]:
        found = self.found
        for call in within(statement, ast.Call):
            function = call.func
            if not isinstance(function, ast.Attribute):
                continue
            owner = function.value
            if function.attr == "run" and isinstance(owner, ast.Name) and owner.id in found.sessions:
                given = dict(zip(("fetches", "feed_dict"), call.args, strict=False))
                given.update({k.arg: k.value for k in call.keywords if k.arg})
                fetches = given.get("fetches")
                if fetches is None or given.keys() - {"fetches", "feed_dict"}:
                    raise InTheWay("a run has settings that have no counterpart", self.source.site(call))
                listed = isinstance(fetches, (ast.List, ast.Tuple))
                each = tuple(fetches.elts) if isinstance(fetches, (ast.List, ast.Tuple)) else (fetches,)
                yield Run(call, each, self._feed(given.get("feed_dict")), listed)
            elif function.attr in ("eval", "run") and self._in_graph(owner):
                given = dict(zip(("feed_dict", "session"), call.args, strict=False))
                given.update({k.arg: k.value for k in call.keywords if k.arg})
                yield Run(call, (owner,), self._feed(given.get("feed_dict")), listed=False)
            elif isinstance(owner, ast.Name) and owner.id in found.sessions:
                raise InTheWay(f"the session is used for {function.attr}", self.source.site(call))

    def _in_graph(self, node: ast.expr) -> bool:
        known = self.found.tainted | self.found.variables | self.found.trainings.keys()
        return bool(loads(node) & known)

    def _feed(self, feed: ast.expr | None) -> dict[str, ast.expr]:
        if feed is None:
            return {}
        if not isinstance(feed, ast.Dict):
            raise InTheWay("the fed values are not written in the run", self.source.site(feed))
        fed: dict[str, ast.expr] = {}
        for key, value in zip(feed.keys, feed.values, strict=True):
            if not isinstance(key, ast.Name) or key.id not in self.found.placeholders:
                raise InTheWay("something other than a placeholder is fed", self.source.site(value))
            fed[key.id] = value
        return fed

    def _outside_runs(self, statement: ast.stmt, runs: list[Run]) -> None:
        """Tensors, training and sessions may stand nowhere but in the runs of the statement."""
        inside = {run.call for run in runs}
        own = stores(statement)  # arrays by then
        graph = self.found.tainted | self.found.sessions | self.found.trainings.keys() | self.found.inits
        for run in runs:
            for value in run.feed.values():
                if loads(value) & (graph - own):
                    raise InTheWay("a tensor is fed to another", self.source.site(value))
        pending: list[ast.AST] = [statement]
        while pending:
            node = pending.pop()
            if node in inside:
                continue
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in graph - own:
                raise InTheWay("a tensor is used outside of a run", self.source.site(node))
            pending.extend(ast.iter_child_nodes(node))


def loads(node: ast.AST) -> set[str]:
    """The names that are read in a tree."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def stores(node: ast.AST) -> set[str]:
    """The names that are bound in a tree."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _reads(statement: ast.stmt) -> set[str]:
    """The names that a statement takes from before it; those of a block that the block binds first are its own."""
    if not isinstance(statement, ast.With):
        return loads(statement)
    bound: set[str] = set()
    reads = {name for item in statement.items for name in loads(item)}
    for inner in statement.body:
        reads |= loads(inner) - bound
        bound |= stores(inner)
    return reads


def _bound(statement: ast.stmt) -> tuple[str, ...] | None:
    """The names that an assignment binds; `None` where it is no assignment of names."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    else:
        return None
    names: list[str] = []
    for target in targets:
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if not isinstance(each, ast.Name):
                return None
            names.append(each.id)
    return tuple(names)


def _free(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    """The names that a definition reads and does not bind."""
    bound = stores(definition) | {n.arg for n in ast.walk(definition) if isinstance(n, ast.arg)}
    return loads(definition) - bound
