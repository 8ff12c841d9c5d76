"""Interpreter: Keras models, with `add`, calls, `compile` and `fit`, and the inputs of a compiled model's loss."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.network.keras_library import KerasLibrary
from dnnfix.network.machine import Arguments, Machine
from dnnfix.network.names import loss_name, metric_name, optimizer_name
from dnnfix.network.recorder import draft_of
from dnnfix.network.signatures import defaults
from dnnfix.network.user_code import UserCode
from dnnfix.network.values import (
    Abstract,
    Draft,
    Function,
    Instance,
    Item,
    Items,
    KerasModel,
    Library,
    Made,
    Mapping_,
    Opaque,
    Plain,
    Tensor,
)
from dnnfix.records import Call, Value

_RUNS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "fit_generator")
_LEARNS = ("fit", "train_on_batch", "fit_generator", "evaluate", "test_on_batch")
"""Methods that compute the loss."""
_MOST_REPLAYED = 500


@dataclass(eq=False, slots=True)
class Compiled:
    """A call of `compile`, kept until the whole program is read."""

    model: Abstract
    arguments: Arguments
    node: ast.Call | None


class KerasModels:
    """Reads what a program does with Keras models. `finish` records the losses once everything is known."""

    def __init__(self, machine: Machine, library: KerasLibrary, user_code: UserCode) -> None:
        self.machine = machine
        self.recorder = machine.recorder
        self.library = library
        self.user_code = user_code
        self.compiled: list[Compiled] = []
        self.targets: dict[int, list[Value]] = {}
        self.learning: set[int] = set()
        self.predicting: set[int] = set()

    # --- methods

    def method(self, base: Abstract, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """A method or property of a Keras model, or of an object of a subclass."""
        if isinstance(base, KerasModel):
            if name in ("add", "pop"):
                return self._change(base, name, arguments)
            if name in ("output", "outputs", "input", "inputs", "layers"):
                return self._property(base, name)
        if name == "compile":
            self.compiled.append(Compiled(base, arguments, node))
            return Plain(None)
        if name in _RUNS:
            return self._run(base, name, arguments, node)
        if name == "get_layer" and isinstance(base, KerasModel):
            self.machine.escape(base, deep=True)
        return Opaque(node)

    def _change(self, base: KerasModel, name: str, arguments: Arguments) -> Abstract:
        layer = arguments.get(0, "layer")
        if base.layers is None:
            return Opaque()
        base.emitted = None
        if name == "add" and layer is not None:
            self.machine.append(base.layers, layer)
        elif name == "pop" and base.layers.items and self.machine.certain(base.layers.context):
            base.layers.items.pop()
        else:
            base.layers.items.append(Item(Opaque(), False))
        return Plain(None)

    def _property(self, base: KerasModel, name: str) -> Abstract:
        if name in ("output", "outputs"):
            outputs = self.outputs(base)
            if len(outputs) == 1 and name == "output":
                return outputs[0]
            return Items("list", [Item(o) for o in outputs], self.machine.context)
        if name in ("input", "inputs"):
            self.outputs(base)
            if len(base.inputs) == 1 and name == "input":
                return base.inputs[0]
            return Items("list", [Item(i) for i in base.inputs], self.machine.context) if base.inputs else Opaque()
        for item in base.layers.items if base.layers is not None else ():
            self.machine.escape(item.value)
        return Opaque()

    def _run(self, base: Abstract, name: str, arguments: Arguments, node: ast.Call | None) -> Abstract:
        draft = draft_of(base)
        inputs: list[Value] = []
        for position, label in ((0, "x"), (1, "y")):
            if label == "y" and name.startswith("predict"):
                continue
            found = arguments.node(position, label)
            if found is not None and not (isinstance(found[0], Plain) and position):
                inputs.append(self.recorder.value_of(found[0], found[1] or node))
        if draft is None or (isinstance(base, Instance) and base.of.framework != "keras"):
            return Opaque()
        args = {k: v.value for k, (v, _) in arguments.keywords.items() if isinstance(v, Plain)}
        made = self.recorder.call(f"keras.Model.{name}", node, inputs, draft=draft, args=args)
        draft.called -= 1
        (self.learning if name in _LEARNS else self.predicting).add(draft.id)
        if name in ("fit", "train_on_batch"):
            self.targets.setdefault(draft.id, []).append(inputs[1] if len(inputs) > 1 else Value())
        return Tensor(made[0], "numpy") if name.startswith("predict") else Opaque()

    # --- outputs

    def outputs(self, model: Abstract) -> tuple[Abstract, ...]:
        """The outputs of a model on its symbolic input; the layers of a `Sequential` are called for it once."""
        if isinstance(model, KerasModel):
            if model.layers is None:
                return model.outputs
            if model.emitted is None:
                first = self._sequential_input(model)
                model.inputs = (first,)
                model.emitted = self._chain(model, first, None)
            return (model.emitted,)
        if isinstance(model, Instance):
            if isinstance(model.inner, KerasModel) and self.user_code.find(model.of, "call") is None:
                return self.outputs(model.inner)
            symbol = self.recorder.tensor("keras", origin="symbolic")
            result = self.user_code.call_instance(model, Arguments([(symbol, None)]))
            if isinstance(result, Items) and result.exact:
                return tuple(result.values())
            return (result,)
        return (Opaque(),)

    def _sequential_input(self, model: KerasModel) -> Abstract:
        items = model.layers.items if model.layers is not None else []
        first = items[0].value if items and items[0].certain else None
        if isinstance(first, Tensor):
            return first
        if isinstance(first, Made):
            args = first.draft.args
            shape = args.get("input_shape")
            if isinstance(args.get("input_dim"), int) and first.draft.name != "keras.layers.Embedding":
                shape = [args["input_dim"]]
            batch = args.get("batch_input_shape")
            whole = batch if isinstance(batch, list) else [None, *shape] if isinstance(shape, list) else None
            if whole is not None and all(d is None or isinstance(d, int) for d in whole):
                return self.recorder.tensor("keras", shape=tuple(whole), origin="symbolic", site=first.draft.site)
        return self.recorder.tensor("keras", origin="symbolic", site=model.draft.site)

    def _chain(self, model: KerasModel, first: Abstract, node: ast.Call | None) -> Abstract:
        current = first
        for item in model.layers.items if model.layers is not None else ():
            if isinstance(item.value, Tensor) and item.value.value.origin == "symbolic":
                continue
            if not item.certain or isinstance(item.value, Opaque):
                current = Opaque()
            if isinstance(item.value, Opaque):
                continue
            site = node if node is not None else self._made_by(item.value)
            current = self.machine.call(item.value, Arguments([(current, None)]), site, self.machine.module)
            if not item.certain:
                current = Opaque()
        return current

    def _made_by(self, value: Abstract) -> ast.Call | None:
        draft = draft_of(value)
        found = self.recorder.source.node_at(draft.site) if draft is not None and draft.site is not None else None
        return found if isinstance(found, ast.Call) else None

    def call_model(self, model: KerasModel, arguments: Arguments, node: ast.Call | None) -> Abstract:
        """The result of calling a model: its layers are called again on the input."""
        model.draft.called += 1
        given = arguments.get(0, "inputs")
        values = list(given.values()) if isinstance(given, Items) and given.exact else [given or Opaque()]
        if model.layers is not None:
            return self._chain(model, values[0], node)
        replaced = self._replay(model, values, node)
        if replaced is None:
            return Opaque()
        return replaced[0] if len(replaced) == 1 else Items("list", [Item(r) for r in replaced], self.machine.context)

    def _replay(self, model: KerasModel, given: list[Abstract], node: ast.Call | None) -> list[Abstract] | None:
        """The calls between a functional model's inputs and outputs, recorded again for other inputs."""
        if len(given) != len(model.inputs) or not all(isinstance(o, Tensor) for o in model.outputs):
            return None
        swap: dict[int, Value] = {}
        for symbol, value in zip(model.inputs, given, strict=True):
            if isinstance(symbol, Tensor) and symbol.value.id is not None:
                swap[symbol.value.id] = self.recorder.value_of(value, node)
        wanted = self._between(model, set(swap))
        drafts = {d.id: d for d in self.recorder.drafts}
        for call in wanted:
            inputs = [swap.get(v.id or 0, v) for v in call.inputs]
            draft = drafts.get(call.component or 0)
            made = self.recorder.call(call.name, node, inputs, len(call.outputs), draft=draft, args=dict(call.args))
            swap.update({old.id or 0: new for old, new in zip(call.outputs, made, strict=True)})
        results: list[Abstract] = []
        for output in model.outputs:
            if not isinstance(output, Tensor):
                return None
            results.append(Tensor(swap.get(output.value.id or 0, Value()), "keras"))
        return results

    def _between(self, model: KerasModel, inputs: set[int]) -> list[Call]:
        by_output = {v.id: call for call in self.recorder.calls for v in call.outputs}
        pending = [o.value.id for o in model.outputs if isinstance(o, Tensor)]
        found: dict[int, Call] = {}
        while pending and len(found) < _MOST_REPLAYED:
            call = by_output.get(pending.pop())
            if call is not None and call.id not in found:
                found[call.id] = call
                pending.extend(v.id for v in call.inputs if v.id not in inputs)
        return [found[id] for id in sorted(found)]

    # --- compile

    def finish(self) -> None:
        """Record the losses of compiled models, and call the models that nothing called."""
        for compiled in self.compiled:
            self._compile(compiled)
        inherited = [i.inner for i in self.machine.instances if i.inner is not None]
        for root in [*self.recorder.roots, *inherited]:
            if isinstance(root, KerasModel) and root.layers is not None and root.layers.items and not root.draft.called:
                held = [draft_of(i.value) for i in root.layers.items]
                if any(d is not None and d.called == 0 for d in held):
                    self.outputs(root)

    def _compile(self, compiled: Compiled) -> None:
        draft = draft_of(compiled.model)
        if isinstance(compiled.model, Instance) and compiled.model.of.framework != "keras":
            return
        self._components(compiled)
        found = compiled.arguments.node(1, "loss")
        if found is None or draft is not None and self._only_predicts(draft):
            return
        outputs = self.outputs(compiled.model)
        targets = self.targets.get(draft.id, []) if draft is not None else []
        target = targets[0] if len(targets) == 1 and len(outputs) == 1 else Value()
        for loss, at, output in self._pairs(found, outputs):
            made = self._loss(loss, at, compiled.node)
            if made is not None:
                value = self.recorder.value_of(output, compiled.node) if output is not None else Value()
                self.recorder.call(made.name, made.site or compiled.node, [value, target], draft=made)

    def _only_predicts(self, draft: Draft) -> bool:
        """Whether a program that trains other models asks this one for predictions only.

        Keras 1 wanted a model compiled for that as well, as the generator of a pair is: its loss is never computed.
        """
        return draft.id in self.predicting and draft.id not in self.learning and bool(self.learning)

    def _pairs(
        self, found: tuple[Abstract, ast.expr | None], outputs: tuple[Abstract, ...]
    ) -> list[tuple[Abstract, ast.expr | None, Abstract | None]]:
        """Each loss with the output that it is for."""
        loss, node = found
        if isinstance(loss, Mapping_):
            nodes = dict(zip(loss.entries, node.values, strict=False)) if isinstance(node, ast.Dict) else {}
            return [(v, nodes.get(k, node), self._named(outputs, k)) for k, v in loss.entries.items()]
        if isinstance(loss, Items):
            nodes_ = node.elts if isinstance(node, ast.List | ast.Tuple) else [node] * len(loss.items)
            same = len(loss.items) == len(outputs) and loss.exact
            values = zip(loss.values(), nodes_, strict=False)
            return [(v, n, outputs[i] if same else None) for i, (v, n) in enumerate(values)]
        return [(loss, node, output) for output in outputs]

    def _named(self, outputs: tuple[Abstract, ...], name: object) -> Abstract | None:
        calls = {c.id: c for c in self.recorder.calls}
        drafts = {d.id: d for d in self.recorder.drafts}
        for output in outputs:
            call = calls.get(output.value.producer or 0) if isinstance(output, Tensor) else None
            draft = drafts.get(call.component or 0) if call is not None else None
            if draft is not None and draft.args.get("name") == name:
                return output
        return None

    def _loss(self, loss: Abstract, node: ast.expr | None, call: ast.Call | None) -> Draft | None:
        if isinstance(loss, Made) and loss.draft.kind == "loss":
            return loss.draft
        if isinstance(loss, Function):
            name = getattr(loss.node, "name", "lambda")
            return self.recorder.draft("loss", f"user.{name}", node)
        if isinstance(loss, Instance):
            return loss.draft or self.recorder.draft("loss", f"user.{loss.of.node.name}", node)
        given, spelled = _spelled(loss, node)
        if not given:
            return None
        name = loss_name(given)
        known = name or f"unknown.{given}"
        return self.recorder.draft("loss", known, spelled or call, dict(defaults(name)) if name else {})

    def _components(self, compiled: Compiled) -> None:
        """The optimizer and the metrics that `compile` was given as strings."""
        optimizer = compiled.arguments.node(0, "optimizer")
        if optimizer is not None:
            given, spelled = _spelled(*optimizer)
            self._component("optimizer", optimizer_name(given.rpartition(".")[2]), spelled)
        metrics = compiled.arguments.node(2, "metrics")
        if metrics is not None:
            self._metrics(*metrics)

    def _metrics(self, value: Abstract, node: ast.expr | None) -> None:
        if isinstance(value, Items):
            nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node] * len(value.items)
            for inner, at in zip(value.values(), nodes, strict=False):
                self._metrics(inner, at)
            return
        if isinstance(value, Mapping_):
            for inner in value.entries.values():
                self._metrics(inner, inner.node if isinstance(inner, Plain) else node)
            return
        given, spelled = _spelled(value, node)
        self._component("metric", metric_name(given), spelled)

    def _component(self, kind: str, name: str | None, node: ast.expr | None) -> None:
        if name is not None:
            self.recorder.draft(kind, name, node, dict(defaults(name)))


def _spelled(value: Abstract, node: ast.expr | None) -> tuple[str, ast.expr | None]:
    """The string or canonical name that a component is given as, empty where it is neither, and where that stands."""
    given = value.value if isinstance(value, Plain) else value.name if isinstance(value, Library) else None
    spelled = value.node if isinstance(value, Plain) and value.node is not None else node
    return (given if isinstance(given, str) else ""), spelled
