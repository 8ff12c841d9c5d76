"""Interpreter: calls of torch, which construct layers, losses, optimizers and loaders or apply functions to tensors."""

from __future__ import annotations

import ast

from dnnfix.network.activations import ACTIVATION_FORMS
from dnnfix.network.constructors import FrameworkLibrary
from dnnfix.network.containers import elements
from dnnfix.network.created_arrays import dtype_of
from dnnfix.network.layers import LAYERS
from dnnfix.network.losses import LOSSES
from dnnfix.network.machine import Arguments
from dnnfix.network.names import component_kind
from dnnfix.network.torch_names import (
    CASTS,
    FREE_ARGUMENTS,
    MODULE_KEEPS,
    MULTIPLE,
    NOT_TENSORS,
    SAME_SHAPE,
    SEVERAL_TENSORS,
    TENSOR_FUNCTIONS,
    TENSOR_METHODS_ONLY,
    WRAPPERS,
)
from dnnfix.network.values import (
    Abstract,
    Instance,
    Item,
    Items,
    Library,
    Made,
    Mapping_,
    Method,
    OneOf,
    Opaque,
    Parameters,
    Plain,
    Tensor,
    string,
)
from dnnfix.records import Json, Value

CONTAINERS = ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")


class TorchLibrary(FrameworkLibrary):
    """Constructors and calls of torch."""

    framework = "torch"

    # --- constructors and functions

    def call(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """A call of the torch function or class `name`."""
        if name in CONTAINERS:
            return self._container(name, arguments, node)
        if name in WRAPPERS:
            first = arguments.get(0)
            return first if first is not None else Opaque()
        kind = component_kind(name)
        if kind is not None:
            return self._make(kind, name, arguments, node)
        if name in LOSSES:
            return self._loss(name, arguments, node)
        if self._is_tensor_function(name, arguments):
            return self._function(name, arguments, node)
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return self.recorder.tensor("torch", origin="parameter", site=self.recorder.site(node))
        if not name.startswith(("torch.nn.init.", "torch.save", "torch.manual_seed")):
            self.machine.escape_all(arguments)
        return Opaque(node)

    def _container(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        draft = self.recorder.draft("model", name, node)
        context = self.machine.context
        first = arguments.get(0)
        if name == "torch.nn.ModuleDict":
            entries = dict(first.entries) if isinstance(first, Mapping_) else {}
            closed = first is None or (isinstance(first, Mapping_) and first.closed)
            made: Items | Mapping_ = Mapping_(name, entries, closed, context, draft)
        else:
            made = Items(name, elements(name, arguments), context, draft)
        self.recorder.roots.append(made)
        return made

    def _make(self, kind: str, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        made = self.made(kind, name, arguments, node)
        if kind == "optimizer":
            self._optimizer(made, arguments)
        return made

    def _optimizer(self, made: Made, arguments: Arguments) -> None:
        given = arguments.node(0, "params")
        if given is None:
            return
        value, node = given
        if node is not None:
            text = self.recorder.source.segment(self.recorder.source.site(node))
            made.draft.parameters = (" ".join(text.split())[:200],)
        of = value.of if isinstance(value, Parameters) else ()
        drafts = [d.draft for d in of if isinstance(d, Instance | Made | Items) and d.draft is not None]
        made.draft.children = tuple(d.id for d in drafts)

    # --- calls of layers and losses

    def call_made(self, made: Made, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """Calling a torch layer, loss or model."""
        name = made.draft.name
        if made.draft.kind == "loss":
            return self._loss(name, arguments, node, made)
        if made.draft.kind != "layer":
            made.draft.called += 1
            self.machine.escape_all(arguments)
            return Opaque(node)
        inputs = self._inputs(arguments, node, several=True)
        count = _outputs(made)
        facts = self._facts(name, inputs, made.draft.args)
        outputs = self.recorder.call(name, node, inputs, max(count, 1), draft=made.draft, facts=facts)
        if count == 0:
            return Tensor(outputs[0], "torch", multiple=True)
        tensors: list[Abstract] = [Tensor(v, "torch") for v in outputs]
        if count == 1:
            return tensors[0]
        if name == "torch.nn.LSTM":
            tensors = [tensors[0], Items("tuple", [Item(tensors[1]), Item(tensors[2])], self.machine.context)]
        return Items("tuple", [Item(t) for t in tensors], self.machine.context)

    def _loss(self, name: str, arguments: Arguments, node: ast.Call | None, made: Made | None = None) -> Abstract:
        facts = LOSSES[name]
        order = ((0, facts.prediction_argument), (1, facts.target_argument))
        if facts.prediction_argument in ("input1", "anchor"):
            order = (
                (0, facts.prediction_argument),
                (1, "input2" if facts.prediction_argument == "input1" else "positive"),
            )
        values: list[Value] = []
        for position, argument in order:
            found = arguments.node(position, argument)
            unknown = Value()
            values.append(self.recorder.value_of(found[0], found[1] or node) if found is not None else unknown)
        rest = [v for v, _ in arguments.positional[2:] if isinstance(v, Tensor)]
        values.extend(v.value for v in rest)
        args = None if made is not None else self.arguments(name, _without(arguments, 2))
        draft = made.draft if made is not None else None
        outputs = self.recorder.call(name, node, values, draft=draft, args=args)
        return Tensor(outputs[0], "torch")

    def run_sequential(self, chain: Items, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """Calling a `torch.nn.Sequential`: its elements, one after the other."""
        if chain.draft is not None:
            chain.draft.called += 1
        current: Abstract = arguments.get(0) or Opaque()
        for item in chain.items:
            if self.recorder.full:
                self.recorder.complete = False
                return Opaque()
            if isinstance(item.value, Opaque):
                current = Opaque()
                continue
            if not item.certain:
                current = Opaque(origin=None)
            current = self.machine.call(item.value, Arguments([(current, None)]), node, self.machine.module)
            if not item.certain:
                current = self.machine.fuzz(current) if isinstance(current, Tensor) else Opaque()
        return current

    # --- functions and methods

    def _is_tensor_function(self, name: str, arguments: Arguments) -> bool:
        area, _, short = name.rpartition(".")
        if area in ("torch.nn.functional", "torch.special"):
            return True
        if area in ("torch", "torch.linalg", "torch.fft") and short not in NOT_TENSORS and short[:1].islower():
            return short in TENSOR_FUNCTIONS or any(isinstance(v, Tensor) for v, _ in arguments.all())
        return name == "torch.autograd.Variable"

    def _function(self, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        short = name.rpartition(".")[2]
        several = short in SEVERAL_TENSORS
        inputs = self._inputs(arguments, node, several)
        args = {
            k: v for k, v in self.arguments(name, _without_tensors(arguments, several)).items() if not _is_hidden(v)
        }
        return self._record(name, inputs, args, node, _is_multiple(short, arguments, 1))

    def method(self, base: Tensor | Opaque, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract | None:
        """A call of a tensor method; `None` where it is not one or `base` may be no tensor."""
        if isinstance(base, Opaque) and name not in TENSOR_METHODS_ONLY and base.origin != "data":
            return None
        if name in ("size", "dim", "numel", "stride", "register_hook", "retain_grad", "tolist", "astype"):
            return Opaque()
        full = f"torch.Tensor.{name}"
        own = self.recorder.value_of(base, node.func if node is not None else None)
        inputs = [own, *self._inputs(arguments, node, name in SEVERAL_TENSORS, from_first=False)]
        if name in ("item", "backward", "numpy"):
            self.recorder.call(full, node, inputs[:1])
            if name == "numpy":
                return self.recorder.tensor("numpy", shape=own.shape, dtype=own.dtype)
            return Opaque() if name == "item" else Plain(None)
        args = self._method_arguments(full, name, arguments)
        if name.endswith("_") and name not in ("requires_grad_", "unsqueeze_", "squeeze_") and isinstance(base, Tensor):
            self.machine.overwrite(base)
        return self._record(full, inputs, args, node, _is_multiple(name, arguments, 0))

    def _method_arguments(self, full: str, name: str, arguments: Arguments) -> dict[str, Json]:
        if name in FREE_ARGUMENTS:
            given = [self.recorder.json(v, n) for v, n in arguments.positional]
            sizes = given[0] if len(given) == 1 and isinstance(given[0], list) else given
            return {FREE_ARGUMENTS[name]: sizes}
        found = self.arguments(full, _without_tensors(arguments, name in SEVERAL_TENSORS))
        if name in ("to", "type"):
            libraries = (value for value, _ in arguments.positional if isinstance(value, Library))
            named = next((value.name for value in libraries if dtype_of(value) is not None), None)
            found.update({"dtype": named} if named is not None else {})
        return {k: v for k, v in found.items() if not _is_hidden(v)}

    def _record(
        self,
        name: str,
        inputs: list[Value],
        args: dict[str, Json],
        node: ast.Call | None,
        multiple: bool,
    ) -> Abstract:
        facts = self._facts(name, inputs, args)
        short = name.rpartition(".")[2]
        if short in CASTS:
            facts["dtype"] = CASTS[short]
        elif short in ("to", "type") and inputs:
            given = args.get("dtype")
            named = next((v for v in args.values() if isinstance(v, str) and v.startswith("torch.")), given)
            cast = dtype_of(Library(named)) if isinstance(named, str) else None
            facts["dtype"] = cast if cast is not None else None
        outputs = self.recorder.call(name, node, inputs, args=args, facts=facts)
        return Tensor(outputs[0], "torch", multiple)

    def _facts(self, name: str, inputs: list[Value], args: dict[str, Json]) -> dict[str, object]:
        """What is certain of the output: the input's shape where it is kept, the last size of a linear layer."""
        if not inputs or inputs[0].shape is None:
            return {}
        shape = inputs[0].shape
        layer = LAYERS.get(name)
        if layer is not None and layer.kind == "linear" and isinstance(args.get("out_features"), int):
            return {"shape": (*shape[:-1], args["out_features"]), "dtype": inputs[0].dtype}
        kept = layer is not None and layer.kind in ("dropout", "normalization")
        if kept or (name in ACTIVATION_FORMS and not name.endswith(("glu", "GLU"))) or name in SAME_SHAPE:
            return {"shape": shape, "dtype": inputs[0].dtype}
        return {}

    def _inputs(
        self, arguments: Arguments, node: ast.Call | None, several: bool, from_first: bool = True
    ) -> list[Value]:
        """The tensors among the arguments; an unknown first argument is taken for one, later ones only if `several`."""
        found: list[Value] = []
        for index, (value, at) in enumerate(arguments.positional):
            first = index == 0 and from_first
            if isinstance(value, Items) and any(isinstance(v, Tensor | Opaque) for v in value.values()):
                if value.exact and (first or several):
                    found.extend(self.recorder.value_of(v, at or node) for v in _flat(value))
                elif first or several:
                    found.append(self.recorder.value())
            elif isinstance(value, Tensor) or first or (several and isinstance(value, Opaque | Method)):
                found.append(self.recorder.value_of(value, at or node))
        for name, (value, at) in arguments.keywords.items():
            if isinstance(value, Tensor) or (name in ("input", "tensors", "query") and not found):
                found.append(self.recorder.value_of(value, at or node))
        return found

    # --- modules

    def module_method(self, base: Abstract, name: str, arguments: Arguments) -> Abstract | None:
        """A method of `torch.nn.Module` on an object of the program, a layer or a container; `None` if unknown."""
        if name in MODULE_KEEPS:
            return base
        if name == "parameters":
            return Parameters((base,))
        if name in ("modules", "children", "named_modules", "named_children"):
            return OneOf(base)
        if name in ("add_module", "register_module") and isinstance(base, Instance):
            label, part = string(arguments.get(0, "name")), arguments.get(1, "module")
            if label is not None and part is not None:
                self.machine.store(base.attributes, label, part, base.context)
            else:
                self.machine.open_up(base)
            return Plain(None)
        if name in ("register_buffer", "register_parameter") and isinstance(base, Instance):
            if (label := string(arguments.get(0, "name"))) is not None:
                made = self.recorder.tensor("torch", origin="parameter")
                self.machine.store(base.attributes, label, made, base.context)
            return Plain(None)
        if name in ("forward", "__call__"):
            return None
        if name == "get_submodule" or name.startswith("_"):
            self.machine.open_up(base)
        return Opaque()


def _flat(items: Items) -> list[Abstract]:
    flat: list[Abstract] = []
    for value in items.values():
        if isinstance(value, Items) and value.draft is None:
            flat.extend(_flat(value))
        else:
            flat.append(value)
    return flat


def _without(arguments: Arguments, positions: int) -> Arguments:
    """The arguments without the first ones, whose places stay."""
    kept = [(Plain(None), None) if i < positions else given for i, given in enumerate(arguments.positional)]
    hidden: list[tuple[Abstract, ast.expr | None]] = [
        (_HIDDEN, n) if i < positions else (v, n) for i, (v, n) in enumerate(kept)
    ]
    keywords = {k: g for k, g in arguments.keywords.items() if k not in ("input", "target", "input1", "input2")}
    return Arguments(hidden, keywords, arguments.open)


def _without_tensors(arguments: Arguments, several: bool) -> Arguments:
    def kept(value: Abstract, index: int) -> Abstract:
        tensor = isinstance(value, Tensor) or (isinstance(value, Opaque | Method) and (index == 0 or several))
        holds = isinstance(value, Items) and any(isinstance(v, Tensor | Opaque) for v in value.values())
        return _HIDDEN if tensor or holds else value

    positional = [(kept(v, i), n) for i, (v, n) in enumerate(arguments.positional)]
    keywords = {k: g for k, g in arguments.keywords.items() if kept(g[0], 1) is not _HIDDEN}
    return Arguments(positional, keywords, arguments.open)


_HIDDEN = Library("")


def _is_hidden(value: Json) -> bool:
    return value == ""


def _outputs(made: Made) -> int:
    """How many tensors the layer gives, or 0 where that depends."""
    name, args = made.draft.name, made.draft.args
    fixed = {"torch.nn.LSTM": 3, "torch.nn.GRU": 2, "torch.nn.RNN": 2, "torch.nn.LSTMCell": 2,
             "torch.nn.MultiheadAttention": 2}  # fmt: skip
    if args.get("return_indices", False) is not False:
        return 0
    return fixed.get(name, 1)


def _is_multiple(short: str, arguments: Arguments, place: int) -> bool:
    if short in ("max", "min", "median", "mode"):
        given = arguments.node(place, "dim")
        return given is not None and not isinstance(given[0], Tensor)
    if short in ("where", "unique") or arguments.get(None, "return_indices") is not None:
        return len(arguments.positional) <= place or short == "unique"
    return short in MULTIPLE
