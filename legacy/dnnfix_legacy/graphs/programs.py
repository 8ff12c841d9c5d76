"""Edits that keep a TensorFlow 1 program of graphs and sessions running, under `tensorflow.compat.v1`.

`tensorflow.compat.v1` still has the functions of version 1. With the behaviour of version 2 switched off, a program needs
no more than that import, except where a name went away before version 1 or with Keras 3: those are written anew here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from dnnfix.detect.versioning.first_releases import boolean_axes, is_older, reordered
from dnnfix.detect.versioning.graphs import graph_places, names_of_tensorflow
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses, uses_of
from dnnfix.records import Delete, Edit, Replace, Site
from dnnfix.source.arguments import argument_value, keyword_value
from dnnfix.source.program import Source, once
from dnnfix_legacy.graphs.functions import GraphFunctions
from dnnfix_legacy.graphs.rewriting import Rewriting
from dnnfix_legacy.graphs.sessions import SessionSettings, session_settings

_V1 = "tensorflow.compat.v1"

_GONE_PARTS = (
    "tensorflow.contrib",
    "tensorflow.models.",
    "tensorflow.nn.rnn_cell",
    "tensorflow.python.ops.rnn",
    "tensorflow.python.ops.rnn_cell",
    "tensorflow.python.ops.seq2seq",
)
"""What of version 1 can be imported no more, and is taken out of the imports when nothing uses it any longer."""

_LONG = 80
"""Characters from which the arguments of a call that stood on several lines go on lines of their own."""

_LAYERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "dense": ("Dense", ("units", "activation", "use_bias", "kernel_initializer", "bias_initializer")),
    "conv1d": ("Conv1D", ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate")),
    "conv2d": ("Conv2D", ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate")),
    "conv3d": ("Conv3D", ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate")),
    "conv2d_transpose": ("Conv2DTranspose", ("filters", "kernel_size", "strides", "padding", "data_format")),
    "max_pooling1d": ("MaxPooling1D", ("pool_size", "strides", "padding", "data_format")),
    "max_pooling2d": ("MaxPooling2D", ("pool_size", "strides", "padding", "data_format")),
    "max_pooling3d": ("MaxPooling3D", ("pool_size", "strides", "padding", "data_format")),
    "average_pooling1d": ("AveragePooling1D", ("pool_size", "strides", "padding", "data_format")),
    "average_pooling2d": ("AveragePooling2D", ("pool_size", "strides", "padding", "data_format")),
    "average_pooling3d": ("AveragePooling3D", ("pool_size", "strides", "padding", "data_format")),
    "flatten": ("Flatten", ()),
}
"""By function of tf.layers, the layer of Keras that it made, and those parameters that are at the same place in both."""

_OF_CONTRIB = {
    "fully_connected": "dense",
    "conv2d": "conv2d",
    "max_pool2d": "max_pooling2d",
    "flatten": "flatten",
    "dropout": "dropout",
}
"""By function of tf.contrib.layers, the function of tf.layers that does the same."""

_WEIGHTED = frozenset({"dense", "conv1d", "conv2d", "conv3d", "conv2d_transpose"})
"""The functions whose layers have weights, which a program may ask for by scope."""

_NOT_OF_KERAS = {
    "kernel_regularizer": "the layers of Keras do not put their penalties into the graph's collections",
    "bias_regularizer": "the layers of Keras do not put their penalties into the graph's collections",
    "activity_regularizer": "the layers of Keras do not put their penalties into the graph's collections",
    "trainable": "a graph trains the weights of Keras layers whatever their settings",
    "reuse": "the layers of Keras do not find their weights by scope",
    "_reuse": "the layers of Keras do not find their weights by scope",
    "_scope": "the layers of Keras do not find their weights by scope",
}

_PENALTIES = {
    "contrib.layers.l2_regularizer": "{tf}.nn.l2_loss(weights)",
    "contrib.layers.l1_regularizer": "{tf}.reduce_sum({tf}.abs(weights))",
}
"""Regularizers of tf.contrib: what they multiplied with their scale."""

_CONTRIB_KEYWORDS = {
    "num_outputs": "units",
    "activation_fn": "activation",
    "weights_initializer": "kernel_initializer",
    "biases_initializer": "bias_initializer",
    "stride": "strides",
}

_INITIALIZERS = {
    "xavier_initializer": ("uniform", "seed", "dtype"),
    "xavier_initializer_conv2d": ("uniform", "seed", "dtype"),
    "variance_scaling_initializer": ("factor", "mode", "uniform", "seed", "dtype"),
}
"""Initializers of `tf.contrib.layers`, and what they are given by place."""

_LABELS_FIRST = {
    "losses.softmax_cross_entropy": ("logits", "onehot_labels", "weights", "label_smoothing", "scope"),
    "losses.sparse_softmax_cross_entropy": ("logits", "labels", "weights", "scope"),
    "losses.sigmoid_cross_entropy": ("logits", "multi_class_labels", "weights", "label_smoothing", "scope"),
    "losses.absolute_difference": ("predictions", "labels", "weights", "scope"),
    "losses.mean_squared_error": ("predictions", "labels", "weights", "scope"),
    "losses.log_loss": ("predictions", "labels", "weights", "epsilon", "scope"),
    "losses.hinge_loss": ("logits", "labels", "weights", "scope"),
    "metrics.streaming_accuracy": ("predictions", "labels", "weights"),
    "metrics.streaming_precision": ("predictions", "labels", "weights"),
    "metrics.streaming_recall": ("predictions", "labels", "weights"),
    "metrics.streaming_auc": ("predictions", "labels", "weights"),
    "metrics.streaming_mean_absolute_error": ("predictions", "labels", "weights"),
    "metrics.streaming_mean_squared_error": ("predictions", "labels", "weights"),
    "metrics.streaming_root_mean_squared_error": ("predictions", "labels", "weights"),
}
"""Functions of `tf.contrib` and `slim` that live on, without `streaming_`, with the labels first: their old parameters."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a program of graphs uses and nothing replaces: where, its name, and why."""

    site: Site
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A program of graphs and sessions, and what it becomes under `tensorflow.compat.v1`."""

    places: tuple[Site, ...]
    """Every expression that stops the program with version 2, the first one first."""
    edits: tuple[Edit, ...]
    """None where the program does not import TensorFlow as a whole."""
    left: tuple[Left, ...]
    changed: tuple[tuple[Site, str], ...]
    """Calls and names that no version of the last years had: where, and what became of them."""
    exact: bool
    """Whether all names mean what they meant."""


@dataclass
class _Keeping:
    """The edits that keep a program's graph, as they are worked out."""

    uses: Uses
    left: list[Left] = field(default_factory=list)
    changed: dict[Site, str] = field(default_factory=dict)
    exact: bool = True
    _modules: list[tuple[ast.expr, str]] = field(default_factory=list)
    """Parts that are gone and are given a name of their own."""
    _new: Rewriting = field(init=False)
    _functions: GraphFunctions = field(init=False)

    def __post_init__(self) -> None:
        self._new = Rewriting(self.uses.source)
        alias = next((local for local, name in self.uses.imported.items() if name == "tensorflow"), "tf")
        self._functions = GraphFunctions(self.uses, self._new, alias)

    # --- the edits

    def edits(self) -> tuple[Edit, ...]:
        """The edits that keep the graph, the import first; none where the program does not import TensorFlow whole."""
        imports = self._imports()
        if not imports:
            return ()
        for node, written in names_of_tensorflow(self.uses):
            self._name(node, written)
        for call in self.uses.calls():
            self._positions(call)
        return (*imports, *self._gone_imports(), *self._gone_names(), *self._new.edits(), *self._functions.edits())

    def _imports(self) -> list[Edit]:
        """`import tensorflow as tf`, wherever it stands, as compat.v1; the switch stands after the first."""
        source = self.uses.source
        edits: list[Edit] = []
        switched = False
        for statement in sorted(self.uses.imports(), key=lambda node: node.lineno):
            if not isinstance(statement, ast.Import):
                continue
            alias = next((each for each in statement.names if each.name == "tensorflow"), None)
            if alias is None:
                continue
            local = alias.asname or "tensorflow"
            others = [each for each in statement.names if each is not alias]
            code = f"import {_V1} as {local}"
            if others:
                named = (f"{each.name} as {each.asname}" if each.asname else each.name for each in others)
                code = f"import {', '.join(named)}\n{code}"
            if not switched:
                code += f"\n{local}.disable_v2_behavior()"
                switched = True
            edits.append(Replace(source.site(statement), code))
        return edits

    def _gone_imports(self) -> Iterator[Edit]:
        """The imports of parts that are gone: taken away where nothing needs them any more, else left."""
        source = self.uses.source
        for statement in self.uses.imports():
            module = statement.module if isinstance(statement, ast.ImportFrom) else ""
            names = [f"{module}.{alias.name}" if module else alias.name for alias in statement.names]
            if not all(name.startswith(_GONE_PARTS) for name in names):
                continue
            locals_ = {alias.asname or alias.name for alias in statement.names}
            used = [node for node in self.uses.names(*locals_) if isinstance(node.ctx, ast.Load)]
            if all(self._written_anew(node) for node in used):
                yield Delete(source.site(statement))
            else:
                target = self.uses.target(names[0])
                self._leave(source.site(statement), names[0], target.change.note if target is not None else "")

    def _gone_names(self) -> Iterator[Edit]:
        """`slim = tf.contrib.slim`: taken away where nothing needs it any more, else left."""
        for node, written in self._modules:
            statement = self.uses.source.parent(node)
            if not isinstance(statement, ast.Assign):
                continue
            used = self.uses.names(*(target.id for target in statement.targets if isinstance(target, ast.Name)))
            if all(self._written_anew(name) for name in used if isinstance(name.ctx, ast.Load)):
                yield Delete(self.uses.source.site(statement))
            else:
                target = self.uses.target(written)
                self._leave(self.uses.source.site(node), written, target.change.note if target is not None else "")

    def _written_anew(self, node: ast.AST | None) -> bool:
        while node is not None:
            if node in self._new:
                return True
            node = self.uses.source.parent(node)
        return False

    # --- names

    def _name(self, node: ast.expr, written: str) -> None:
        """One use of a name of TensorFlow."""
        rest = written.removeprefix("tensorflow.")
        above = self.uses.source.parent(node)
        call = above if isinstance(above, ast.Call) and above.func is node else None
        if call is not None and (rest in self._of_keras or rest == "layers.dropout") and self._layer(call, rest):
            return
        if (refused := self._functions.put(node, call, rest)) is not None:
            self.exact = False
            if refused:
                self._leave(self.uses.source.site(node), written, refused)
            else:
                self._change(
                    node, f"{written} was removed with TensorFlow 1: the program gets a function that does the same"
                )
            return
        if rest.startswith("contrib.") and rest.count(".") == 1 and isinstance(above, ast.Assign) and call is None:
            self._modules.append((node, written))
            return
        if rest.partition(".")[0] in ("compat", "python", "keras", "core", "examples", "models"):
            if rest.startswith("keras.") and not rest.startswith(("keras.datasets.", "keras.utils.")):
                self.exact = False  # Keras 3 stands where version 1 had a Keras of its own
            return
        if call is not None and self._layer(call, rest):
            return
        if call is not None and rest in _PENALTIES and len(call.args) == 1 and not call.keywords:
            penalty = _PENALTIES[rest].format(tf=self._alias(node))
            self._new.write(call, lambda: f"lambda weights: {self._new.text(call.args[0])} * {penalty}")
            return
        if call is not None and (self._labels_first(call, rest) or self._drawn(call, rest)):
            return
        target = self.uses.target(f"{_V1}.{rest}")
        if target is None:
            early = self.uses.target(written)
            if early is None:
                return
            if not rest.startswith(("contrib.", "estimator.")):
                if not all(change.removed.startswith(("0.", "1.")) for change in early.changes):
                    return
            elif early.final.startswith("tensorflow.keras."):
                early = replace(early, final="")  # what a graph takes is among the names below compat.v1
            target = early
        if not target.final:
            self._leave(self.uses.source.site(node), written, target.change.note)
            return
        self.exact = self.exact and target.safe
        leaf = target.final.removeprefix(f"{_V1}.").removeprefix("tensorflow.")
        self._new.write(node, f"{self._alias(node)}.{leaf}")
        first = next((change.removed for change in target.changes if change.removed), "2.0")
        if first.startswith(("0.", "1.")) or rest.startswith("contrib."):
            self._change(node, f"{written} is called {self._alias(node)}.{leaf} since TensorFlow {first}")

    def _change(self, node: ast.expr, what: str) -> None:
        self.changed.setdefault(self.uses.source.site(node), what)

    def _leave(self, site: Site, name: str, reason: str) -> None:
        self.left.append(Left(site, name, reason or f"nothing replaces {name}"))

    def _alias(self, node: ast.expr) -> str:
        """The name that TensorFlow has in the program."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and self.uses.imported.get(root.id) == "tensorflow":
            return root.id
        return next(local for local, name in self.uses.imported.items() if name == "tensorflow")

    # --- layers that were functions

    def _layer(self, call: ast.Call, rest: str) -> bool:
        """`tf.layers.dense(x, 10)` as `tf.keras.layers.Dense(10)(x)`; whether the name is one of those."""
        contrib = rest.startswith(("contrib.layers.", "contrib.slim."))
        if not contrib and not rest.startswith("layers."):
            return False
        name = rest.rpartition(".")[2]
        if name == "dropout" and not contrib:
            return self._dropout(call)
        if contrib:
            if name not in _OF_CONTRIB:
                return False
            name = _OF_CONTRIB[name]
            if name == "dropout":
                return self._contrib_dropout(call)
        if name not in _LAYERS:
            return False
        keras, positions = _LAYERS[name]
        reason = self._refused(call, contrib, name)
        site = self.uses.source.site(call.func)
        if reason:
            self._leave(site, f"tensorflow.{rest}", reason)
            return True
        self.exact = False
        inputs = argument_value(call, "inputs", 0)
        if contrib and name == "dense":
            positions = ("units", "activation")
        if inputs is None or len(call.args) > len(positions) + 1:
            self._leave(site, f"tensorflow.{rest}", "it is not plain which arguments the call has")
            return True
        kept = call.keywords if call.args else [k for k in call.keywords if k.arg != "inputs"]
        placed = call.args[1:]
        if contrib and name == "dense" and len(placed) > 1:
            placed, kept = placed[:1], [ast.keyword("activation_fn", placed[1]), *kept]
        alias = self._alias(call.func)

        def written() -> str:
            given = [self._new.text(argument) for argument in placed]
            given += self._contrib_arguments(name, call, kept) if contrib else self._arguments(kept)
            made = f"{alias}.keras.layers.{keras}("
            between = ", "
            if call.lineno != call.end_lineno and len(made) + sum(map(len, given)) > _LONG:
                between = ",\n" + " " * (self.uses.source.site(call).column - 1 + len(made))
            return f"{made}{between.join(given)})({self._new.text(inputs)})"

        self._new.write(call, written)
        return True

    def _dropout(self, call: ast.Call) -> bool:
        """`tf.layers.dropout(x, rate, training=on)`, which does nothing unless it is told that it is training."""
        given = dict(zip(("inputs", "rate", "noise_shape", "seed", "training"), call.args, strict=False))
        given.update({k.arg: k.value for k in call.keywords if k.arg and k.arg != "name"})
        inputs, training = given.pop("inputs", None), given.pop("training", None)
        if inputs is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            return False
        alias = self._alias(call.func)
        on = training.value if isinstance(training, ast.Constant) else None
        fed = self.uses.source.constructor(training) if training is not None else None
        asked = fed is not None and (self.uses.source.written(fed.func) or "").startswith("tensorflow.placeholder")
        if on is None and training is not None and not (asked and isinstance(inputs, (ast.Name, ast.Attribute))):
            return False

        def written() -> str:
            given.setdefault("rate", ast.Constant(0.5))
            parts = [
                f"{key}={self._new.text(value) if hasattr(value, 'lineno') else ast.unparse(value)}"
                for key, value in given.items()
            ]
            dropped = f"{alias}.nn.dropout({self._new.text(inputs)}, {', '.join(parts)})"
            if on is not None or training is None:
                return dropped if on else f"{alias}.identity({self._new.text(inputs)})"
            return f"{alias}.cond({self._new.text(training)}, lambda: {dropped}, lambda: {self._new.text(inputs)})"

        self.exact = False
        self._new.write(call, written)
        return True

    @cached_property
    def _older(self) -> bool:
        return is_older(self.uses)

    @cached_property
    def _of_keras(self) -> frozenset[str]:
        """The functions, in whose place layers of Keras stand: all of them, or those without weights alone.

        One call that needs more than Keras has is enough for all layers with weights to be functions of the program.
        """
        names = {f"layers.{name}": name for name in _LAYERS}
        names |= {f"contrib.{part}.{old}": name for part in ("layers", "slim") for old, name in _OF_CONTRIB.items()}
        weighted = {old for old, name in names.items() if name in _WEIGHTED}
        for node, written in names_of_tensorflow(self.uses):
            old = written.removeprefix("tensorflow.")
            if old in weighted:
                above = self.uses.source.parent(node)
                if not isinstance(above, ast.Call) or above.func is not node:
                    return frozenset(names.keys() - weighted)
                if self._refused(above, old.startswith("contrib."), names[old]):
                    return frozenset(names.keys() - weighted)
        return frozenset(names)

    def _refused(self, call: ast.Call, contrib: bool, name: str) -> str:
        """Why a layer of Keras cannot take the call's place."""
        source = self.uses.source
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return "the call unpacks its arguments"
        for keyword in call.keywords:
            plain = keyword.arg == "trainable"  # what it is where nothing is said
            empty = isinstance(keyword.value, ast.Constant) and bool(keyword.value.value) == plain
            if keyword.arg in _NOT_OF_KERAS and not empty:
                return _NOT_OF_KERAS[keyword.arg]
            if contrib and keyword.arg in ("normalizer_fn", "weights_regularizer", "variables_collections"):
                return f"the layers of Keras have no {keyword.arg}"
        if name not in _WEIGHTED:
            return ""
        if not source.words.isdisjoint({"AUTO_REUSE", "reuse_variables", "arg_scope", "make_template"}):
            return "the layers of Keras do not find their weights and settings by scope"
        if any(k.arg == "reuse" for other in self.uses.calls() for k in other.keywords):
            return "the layers of Keras do not find their weights by scope"
        return ""

    def _arguments(self, keywords: list[ast.keyword]) -> list[str]:
        return [
            f"{k.arg}={self._new.text(k.value)}"
            for k in keywords
            if k.arg and k.arg not in _NOT_OF_KERAS and not (k.arg == "name" and not isinstance(k.value, ast.Constant))
        ]

    def _contrib_arguments(self, name: str, call: ast.Call, keywords: list[ast.keyword]) -> list[str]:
        """The keywords of tf.contrib.layers as those of Keras, with the defaults that differ."""
        given: dict[str, str] = {}
        for keyword in keywords:
            if keyword.arg in ("scope", "reuse", None):
                continue
            renamed = {"num_outputs": "units" if name == "dense" else "filters"}.get(
                keyword.arg, _CONTRIB_KEYWORDS.get(keyword.arg, keyword.arg)
            )
            if name == "max_pooling2d":
                renamed = {"kernel_size": "pool_size"}.get(renamed, renamed)
            if (
                renamed == "bias_initializer"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value is None
            ):
                given["use_bias"] = "False"
                continue
            given[renamed] = self._new.text(keyword.value)
        if name in ("dense", "conv2d"):
            given.setdefault("activation", '"relu"')
        if name == "conv2d" and len(call.args) < 5:
            given.setdefault("padding", '"same"')
        if name == "max_pooling2d" and len(call.args) < 3:
            given.setdefault("strides", "2")
        return [f"{key}={value}" for key, value in given.items()]

    def _contrib_dropout(self, call: ast.Call) -> bool:
        """`tf.contrib.layers.dropout(x, keep_prob)`, which was always on unless told otherwise."""
        if len(call.args) > 2 or any(k.arg not in ("keep_prob", "inputs", "scope") for k in call.keywords):
            return False
        inputs = argument_value(call, "inputs", 0)
        kept = call.args[1] if len(call.args) == 2 else keyword_value(call, "keep_prob")
        if inputs is None:
            return False
        alias = self._alias(call.func)
        self._new.write(
            call,
            lambda: (
                f"{alias}.nn.dropout({self._new.text(inputs)}, {self._new.text(kept) if kept is not None else '0.5'})"
            ),
        )
        return True

    # --- functions of tf.contrib with other arguments

    def _labels_first(self, call: ast.Call, rest: str) -> bool:
        """A loss or metric of `tf.contrib`, as the function of today with its arguments by name; whether it is one."""
        name = rest.removeprefix("contrib.").removeprefix("slim.")
        parameters = _LABELS_FIRST.get(name, ())
        plain = not any(isinstance(a, ast.Starred) for a in call.args) and all(k.arg for k in call.keywords)
        if not rest.startswith("contrib.") or not parameters or not plain or len(call.args) > len(parameters):
            return False
        given = dict(zip(parameters, call.args, strict=False))
        given.update(
            {{"weight": "weights", "target": "labels"}.get(k.arg, k.arg): k.value for k in call.keywords if k.arg}
        )
        self._call(call, f"{self._alias(call.func)}.{name.replace('streaming_', '')}", given, {})
        self.exact = False  # a loss averages over other weights, and stands in another collection
        return True

    def _drawn(self, call: ast.Call, rest: str) -> bool:
        """An initializer of `tf.contrib.layers`, by the distribution that it drew from; whether it is one that is called."""
        leaf = rest.removeprefix("contrib.layers.")
        names = _INITIALIZERS.get(leaf, ()) if leaf != rest else ()
        given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg in names}
        uniform = given.pop("uniform", None)
        mode = given.pop("mode", None)
        if not names or len(given) + (uniform is not None) + (mode is not None) < len(call.args) + len(call.keywords):
            return False
        if not isinstance(uniform, (ast.Constant, type(None))) or not isinstance(mode, (ast.Constant, type(None))):
            return False
        alias = self._alias(call.func)
        self.exact = False

        def written() -> str:
            parts = [f"{key}={self._new.text(value)}" for key, value in given.items() if key != "factor"]
            if leaf != "variance_scaling_initializer":
                kind = "uniform" if uniform is None or uniform.value else "normal"
                return f"{alias}.glorot_{kind}_initializer({', '.join(parts)})"
            scale = self._new.text(given["factor"]) if "factor" in given else "2.0"
            parts.insert(0, scale)
            if mode is not None and str(mode.value).lower() != "fan_in":
                parts.insert(1, f'mode="{str(mode.value).lower()}"')
            if uniform is not None and uniform.value:
                parts.insert(1, 'distribution="uniform"')
            return f"{alias}.variance_scaling_initializer({', '.join(parts)})"

        self._new.write(call, written)
        return True

    # --- arguments that changed places before version 1

    def _positions(self, call: ast.Call) -> None:
        """Calls of releases before 1.0, whose arguments had other places; later ones refused them or had an error."""
        source = self.uses.source
        written = source.written(call.func) or ""
        if call in self._new or not written.startswith("tensorflow.") or written.startswith(_V1):
            return
        marks = boolean_axes(call, written)
        if marks is not None:
            self._new.write(*marks)
            self._change(call, f"{written} takes the indices of axes since TensorFlow 1.0")
            return
        changed = reordered(source, call, written, self._older, graph=True)
        if changed is not None:
            self._change(call, changed.what)
            self._call(call, source.segment(source.site(call.func)), changed.given, {}, changed.placed)

    def _call(
        self,
        call: ast.Call,
        function: str,
        new: dict[str, ast.expr],
        keywords: dict[str, ast.expr],
        positional: int = 0,
    ) -> None:
        func = call.func

        def written() -> str:
            name = self._new.text(func) if func in self._new else function
            given = [
                self._new.text(value) if place < positional else f"{key}={self._new.text(value)}"
                for place, (key, value) in enumerate(new.items())
            ]
            given += [f"{key}={self._new.text(value)}" for key, value in keywords.items()]
            return f"{name}({', '.join(given)})"

        self._new.write(call, written)


def in_later_order(source: Source) -> tuple[Edit, ...]:
    """The edits of calls that were written for the order of arguments before TensorFlow 1.0."""
    keeping = _Keeping(uses_of(source))
    for call in keeping.uses.calls():
        keeping._positions(call)
    return keeping._new.edits()


@once
def graph_of(source: Source) -> Graph | None:
    """The program's graph, where it makes one itself with names that TensorFlow 2 lacks."""
    settings = session_settings(source)
    places = graph_places(source, settings.sites if settings is not None else ())  # a session that Keras alone had
    if not places:
        return None
    keeping = _Keeping(uses_of(source))
    edits = keeping.edits()
    exact = keeping.exact and not any(name.partition(".")[0] == "keras" for name in keeping.uses.imported.values())
    left = tuple(sorted(keeping.left, key=lambda left: left.site))
    changed = tuple(sorted(keeping.changed.items()))
    return Graph(places, edits, left, changed, exact)


def session_alone(source: Source) -> SessionSettings | None:
    """The session that a program of Keras makes for its settings, where it builds no graph beside."""
    return session_settings(source) if graph_of(source) is None else None


def is_of_graph(hit: Hit) -> bool:
    """Whether a hit of the tables is about what the graph as a whole answers for: every name of TensorFlow but its examples."""
    return "tensorflow" in hit.removed and "keras" not in hit.removed and "tensorflow.examples" not in hit.what
