"""Calls of `keras.backend` functions whose successors take other arguments, and their rewritten form.

Where only the name changed, the table of API changes says so and nothing is done here. The rewritten calls were
compared with Keras 2.3.1: an argument whose default differed is written out, and one with another name is renamed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dnnfix.detect.tensors.matrices import is_matrix
from dnnfix.detect.versioning.imports import Renames, facts, removed_in
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.records import Edit, InsertElement, RemoveArgument, RenameArgument, Replace, SetArgument, Wrap
from dnnfix.source.arguments import argument_value
from dnnfix.source.program import Source

_ROOT = "keras.backend."


@dataclass(frozen=True, slots=True)
class Form:
    """How the arguments of a function became those of its successor."""

    new: str
    stated: tuple[tuple[str, int, str], ...] = ()
    """Name, position and code of arguments whose default changed: written out where they are not given."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Arguments that have no counterpart."""
    most: int = 9
    """How many arguments by position mean the same in both."""


_AXIS_LAST = (("axis", 1, "-1"),)
_AXIS_FIRST = (("axis", 1, "0"),)

FORMS: Mapping[str, Form] = {
    "argmax": Form("ops.argmax", _AXIS_LAST),
    "argmin": Form("ops.argmin", _AXIS_LAST),
    "arange": Form("ops.arange", (("dtype", 3, '"int32"'),)),
    "bias_add": Form("ops.add", renamed={"x": "x1", "bias": "x2"}, refused=("data_format",), most=2),
    "cast_to_floatx": Form("ops.cast", (("dtype", 1, '"float32"'),)),
    "clip": Form("ops.clip", renamed={"min_value": "x_min", "max_value": "x_max"}),
    "concatenate": Form("ops.concatenate", _AXIS_LAST, {"tensors": "xs"}),
    "conv1d": Form("ops.conv", renamed={"x": "inputs", "border_mode": "padding"}),
    "conv2d": Form("ops.conv", renamed={"x": "inputs", "border_mode": "padding"}),
    "conv3d": Form("ops.conv", renamed={"x": "inputs", "border_mode": "padding"}),
    "constant": Form(
        "ops.convert_to_tensor", (("dtype", 1, '"float32"'),), {"value": "x"}, ("name",), ("shape",), most=2
    ),
    "cumprod": Form("ops.cumprod", _AXIS_FIRST),
    "cumsum": Form("ops.cumsum", _AXIS_FIRST),
    "dropout": Form("random.dropout", renamed={"x": "inputs", "level": "rate"}),
    "eval": Form("ops.convert_to_numpy"),
    "expand_dims": Form("ops.expand_dims", _AXIS_LAST),
    "eye": Form("ops.eye", renamed={"size": "N"}, dropped=("name",), most=1),
    "gather": Form("ops.take", (("axis", 2, "0"),), {"reference": "x"}),
    "l2_normalize": Form("ops.normalize"),
    "map_fn": Form("ops.map", renamed={"fn": "f", "elems": "xs"}, dropped=("name", "dtype"), most=2),
    "ones": Form("ops.ones", dropped=("name",), most=2),
    "ones_like": Form("ops.ones_like", dropped=("name",), most=2),
    "one_hot": Form("ops.one_hot", renamed={"indices": "x"}),
    "permute_dimensions": Form("ops.transpose", renamed={"pattern": "axes"}),
    "pow": Form("ops.power", renamed={"x": "x1", "a": "x2"}),
    "random_normal": Form("random.normal", renamed={"std": "stddev"}),
    "random_uniform": Form("random.uniform", renamed={"low": "minval", "high": "maxval"}),
    "repeat_elements": Form("ops.repeat", renamed={"rep": "repeats"}),
    "reverse": Form("ops.flip", renamed={"axes": "axis"}),
    "tile": Form("ops.tile", renamed={"n": "repeats"}),
    "variable": Form("Variable", renamed={"value": "initializer"}, refused=("constraint",), most=1),
    "zeros": Form("ops.zeros", dropped=("name",), most=2),
    "zeros_like": Form("ops.zeros_like", dropped=("name",), most=2),
}
"""By function of `keras.backend`, what it is in Keras 3. Names that are the same in both are found in the table too."""

ASSIGNED = {"set_value": "assign", "update": "assign", "update_add": "assign_add", "update_sub": "assign_sub"}
"""Functions that set a variable, which does so by a method today."""

APART = frozenset(
    f"{_ROOT}{name}"
    for name in (
        *ASSIGNED,
        "batch_dot",
        "batch_flatten",
        "bias_add",
        "cast_to_floatx",
        "constant",
        "dot",
        "dtype",
        "gather",
        "in_train_phase",
        "in_test_phase",
        "int_shape",
        "l2_normalize",
        "map_fn",
        "pool2d",
        "pool3d",
        "random_binomial",
        "random_bernoulli",
        "relu",
        "repeat",
        "switch",
        "variable",
    )
)
"""Names that the table has no successor for and that are spoken of here."""

Rewritten = tuple[list[Edit], str]
"""The edits of a call and why there are none."""


class BackendCalls:
    """The hits of one program about functions of `keras.backend`."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.source = uses.source
        self.renames = Renames(uses)

    def found(self) -> Iterator[Hit]:
        """The calls in source order."""
        special: Mapping[str, Callable[[ast.Call, str], Rewritten]] = {
            **dict.fromkeys(ASSIGNED, self._assigned),
            "batch_dot": self._batch_dot,
            "batch_flatten": self._flattened,
            "dot": self._dot,
            "dtype": self._attribute,
            "in_test_phase": self._phase,
            "in_train_phase": self._phase,
            "int_shape": self._attribute,
            "l2_normalize": self._normalized,
            "pool2d": self._pooled,
            "pool3d": self._pooled,
            "random_bernoulli": self._drawn,
            "random_binomial": self._drawn,
            "relu": self._relu,
            "repeat": self._repeated,
            "switch": self._switched,
        }
        for call in self.uses.calls():
            written = self.source.written(call.func) or ""
            function = written.rpartition(".")[2]
            if written != _ROOT + function or function not in special and function not in FORMS:
                continue
            if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
                rewritten: Rewritten = [], "the call unpacks its arguments"
            elif function in special:
                rewritten = special[function](call, function)
            else:
                rewritten = self._form(call, FORMS[function])
            edits, decline = rewritten
            if edits or decline and written in APART:
                yield self._hit(call, written, edits, decline)

    def _hit(self, call: ast.Call, written: str, edits: list[Edit], decline: str) -> Hit:
        change = next((c for known in self.uses.tables if (c := known.name(written)) is not None), None)
        return Hit(
            site=self.source.site(call),
            what=f"{written} was removed in Keras 3.0",
            title=f"write {written} as Keras 3 does",
            edits=() if decline else tuple(edits),
            decline=decline,
            removed=removed_in((change,)) if change is not None else {"keras": "3.0"},
            evidence=facts(change) if change is not None else {},
        )

    # --- the parts of an edit

    def _named(self, call: ast.Call, new: str) -> list[Edit] | None:
        """The edits that put today's function in the place of the one that is called."""
        if not isinstance(call.func, ast.Attribute):
            return None
        code, imports = self.renames.reference(call.func, f"keras.{new}")
        return [Replace(self.source.site(call.func), code), *imports] if code else None

    def _text(self, node: ast.expr) -> str:
        return self.source.segment(self.source.site(node))

    def _form(self, call: ast.Call, form: Form) -> Rewritten:
        edits, decline = self._arguments(call, form)
        if _ROOT + (self.source.written(call.func) or "").rpartition(".")[2] not in APART:
            return edits, decline  # the name itself is changed with its table
        named = self._named(call, form.new)
        return ([*named, *edits], decline) if named is not None else ([], "it is imported by its name")

    def _arguments(self, call: ast.Call, form: Form) -> Rewritten:
        given = {k.arg for k in call.keywords}
        if refused := [name for name in form.refused if name in given]:
            return [], f"Keras 3 has no {refused[0]} there"
        if len(call.args) > form.most:
            return [], "its further arguments are positional"
        site = self.source.site(call)
        edits: list[Edit] = [
            SetArgument(site, name, code)
            for name, position, code in form.stated
            if name not in given and position >= len(call.args)
        ]
        edits += [RenameArgument(site, old, new) for old, new in form.renamed.items() if old in given]
        return [*edits, *(RemoveArgument(site, name) for name in form.dropped if name in given)], ""

    # --- functions that became something else

    def _assigned(self, call: ast.Call, function: str) -> Rewritten:
        if len(call.args) != 2 or call.keywords:
            return [], "use the assign method of the variable instead"
        variable = call.args[0]
        if not isinstance(variable, (ast.Name, ast.Attribute)):
            return [], "use the assign method of the variable instead"
        owner = self._text(variable)
        if isinstance(variable, ast.Attribute) and variable.attr == "lr":
            owner = f"{self._text(variable.value)}.learning_rate"
        if not owner.isascii() or "(" in owner:
            return [], "use the assign method of the variable instead"
        site = self.source.site(call)
        return [
            Replace(self.source.site(call.func), f"{owner}.{ASSIGNED[function]}"),
            RemoveArgument(site, "", 0),
        ], ""

    def _attribute(self, call: ast.Call, function: str) -> Rewritten:
        attribute = "shape" if function == "int_shape" else "dtype"
        value = call.args[0] if len(call.args) == 1 and not call.keywords else None
        if not isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            return [], f"use the {attribute} attribute of the tensor instead"
        return [Replace(self.source.site(call), f"{self._text(value)}.{attribute}")], ""

    def _dot(self, call: ast.Call, function: str) -> Rewritten:
        """A product with a matrix is `matmul`, which takes sparse tensors as `K.dot` did; others are `dot`."""
        named = {k.arg: k.value for k in call.keywords}
        second = call.args[1] if len(call.args) > 1 else named.get("y")
        matrix = second is not None and is_matrix(self.source, second)
        edits = self._named(call, "ops.matmul" if matrix else "ops.dot")
        if edits is None:
            return [], "it is imported by its name"
        site = self.source.site(call)
        return [
            *edits,
            *(RenameArgument(site, old, new) for old, new in (("x", "x1"), ("y", "x2")) if old in named),
        ], ""

    def _batch_dot(self, call: ast.Call, function: str) -> Rewritten:
        axes = argument_value(call, "axes", 2)
        if axes is None or len(call.args) < 2 or isinstance(axes, ast.Constant) and axes.value is None:
            return (
                [],
                "which axes it multiplies depends on their number: use keras.layers.dot instead, with the axes",
            )
        named = self._named(call, "layers.dot")
        if named is None or not isinstance(named[0], Replace) or any(k.arg != "axes" for k in call.keywords):
            return [], "use keras.layers.dot instead, which takes both tensors as one list"
        tensors = ", ".join(self._text(tensor) for tensor in call.args[:2])
        code = f"{named[0].code}([{tensors}], axes={self._text(axes)})"
        return [Replace(self.source.site(call), code), *named[1:]], ""

    def _drawn(self, call: ast.Call, function: str) -> Rewritten:
        named = self._named(call, "random.binomial")
        given = {k.arg for k in call.keywords}
        if named is None or not call.args and "shape" not in given or len(call.args) < 2 and "p" not in given:
            return [], "use keras.random.binomial instead, which takes counts and probabilities"
        site = self.source.site(call)
        edits: list[Edit] = [InsertElement(site, 1, "1") if call.args else SetArgument(site, "counts", "1")]
        if "p" in given:
            edits.append(RenameArgument(site, "p", "probabilities"))
        return [*named, *edits], ""

    def _normalized(self, call: ast.Call, function: str) -> Rewritten:
        if len(call.args) < 2 and not any(k.arg == "axis" for k in call.keywords):
            return [], "it divided by the norm over all axes, while keras.ops.normalize does so along one axis"
        return self._form(call, FORMS[function])

    def _phase(self, call: ast.Call, function: str) -> Rewritten:
        said = argument_value(call, "training", 2)
        holder = self.source.enclosing(call, ast.FunctionDef, ast.Lambda)
        while said is None and isinstance(holder, (ast.FunctionDef, ast.Lambda)):
            parameters = (*holder.args.args, *holder.args.kwonlyargs)
            if any(parameter.arg == "training" for parameter in parameters):
                said = ast.Name("training")
            holder = self.source.enclosing(holder, ast.FunctionDef, ast.Lambda)
        if said is None or len(call.args) < 2:
            return [], "pass the argument training to the layer instead: add it to the method call and test it"
        if not isinstance(said, ast.Name):
            return [], "pass the argument training to the layer instead"
        learning, else_ = call.args[:2] if function == "in_train_phase" else call.args[1::-1]
        texts = []
        for value in (learning, else_):
            called = isinstance(value, ast.Name) and isinstance(self.source.definition(value), ast.FunctionDef)
            inner = (self.source.written(n) or "" for n in ast.walk(value) if isinstance(n, (ast.Name, ast.Attribute)))
            if isinstance(value, ast.Lambda) or any(name.startswith(_ROOT) for name in inner):
                return [], "pass the argument training to the layer instead: assign the two values to names first"
            texts.append(self._text(value) + "()" * called)
        return [Replace(self.source.site(call), f"{texts[0]} if {said.id} else {texts[1]}")], ""

    def _pooled(self, call: ast.Call, function: str) -> Rewritten:
        given = {k.arg: k.value for k in call.keywords}
        mode = given.get("pool_mode", call.args[5] if len(call.args) > 5 else ast.Constant("max"))
        value = mode.value if isinstance(mode, ast.Constant) else None
        names = {"max": "ops.max_pool", "avg": "ops.average_pool"}
        named = self._named(call, names[str(value)]) if value in names else None
        if named is None or len(call.args) > 5:
            return [], "use keras.ops.max_pool or average_pool instead"
        form = Form("", (("strides", 2, "1"),), {"x": "inputs", "border_mode": "padding"}, ("pool_mode",))
        edits, decline = self._arguments(call, form)
        return [*named, *edits], decline

    def _relu(self, call: ast.Call, function: str) -> Rewritten:
        plain = len(call.args) + len(call.keywords) < 2
        named = self._named(call, "ops.relu" if plain else "activations.relu")
        if named is None:
            return [], "it is imported by its name"
        alpha = any(k.arg == "alpha" for k in call.keywords)
        site = self.source.site(call)
        return [*named, *([RenameArgument(site, "alpha", "negative_slope")] if alpha else [])], ""

    def _repeated(self, call: ast.Call, function: str) -> Rewritten:
        named = self._named(call, "ops.repeat")
        wide = self._named(call, "ops.expand_dims")
        if named is None or wide is None or len(call.args) != 2 or not isinstance(wide[0], Replace):
            return [], "use keras.ops.repeat on x with a new axis 1 instead"
        return [
            *named,
            Wrap(self.source.site(call.args[0]), f"{wide[0].code}(", ", 1)"),
            SetArgument(self.source.site(call), "axis", "1"),
        ], ""

    def _flattened(self, call: ast.Call, function: str) -> Rewritten:
        named = self._named(call, "layers.Flatten")
        if named is None or not isinstance(named[0], Replace) or len(call.args) != 1:
            return [], "use the Flatten layer instead"
        return [replace(named[0], code=f"{named[0].code}()"), *named[1:]], ""

    def _switched(self, call: ast.Call, function: str) -> Rewritten:
        chosen = (*call.args[1:], *(k.value for k in call.keywords if k.arg != "condition"))
        lazy = any(isinstance(value, ast.Lambda) for value in chosen)
        named = self._named(call, "ops.cond" if lazy else "ops.where")
        if named is None:
            return [], "it is imported by its name"
        names = {"then_expression": "true_fn" if lazy else "x1", "else_expression": "false_fn" if lazy else "x2"}
        if lazy:
            names["condition"] = "pred"
        site = self.source.site(call)
        return [*named, *(RenameArgument(site, str(k.arg), names[k.arg]) for k in call.keywords if k.arg in names)], ""


def backend_calls(uses: Uses) -> Iterator[Hit]:
    """The hits of a program about functions of `keras.backend` that take other arguments today."""
    if "backend" in uses.source.words:
        yield from BackendCalls(uses).found()


ORDERINGS = {"th": "channels_first", "tf": "channels_last"}
"""What `image_dim_ordering` gave, and what `image_data_format` gives in its place."""


def compared_orderings(source: Source) -> Iterator[Hit]:
    """Strings that `K.image_dim_ordering()` is compared with: its successor returns others, so they never match."""
    if "image_dim_ordering" not in source.words:
        return
    for compare in source.nodes(ast.Compare):
        sides = (compare.left, *compare.comparators)
        asked = any(isinstance(s, ast.Call) and source.qualified(s.func) == _ROOT + "image_dim_ordering" for s in sides)
        for side in sides if asked else ():
            new = ORDERINGS.get(side.value) if isinstance(side, ast.Constant) and isinstance(side.value, str) else None
            if new is not None:
                yield Hit(
                    source.site(side),
                    f"the backend returns {new!r} since Keras 2.0 instead of {side.value!r}",  # type: ignore[attr-defined]
                    title=f"compare with {new}",
                    edits=(Replace(source.site(side), repr(new).replace("'", source.segment(source.site(side))[0])),),
                    safe=True,
                    removed={"keras": "2.0"},
                )
