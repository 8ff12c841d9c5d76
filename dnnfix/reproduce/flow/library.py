"""Library calls in the data-flow analysis: what functions and methods of libraries do with the data."""

from __future__ import annotations

import ast
import os.path
from collections.abc import Callable
from dataclasses import dataclass, replace

from dnnfix.reproduce.flow.reads import MOVING, WRITERS
from dnnfix.reproduce.flow.record import ROUNDS, Record
from dnnfix.reproduce.flow.values import (
    Drawn,
    Known,
    Pack,
    Placed,
    Thing,
    Value,
    View,
    all_parts,
    constants,
    is_single,
    is_wide,
    number_in,
    packed,
    plain,
    sizes,
    text_in,
)
from dnnfix.source.program import Source
from dnnfix.source.public_names import words

_SAME_METHODS = words(
    """astype copy to_numpy as_matrix fillna dropna replace sample head tail reset_index sort_values tolist float long
    to cuda cpu double int type unsqueeze squeeze permute transpose ravel flatten numpy detach clone contiguous strip
    rstrip lstrip lower upper decode encode clip round values as_type set_index sort_index interpolate ffill bfill
    apply map read readlines convert resize items sort shuffle requires_grad_ pin_memory __array__ get_group
    prefetch repeat cache take skip"""
)
_SAME_FUNCTIONS = words(
    """array asarray asfarray ascontiguousarray from_numpy tensor Tensor as_tensor FloatTensor LongTensor DoubleTensor
    Variable list tuple sorted set copy deepcopy float32 float64 nan_to_num rollaxis moveaxis swapaxes transpose
    expand_dims squeeze ravel vstack hstack stack concatenate concat float int str iter next asanyarray convert_to_tensor
    img_to_array shuffle permutation resize cvtColor constant DataFrame Series float_ from_tensor_slices cast normalize
    scale reversed to_float unique"""
)
"""What gives the data that it takes, in another type or order."""

_SPLITTING = words("numpy.split numpy.array_split numpy.vsplit")
"""What takes data apart into some of its rows and others."""

_NUMBERS = words("mean std max min sum count print")
"""Methods that leave nothing of the data but a number."""

_WITHOUT_TARGETS = words(
    """fit_generator predict predict_classes predict_proba evaluate_generator predict_generator predict_on_batch"""
)
_FITTING = _WITHOUT_TARGETS | words("fit train_on_batch evaluate test_on_batch partial_fit score predict_step")
_LOSSES = ("torch.nn.functional.", "torch.nn.", "keras.losses.")
_LAYERS = ("torch.nn", "keras", "tensorflow.keras")


@dataclass(frozen=True)
class Called:
    """A call with the values of its arguments; `last` is the last part of `name`, which may be unknown."""

    name: str
    last: str
    node: ast.Call
    args: list[Value]
    keywords: dict[str, Value]
    value_of: Callable[[ast.expr], Value]

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def values(self) -> list[Value]:
        """All arguments."""
        return [*self.args, *self.keywords.values()]

    def given(self, place: int, *names: str) -> Value:
        """The value of a parameter, by its position or by one of its names."""
        if len(self.args) > place:
            return self.args[place]
        return next((self.keywords[name] for name in names if name in self.keywords), None)


class Library:
    """The library functions and methods that programs pass data to."""

    def __init__(self, source: Source, record: Record) -> None:
        self._source = source
        self._record = record

    # --- methods of data

    def method(self, owner: View, call: Called) -> Value:
        """The result of a method of a piece of data."""
        last, line, record = call.last, call.line, self._record
        for view in all_parts(call.values):
            record.use(view, "passed", last, line)
        args = tuple(plain(arg) for arg in call.args)
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            args = tuple(args[0])
        record.use(owner, "method", (last, args, constants(call.keywords)), line)
        if last in ("reshape", "view"):
            record.use(owner, "reshape", args, line)
            return owner
        if last in ("next", "__next__") and owner.is_rows:
            return owner.element
        if last in ("split", "splitlines", "readlines", "readline"):
            record.use(owner, "text", None, line)
            return owner.at("split", "\n" if last != "split" else args[0] if args else None)
        if last in ("drop", "pop", "get"):
            return self._taken(owner, call)
        if last == "filter" and args and all(isinstance(name, str) for name in args):
            return record.column(owner, ("names", args), line)
        if last in ("iterrows", "itertuples"):
            return Pack((None, owner))
        if last in _SAME_METHODS:
            return owner
        return None if last in _NUMBERS else replace(owner, exact=False)

    def _taken(self, owner: View, call: Called) -> Value:
        """`drop` gives a table without columns, `pop` and `get` give a column."""
        named = constants(call.keywords)
        chosen = named.get("columns", named.get("labels", plain(call.args[0]) if call.args else None))
        if chosen is None:
            return owner
        if call.last != "drop":
            return self._record.column(owner, ("one", chosen), call.line)
        axis = named.get("axis", plain(call.args[1]) if len(call.args) > 1 else None)
        if axis not in (1, "columns") and "columns" not in named:
            return owner
        gone = tuple(chosen) if isinstance(chosen, (list, tuple, dict, range)) else (chosen,)
        return self._record.column(owner, ("without", gone), call.line)

    # --- functions

    def function(self, call: Called) -> Value:
        """The result of a call of a library function."""
        last, args = call.last, call.args
        if call.name in MOVING:
            self._moved(call)
            return None
        if last in ("placeholder", "placeholder_with_default"):
            return Placed(sizes(call.keywords.get("shape", args[1] if len(args) > 1 else None)))
        if call.name in ("os.path.join", "posixpath.join"):
            texts = [text for value in args if (text := text_in(value)) is not None]
            end = args[-1] if args else None
            if isinstance(end, View) and len(texts) == len(args) - 1:
                self._record.use(end, "joined", "/".join(texts), call.line)
                return end
            if isinstance(end, View):
                return end
            if len(texts) == len(args):
                return Known(os.path.join(*texts))
        if last == "format" and isinstance(call.node.func, ast.Attribute):
            text = text_in(call.value_of(call.node.func.value))
            if text is not None:
                if (within := next(all_parts(call.values), None)) is not None:
                    self._record.use(within, "joined", text.partition("{")[0], call.line)
                    return within
                return _formatted(text, call)
        if args and isinstance(args[0], Known):
            if last == "str":
                return Known(str(args[0].value)) if is_single(args[0].value) else None
            if last in ("expanduser", "abspath", "realpath", "normpath", "Path"):
                return args[0]
        views = list(all_parts(call.values))
        if views and last not in ("range", "xrange", "len"):
            return self._applied(call, views)
        if last in WRITERS:
            path = next((value for value in call.values if text_in(value) is not None), None)
            self._record.writes(path, call.line)
        if last in ("range", "xrange") and (ends := [number_in(arg) for arg in args]) and None not in ends[:3]:
            numbers = [end for end in ends if end is not None]
            return Known(range(*numbers)[:ROUNDS]) if len(numbers) < 3 or numbers[2] else None
        return _drawn(call)

    def _moved(self, call: Called) -> None:
        """A file is put into another place: a folder where the place has no ending, as several files go there."""
        place = text_in(call.given(1, "dst"))
        if place is not None:
            folder = "" if os.path.splitext(place)[1] or call.last == "copytree" else "/"
            self._record.writes(Known(place.rstrip("/") + folder), call.line)

    def _applied(self, call: Called, views: list[View]) -> Value:
        """A function that data is given to; `views` are the parts of it."""
        last, args, line, record = call.last, call.args, call.line, self._record
        func = call.node.func
        of = self._made_by(func.value) if isinstance(func, ast.Attribute) else ""
        if last in WRITERS:
            for value in args[:2]:
                record.writes(value, line)
        if last in _FITTING and not of.startswith("sklearn.preprocessing") and "Vectorizer" not in of:
            self._fitted(call)
            return None
        if last == "train_test_split":
            return Pack(tuple(arg for arg in args for _ in range(2)))
        if call.name in _SPLITTING and isinstance(args[0], View) and plain(call.given(2, "axis")) in (None, 0):
            places = plain(call.given(1, "indices_or_sections"))
            count = places if isinstance(places, int) else len(places) + 1 if isinstance(places, (list, tuple)) else 0
            return Pack((views[0],) * count) if 0 < count <= ROUNDS else views[0]
        if last == "shuffle" and call.name.startswith("sklearn"):
            return args[0] if len(args) == 1 else Pack(tuple(args))
        if last in ("fit_transform", "fit", "transform", "fit_on_texts", "texts_to_sequences", "texts_to_matrix"):
            return self._transformed(call, views[0], of)
        if last in ("to_categorical", "get_dummies", "one_hot", "eye"):
            given = (number_in(value) for value in [*args[1:2], *call.keywords.values()])
            record.use(views[0], "one-hot", next((count for count in given if count is not None), None), line)
            return views[0]
        if last == "enumerate":
            return Pack((Pack((None, record.elements(call.given(0, "iterable"), line)[0])),))
        if last == "zip":
            return Pack((Pack(tuple(record.elements(arg, line)[0] for arg in args)),))
        if last in ("TensorDataset", "from_tensor_slices"):
            if len(args) == 2:
                record.role(args[:1], "inputs", line)
                record.role(args[1:], "targets", line)
            return Pack((packed(args),))
        if last == "DataLoader":
            return call.given(0, "dataset")
        if last in ("resize", "imresize") and not call.name.startswith("numpy."):
            record.use(views[0], "resized", None, line)  # an image, whose sizes it had before nothing tells
            return replace(views[0], exact=False)
        if last in ("reshape", "resize") and args:
            shape = sizes(call.given(1, "newshape", "shape"))
            if shape is not None:
                record.use(views[0], "reshape", shape, line)
            return views[0]
        if last in ("to_datetime", "strptime"):
            record.use(views[0], "date", None, line)
            return replace(views[0], exact=False)
        if last in ("reader", "DictReader"):
            record.use(views[0], last, plain(call.given(1, "fieldnames")) if last == "DictReader" else None, line)
            return views[0].at("rows", (text_in(call.keywords.get("delimiter")) or ",") if last == "reader" else None)
        if last == "next" and views[0].is_rows:
            return views[0].element
        if last in ("float", "int", "float32"):
            record.use(views[0], "number", None, line)
        if last in ("array", "asarray", "fromiter") and (kind := _number_kind(call)):
            for view in views:
                record.use(view, "typed", kind, line)
        made_by = self._made_by(func)
        if len(args) > 1 and (_is_loss(call.name) or _is_loss(of or made_by)):
            record.role(args[:1], "prediction", line)
            record.role(args[1:2], "targets", line)
            return None
        on = call.value_of(func) if isinstance(func, ast.Name) else None
        if isinstance(on, Thing) or made_by.startswith(_LAYERS):
            record.role(args, "inputs", line)
        for view in views:
            record.use(view, "passed", call.name or last, line)
        if last in _SAME_FUNCTIONS:
            return args[0] if len(args) == 1 and args[0] is not None else views[0]
        return replace(views[0], exact=False)

    def _fitted(self, call: Called) -> None:
        """A network is trained with data, or applied to it."""
        role, line = self._record.role, call.line
        role(call.args[:1] or [call.keywords.get("x")], "inputs", line)
        role(call.args[1:2] if call.last not in _WITHOUT_TARGETS else [], "targets", line)
        for key, what in (("x", "inputs"), ("X", "inputs"), ("y", "targets")):
            role([call.keywords.get(key)], what, line)
        checked = call.keywords.get("validation_data")
        if isinstance(checked, Pack):
            role(checked.items[:1], "inputs", line)
            role(checked.items[1:2], "targets", line)
        else:
            role([checked], "inputs", line)

    def _transformed(self, call: Called, view: View, of: str) -> View:
        """Data goes through what scales or encodes it."""
        if "Label" in of or "OneHot" in of:
            kind = "encoded"
        else:
            kind = "text" if "ectorizer" in of or "texts" in call.last else "scaled"
        self._record.use(view, kind, of, call.line)
        return replace(view, exact=kind == "scaled" and view.exact)

    def _made_by(self, expr: ast.expr) -> str:
        """The canonical name of what made the object that an expression holds."""
        made = self._source.constructor(expr)
        return (self._source.qualified(made.func) or "") if made is not None else ""


_RANGES = {"numpy.random.randint": 0, "random.randrange": 0, "random.randint": 1}
"""What draws a whole number, and what is added to the greater end to leave that end out."""


def _drawn(call: Called) -> Drawn | Pack | None:
    """A constant that is drawn from a list, or from a short range of whole numbers; a list of them where a count is given."""
    if not call.args:
        return None
    first = plain(call.args[0])
    if call.name in ("random.choice", "random.sample", "numpy.random.choice"):
        among = tuple(range(min(first, ROUNDS + 1))) if isinstance(first, int) else first
        if not isinstance(among, (list, tuple, range)) or not 0 < len(among) <= ROUNDS:
            return None
        if not all(isinstance(value, (str, int)) for value in among):
            return None
        return Pack((Drawn(tuple(among)),)) if len(call.args) > 1 or "size" in call.keywords else Drawn(tuple(among))
    if "size" in call.keywords:
        return None
    if call.name in _RANGES and len(call.args) <= 2:
        ends = [number_in(value) for value in call.args]
        low, high = ends if len(ends) == 2 else (0, ends[0])
        if low is not None and high is not None and 0 < (count := high + _RANGES[call.name] - low) <= _FEW:
            return Drawn(tuple(range(low, low + count)))
    return None


_FEW = 8
"""Whole numbers that are drawn from a range, at most, where they choose columns; more of them choose rows."""


def _number_kind(call: Called) -> str:
    """`int` or `float`, where an array is made of numbers of that kind; empty where nothing says so."""
    given = [k.value for k in call.node.keywords if k.arg == "dtype"] or call.node.args[1:2]
    text = ast.unparse(given[0]) if given else ""
    return next((kind for kind in ("int", "float") if kind in text), "")


def _formatted(text: str, call: Called) -> Value:
    """`"{}.csv".format(name)`, where all that is put in is known."""
    if call.keywords or not all(isinstance(arg, Known) for arg in call.args) or is_wide(text):
        return None
    given = [plain(arg) for arg in call.args]
    if not is_single(*given):
        return None
    try:
        return Known(text.format(*given))
    except (AttributeError, IndexError, KeyError, ValueError):
        return None


def _is_loss(name: str) -> bool:
    """Whether a canonical name is that of a loss."""
    last = name.rpartition(".")[2]
    return name.startswith(_LOSSES) and (last.endswith(("entropy", "_logits", "likelihood")) or "loss" in last.lower())
