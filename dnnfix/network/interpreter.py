"""Interpreter: its parts put together, and the dispatch of each call to the part that interprets it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from dnnfix.network.attributes import Attributes
from dnnfix.network.bindings import Bindings
from dnnfix.network.containers import builtin, dict_method, list_method
from dnnfix.network.created_arrays import created, dtype_of, shape_of
from dnnfix.network.expressions import Expressions
from dnnfix.network.keras_library import KerasLibrary, is_keras
from dnnfix.network.keras_models import KerasModels
from dnnfix.network.machine import Arguments, Exhausted, Machine
from dnnfix.network.recorder import Recorder, parts
from dnnfix.network.statements import Statements
from dnnfix.network.torch_library import TorchLibrary
from dnnfix.network.user_code import UserCode
from dnnfix.network.values import (
    Abstract,
    Class,
    Env,
    Function,
    Instance,
    Items,
    KerasModel,
    Library,
    Made,
    Mapping_,
    Method,
    OneOf,
    Opaque,
    Plain,
    Super,
    Tensor,
)
from dnnfix.source.program import Source

_RUNS_FIRST = ("torch.utils.checkpoint.checkpoint", "keras.ops.vectorized_map")
_PASSES_THROUGH = ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.trange", "tqdm.tqdm_notebook")
_LOOKS_ONLY = ("torchsummary.summary", "torchinfo.summary", "copy.deepcopy", "copy.copy", "builtins.print", "builtins.id",
               "builtins.isinstance", "builtins.type", "builtins.hasattr", "builtins.str", "builtins.repr", "builtins.len")  # fmt: skip


class Interpreter:
    """Reads one program, and records its network in a `Recorder`."""

    def __init__(self, source: Source, framework: str) -> None:
        self.recorder = Recorder(source, framework)
        self.machine = Machine(source, self.recorder)
        self.user_code = UserCode(self.machine)
        self.torch = TorchLibrary(self.machine)
        self.keras = KerasLibrary(self.machine)
        self.keras_models = KerasModels(self.machine, self.keras, self.user_code)
        expressions = Expressions(self.machine)
        statements = Statements(self.machine, expressions, self.user_code)
        self.machine.evaluate = expressions.evaluate
        self.machine.execute = statements.execute
        self.machine.bind = Bindings(self.machine).bind
        self.machine.define = self.user_code.define
        self.machine.get = Attributes(self.machine, self.user_code).get
        self.machine.call = self.call

    def run(self) -> Recorder:
        """Read the program; whatever stops the reading, what was found is kept."""
        try:
            for statement in self.machine.source.tree.body:
                self._guarded(partial(self.machine.execute, [statement], self.machine.module))
            self._guarded(self.user_code.read_leftovers)
            self._guarded(self.keras_models.finish)
            self._guarded(self._run_idle_chains)
        except Exhausted:
            self.recorder.stop()
        return self.recorder

    def _run_idle_chains(self) -> None:
        """Call each torch `Sequential` that is no part of a model and that nothing called, with an unknown input.

        A program that only shows its model is told about its layers like one that uses it.
        """
        roots = self.recorder.roots
        held = {id(part) for root in roots for _, part in parts(root)}
        for root in roots:
            if not isinstance(root, Items) or root.kind != "torch.nn.Sequential" or root.draft is None:
                continue
            draft = root.draft
            if not draft.called and id(root) not in held and draft.id not in self.recorder.escaped:
                node = self.machine.source.node_at(draft.site) if draft.site is not None else None
                self.torch.run_sequential(root, Arguments(), node if isinstance(node, ast.Call) else None)

    def _guarded(self, read: Callable[[], object]) -> None:
        try:
            read()
        except RecursionError:
            self.recorder.complete = False

    # --- calls

    def call(self, callee: Abstract, arguments: Arguments, node: ast.Call | None, env: Env) -> Abstract:
        """The result of calling a value."""
        if isinstance(callee, Library):
            return self._library(callee.name, arguments, node, env)
        if isinstance(callee, Method):
            return self._method(callee, arguments, node, env)
        if isinstance(callee, Function):
            if isinstance(callee.bound, Instance) and self.user_code.is_forward(callee):
                return self.user_code.call_instance(callee.bound, arguments, node, through=callee)
            return self.user_code.call_function(callee, arguments)
        if isinstance(callee, Instance):
            return self.user_code.call_instance(callee, arguments, node)
        if isinstance(callee, Made):
            return (self.torch if callee.framework == "torch" else self.keras).call_made(callee, arguments, node)
        if isinstance(callee, Class):
            return self.user_code.instantiate(callee, arguments, node)
        if isinstance(callee, KerasModel):
            return self.keras_models.call_model(callee, arguments, node)
        if isinstance(callee, Items) and callee.kind == "torch.nn.Sequential":
            return self.torch.run_sequential(callee, arguments, node)
        self.machine.escape(callee)
        self.machine.escape_all(arguments)
        return Opaque(node)

    def _library(self, name: str, arguments: Arguments, node: ast.Call | None, env: Env) -> Abstract:
        if name.startswith("builtins."):
            return self._builtin(name, arguments, node)
        if name in _PASSES_THROUGH:
            return arguments.get(0) or Opaque()
        if name in _RUNS_FIRST and arguments.positional:
            rest = Arguments(arguments.positional[1:], open=arguments.open, rest=arguments.rest)
            return self.call(arguments.positional[0][0], rest, node, env)
        if name == "collections.OrderedDict":
            return self._ordered(arguments)
        made = created(self.recorder, name, arguments, node)
        if made is not None:
            return made
        if name.startswith(("torch.", "torchvision.models.")):
            return self.torch.call(name, arguments, node)
        if is_keras(name):
            return self.keras.call(name, arguments, node)
        if name not in _LOOKS_ONLY:
            self.machine.escape_all(arguments)
        return Opaque(node)

    def _builtin(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        if name == "builtins.super":
            return self._super()
        if name not in _LOOKS_ONLY or name == "builtins.len":
            return builtin(self.machine, name.partition(".")[2], arguments, node)
        return Opaque(node)

    def _super(self) -> Abstract:
        for frame in reversed(self.machine.frames):
            function = frame.function
            if function is not None and function.of is not None and function.bound is not None:
                return Super(function.of, function.bound)
        return Opaque()

    def _ordered(self, arguments: Arguments) -> Abstract:
        """An `OrderedDict` of named layers, as a list whose elements have names."""
        given = arguments.get(0)
        if given is None:
            return Mapping_("dict", closed=not arguments.open, context=self.machine.context)
        if isinstance(given, Mapping_):
            return Mapping_("dict", dict(given.entries), given.closed, self.machine.context)
        made = Mapping_("dict", context=self.machine.context)
        if not isinstance(given, Items) or not given.exact:
            made.closed = False
            return made
        for pair in given.values():
            parts = pair.values() if isinstance(pair, Items) and len(pair.items) == 2 else []
            key = getattr(parts[0], "value", None) if parts else None
            if isinstance(key, str):
                made.entries[key] = parts[1]
            else:
                made.closed = False
        return made

    # --- methods of what is not an object of the program

    def _method(self, callee: Method, arguments: Arguments, node: ast.Call | None, env: Env) -> Abstract:
        base, name = callee.base, callee.name
        if isinstance(base, Instance) and (found := self._inherited(base, name, arguments, node)) is not None:
            return found
        if isinstance(base, Tensor):
            return self._tensor_method(base, name, arguments, node)
        if isinstance(base, Opaque):
            return self._opaque_method(base, name, arguments, node)
        if isinstance(base, Items) and base.draft is None:
            return list_method(self.machine, base, name, arguments, node)
        if isinstance(base, Mapping_) and base.draft is None:
            return dict_method(self.machine, base, name, arguments)
        if isinstance(base, KerasModel):
            return self.keras_models.method(base, name, arguments, node)
        if isinstance(base, Instance) and base.of.framework == "keras":
            return self.keras_models.method(base, name, arguments, node)
        if isinstance(base, Items | Mapping_ | Instance | Made):
            return self._module_method(base, name, arguments, node, env)
        if isinstance(base, Method | OneOf):
            self.machine.escape_all(arguments)
        return Opaque(node)

    def _inherited(self, base: Instance, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract | None:
        """Methods that an object has because it is a library's `Sequential` or functional model."""
        if name == "__init__":
            self.user_code.construct_inner(base, arguments)
            return Plain(None)
        if name in ("forward", "call") and base.inner is not None:
            return self.call(base.inner, arguments, node, self.machine.module)
        if isinstance(base.inner, KerasModel) and name in ("add", "pop", "output", "outputs", "input", "inputs"):
            return self.keras_models.method(base.inner, name, arguments, node)
        if isinstance(base.inner, Items) and name in ("append", "extend", "insert", "add_module"):
            return list_method(self.machine, base.inner, name, arguments, node)
        if name == "add_weight":
            return self.recorder.tensor("keras", origin="parameter", site=self.recorder.site(node))
        return None

    def _module_method(
        self, base: Items | Mapping_ | Instance | Made, name: str, arguments: Arguments, node: ast.Call | None, env: Env
    ) -> Abstract:
        if isinstance(base, Made) and base.framework == "keras" and base.draft.kind == "model":
            return self.keras_models.method(base, name, arguments, node)
        if isinstance(base, Instance) and base.of.framework is None:
            self.machine.escape_all(arguments)
            return Opaque(node)
        if name in ("forward", "__call__", "call"):
            return self.call(base, arguments, node, env)
        if isinstance(base, Items) and name in ("append", "extend", "insert", "add_module", "register_module"):
            return list_method(self.machine, base, name, arguments, node)
        if isinstance(base, Mapping_) and name in ("items", "values", "keys", "update", "pop"):
            return dict_method(self.machine, base, name, arguments)
        found = self.torch.module_method(base, name, arguments)
        return found if found is not None else Opaque(node)

    def _tensor_method(self, base: Tensor, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        if base.framework == "torch":
            return self.torch.method(base, name, arguments, node) or Opaque()
        if base.framework == "numpy":
            return self._numpy_method(base, name, arguments, node)
        return Opaque(node)

    def _numpy_method(self, base: Tensor, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        site, value = self.recorder.site(node), base.value
        if name == "astype":
            dtype = dtype_of(arguments.get(0, "dtype"))
            return self.recorder.tensor("numpy", origin="data", site=site, shape=value.shape, dtype=dtype,
                                        low=value.low, high=value.high, integral=value.integral)  # fmt: skip
        if name == "reshape":
            shape = shape_of(arguments, 0)
            known = shape if shape is not None and all(d is not None and d >= 0 for d in shape) else None
            return self.recorder.tensor("numpy", origin="data", site=site, shape=known, dtype=value.dtype)
        if name in ("copy", "flatten", "ravel", "transpose", "squeeze", "mean", "sum", "argmax", "max", "min"):
            return self.recorder.tensor("numpy", origin="data", site=site)
        return Opaque(node)

    def _opaque_method(self, base: Opaque, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        if self.recorder.framework != "keras":
            found = self.torch.method(base, name, arguments, node) if node is not None else None
            if found is not None:
                return found
        self.machine.escape_all(arguments)
        if name == "compile" and "loss" in arguments.keywords:
            return self.keras_models.method(base, name, arguments, node)
        return Opaque(node, base.origin)
