"""Follows data that is not there through a program: what is read from files or undefined names, and what is done with it.

A small interpreter over the syntax tree that runs every function with the values that it is called with, knows constants and
paths, and follows each piece of data to its uses. It decides nothing; `input_data` reads the uses.
"""

from __future__ import annotations

import ast
import os.path
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dnnfix.source.program import Source

_STATEMENTS = 4000
_DEPTH = 8
_ROUNDS = 30


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READERS = {
    **dict.fromkeys(("read_csv", "read_table", "read_fwf", "read_excel"), "table"),
    **dict.fromkeys(("loadtxt", "genfromtxt"), "matrix"),
    **dict.fromkeys(("load", "fromfile"), "array"),
    **dict.fromkeys(("imread", "load_img"), "image"),
    **dict.fromkeys(("open",), "handle"),
    **dict.fromkeys(("listdir", "glob", "walk", "scandir", "iglob"), "folder"),
    "read_json": "json", "read_pickle": "pickle", "File": "h5", "loadmat": "mat", "read": "audio", "wavfile": "audio",
}  # fmt: skip
"""What a call reads, by the last part of its name; `_READING` says of which modules."""

_READING = (
    "pandas.", "numpy.load", "numpy.genfromtxt", "numpy.fromfile", "cv2.imread", "PIL.Image.open", "skimage.io.imread",
    "imageio.", "matplotlib.", "scipy.misc.imread", "scipy.ndimage.imread", "builtins.open", "io.open", "codecs.open",
    "gzip.open", "bz2.open", "os.listdir", "os.walk", "os.scandir", "glob.", "h5py.File", "scipy.io.", "joblib.load",
    "sklearn.externals.joblib.load", "keras.utils.load_img", "keras.preprocessing.image.load_img", "librosa.load",
    "torchaudio.load", "soundfile.read",
)  # fmt: skip
_UNPICKLING = frozenset(
    f"{module}.{name}"
    for module in ("pickle", "cPickle", "_pickle", "dill", "six.moves.cPickle", "json")
    for name in ("load", "loads")
)
IMAGE_FOLDERS = ("flow_from_directory", "ImageFolder", "image_dataset_from_directory")
TEXTUAL = ("read", "readlines", "readline", "splitlines", "split")
_SAME_METHODS = _words(
    """astype copy to_numpy as_matrix fillna dropna replace sample head tail reset_index sort_values tolist float long
    to cuda cpu double int type unsqueeze squeeze permute transpose ravel flatten numpy detach clone contiguous strip
    rstrip lstrip lower upper decode encode clip round values as_type set_index sort_index interpolate ffill bfill
    apply map read readlines convert resize items sort shuffle requires_grad_ pin_memory __array__ get_group
    prefetch repeat cache take skip"""
)
_SAME_FUNCTIONS = _words(
    """array asarray asfarray ascontiguousarray from_numpy tensor Tensor as_tensor FloatTensor LongTensor DoubleTensor
    Variable list tuple sorted set copy deepcopy float32 float64 nan_to_num rollaxis moveaxis swapaxes transpose
    expand_dims squeeze ravel vstack hstack stack concatenate concat float int str iter next asanyarray convert_to_tensor
    img_to_array shuffle permutation resize cvtColor constant DataFrame Series float_ from_tensor_slices cast normalize
    scale enumerate_ reversed to_float unique"""
)


@dataclass(frozen=True)
class Use:
    """What was done with a piece of data or a part of it; `part` is the way to the part."""

    part: tuple[tuple[Any, ...], ...]
    kind: str
    detail: Any
    line: int
    exact: bool = True


@dataclass(eq=False)
class Datum:
    """A piece of data that has to be made: an undefined name, or what one call reads."""

    name: str
    kind: str
    node: ast.expr
    line: int
    path: str | None = None
    uses: list[Use] = field(default_factory=list)
    reached: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    """The keywords of the call that reads it, as far as they are constants; a second argument stands under "second"."""

    def of(self, *kinds: str) -> list[Use]:
        """The uses of these kinds."""
        return [use for use in self.uses if use.kind in kinds]


@dataclass(frozen=True)
class View:
    """A part of a piece of data; not `exact` where something unknown was done with it."""

    datum: Datum
    part: tuple[tuple[Any, ...], ...] = ()
    exact: bool = True

    def at(self, *step: Any) -> View:
        """A part of this part."""
        return replace(self, part=(*self.part, step)) if len(self.part) < 6 else replace(self, exact=False)


@dataclass(frozen=True)
class Known:
    """A constant."""

    value: Any


@dataclass(frozen=True)
class Pack:
    """Several values together: a tuple, a list, a data set of tensors."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Placed:
    """A placeholder of a graph."""

    shape: tuple[int | None, ...] | None
    line: int


@dataclass(eq=False)
class Thing:
    """An instance of a class of the program."""

    definition: ast.ClassDef
    attributes: dict[str, Value] = field(default_factory=dict)


Value = View | Known | Pack | Placed | Thing | None
Names = dict[str, Value]


@dataclass
class Flow:
    """What was found: the data, the folders that something is written to, and the renamed constants."""

    data: list[Datum] = field(default_factory=list)
    written: list[tuple[str, int]] = field(default_factory=list)


def follow(source: Source, undefined: Iterable[str], arguments: dict[str, Any]) -> Flow:
    """Follow the data of a program; `undefined` are the names that have to be made, `arguments` defaults of options."""
    return _Follower(source, frozenset(undefined), arguments).run()


def parts(value: Value) -> Iterator[View]:
    """The views in a value."""
    if isinstance(value, View):
        yield value
    elif isinstance(value, Pack):
        for item in value.items:
            yield from parts(item)


class _Follower:
    def __init__(self, source: Source, undefined: frozenset[str], arguments: dict[str, Any]) -> None:
        self._source = source
        self._undefined = undefined
        self._arguments = arguments
        self._flow = Flow()
        self._data: dict[Any, Datum] = {}
        self._globals: Names = {}
        self._left = _STATEMENTS
        self._depth = 0
        self._returned: list[Value] = []
        self._functions: dict[str, ast.FunctionDef] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._entered: set[ast.AST] = set()
        self._reached = True

    def run(self) -> Flow:
        self._block(self._source.tree.body, self._globals)
        self._reached = False
        for function in self._source.nodes(ast.FunctionDef):
            if function not in self._entered:
                inside = self._source.enclosing(function, ast.ClassDef)
                names: Names = {"self": Thing(inside)} if inside else {}
                self._enter(function, names)
        return self._flow

    # --- statements

    def _block(self, body: list[ast.stmt], names: Names) -> None:
        for statement in body:
            if self._left <= 0:
                return
            self._left -= 1
            self._statement(statement, names)

    def _statement(self, node: ast.stmt, names: Names) -> None:
        if isinstance(node, ast.FunctionDef):
            if names is self._globals or node.name not in self._functions:
                self._functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            self._classes[node.name] = node
        elif isinstance(node, ast.Assign):
            value = self._value(node.value, names)
            for target in node.targets:
                self._bind(target, value, names)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, self._value(node.value, names), names)
        elif isinstance(node, ast.AugAssign):
            self._augment(node, names)
        elif isinstance(node, (ast.Expr, ast.Return)):
            value = self._value(node.value, names) if node.value is not None else None
            if isinstance(node, ast.Return) and value is not None:
                self._returned.append(value)
        elif isinstance(node, ast.For):
            self._for(node, names)
        elif isinstance(node, ast.If):
            self._value(node.test, names)
            self._block(node.body, names)
            self._block(node.orelse, names)
        elif isinstance(node, ast.While):
            self._value(node.test, names)
            self._block(node.body, names)
        elif isinstance(node, ast.With):
            for item in node.items:
                value = self._value(item.context_expr, names)
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, value, names)
            self._block(node.body, names)
        elif isinstance(node, ast.Try):
            for block in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                self._block(block, names)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._value(child, names)

    def _augment(self, node: ast.AugAssign, names: Names) -> None:
        value = self._value(node.value, names)
        target = self._value(node.target, names)
        if isinstance(target, View):
            self._arithmetic(target, node.op, value, node.lineno)
        elif isinstance(target, Known) and isinstance(value, Known):
            self._bind(node.target, _calculated(target, node.op, value), names)
        elif isinstance(node.target, ast.Name) and isinstance(target, Known):
            names[node.target.id] = value if isinstance(value, View) else None

    def _for(self, node: ast.For, names: Names) -> None:
        over = self._value(node.iter, names)
        for element in self._elements(over, node):
            self._bind(node.target, element, names)
            self._block(node.body, names)
            if self._left <= 0:
                return

    def _elements(self, over: Value, node: ast.AST) -> list[Value]:
        if isinstance(over, Known) and isinstance(over.value, (list, tuple, set, dict, range, str)):
            return [Known(item) for item in list(over.value)[:_ROUNDS]] or [None]
        if isinstance(over, Pack):
            return list(over.items[:_ROUNDS]) or [None]
        if isinstance(over, View):
            self._use(over, "iterated", None, getattr(node, "lineno", 0))
            return [over.at("element")]
        return [None]

    def _bind(self, target: ast.expr, value: Value, names: Names) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
            if isinstance(value, View):
                self._use(value, "bound", target.id, target.lineno)
        elif isinstance(target, (ast.Tuple, ast.List)):
            inner: list[Value] = [None] * len(target.elts)
            if isinstance(value, Pack) and len(value.items) == len(target.elts):
                inner = list(value.items)
            elif isinstance(value, Known) and isinstance(value.value, (tuple, list)):
                if len(value.value) == len(target.elts):
                    inner = [Known(item) for item in value.value]
            elif isinstance(value, View):
                self._use(value, "unpacked", tuple(ast.unparse(e) for e in target.elts), target.lineno)
                inner = [value.at("item", place) for place in range(len(target.elts))]
            for part, item in zip(target.elts, inner, strict=True):
                self._bind(part, item, names)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value, names)
            if isinstance(owner, Thing):
                owner.attributes[target.attr] = value
            elif isinstance(owner, View) and target.attr == "columns" and isinstance(value, Known):
                self._use(owner, "columns", value.value, target.lineno)
        elif isinstance(target, ast.Subscript):
            owner = self._value(target.value, names)
            key = self._value(target.slice, names)
            if isinstance(owner, View) and isinstance(key, Known) and isinstance(key.value, str):
                made_of = list(parts(value))
                if not made_of or all(view.datum is not owner.datum for view in made_of):
                    self._use(owner, "new column", key.value, target.lineno)
            elif isinstance(owner, Known) and isinstance(owner.value, dict) and isinstance(value, View):
                owner.value[getattr(key, "value", None)] = value

    # --- expressions

    def _value(self, node: ast.expr | None, names: Names) -> Value:
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if isinstance(node, ast.Name):
            return self._name(node, names)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, names)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, names)
        if isinstance(node, ast.Call):
            return self._call(node, names)
        if isinstance(node, ast.BinOp):
            return self._binary(node, names)
        if isinstance(node, (ast.Tuple, ast.List)):
            return _packed([self._value(part, names) for part in node.elts], isinstance(node, ast.List))
        if isinstance(node, ast.Dict):
            return self._dict(node, names)
        if isinstance(node, ast.JoinedStr):
            texts = [self._value(p.value if isinstance(p, ast.FormattedValue) else p, names) for p in node.values]
            known = [text.value for text in texts if isinstance(text, Known)]
            return Known("".join(map(str, known))) if len(known) == len(texts) else None
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._comprehension(node, names)
        if isinstance(node, ast.DictComp):
            return self._dict_comprehension(node, names)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, names)
            if isinstance(value, Known) and isinstance(node.op, ast.USub) and isinstance(value.value, (int, float)):
                return Known(-value.value)
            return value if isinstance(value, View) else None
        if isinstance(node, ast.IfExp):
            self._value(node.test, names)
            first, second = self._value(node.body, names), self._value(node.orelse, names)
            return first if first is not None else second
        if isinstance(node, ast.Lambda):
            return None
        if isinstance(node, ast.Compare):
            self._compared(node, names)
            sides = [self._value(side, names) for side in (node.left, *node.comparators)]
            said = [side.value for side in sides if isinstance(side, Known) and isinstance(side.value, str)]
            for view in (view for side in sides for view in parts(side) if said):
                self._use(view, "compared", said[0], node.lineno)
        if node is not None:
            inside = [self._value(c, names) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
            for view in (view for value in inside for view in parts(value)):
                return replace(view, exact=False)
        return None

    def _compared(self, node: ast.Compare, names: Names) -> None:
        """`arange(10) == labels[:, None]` makes rows with a single one."""
        sides = [node.left, *node.comparators]
        ranges = [side for side in sides if isinstance(side, ast.Call) and _last(side.func) == "arange"]
        if ranges:
            for view in (view for side in sides for view in parts(self._value(side, names))):
                self._use(view, "one-hot", self._first_number(ranges[0], names), node.lineno)

    def _first_number(self, call: ast.Call, names: Names) -> int | None:
        first = self._value(call.args[0], names) if call.args else None
        return first.value if isinstance(first, Known) and isinstance(first.value, int) else None

    def _name(self, node: ast.Name, names: Names) -> Value:
        if node.id in names:
            return names[node.id]
        if node.id in self._globals:
            return self._globals[node.id]
        if node.id in self._undefined:
            key = ("name", node.id)
            if key not in self._data:
                self._data[key] = Datum(node.id, "name", node, node.lineno)
                self._flow.data.append(self._data[key])
            return View(self._data[key])
        return None

    def _attribute(self, node: ast.Attribute, names: Names) -> Value:
        owner = self._value(node.value, names)
        if isinstance(owner, Thing):
            return owner.attributes.get(node.attr)
        if isinstance(owner, View):
            if node.attr in ("values", "data", "array", "T", "real"):
                return owner
            if node.attr in ("iloc", "loc", "ix", "iat", "at"):
                return owner.at("located", node.attr)
            if node.attr in ("str", "dt"):
                self._use(owner, "text" if node.attr == "str" else "date", None, node.lineno)
                return owner
            if node.attr in ("shape", "dtype", "size", "ndim", "index", "columns"):
                return owner.at(node.attr)
            self._use(owner, "attribute", node.attr, node.lineno)
            return owner.at("attribute", node.attr)
        if node.attr in self._arguments and owner is None and not isinstance(node.value, ast.Attribute):
            return Known(self._arguments[node.attr])
        return None

    def _dict(self, node: ast.Dict, names: Names) -> Value:
        keys = [self._value(key, names) for key in node.keys]
        values = [self._value(value, names) for value in node.values]
        for key, value in zip(keys, values, strict=True):
            if isinstance(key, Placed):
                for view in parts(value):
                    self._use(view, "fed", key.shape, node.lineno)
        known = all(isinstance(key, Known) for key in keys)
        if known and all(isinstance(value, Known) for value in values):
            return Known({k.value: v.value for k, v in zip(keys, values, strict=True)})  # type: ignore[union-attr]
        return Known({}) if known else None

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, names: Names) -> Value:
        inner = dict(names)
        first = node.generators[0]
        made: list[Value] = []
        for element in self._elements(self._value(first.iter, inner), node):
            self._bind(first.target, element, inner)
            for condition in first.ifs:
                self._value(condition, inner)
            for other in node.generators[1:]:
                over = self._elements(self._value(other.iter, inner), node)
                self._bind(other.target, over[0], inner)
            made.append(self._value(node.elt, inner))
        if len(made) == 1 and isinstance(made[0], View):
            return replace(made[0], exact=False)
        return _packed(made, True) if len(made) > 1 else None

    def _dict_comprehension(self, node: ast.DictComp, names: Names) -> Value:
        inner = dict(names)
        first = node.generators[0]
        made: dict[Any, Any] = {}
        for element in self._elements(self._value(first.iter, inner), node):
            self._bind(first.target, element, inner)
            key, value = self._value(node.key, inner), self._value(node.value, inner)
            if isinstance(key, Known) and value is not None and not isinstance(key.value, (list, dict)):
                made[key.value] = value.value if isinstance(value, Known) else value
        return Known(made) if made else None

    def _binary(self, node: ast.BinOp, names: Names) -> Value:
        left, right = self._value(node.left, names), self._value(node.right, names)
        if isinstance(left, Known) and isinstance(right, Known):
            return _calculated(left, node.op, right)
        if isinstance(left, Known) and isinstance(left.value, str) and isinstance(node.op, ast.Mod):
            values = [v.value for v in (right.items if isinstance(right, Pack) else (right,)) if isinstance(v, Known)]
            return _calculated(left, node.op, Known(tuple(values))) if values else None
        for view, other in ((left, right), (right, left)):
            if isinstance(view, View):
                return self._arithmetic(view, node.op, other, node.lineno)
        return None

    def _arithmetic(self, view: View, op: ast.operator, other: Value, line: int) -> View:
        self._use(view, "arithmetic", (type(op).__name__, other.value if isinstance(other, Known) else None), line)
        return view

    def _subscript(self, node: ast.Subscript, names: Names) -> Value:
        owner = self._value(node.value, names)
        index = node.slice
        if isinstance(owner, Known):
            key = self._value(index, names)
            if isinstance(index, ast.Slice):
                return owner
            try:
                found = owner.value[key.value] if isinstance(key, Known) else None
            except (KeyError, IndexError, TypeError):
                return None
            return found if isinstance(found, (View, Pack, Thing)) else Known(found) if found is not None else None
        if isinstance(owner, Pack):
            key = self._value(index, names)
            if (
                isinstance(key, Known)
                and isinstance(key.value, int)
                and -len(owner.items) <= key.value < len(owner.items)
            ):
                return owner.items[key.value]
            return owner if isinstance(index, ast.Slice) else owner.items[0] if owner.items else None
        if not isinstance(owner, View):
            rows = self._value(index, names)
            if isinstance(rows, View) and isinstance(node.value, ast.Call) and _last(node.value.func) == "eye":
                self._use(rows, "one-hot", self._first_number(node.value, names), node.lineno)
                return rows
            return None
        return self._selected(owner, index, node, names)

    def _selected(self, owner: View, index: ast.expr, node: ast.Subscript, names: Names) -> Value:
        located = owner.part[-1] if owner.part else ()
        if located and located[0] == "columns":
            part = _selection(index, lambda e: self._value(e, names))
            return replace(owner, part=(*owner.part[:-1], ("chosen", part)))
        if located and located[0] in ("shape", "dtype", "size", "index"):
            return None
        if located and located[0] == "located":
            owner = replace(owner, part=owner.part[:-1])
            self._use(owner, "located", located[1], node.lineno)
            if not isinstance(index, ast.Tuple):
                return owner
        if isinstance(index, ast.Tuple) and len(index.elts) >= 2:
            axes = [
                e for e in index.elts if not (isinstance(e, ast.Constant) or _last(e) == "newaxis") or _is_number(e)
            ]
            self._use(owner, "dimensions", len(axes), node.lineno)
            part = _selection(index.elts[1], lambda e: self._value(e, names))
            if len(index.elts) > 2 or part is None or part == ("range", None, None):
                return owner
            return self._column(owner, part, node.lineno)
        if isinstance(index, ast.Slice):
            rows = _selection(index, lambda e: self._value(e, names))
            if rows is not None:
                self._use(owner, "slice", rows[1:], node.lineno)
            return owner
        key = self._value(index, names)
        if isinstance(key, View):
            if key.part and key.part[-1][0] == "chosen" and key.datum is owner.datum:
                return self._column(owner, key.part[-1][1], node.lineno)
            return owner
        if isinstance(key, Known) and isinstance(key.value, bytes):
            return self._column(owner, ("one", key.value), node.lineno)
        if isinstance(key, Known) and isinstance(key.value, (str, list, tuple)):
            named = (key.value,) if isinstance(key.value, str) else tuple(key.value)
            if named and all(isinstance(name, str) for name in named):
                kind = ("one", named[0]) if isinstance(key.value, str) else ("names", named)
                return self._column(owner, kind, node.lineno)
        if isinstance(key, Known) and isinstance(key.value, int) and not isinstance(key.value, bool):
            self._use(owner, "item", key.value, node.lineno)
            return owner.at("item", key.value)
        return owner

    def _column(self, owner: View, part: tuple[Any, ...] | None, line: int) -> View:
        if part is None:
            return owner
        self._use(owner, "column", part, line)
        return owner.at("column", part)

    # --- calls

    def _call(self, node: ast.Call, names: Names) -> Value:
        name = self._source.qualified(node.func) or ""
        last = _last(node.func)
        method = isinstance(node.func, ast.Attribute)
        owner: Value = None
        if method and not name:
            owner = self._value(node.func.value, names)  # type: ignore[attr-defined]
        args = [self._value(arg.value if isinstance(arg, ast.Starred) else arg, names) for arg in node.args]
        keywords = {k.arg: self._value(k.value, names) for k in node.keywords if k.arg}
        values = [*args, *keywords.values()]
        if last in IMAGE_FOLDERS:
            return self._read("image folder", node, args, keywords)
        if (reader := _reader(name, last)) is not None:
            return self._reading(reader, name, node, args, keywords)
        if name in _UNPICKLING and args and isinstance(args[0], View):
            args[0].datum.kind = "json" if name.startswith("json") else "pickle"
            return View(args[0].datum)
        defined = self._definition(node.func, owner)
        if isinstance(defined, ast.FunctionDef):
            own = [owner] if isinstance(owner, Thing) and not _is_static(defined) else []
            return self._run(defined, [*own, *args], keywords)
        if isinstance(defined, ast.ClassDef):
            return self._made(defined, args, keywords, node)
        if isinstance(owner, View):
            return self._method(owner, last, args, keywords, node)
        return self._function(name, last, node, args, keywords, values, names)

    def _definition(self, func: ast.expr, owner: Value) -> ast.FunctionDef | ast.ClassDef | None:
        if isinstance(func, ast.Name):
            return self._functions.get(func.id) or self._classes.get(func.id)
        if isinstance(owner, Thing) and isinstance(func, ast.Attribute):
            methods = (p for p in owner.definition.body if isinstance(p, ast.FunctionDef))
            return next((p for p in methods if p.name == func.attr), None)
        return None

    def _run(self, function: ast.FunctionDef, args: list[Value], keywords: dict[str, Value]) -> Value:
        if self._depth >= _DEPTH:
            return None
        positional = [*function.args.posonlyargs, *function.args.args]
        names: Names = {argument.arg: None for argument in [*positional, *function.args.kwonlyargs]}
        for argument, default in zip(reversed(positional), reversed(function.args.defaults), strict=False):
            names[argument.arg] = self._value(default, self._globals)
        names.update(zip((argument.arg for argument in positional), args, strict=False))
        names.update({key: value for key, value in keywords.items() if key in names})
        return self._enter(function, names)

    def _enter(self, function: ast.FunctionDef, names: Names) -> Value:
        self._entered.add(function)
        outer, self._returned = self._returned, []
        self._depth += 1
        self._block(function.body, names)
        self._depth -= 1
        results, self._returned = self._returned, outer
        yields = [n for n in ast.walk(function) if isinstance(n, ast.Yield) and n.value is not None]
        if yields and not results:
            return self._value(yields[0].value, names)
        return next((value for value in reversed(results) if list(parts(value))), results[-1] if results else None)

    def _made(self, definition: ast.ClassDef, args: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        thing = Thing(definition)
        methods = {part.name: part for part in definition.body if isinstance(part, ast.FunctionDef)}
        if "__init__" in methods:
            self._run(methods["__init__"], [thing, *args], keywords)
        for name in ("__getitem__", "__len__", "__iter__"):
            if name in methods:
                self._run(methods[name], [thing], {})
        return thing

    def _reading(self, reader: str, name: str, node: ast.Call, args: list[Value], keywords: dict[str, Value]) -> Value:
        first = (
            args[0]
            if args
            else next((keywords[k] for k in ("filepath_or_buffer", "file", "fname", "io") if k in keywords), None)
        )
        if isinstance(first, View) and first.datum.kind == "handle":
            first.datum.kind = reader
            first.datum.options = {name: value.value for name, value in keywords.items() if isinstance(value, Known)}
            return View(first.datum)
        if reader == "handle":
            mode = args[1] if len(args) > 1 else keywords.get("mode")
            text = str(mode.value) if isinstance(mode, Known) else "r"
            if any(letter in text for letter in "wax"):
                self._writes(first, node.lineno)
                return None
        return self._read(reader, node, args or [first], keywords)

    def _read(self, kind: str, node: ast.Call, args: list[Value], keywords: dict[str, Value]) -> Value:
        names = ("filepath_or_buffer", "file", "fname", "directory", "root", "path", "io", "filename", "pathname")
        first = args[0] if args else next((keywords[name] for name in names if name in keywords), None)
        path = first.value if isinstance(first, Known) and isinstance(first.value, str) else None
        key = (kind, path) if path is not None else (kind, node)
        if key not in self._data:
            options = {name: value.value for name, value in keywords.items() if isinstance(value, Known)}
            if len(args) > 1 and isinstance(args[1], Known):
                options["second"] = args[1].value
            self._data[key] = Datum(
                _last(node.func), kind, node, node.lineno, path, reached=self._reached, options=options
            )
            self._flow.data.append(self._data[key])
        for view in parts(first):  # a name from a folder's list, a path that nothing tells
            self._use(view, "opened", (kind, node), node.lineno)
        return View(self._data[key])

    def _writes(self, path: Value, line: int) -> None:
        if isinstance(path, Known) and isinstance(path.value, str) and self._reached:
            self._flow.written.append((path.value, line))

    def _method(self, owner: View, last: str, args: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        for view in (view for value in [*args, *keywords.values()] for view in parts(value)):
            self._use(view, "passed", last, node.lineno)
        plain = tuple(arg.value if isinstance(arg, Known) else None for arg in args)
        if len(plain) == 1 and isinstance(plain[0], (tuple, list)):
            plain = tuple(plain[0])
        named = {key: value.value for key, value in keywords.items() if isinstance(value, Known)}
        self._use(owner, "method", (last, plain, named), node.lineno)
        if last in ("reshape", "view"):
            self._use(owner, "reshape", plain, node.lineno)
            return owner
        if last in ("split", "splitlines", "readlines", "readline"):
            self._use(owner, "text", None, node.lineno)
            separator = "\n" if last != "split" else plain[0] if plain else None
            return owner.at("split", separator)
        if last == "read":
            return owner
        if last in ("drop", "pop", "get"):
            chosen = named.get(
                "columns", named.get("labels", args[0].value if args and isinstance(args[0], Known) else None)
            )
            columns = named.get("axis", plain[1] if len(plain) > 1 else None) in (1, "columns") or "columns" in named
            if chosen is not None and (last != "drop" or columns):
                wanted = (chosen,) if isinstance(chosen, (str, int)) else tuple(chosen)
                if last != "drop":
                    return self._column(owner, ("one", chosen), node.lineno)
                self._use(owner, "column", ("without", wanted), node.lineno)
                return owner.at("column", ("without", wanted))
            return owner
        if last == "filter" and plain and all(isinstance(name, str) for name in plain):
            return self._column(owner, ("names", plain), node.lineno)
        if last in ("iterrows", "itertuples"):
            return Pack((None, owner))
        if last in _SAME_METHODS:
            return owner
        return (
            replace(owner, exact=False) if last not in ("mean", "std", "max", "min", "sum", "count", "print") else None
        )

    def _function(
        self,
        name: str,
        last: str,
        node: ast.Call,
        args: list[Value],
        keywords: dict[str, Value],
        values: list[Value],
        names: Names,
    ) -> Value:
        line = node.lineno
        if last in ("placeholder", "placeholder_with_default"):
            shape = keywords.get("shape", args[1] if len(args) > 1 else None)
            return Placed(_sizes(shape), line)
        if last == "join" and name in ("os.path.join", "posixpath.join"):
            before = [value.value for value in args[:-1] if isinstance(value, Known) and isinstance(value.value, str)]
            if isinstance(args[-1] if args else None, View) and len(before) == len(args) - 1:
                self._use(args[-1], "joined", "/".join(before), line)  # type: ignore[arg-type]
                return args[-1]
            known = [value.value for value in args if isinstance(value, Known) and isinstance(value.value, str)]
            if len(known) == len(args):
                return Known(os.path.join(*known))
        if isinstance(node.func, ast.Attribute) and last == "format":
            text = self._value(node.func.value, names)
            if isinstance(text, Known) and isinstance(text.value, str):
                try:
                    plain = [v.value for v in args if isinstance(v, Known)]
                    return Known(text.value.format(*plain)) if len(plain) == len(args) and not keywords else None
                except (IndexError, KeyError, ValueError):
                    return None
        if (
            last in ("expanduser", "abspath", "realpath", "normpath", "Path", "str")
            and args
            and isinstance(args[0], Known)
        ):
            return Known(str(args[0].value)) if last == "str" else args[0]
        views = [view for value in values for view in parts(value)]
        if last in ("range", "len") or not views:
            if last in _WRITERS or (last == "save" and args):
                texts = [v for v in values if isinstance(v, Known) and isinstance(v.value, str)]
                for value in texts[:1]:
                    self._writes(value, line)
            if last == "range" and len(args) == 1 and isinstance(args[0], Known) and isinstance(args[0].value, int):
                return Known(range(min(args[0].value, _ROUNDS)))
            return None
        return self._applied(name, last, node, args, keywords, views, names)

    def _applied(
        self,
        name: str,
        last: str,
        node: ast.Call,
        args: list[Value],
        keywords: dict[str, Value],
        views: list[View],
        names: Names,
    ) -> Value:
        """A call that takes data, of something that is not the program's own."""
        line = node.lineno
        made = self._source.constructor(node.func.value) if isinstance(node.func, ast.Attribute) else None
        of = (self._source.qualified(made.func) or "") if made is not None else ""
        if last in _WRITERS:
            for value in args[:2]:
                self._writes(value, line)
        if last in _FITTING and not of.startswith("sklearn.preprocessing") and "Vectorizer" not in of:
            self._role(args[:1] or [keywords.get("x")], "inputs", line)
            self._role(args[1:2] if last not in _GENERATED else [], "targets", line)
            for key, role in (("x", "inputs"), ("X", "inputs"), ("y", "targets")):
                self._role([keywords.get(key)], role, line)
            checked = keywords.get("validation_data")
            self._role([checked] if isinstance(checked, View) else [], "inputs", line)
            if isinstance(checked, Pack):
                self._role(checked.items[:1], "inputs", line)
                self._role(checked.items[1:2], "targets", line)
            return None
        if last == "train_test_split" or (last == "shuffle" and name.startswith("sklearn")):
            return Pack(tuple(arg for arg in args for _ in range(2))) if last != "shuffle" else _one(args)
        if last in ("fit_transform", "fit", "transform", "fit_on_texts", "texts_to_sequences", "texts_to_matrix"):
            kind = "encoded" if "Label" in of else "text" if "ectorizer" in of or "texts" in last else "scaled"
            if "OneHot" in of:
                kind = "encoded"
            for view in views[:1]:
                self._use(view, kind, of, line)
            return replace(views[0], exact=kind == "scaled" and views[0].exact)
        if last in ("to_categorical", "get_dummies", "one_hot", "eye"):
            given = [value.value for value in [*args[1:2], *keywords.values()] if isinstance(value, Known)]
            self._use(views[0], "one-hot", next((g for g in given if isinstance(g, int)), None), line)
            return views[0]
        if last in ("enumerate",):
            inner = self._elements(args[0], node)
            return Pack((Pack((None, inner[0])),))
        if last == "zip":
            return Pack((Pack(tuple(self._elements(arg, node)[0] for arg in args)),))
        if last in ("TensorDataset", "from_tensor_slices"):
            if len(args) == 2:
                self._role(args[:1], "inputs", line)
                self._role(args[1:], "targets", line)
            return Pack((_packed(args, False),))
        if last == "DataLoader":
            return args[0] if args else keywords.get("dataset")
        if last in ("reshape", "resize") and args:
            shape = _sizes(args[1] if len(args) > 1 else keywords.get("newshape", keywords.get("shape")))
            if shape is not None:
                self._use(views[0], "reshape", shape, line)
            return views[0]
        if last in ("to_datetime", "strptime"):
            self._use(views[0], "date", None, line)
            return replace(views[0], exact=False)
        if last == "reader":
            self._use(views[0], "csv rows", keywords.get("delimiter"), line)
            return views[0].at("split", "\n").at("element").at("split", ",")
        if last in ("float", "int", "float32"):
            self._use(views[0], "number", None, line)
        if self._is_loss(name, of or self._constructor(node.func)) and len(args) > 1:
            self._role(args[:1], "prediction", line)
            self._role(args[1:2], "targets", line)
            return None
        owner = self._value(node.func, names) if isinstance(node.func, ast.Name) else None
        if isinstance(owner, Thing) or self._constructor(node.func).startswith(
            ("torch.nn", "keras", "tensorflow.keras")
        ):
            self._role(args, "inputs", line)
        for view in views:
            self._use(view, "passed", name or last, line)
        if last in _SAME_FUNCTIONS:
            return args[0] if len(args) == 1 and args[0] is not None else views[0]
        return replace(views[0], exact=False)

    def _constructor(self, func: ast.expr) -> str:
        made = self._source.constructor(func)
        return (self._source.qualified(made.func) or "") if made is not None else ""

    def _is_loss(self, name: str, made_by: str) -> bool:
        return any(
            of.startswith(("torch.nn.functional.", "torch.nn.", "keras.losses.")) and (
                of.endswith(("Loss", "loss", "entropy", "_logits", "likelihood")) or "loss" in of.rpartition(".")[2].lower()
            )
            for of in (name, made_by)
        )  # fmt: skip

    def _role(self, values: Iterable[Value], role: str, line: int) -> None:
        for place, value in enumerate(values):
            several = value.items if isinstance(value, Pack) and len(value.items) > 1 else (value,)
            for number, item in enumerate(several):
                for view in parts(item):
                    self._use(view, role, ("of", number) if len(several) > 1 else place, line)

    def _use(self, view: View, kind: str, detail: Any, line: int) -> None:
        use = Use(view.part, kind, detail, line, view.exact)
        if len(view.datum.uses) < 400 and use not in view.datum.uses[-40:]:
            view.datum.uses.append(use)


_FITTING = frozenset({"fit", "fit_generator", "train_on_batch", "evaluate", "predict", "predict_classes", "predict_proba",
                      "evaluate_generator", "predict_generator", "predict_on_batch", "test_on_batch", "partial_fit",
                      "score", "predict_step"})  # fmt: skip
_GENERATED = frozenset({"fit_generator", "predict", "predict_classes", "predict_proba", "evaluate_generator",
                        "predict_generator", "predict_on_batch"})  # fmt: skip
_WRITERS = _words(
    """savefig save save_weights to_csv to_pickle to_json dump imwrite imsave ModelCheckpoint CSVLogger savez savetxt
    save_model save_image savez_compressed plot_model SummaryWriter FileWriter imsave to_excel"""
)


def _reader(name: str, last: str) -> str | None:
    """The kind of thing that a call of this name reads from a path."""
    if not name.startswith(_READING):
        return None
    kind = "image" if name == "PIL.Image.open" else READERS.get(last)
    if last == "load" and "joblib" in name:
        return "pickle"
    if last == "load" and name.startswith(("librosa", "torchaudio")):
        return "audio"
    if last == "read" and not name.startswith(("scipy.io.wavfile", "soundfile")):
        return None
    return kind


def _packed(values: list[Value], is_list: bool) -> Value:
    if all(isinstance(value, Known) for value in values):
        plain = [value.value for value in values if isinstance(value, Known)]
        return Known(plain if is_list else tuple(plain))
    return Pack(tuple(values))


def _one(values: Sequence[Value]) -> Value:
    return values[0] if len(values) == 1 else Pack(tuple(values))


def _calculated(left: Known, op: ast.operator, right: Known) -> Value:
    a, b = left.value, right.value
    try:
        if isinstance(op, ast.Add) and type(a) is type(b) and isinstance(a, (str, int, float, list, tuple)):
            return Known(a + b)
        if isinstance(op, ast.Mod) and isinstance(a, str):
            return Known(a % (tuple(b) if isinstance(b, (list, tuple)) else b))
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            if isinstance(op, ast.Sub):
                return Known(a - b)
            if isinstance(op, ast.Mult) and abs(a) < 10**6 and abs(b) < 10**6:
                return Known(a * b)
            if isinstance(op, ast.FloorDiv):
                return Known(a // b)
            if isinstance(op, ast.Div):
                return Known(a / b)
        if isinstance(op, ast.Mult) and isinstance(a, (str, list)) and isinstance(b, int) and 0 <= b < 100:
            return Known(a * b)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return None


def _selection(index: ast.expr, value: Any) -> tuple[Any, ...] | None:
    """Which columns an index takes: `("one", 3)`, `("range", 0, 8)`, `("names", (…))`; `None` for what is unknown."""
    if isinstance(index, ast.Slice):
        ends = [value(end) if end is not None else Known(None) for end in (index.lower, index.upper)]
        if all(isinstance(end, Known) and (end.value is None or isinstance(end.value, (int, str))) for end in ends):
            return ("range", ends[0].value, ends[1].value)
        return None
    known = value(index)
    if not isinstance(known, Known) or known.value is None or known.value is Ellipsis:
        return None
    if isinstance(known.value, (list, tuple, range)):
        return ("names", tuple(known.value))
    return ("one", known.value) if isinstance(known.value, (int, str)) else None


def _sizes(value: Value) -> tuple[int | None, ...] | None:
    """A shape: what is known of its sizes."""
    items: Iterable[Value]
    if isinstance(value, Known) and isinstance(value.value, (list, tuple)):
        items = [Known(item) for item in value.value]
    elif isinstance(value, Pack):
        items = value.items
    else:
        return None
    return tuple(i.value if isinstance(i, Known) and isinstance(i.value, int) else None for i in items)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_static(function: ast.FunctionDef) -> bool:
    return any(_last(decorator) == "staticmethod" for decorator in function.decorator_list)
