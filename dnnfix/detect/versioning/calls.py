"""Outdated calls: keyword arguments, literals and methods that the tables say were renamed or removed, and their
edits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.detect.versioning.imports import facts, removed_in
from dnnfix.detect.versioning.migration import Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.settings import Moving, moved
from dnnfix.detect.versioning.tables import ANY_CALL, Change
from dnnfix.records import Edit, RemoveArgument, RenameArgument, Replace, SetArgument, Site
from dnnfix.source.arguments import argument_value
from dnnfix.source.names import canonical
from dnnfix.source.program import Source, once

_KERAS = frozenset({"keras", "tensorflow"})

_KERAS_MODELS = frozenset(
    {
        "keras.models.Sequential",
        "keras.models.Model",
        "keras.Sequential",
        "keras.Model",
        "keras.models.load_model",
        "keras.models.model_from_json",
        "keras.models.clone_model",
    }
)

RECEIVERS = {
    "keras.Model": _KERAS_MODELS,
    "keras.KerasTensor": frozenset({"keras.Input", "keras.layers.Input"}),
    "pandas.DataFrame": frozenset(
        {
            "pandas.DataFrame",
            "pandas.read_csv",
            "pandas.read_excel",
            "pandas.read_table",
            "pandas.concat",
            "pandas.merge",
            "pandas.read_json",
            "pandas.read_sql",
        }
    ),
    "keras.metrics.Metric": frozenset(
        f"keras.metrics.{name}"
        for name in (
            "AUC",
            "Accuracy",
            "BinaryAccuracy",
            "BinaryCrossentropy",
            "CategoricalAccuracy",
            "CategoricalCrossentropy",
            "KLDivergence",
            "Mean",
            "MeanAbsoluteError",
            "MeanIoU",
            "MeanSquaredError",
            "Precision",
            "Recall",
            "RootMeanSquaredError",
            "SparseCategoricalAccuracy",
            "SparseCategoricalCrossentropy",
            "Sum",
            "TopKCategoricalAccuracy",
        )
    ),
    "keras.layers.Layer": frozenset(),
    "keras.optimizers.Optimizer": frozenset(),
    "keras.preprocessing.image.Iterator": frozenset(),
    "matplotlib.axes.Axes": frozenset(f"matplotlib.pyplot.{name}" for name in ("axes", "gca", "subplot")),
    "matplotlib.axis.Tick": frozenset(),
    "matplotlib.figure.Figure": frozenset(f"matplotlib.pyplot.{name}" for name in ("figure", "gcf")),
    "networkx.Graph": frozenset(f"networkx.{name}" for name in ("DiGraph", "Graph", "MultiDiGraph", "MultiGraph")),
    "numpy.ndarray": frozenset(
        f"numpy.{name}" for name in ("arange", "array", "asarray", "concatenate", "empty", "linspace", "ones", "zeros")
    ),
    "PIL.Image.Image": frozenset(f"PIL.Image.{name}" for name in ("fromarray", "frombytes", "new", "open")),
    "PIL.ImageDraw.ImageDraw": frozenset({"PIL.ImageDraw.Draw"}),
    "PIL.ImageFont.FreeTypeFont": frozenset({"PIL.ImageFont.load_default", "PIL.ImageFont.truetype"}),
    "sklearn.feature_extraction.text.CountVectorizer": frozenset(
        f"sklearn.feature_extraction.text.{name}" for name in ("CountVectorizer", "TfidfVectorizer")
    ),
    "sklearn.preprocessing.OneHotEncoder": frozenset({"sklearn.preprocessing.OneHotEncoder"}),
    "torch.Tensor": frozenset(),
    "torch.nn.Module": frozenset(),
    "torch.optim.lr_scheduler.LRScheduler": frozenset(
        f"torch.optim.lr_scheduler.{name}"
        for name in (
            "CosineAnnealingLR",
            "CosineAnnealingWarmRestarts",
            "CyclicLR",
            "ExponentialLR",
            "LambdaLR",
            "LinearLR",
            "MultiStepLR",
            "OneCycleLR",
            "StepLR",
        )
    ),
    "transformers.AutoTokenizer": frozenset(
        f"transformers.{name}{fast}.from_pretrained"
        for name in ("AutoTokenizer", "BertTokenizer", "GPT2Tokenizer", "RobertaTokenizer", "T5Tokenizer")
        for fast in ("", "Fast")
    ),
    "transformers.Trainer": frozenset({"transformers.Seq2SeqTrainer"}),
}
"""By class, the functions and constructors that give an object of it. Functions of `keras.applications` give models."""


MADE_BELOW = {"keras.layers.Layer": "keras.layers.", "keras.optimizers.Optimizer": "keras.optimizers."}
"""By class, the module of which every constructor gives an object of it."""

MADE_BY = {"keras.preprocessing.image.Iterator": ("flow", "flow_from_directory", "flow_from_dataframe")}
"""By class, the methods that give an object of it."""

LISTED_BY = {"matplotlib.axis.Tick": ("get_major_ticks", "get_minor_ticks")}
"""By class, the methods that give a list of objects of it."""

HELD_AS = {"keras.optimizers.Optimizer": "optimizer"}
"""By class, the attribute under which every model of Keras has an object of it."""


_DEEP = 3
"""How many functions of the program are followed that return what another one made."""


def receiver_is(source: Source, expr: ast.expr, kind: str, depth: int = _DEEP) -> bool | None:
    """Whether an expression holds an object of a class, where its constructor is known; `None` where it is not."""
    if isinstance(expr, ast.Name) and expr.id == "self":
        owner = source.enclosing(expr, ast.ClassDef)
        return derives(source, owner, kind) if owner is not None else None
    if isinstance(expr, ast.Attribute) and expr.attr == HELD_AS.get(kind):
        return receiver_is(source, expr.value, "keras.Model") is not False and source.frameworks <= _KERAS or None
    if (kind == "keras.layers.Layer" or kind in LISTED_BY) and _is_listed(source, expr, kind):
        return True
    made = source.constructor(expr)
    if made is None and isinstance(expr, ast.Call):
        made = expr
    if made is None:
        return None
    name = source.qualified(made.func)
    if name is None and isinstance(made.func, ast.Attribute) and made.func.attr in MADE_BY.get(kind, ()):
        return True
    if name is not None:
        if name.startswith(MADE_BELOW.get(kind, " ")) and name.rpartition(".")[2][:1].isupper():
            return True
        if name == kind or name in RECEIVERS.get(kind, ()):
            return True
        if kind == "keras.Model" and name.startswith("keras.applications."):
            return True
        return (
            False if name.partition(".")[0] != kind.partition(".")[0] or name.rpartition(".")[2][:1].isupper() else None
        )
    definition = source.definition(made.func)
    if isinstance(definition, ast.FunctionDef) and depth:
        returned = [receiver_is(source, value, kind, depth - 1) for value in _returned(source, definition)]
        return True if returned and all(returned) else None
    return derives(source, definition, kind) if isinstance(definition, ast.ClassDef) else None


def _returned(source: Source, function: ast.FunctionDef) -> list[ast.expr]:
    """What the function itself returns, by the names that it gives it; a bare `return` is a `None`."""
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    own = [node for node in returns if source.enclosing(node, ast.FunctionDef, ast.Lambda) is function]
    return [node.value or ast.Constant(None) for node in own]


def _is_listed(source: Source, expr: ast.expr, kind: str) -> bool:
    """Whether an expression is one of several: `model.layers[-1]`, or what a loop over a model's layers calls it."""
    if isinstance(expr, ast.Subscript):
        return _lists(source, expr.value, kind)
    if not isinstance(expr, ast.Name):
        return False
    above = source.parent(expr)
    while above is not None:
        loops = [above] if isinstance(above, ast.For) else getattr(above, "generators", [])
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == expr.id:
                return _lists(source, loop.iter, kind)
        above = source.parent(above)
    return False


def _lists(source: Source, expr: ast.expr, kind: str) -> bool:
    if kind not in LISTED_BY:
        return isinstance(expr, ast.Attribute) and expr.attr == "layers"
    made = source.constructor(expr)
    return made is not None and isinstance(made.func, ast.Attribute) and made.func.attr in LISTED_BY[kind]


def derives(source: Source, definition: ast.ClassDef, kind: str) -> bool | None:
    """Whether a class of the program derives from another; `None` where that cannot be told."""
    bases = {source.qualified(base) for base in definition.bases}
    if bases & RECEIVERS.get(kind, frozenset()) or kind in bases:
        return True
    return False if None not in bases else None


class CallChanges:
    """The hits of one program about its calls."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.source = uses.source

    def arguments(self) -> Iterator[Hit]:
        """Keywords and literals, call by call."""
        for call in self.uses.calls() if self.uses.hot else ():
            keywords = [k for k in call.keywords if k.arg in self.uses.hot]
            if keywords:
                yield from self._keywords(call, keywords)
            last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if last in self.uses.hot or last in self.uses.imported:
                names = self._names(call)
                yield from self._values(call, names, last)
                yield from self._places(call, names, last)

    def methods(self) -> Iterator[Hit]:
        """Methods and attributes of objects, outer ones first."""
        for attribute in self.uses.attributes() if self.uses.hot else ():
            yield from self._method(attribute)

    def _names(self, call: ast.Call) -> tuple[str, ...]:
        """What is called, as canonical names: as it was called then and as it is called today."""
        written = self.source.written(call.func)
        if not written or written.startswith("tf_keras") or self.source.is_of_program(written):
            return ()
        target = self.uses.target(written)
        names = [canonical(written)]
        if target is not None and target.today:
            names.append(canonical(target.today))
        return tuple(dict.fromkeys(names))

    def _keywords(self, call: ast.Call, keywords: list[ast.keyword]) -> Iterator[Hit]:
        names = self._names(call)
        for keyword in keywords:
            change = self._argument(call, names, keyword.arg or "")
            if change is not None:
                yield self._keyword(call, keyword, change)

    def _argument(self, call: ast.Call, names: tuple[str, ...], keyword: str) -> Change | None:
        for known in self.uses.knowing(keyword):
            for name in names:
                change = known.argument(name, keyword)
                if change is not None:
                    return change
            if names or not isinstance(call.func, ast.Attribute):
                continue
            for of in known.arguments(keyword):
                kind, _, method = of.rpartition(".")
                if method != call.func.attr or kind not in RECEIVERS:
                    continue
                change = known.argument(of, keyword)
                holds = receiver_is(self.source, call.func.value, kind)
                if change is not None and (holds or holds is None and change.telling):
                    return change
        return self._telling_argument(call, names, keyword)

    def _telling_argument(self, call: ast.Call, names: tuple[str, ...], keyword: str) -> Change | None:
        """What became of a keyword that says by itself what is meant, in a call of the package or of an object unknown."""
        last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        tables = self.uses.knowing(keyword)
        found = (known.argument(of, keyword) for known in tables for of in (f"{ANY_CALL}.{last}", ANY_CALL))
        change = next(filter(None, found), None)
        if change is None or self.source.definition(call.func) is not None:
            return None
        return change if not names or names[0].partition(".")[0] == change.package else None

    def _keyword(self, call: ast.Call, keyword: ast.keyword, change: Change) -> Hit:
        site = self.source.site(call)
        edits: list[Edit] = []
        decline = ""
        if change.into:
            edits, decline = moved(self.uses, call, keyword, change, self._moving(call, change))
        elif change.new:
            if any(k.arg == change.new for k in call.keywords):
                decline = f"{change.new} is passed too"
            elif self._shared(call, change):
                decline = f"another argument of the call became {change.new} too"
            edits = [RenameArgument(site, change.old, change.new)]
            if change.values:
                replaced, decline = self._renamed(keyword.value, change, decline)
                if replaced is not None:
                    edits.append(SetArgument(site, change.old, replaced))
            edits += self._along(call, keyword, change)
        elif change.drop and self._may_drop(keyword.value, change):
            edits = [RemoveArgument(site, change.old)]
        else:
            decline = change.note or f"nothing replaces {change.old}"
        return self._hit(self.source.site(keyword), site, change, edits, decline)

    def _along(self, call: ast.Call, keyword: ast.keyword, change: Change) -> Iterator[Edit]:
        given = {each.arg for each in call.keywords}
        is_off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if not is_off and given & set(change.beside) and not given & {None, *change.along}:
            for name, code in change.along.items():
                yield SetArgument(self.source.site(call), name, code)

    def _moving(self, call: ast.Call, change: Change) -> list[Moving]:
        """All keywords of a call that move into the same settings."""
        names = self._names(call)
        found = [(one, self._argument(call, names, one.arg)) for one in call.keywords if one.arg]
        return [(one, other) for one, other in found if other is not None and other.into == change.into]

    def _shared(self, call: ast.Call, change: Change) -> bool:
        """Whether another keyword of the call has the same new name, as `size_average` and `reduce` do."""
        names = self._names(call)
        for keyword in call.keywords:
            if keyword.arg and keyword.arg != change.old and keyword.arg in self.uses.hot:
                other = self._argument(call, names, keyword.arg)
                if other is not None and other.new == change.new:
                    return True
        return False

    def _renamed(self, value: ast.expr, change: Change, decline: str) -> tuple[str | None, str]:
        """The literal in its new form, or why there is none."""
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            new = change.values.get(value.value)
            if new is None:
                return None, decline or f"{value.value!r} is not known as a value of {change.old}"
            return (self._quoted(value, new), decline) if new != value.value else (None, decline)
        if isinstance(value, ast.Constant) and (code := change.values.get(repr(value.value))) is not None:
            return code, decline
        if "True" in change.values or "False" in change.values:
            return None, decline or change.note or f"whether {change.old} is true cannot be read"
        if isinstance(value, ast.Call) or all(old == new for old, new in change.values.items()):
            return None, decline
        return None, decline or f"the value of {change.old} is not a literal, and its values have new names too"

    def _quoted(self, literal: ast.expr, text: str) -> str:
        quote = "'" if self.source.segment(self.source.site(literal)).endswith("'") else '"'
        return f"{quote}{text}{quote}"

    def _may_drop(self, value: ast.expr, change: Change) -> bool:
        if not change.when:
            return True
        return isinstance(value, ast.Constant) and any(
            value.value == wanted and isinstance(value.value, bool) == isinstance(wanted, bool)
            for wanted in change.when
        )

    def _values(self, call: ast.Call, names: tuple[str, ...], last: str) -> Iterator[Hit]:
        names = names or self._methods_called(call, last)
        for known in self.uses.knowing(*names):
            for change in (change for name in names for change in known.values(name)):
                given = argument_value(call, change.argument, change.position)
                if not isinstance(given, ast.Constant) or given.value != change.old:
                    continue
                edits: list[Edit] = []
                site = self.source.site(call)
                if change.new:
                    code = self._quoted(given, change.new)
                    edits = [SetArgument(site, change.argument, code, change.position)]
                yield self._hit(self.source.site(given), site, change, edits, "" if edits else change.note)

    def _places(self, call: ast.Call, names: tuple[str, ...], last: str) -> Iterator[Hit]:
        """Arguments given by their place that are taken by their name only."""
        if not call.args:
            return
        # the order is that of the name as it is written: what it is called today may have another one
        changes = [change for name in names[:1] for known in self.uses.tables for change in known.places(name)]
        changes += () if names else self._methods_with_places(call, last)
        for change in changes[:1]:
            order, kept = change.old.split(), change.position or 0
            given = {keyword.arg for keyword in call.keywords}
            if change.argument and len(call.args) == 1 and change.argument not in given:
                return  # what is taken by its place today
            if change.argument and receiver_is(self.source, call.args[0], "pandas.DataFrame"):
                return  # so is a table, which no earlier order had in the first place
            if not kept < len(call.args) <= len(order) or None in given or given.intersection(order[: len(call.args)]):
                return
            if any(isinstance(arg, ast.Starred) for arg in call.args):
                return
            named = list(zip(order, call.args, strict=False))[kept:]
            site = self.source.site(call)
            words = ", ".join(name for name, _ in named)
            kind = "keyword arguments" if len(named) > 1 else "a keyword argument"
            package = change.of[0].partition(".")[0]
            yield Hit(
                site,
                f"{last} takes {words} as {kind} only since {package} {change.removed}",
                title=f"pass {words} as {kind}",
                edits=(
                    *(RemoveArgument(site, name, place) for place, (name, _) in enumerate(named, kept)),
                    *(SetArgument(site, name, self.source.segment(self.source.site(arg))) for name, arg in named),
                ),
                safe=change.safe,
                removed=removed_in((change,)),
                evidence={"reference": change.reference},
            )

    def _methods_with_places(self, call: ast.Call, last: str) -> Iterator[Change]:
        if not isinstance(call.func, ast.Attribute) or last in self.uses.defined:
            return
        tables = [known for known in self.uses.tables if known.has(last, "place")]
        for kind in RECEIVERS if tables else ():
            for change in (change for known in tables for change in known.places(f"{kind}.{last}")):
                holds = receiver_is(self.source, call.func.value, kind)
                if holds or holds is None and change.telling and self._tells_axis(call, change):
                    yield change

    def _tells_axis(self, call: ast.Call, change: Change) -> bool:
        """Whether what is given is an axis, as no other library is told it in this way."""
        order = change.old.split()
        place = order.index("axis") if "axis" in order else len(call.args)
        given = call.args[place] if place < len(call.args) else None
        return len(call.args) == place + 1 and isinstance(given, ast.Constant) and given.value in (0, 1, "columns")

    def _methods_called(self, call: ast.Call, last: str) -> tuple[str, ...]:
        """The methods that a call may be of, by classes that the tables speak of."""
        if not isinstance(call.func, ast.Attribute) or self.source.written(call.func):
            return ()
        found = []
        tables = [known for known in self.uses.tables if known.has(last, "value")]
        for kind in RECEIVERS if tables else ():
            name = f"{kind}.{last}"
            changes = [change for known in tables for change in known.values(name)]
            holds = receiver_is(self.source, call.func.value, kind) if changes else False
            if holds or holds is None and all(change.telling for change in changes):
                found.append(name)
        return tuple(found)

    def _method(self, function: ast.Attribute) -> Iterator[Hit]:
        if self.source.written(function):
            return
        above = self.source.parent(function)
        called = isinstance(above, ast.Call) and above.func is function
        if not called and isinstance(function.value, ast.Name) and function.value.id == "self":
            return  # a class may keep what it likes under any name
        if isinstance(above, ast.Attribute) and above.attr in ("get_value", "set_value"):
            return  # a variable of Theano's, which has a template of its own
        if function.attr in self.uses.defined:
            return  # the program has a method of this name itself
        for known in self.uses.knowing(function.attr):
            for change in known.methods(function.attr):
                holds = [receiver_is(self.source, function.value, kind) for kind in change.of]
                if not any(holds) and not (change.telling and None in holds):
                    continue
                if change.read_only and self.uses.stores(function.attr):
                    continue  # what the program stores itself, it reads under the same name
                if function.attr in self.uses.kept and self.source.constructor(function.value) is None:
                    return  # a class of the program keeps something under this name, and the object may be one of it
                site = self.source.site(function)
                edits: list[Edit] = []
                if change.new:
                    edits = [Replace(site, f"{self.source.segment(self.source.site(function.value))}.{change.new}")]
                decline = "" if edits else change.note or f"nothing replaces {change.old}"
                yield self._hit(site, site, change, edits, decline)
                return

    def _hit(self, site: Site, within: Site, change: Change, edits: list[Edit], decline: str) -> Hit:
        return Hit(
            site=site,
            what=said(change),
            title=_title(change),
            edits=() if decline else tuple(edits),
            decline=decline,
            safe=change.safe,
            exact=change.exact,
            deprecated=change.deprecated,
            ignored=change.deprecated and change.drop,
            removed=removed_in((change,)),
            evidence=facts(change),
            within=within,
        )


def said(change: Change) -> str:
    """A change of an argument, literal or method as a sentence."""
    of = change.of[0].rpartition(".")[2] if len(change.of) == 1 and ANY_CALL not in change.of[0] else ""
    argument = (
        f"the value {change.old!r} of {change.argument}" if change.kind == "value" else f"the argument {change.old}"
    )
    which = change.old if change.kind == "method" else argument
    package = change.package or change.of[0].partition(".")[0]
    package = {"keras": "Keras", "tensorflow": "TensorFlow"}.get(package, package)
    if change.removed:
        when = f"was removed in {package} {change.removed}"
    else:
        when = f"is deprecated since {package} {change.since}"
    now = f"; use {change.new}" if change.new else ""
    if change.into:
        settings = change.into.rpartition(".")[2]
        now = f"; give {change.new} to {settings}, and that to {change.by}"
    return f"{which}{f' of {of}' if of else ''} {when}{now}"


def _title(change: Change) -> str:
    if not change.new:
        return f"drop {change.old}"
    if change.into:
        return f"give {change.new} to {change.into.rpartition('.')[2]}"
    return f"write {change.new} for {change.old}"


@once
def changed_arguments(uses: Uses) -> tuple[Hit, ...]:
    """The hits of a program about keywords and literals."""
    return tuple(CallChanges(uses).arguments())


@once
def changed_methods(uses: Uses) -> tuple[Hit, ...]:
    """The hits of a program about methods."""
    return tuple(CallChanges(uses).methods())
