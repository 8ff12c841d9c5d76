"""Interpreter: the program's functions and classes, entered where they are called, or once where nothing does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.network.containers import elements, several
from dnnfix.network.machine import Arguments, Flow, Frame, Machine
from dnnfix.network.names import KERAS_FUNCTIONAL, KERAS_SEQUENTIALS
from dnnfix.network.nodes import own_nodes
from dnnfix.network.values import (
    Abstract,
    Class,
    Env,
    Function,
    FunctionNode,
    Instance,
    Item,
    Items,
    KerasModel,
    Library,
    Mapping_,
    Opaque,
    Plain,
)
from dnnfix.records import Json

_TORCH_BASES = ("torch.nn.", "torch.jit.ScriptModule", "pytorch_lightning.", "lightning.", "torchvision.models.")
_KERAS_BASES = ("keras.Model", "keras.models.", "keras.layers.", "keras.Layer", "keras.Sequential", "keras.losses.")
_STEPS = ("training_step", "validation_step", "test_step", "train_step", "test_step", "predict_step")
_FORWARD = {"torch": "forward", "keras": "call"}


class UserCode:
    """Functions, classes and objects of the program."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._generators: dict[ast.AST, bool] = {}
        self._stand_ins: dict[ast.ClassDef, Instance] = {}

    # --- definitions

    def define(self, node: FunctionNode, env: Env) -> Function:
        """The function that a definition or lambda makes; its defaults are evaluated now."""
        made = Function(node, env)
        parameters = [*node.args.posonlyargs, *node.args.args]
        given = node.args.defaults
        for parameter, default in zip(parameters[len(parameters) - len(given) :], given, strict=True):
            made.defaults[parameter.arg] = self.machine.evaluate(default, env)
        for parameter, only in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if only is not None:
                made.defaults[parameter.arg] = self.machine.evaluate(only, env)
        self.machine.functions.append(made)
        return made

    def define_class(self, node: ast.ClassDef, env: Env) -> Class:
        """The class that a definition makes; its body is read now."""
        bases = tuple(self.machine.evaluate(base, env) for base in node.bases)
        inner = Env(env, env.module, context=self.machine.context, is_class=True)
        self.machine.execute(node.body, inner)
        methods = {name: value for name, value in inner.names.items() if isinstance(value, Function)}
        made = Class(node, inner, bases, methods, _framework(bases))
        for method in methods.values():
            method.of = made
        return made

    def find(self, of: Class, name: str) -> Function | None:
        """A method by name, in the class or in the bases that the program defines."""
        return next((one.methods[name] for one in _lineage(of) if name in one.methods), None)

    def find_value(self, of: Class, name: str) -> Abstract | None:
        """A class attribute by name."""
        return next((one.env.names[name] for one in _lineage(of) if name in one.env.names), None)

    def bind_method(self, method: Function, to: Instance) -> Function:
        """A method bound to an object as its kind asks."""
        bound: Abstract | None = (
            None if method.kind == "staticmethod" else to.of if method.kind == "classmethod" else to
        )
        return Function(method.node, method.env, method.defaults, bound, method.transparent, method.kind, method.of)

    # --- objects

    def instantiate(self, of: Class, arguments: Arguments, node: ast.Call | None, unknown: bool = False) -> Instance:
        """An object of the class. `unknown` reads the constructor with nothing known of its arguments."""
        made = Instance(of, self.machine.context)
        made.open = not all(isinstance(b, Class) or _framework((b,)) or _is_object(b) for b in of.bases)
        constructor = self.find(of, "__init__")
        if of.framework is not None:
            recorder = self.machine.recorder
            made.draft = recorder.draft("model", f"user.{of.node.name}", node or of.node)
            made.draft.args = self._constructor_args(constructor, arguments)
            if node is None:
                made.draft.site = None
            recorder.roots.append(made)
        self.machine.instances.append(made)
        made.inner = self._inner(of, made)
        if constructor is None:
            if self.construct_inner(made, arguments):
                return made
            made.open = made.open or bool(arguments.positional or arguments.keywords)
            self.machine.escape_all(arguments)
            return made
        if not self._enter(self.bind_method(constructor, made), arguments, unknown):
            made.open = True
        return made

    def _inner(self, of: Class, made: Instance) -> Items | KerasModel | None:
        """The library model that objects of the class are, where they are one."""
        base = _library_base(of)
        if made.draft is None or base is None:
            return None
        if base == "torch.nn.Sequential":
            return Items(base, [], self.machine.context, made.draft)
        if base in KERAS_SEQUENTIALS:
            layers = Items("keras.Sequential", [], self.machine.context, made.draft)
            return KerasModel(made.draft, self.machine.context, layers)
        return None

    def construct_inner(self, made: Instance, arguments: Arguments) -> bool:
        """Call the constructor of an object's library base class with its arguments; false where there is no such
        class.
        """
        inner = made.inner
        if isinstance(inner, Items):
            inner.items = elements(inner.kind, arguments)
            return True
        if isinstance(inner, KerasModel) and inner.layers is not None:
            given = arguments.get(0, "layers")
            inner.layers.items = (
                list(given.items) if isinstance(given, Items) else [Item(Opaque(), False)] if given else []
            )
            return True
        found = arguments.get(0, "inputs"), arguments.get(1, "outputs")
        functional = _library_base(made.of) in KERAS_FUNCTIONAL and made.draft is not None
        if functional and made.draft is not None and found[0] is not None and found[1] is not None:
            made.inner = KerasModel(made.draft, self.machine.context, None, several(found[0]), several(found[1]))
            return True
        return False

    def _constructor_args(self, constructor: Function | None, arguments: Arguments) -> dict[str, Json]:
        if constructor is None:
            return {}
        names = [a.arg for a in constructor.node.args.args][1:]
        given = {
            **dict(zip(names, arguments.positional, strict=False)),
            **arguments.keywords,
        }
        return {name: self.machine.recorder.json(value, node) for name, (value, node) in given.items()}

    def call_instance(
        self,
        target: Instance,
        arguments: Arguments,
        node: ast.Call | None = None,
        unknown: bool = False,
        through: Function | None = None,
    ) -> Abstract:
        """The result of calling an object: its `forward`, `call` or `__call__`, or the method named `through`."""
        name = _FORWARD.get(target.of.framework or "", "__call__")
        if name in target.attributes:
            return self.machine.call(target.attributes[name], arguments, node, self.machine.module)
        method = through or self.find(target.of, name) or self.find(target.of, "__call__")
        if method is None and target.inner is not None:
            return self.machine.call(target.inner, arguments, node, self.machine.module)
        if method is None:
            self.machine.escape(target, deep=True)
            self.machine.escape_all(arguments)
            return Opaque()
        if target.draft is not None:
            target.draft.called += 1
        self.machine.recorder.scope.append(target.of.node.name)
        try:
            return self.call_function(self.bind_method(method, target), arguments, unknown)
        finally:
            self.machine.recorder.scope.pop()

    def is_forward(self, function: Function) -> bool:
        """Whether the function is the method that calling an object of its class runs."""
        name = _FORWARD.get(function.of.framework or "") if function.of is not None else None
        return name is not None and getattr(function.node, "name", None) == name

    # --- calls

    def call_function(self, function: Function, arguments: Arguments, unknown: bool = False) -> Abstract:
        """The result of a function of the program, read with these arguments."""
        entered = self._enter(function, arguments, unknown)
        if not entered:
            return Opaque()
        return entered[0]

    def _enter(self, function: Function, arguments: Arguments, unknown: bool) -> list[Abstract]:
        """Read a function; its result in a list, which is empty where it could not be read."""
        machine, node = self.machine, function.node
        hidden = not unknown and (not function.transparent or self._is_generator(node))
        if hidden or node in machine.active or not machine.may_enter:
            machine.escape_all(arguments)
            return []
        inner = Env(function.env, function.env.module, context=machine.context)
        self._bind_parameters(function, arguments, inner, unknown)
        frame = Frame(function)
        context = machine.context
        machine.frames.append(frame)
        machine.active.append(node)
        machine.executed.add(node)
        try:
            if isinstance(node, ast.Lambda):
                return [machine.evaluate(node.body, inner)]
            flow = machine.execute(node.body, inner)
        finally:
            machine.frames.pop()
            machine.active.pop()
            machine.context = context
        return [self._result(frame, flow)]

    def _result(self, frame: Frame, flow: Flow) -> Abstract:
        results = list(frame.returns)
        if flow is not Flow.ENDED:
            results.append(Plain(None))
        if not results:
            return Opaque()
        joined = results[0]
        for other in results[1:]:
            joined = self.machine.join(joined, other)
        return joined

    def _is_generator(self, node: FunctionNode) -> bool:
        if "yield" not in self.machine.source.words:
            return False
        if node not in self._generators:
            self._generators[node] = _yields(node)
        return self._generators[node]

    def _bind_parameters(self, function: Function, arguments: Arguments, inner: Env, unknown: bool) -> None:
        node = function.node
        positional = [*node.args.posonlyargs, *node.args.args]
        values = list(arguments.positional)
        if function.bound is not None:
            values.insert(0, (function.bound, None))
        origin = "data" if isinstance(node, ast.FunctionDef) and node.name in _STEPS and unknown else None
        for index, parameter in enumerate([*positional, *node.args.kwonlyargs]):
            name = parameter.arg
            if index < len(positional) and index < len(values):
                inner.names[name] = values[index][0]
            elif name in arguments.keywords:
                inner.names[name] = arguments.keywords[name][0]
            elif name in function.defaults and not unknown and not arguments.open:
                inner.names[name] = function.defaults[name]
            else:
                inner.names[name] = Opaque(parameter, origin)
        if node.args.vararg is not None:
            more = [Item(v) for v, _ in values[len(positional) :]]
            loose = arguments.open or unknown
            held = [*more, Item(Opaque(), False)] if loose else more
            inner.names[node.args.vararg.arg] = Items("tuple", held, self.machine.context)
        if node.args.kwarg is not None:
            named = {p.arg for p in [*positional, *node.args.kwonlyargs]}
            rest: dict[Json, Abstract] = {k: v for k, (v, _) in arguments.keywords.items() if k not in named}
            closed = not (arguments.open or unknown)
            inner.names[node.args.kwarg.arg] = Mapping_("dict", rest, closed, self.machine.context)

    # --- what nothing calls

    def read_leftovers(self) -> None:
        """Read every function that nothing called, with nothing known of its arguments."""
        self.machine.leftover = True
        done: set[ast.AST] = set()
        for _ in range(4):
            waiting = [f for f in self.machine.functions if f.node not in self.machine.executed | done]
            if not waiting:
                return
            for function in sorted(waiting, key=lambda f: (f.node.lineno, f.node.col_offset)):
                if function.node not in self.machine.executed and function.node not in done:
                    done.add(function.node)
                    self._read_leftover(function)

    def _read_leftover(self, function: Function) -> None:
        nothing = Arguments()
        with self.machine.branch():
            if function.of is None:
                self._enter(function, nothing, unknown=True)
                return
            if isinstance(function.node, ast.FunctionDef) and function.node.name == "__init__":
                self._stand_in(function.of)
                return
            target = self._stand_in(function.of)
            name = function.node.name if not isinstance(function.node, ast.Lambda) else ""
            if function.node in self.machine.executed:
                return
            forward = name == _FORWARD.get(function.of.framework or "")
            if forward and self.find(target.of, name) is function.of.methods.get(name):
                self.call_instance(target, nothing, None, unknown=True)
            else:
                self._enter(self.bind_method(function, target), nothing, unknown=True)

    def _stand_in(self, of: Class) -> Instance:
        """The object to read a class's methods on: the only one there is, else one made with unknown arguments."""
        if of.node not in self._stand_ins:
            there = [i for i in self.machine.instances if any(one is of for one in _lineage(i.of))]
            if len(there) != 1:
                for instance in there:
                    self.machine.escape(instance, deep=True)
                there = [self.instantiate(of, Arguments(), None, unknown=True)]
            self._stand_ins[of.node] = there[0]
        return self._stand_ins[of.node]


def _lineage(of: Class, depth: int = 0) -> Iterator[Class]:
    """A class, and those of the program that it is derived from, in the order in which they are asked for a name."""
    yield of
    for base in of.bases if depth < 16 else ():
        if isinstance(base, Class):
            yield from _lineage(base, depth + 1)


def _is_object(base: Abstract) -> bool:
    return isinstance(base, Library) and base.name in ("builtins.object", "abc.ABC")


def _framework(bases: tuple[Abstract, ...]) -> str | None:
    for base in bases:
        if isinstance(base, Class) and base.framework is not None:
            return base.framework
        if isinstance(base, Library):
            if base.name.startswith(_TORCH_BASES):
                return "torch"
            if base.name.startswith(_KERAS_BASES):
                return "keras"
    return None


def _library_base(of: Class, depth: int = 0) -> str | None:
    """The library class that a class of the program is derived from, in however many steps."""
    for base in of.bases if depth < 16 else ():
        if isinstance(base, Library):
            return base.name
        if isinstance(base, Class):
            return _library_base(base, depth + 1)
    return None


def _yields(node: FunctionNode) -> bool:
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    return any(isinstance(child, ast.Yield | ast.YieldFrom) for child in own_nodes(body))
