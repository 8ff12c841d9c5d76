"""The public API of one release of a package, read from its sources without importing anything.

A name counts as public under every path without an underscore under which a program can import it: where it is defined, and where an
`__init__` (or any module that only passes names on) has it from there, also lazily. What a module imports for its own use is not its API, but for
packages, whose whole use is to pass names on.
"""

from __future__ import annotations

import ast
import pickle
import re
import sqlite3
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import Any

_PARAGRAPH = re.compile(r"\s*[`*]{0,2}(\w+)[`*]{0,2}\s*(?:\([^\n]*\))?\s*:")
"""The line on which documentation begins to speak of a parameter."""

IMPLEMENTATION = (
    "pandas.core",
    "pandas.compat",
    *(
        f"{package}.{part}"
        for package in ("keras", "keras_cv", "keras_hub", "keras_nlp", "tf_keras")
        for part in ("src", "api", "protobuf")
    ),
    *(
        f"tensorflow.{part}"
        for part in ("compiler", "core", "dtensor", "examples", "python", "security", "tools", "tsl")
    ),
    *(
        f"tensorflow.lite.{part}"
        for part in ("python", "toco", "tools", "experimental.examples", "experimental.microfrontend")
    ),
    *(f"tensorflow.distribute.experimental.rpc.{part}" for part in ("kernels", "proto")),
    "tensorflow.keras",
    "tensorflow.compat.v1.compat",
    "tensorflow.compat.v1.keras",
    "tensorflow.compat.v1.layers",
    "tensorflow.compat.v2",
)
"""Modules that look public and are not, as their packages say; and those of TensorFlow that are another package's, or the same once more."""

ANY = "**"
"""Stands among the parameters of what takes any keyword."""

_DEEPEST = 12
"""How many modules a name is followed through, or classes a signature."""

_DEPRECATION = re.compile(r"deprecat|will be removed|no longer|instead", re.IGNORECASE)


@dataclass
class Callable:
    """A function or class as a text defines it."""

    kind: str
    """`function`, `class` or `value`."""
    parameters: tuple[str, ...] | None = None
    """The keywords that it takes, with `**` where any is taken; `None` for a class that says nothing of its own."""
    bases: tuple[str, ...] = ()
    methods: Mapping[str, Callable] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()
    """Names that the body of a class binds without defining a method."""
    is_record: bool = False
    """Whether the fields of the class are its parameters."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Keywords that a decorator still takes, with today's, empty where there is none."""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By parameter, the names in its annotation."""
    warnings: tuple[str, ...] = ()
    """What it says of deprecation: the texts in it that speak of it, without its documentation."""
    told: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By parameter, what its own field and its own paragraph of the documentation say of deprecation."""


@dataclass
class Module:
    """One file: what it defines, and what it has from other modules."""

    defined: dict[str, Callable] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By name, the module (with leading dots where relative) and the name there."""
    stars: list[str] = field(default_factory=list)
    exported: tuple[str, ...] | None = None
    lazily: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By submodule, the names that a lazy package has from there."""


class Sources:
    """Reads files, each text once, whatever releases have it; what was read is kept in a folder, until this module changes."""

    def __init__(self, folder: Path | None = None) -> None:
        self._read: dict[bytes, Module] = {}
        place = ":memory:"
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            place = str(folder / f"read-{blake2b(Path(__file__).read_bytes(), digest_size=8).hexdigest()}.sqlite")
        self._kept = sqlite3.connect(place, timeout=60, isolation_level=None)
        for said in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF"):
            self._kept.execute(said)
        self._kept.execute("CREATE TABLE IF NOT EXISTS module (text BLOB PRIMARY KEY, found BLOB)")

    def module(self, text: bytes) -> Module:
        """What a file has; nothing where it is not Python."""
        key = blake2b(text, digest_size=16).digest()
        if key not in self._read:
            kept = self._kept.execute("SELECT found FROM module WHERE text = ?", (key,)).fetchone()
            self._read[key] = pickle.loads(kept[0]) if kept else _module(text)
            if not kept:
                self._kept.execute("INSERT OR REPLACE INTO module VALUES (?, ?)", (key, pickle.dumps(self._read[key])))
        return self._read[key]


@dataclass
class Api:
    """The modules of one release by dotted path."""

    modules: Mapping[str, Module]
    packages: frozenset[str]
    _known: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def names(self) -> dict[str, Callable]:
        """Every public function, class and value, by each path under which a program can have it."""
        found: dict[str, Callable] = {}
        for path in self.public_modules():
            for name in self._shown(path):
                if not name.startswith("_") and (entry := self.at(path, name)) is not None:
                    found[f"{path}.{name}"] = entry
        return found

    def public_modules(self) -> frozenset[str]:
        """The paths of modules that a program can import."""
        return frozenset(path for path in self.modules if _is_public(path))

    def at(self, path: str, name: str) -> Callable | None:
        """What a module has under a name, wherever it is defined; `None` where that is not found."""
        home = self.home(path, name)
        return self.modules[home[0]].defined[home[1]] if home is not None else None

    def home(self, path: str, name: str) -> tuple[str, str] | None:
        """The module that defines what another one has under a name, and how it is called there; `None` where that is not found."""
        for _ in range(_DEEPEST):
            module = self.modules.get(path)
            if module is None:
                return None
            if name in module.defined:
                return path, name
            step = module.imported.get(name)
            if step is not None:
                path, name = self.resolved(path, step[0]), step[1]
                continue
            passed = self._shown(path).get(name)
            if passed is None or passed == path:
                return None
            path = passed
        return None

    def parameters(self, entry: Callable, path: str, deep: int = 0) -> tuple[frozenset[str], bool]:
        """The keywords that a call takes, inherited ones included, and whether these are all: a base may be of another package."""
        own = frozenset(entry.parameters or ())
        if entry.kind != "class":
            return own, entry.parameters is not None
        if deep > _DEEPEST or entry.parameters is not None and not entry.is_record:
            return own, deep <= _DEEPEST
        complete = bool(entry.bases) or entry.is_record
        for base in entry.bases:
            found = self.class_of(path, base)
            if found is None:
                complete = complete and base.rpartition(".")[2] in _WITHOUT_PARAMETERS
                continue
            above, whole = self.parameters(found[1], found[0], deep + 1)
            own, complete = own | above, complete and whole
            if not entry.is_record and found[1].parameters is not None:
                break
        return own, complete

    def methods(self, entry: Callable, path: str, deep: int = 0) -> tuple[frozenset[str], bool]:
        """The public methods and attributes of a class, and whether these are all: a base may be of another package."""
        own = frozenset(name for name in (*entry.methods, *entry.attributes) if not name.startswith("_"))
        complete = deep <= _DEEPEST
        for base in entry.bases if complete else ():
            found = self.class_of(path, base)
            if found is None:
                complete = complete and base.rpartition(".")[2] in _WITHOUT_PARAMETERS
                continue
            above, whole = self.methods(found[1], found[0], deep + 1)
            own, complete = own | above, complete and whole
        return own, complete

    def class_of(self, path: str, base: str) -> tuple[str, Callable] | None:
        """The class that a module calls so, and the module that defines it; `None` where it is not of this package."""
        head, _, rest = base.partition(".")
        if rest:
            module = self.modules.get(path)
            if module is None or head not in module.imported:
                return None
            source, called = module.imported[head]
            path, head = self.resolved(path, f"{source}.{called}".replace("..", ".") if source else called), rest
        home = self.home(path, head)
        found = self.modules[home[0]].defined[home[1]] if home is not None else None
        return (home[0], found) if home is not None and found is not None and found.kind == "class" else None

    def resolved(self, path: str, source: str) -> str:
        """The whole path of what a module imports from, with leading dots where relative."""
        level = len(source) - len(source.lstrip("."))
        if not level:
            return source
        parts = path.split(".") if path in self.packages else path.split(".")[:-1]
        kept = parts[: len(parts) - level + 1]
        return ".".join([*kept, source[level:]] if source[level:] else kept)

    def _shown(self, path: str, deep: int = 0) -> Mapping[str, str]:
        """The names that a module shows, and from which module: its list, else its own and, of a package, those of its modules."""
        module = self.modules.get(path)
        if module is None or deep > _DEEPEST:
            return {}
        if path in self._known:
            return self._known[path]
        shown: dict[str, str] = {}
        for star in module.stars:
            origin = self.resolved(path, star)
            inner = self.modules.get(origin)
            if origin != path and inner is not None:
                listed = self._shown(origin, deep + 1) if inner.exported is None else inner.exported
                shown.update(dict.fromkeys(listed, origin))
        for sub, names in module.lazily.items():
            shown.update(dict.fromkeys(names, f"{path}.{sub}"))
        if path in self.packages:
            shown.update({name: path for name, (source, _) in module.imported.items() if self._is_own(path, source)})
        shown.update(dict.fromkeys(module.defined, path))
        for name in module.exported or ():
            shown.setdefault(name, path)
        if not deep:
            self._known[path] = shown  # deeper in, a circle of modules may have cut it short
        return shown

    def _is_own(self, path: str, source: str) -> bool:
        return source.startswith(".") or source.partition(".")[0] == path.partition(".")[0]


_WITHOUT_PARAMETERS = frozenset(
    {"object", "ABC", "Generic", "Protocol", "Enum", "str", "Exception", "UserDict", "OrderedDict", "dict"}
)
"""Bases from elsewhere that add nothing which a program gives by name."""


def api(files: Iterable[tuple[str, bytes]], reader: Sources) -> Api:
    """The API of the files of one release, by their paths in its wheel."""
    modules: dict[str, Module] = {}
    stubs: dict[str, Module] = {}
    packages: set[str] = set()
    for path, text in files:
        parts = path.rsplit(".", 1)[0].split("/")
        is_package = parts[-1] == "__init__"
        if is_package:
            parts.pop()
        if not parts or not all(part.isidentifier() for part in parts):
            continue  # no program can name what lies in such a folder
        dotted = ".".join(parts)
        of = stubs if path.endswith(".pyi") and dotted in modules else modules
        of[dotted] = reader.module(text)
        if is_package:
            packages.add(dotted)
    own = Api(modules, frozenset(packages))
    modules |= {path: _with_stub(own, path, stub) for path, stub in stubs.items()}
    return Api({**modules, **_shown_elsewhere(modules, packages)}, frozenset(packages))


def _with_stub(own: Api, path: str, stub: Module) -> Module:
    """A module with what its stub tells of names that come from compiled code; the stub alone, where that gives it most names."""
    module = own.modules[path]
    told = stub.defined.keys() | stub.imported.keys()
    if not module.stars and 2 * len(told & (module.defined.keys() | module.imported.keys())) < len(told):
        return stub
    compiled = {name for name, entry in module.defined.items() if entry.kind == "value"}
    for name, (source, called) in module.imported.items():
        origin = own.resolved(path, source)
        if origin not in own.modules and f"{origin}.{called}" not in own.modules:
            compiled.add(name)
    shown = {name: entry for name, entry in stub.defined.items() if name in compiled and entry.kind != "value"}
    return replace(module, defined={**module.defined, **shown})


def _shown_elsewhere(modules: Mapping[str, Module], packages: Iterable[str]) -> dict[str, Module]:
    """Modules that no program imports by their own path, and that a package shows as its own: by that path of its."""
    own = Api(modules, frozenset(packages))
    places = [(one.removesuffix(".api"), one) for one in IMPLEMENTATION if one.endswith(".api") and one in modules]
    for path in filter(_is_public, packages):
        for name, (source, called) in modules[path].imported.items():
            origin = f"{own.resolved(path, source)}.{called}"
            if origin in modules and not _is_public(origin) and not name.startswith("_"):
                places.append((f"{path}.{name}", origin))
    found, nothing = dict[str, Module](), Module()
    for path, origin in places:
        for inner in (one for one in modules if one.startswith(f"{origin}.") or one == origin):
            found.setdefault(f"{path}{inner[len(origin) :]}", Module(stars=[inner]))
    return {path: module for path, module in found.items() if modules.get(path, nothing) == nothing}


def _is_public(path: str) -> bool:
    hidden = any(f"{path}.".startswith(f"{one}.") for one in IMPLEMENTATION)
    return not hidden and not any(part.startswith("_") for part in path.split("."))


def _module(text: bytes) -> Module:
    found = Module()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return found
    seen = _Seen(tree, text)
    for statement in _statements(tree.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.defined[statement.name] = _function(statement, seen, is_method=False)
        elif isinstance(statement, ast.ClassDef):
            found.defined[statement.name] = _class(statement, seen)
        elif isinstance(statement, ast.ImportFrom):
            source = "." * statement.level + (statement.module or "")
            for alias in statement.names:
                if alias.name == "*":
                    found.stars.append(source)
                else:
                    found.imported[alias.asname or alias.name] = (source, alias.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            _assignment(statement, found)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            _added(statement.value, found)
    return found


class _Seen:
    """What stands somewhere in the definitions of a file, found once for all of them."""

    def __init__(self, tree: ast.Module, text: bytes) -> None:
        spoken = _DEPRECATION.search(text.decode("utf-8", "replace"))  # most files do not speak of it at all
        self._texts = sorted(_spoken(tree), key=_LINE) if spoken else []
        self._stores = sorted(_stored(tree), key=_LINE)

    def warnings(self, node: ast.stmt) -> tuple[str, ...]:
        """The texts of a definition that speak of deprecation."""
        return tuple(_within(self._texts, node))

    def attributes(self, method: ast.stmt) -> Iterable[str]:
        """What a method gives to `self`."""
        return _within(self._stores, method)


_LINE = itemgetter(0)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _spoken(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The strings outside of documentation that speak of deprecation, with their lines; f-strings with `{}` for what is filled in."""
    documentation: set[int] = set()
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        text: object = None
        if isinstance(node, ast.Constant):
            text = node.value if id(node) not in documentation else None
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
        elif _has_docstring(node):
            documentation.add(id(node.body[0].value))  # type: ignore[attr-defined]
        if isinstance(text, str) and len(text) < 1000 and _DEPRECATION.search(text):
            yield node.lineno, text  # type: ignore[attr-defined]
        waiting.extend(ast.iter_child_nodes(node))


def _stored(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The attributes that statements give to `self`, with their lines."""
    waiting: list[Any] = [tree]
    for statement in waiting:
        targets = [getattr(statement, "target", None), *getattr(statement, "targets", ())]
        targets += [item.optional_vars for item in getattr(statement, "items", ())]
        for target in targets:
            for node in ast.walk(target) if target is not None else ():
                is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if is_stored and isinstance(node.value, ast.Name) and node.value.id == "self":
                    yield node.lineno, node.attr
        for block in _BLOCKS:
            waiting.extend(getattr(statement, block, ()))


def _within(found: list[tuple[int, str]], node: ast.stmt) -> list[str]:
    first = bisect_left(found, node.lineno, key=_LINE)
    return [text for _, text in found[first : bisect_right(found, node.end_lineno or node.lineno, key=_LINE)]]


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those under conditions among them: which branch is taken depends on what is installed."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, name, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _statements(handler.body)


def _assignment(statement: ast.Assign | ast.AnnAssign | ast.AugAssign, found: Module) -> None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if isinstance(target, ast.Name):
            if target.id == "__all__":
                found.exported = (*(found.exported or ()), *_texts(statement.value))
            elif target.id == "_import_structure" and isinstance(statement.value, ast.Dict):
                for key, value in zip(statement.value.keys, statement.value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found.lazily[key.value] = (*found.lazily.get(key.value, ()), *_texts(value))
            elif isinstance(statement.value, ast.Name) and statement.value.id in found.defined:
                found.defined[target.id] = found.defined[statement.value.id]
            else:
                found.defined.setdefault(target.id, Callable("value"))
        elif isinstance(target, ast.Subscript) and (key := _structure_key(target)):
            found.lazily[key] = (*found.lazily.get(key, ()), *_texts(statement.value))


def _structure_key(node: ast.expr) -> str:
    """The key of `_import_structure["models.bert"]`."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "_import_structure"
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        return node.slice.value
    return ""


def _added(call: ast.Call, found: Module) -> None:
    """`_import_structure["…"].append("…")`, and the same on `__all__`."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr in ("append", "extend") and call.args):
        return
    given = call.args[0]
    texts = (given.value,) if isinstance(given, ast.Constant) and isinstance(given.value, str) else _texts(given)
    if key := _structure_key(function.value):
        found.lazily[key] = (*found.lazily.get(key, ()), *texts)
    elif isinstance(function.value, ast.Name) and function.value.id == "__all__":
        found.exported = (*(found.exported or ()), *texts)


def _texts(node: ast.AST | None) -> tuple[str, ...]:
    """The strings of a list, or of lists that are added."""
    if isinstance(node, ast.BinOp):
        return (*_texts(node.left), *_texts(node.right))
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return tuple(e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str))
    return ()


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, seen: _Seen, is_method: bool) -> Callable:
    arguments = node.args
    names = [one.arg for one in (*arguments.args, *arguments.kwonlyargs)]
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    if is_method and not static and arguments.args and not arguments.posonlyargs:
        names = names[1:]
    if arguments.kwarg is not None:
        names.append(ANY)
    renamed = dict(pair for one in node.decorator_list for pair in _renamed(one))
    kinds = {one.arg: _named(one.annotation) for one in (*arguments.args, *arguments.kwonlyargs) if one.annotation}
    told = _documented(node, names)
    return Callable("function", tuple(names), renamed=renamed, kinds=kinds, warnings=seen.warnings(node), told=told)


def _documented(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, names: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """By parameter, its paragraph of the documentation, where that speaks of deprecation."""
    text = ast.get_docstring(node) or ""
    known, found, current = set(names), {}, ""
    for line in text.splitlines():
        heading = _PARAGRAPH.match(line)
        if heading is not None:
            current = heading[1] if heading[1] in known else ""
        if current:
            found[current] = f"{found.get(current, '')}{line}\n"
    return {name: (said,) for name, said in found.items() if _DEPRECATION.search(said)}


def _named(annotation: ast.expr) -> tuple[str, ...]:
    """The names in an annotation, also in one that is written as a string."""
    return tuple(dict.fromkeys(re.findall(r"[A-Za-z_][\w.]*", ast.unparse(annotation))))


def _renamed(decorator: ast.expr) -> Iterator[tuple[str, str]]:
    """The old and the new keyword of a decorator like `@deprecate_kwarg("tokenizer", new_name="processing_class")`."""
    if not isinstance(decorator, ast.Call) or "deprecate" not in ast.unparse(decorator.func).lower():
        return
    texts = [one.value if isinstance(one, ast.Constant) else None for one in decorator.args]
    by_name = {
        one.arg: one.value.value for one in decorator.keywords if one.arg and isinstance(one.value, ast.Constant)
    }
    named = [by_name.get(key) for key in ("old_name", "old_arg_name", "old_arg", "name")]
    old = next((one for one in (*texts[:1], *named) if isinstance(one, str)), None)
    new = next((by_name[key] for key in ("new_name", "new_arg_name", "new_arg") if key in by_name), None)
    if old is not None and old.isidentifier() and len(texts) <= 2:
        yield old, new if isinstance(new, str) and new.isidentifier() else ""


def _has_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
        and isinstance(node.body[0].value.value, str)
    )


def _class(node: ast.ClassDef, seen: _Seen) -> Callable:
    methods: dict[str, Callable] = {}
    attributes: set[str] = set()
    fields: list[str] = []
    texts: list[str] = []
    told: dict[str, tuple[str, ...]] = {}
    for statement in _statements(node.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            methods[statement.name] = _function(statement, seen, is_method=True)
            texts += methods[statement.name].warnings
            attributes.update(seen.attributes(statement))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            attributes.add(statement.target.id)
            if "ClassVar" not in ast.unparse(statement.annotation) and not _is_left_out(statement.value):
                fields.append(statement.target.id)
            told[statement.target.id] = seen.warnings(statement)
        elif isinstance(statement, ast.Assign):
            attributes.update(target.id for target in statement.targets if isinstance(target, ast.Name))
    is_record = "__init__" not in methods and any("dataclass" in ast.unparse(one) for one in node.decorator_list)
    made = Callable("function", tuple(fields)) if is_record else methods.get("__init__") or methods.get("__new__")
    parameters = made.parameters if made else None
    told = {name: (*told.get(name, ()), *said) for name, said in _documented(node, parameters or ()).items()} | {
        name: said for name, said in told.items() if said
    }
    return Callable(
        "class",
        parameters,
        bases=tuple(ast.unparse(base).partition("[")[0] for base in node.bases),
        methods=methods,
        attributes=frozenset(attributes),
        is_record=is_record,
        renamed=made.renamed if made else {},
        kinds=made.kinds if made else {},
        warnings=tuple(texts),
        told={**(made.told if made else {}), **told},
    )


def _is_left_out(value: ast.expr | None) -> bool:
    """Whether a field is no parameter: `field(init=False)`."""
    return isinstance(value, ast.Call) and any(
        one.arg == "init" and isinstance(one.value, ast.Constant) and one.value.value is False for one in value.keywords
    )
