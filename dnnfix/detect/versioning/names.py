"""Index of a program's imports, names and calls, and the present name of each by the tables of API changes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Container, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dnnfix
from dnnfix.detect.versioning.history import is_meant
from dnnfix.detect.versioning.tables import Change, Table, table
from dnnfix.libraries import SUCCESSORS
from dnnfix.records.record import record
from dnnfix.source.names import canonical
from dnnfix.source.program import Source

DATA = Path(dnnfix.__file__).parent / "fix_templates" / "data"

_GATES = {
    "keras": ("keras", "tensorflow"),
    "tensorflow": ("tensorflow",),
    "torch": ("torch",),
}
"""The frameworks, of which a program must use one for a table to be read."""

_LIBRARY = (
    "BaseHTTPServer", "ConfigParser", "Cookie", "HTMLParser", "Queue", "ScrolledText", "SimpleHTTPServer",
    "SimpleXMLRPCServer", "SocketServer", "StringIO", "Tkinter", "UserDict", "UserList", "UserString", "__builtin__",
    "anydbm", "asyncio", "base64", "cPickle", "cStringIO", "cgi", "collections", "commands", "cookielib", "copy_reg",
    "distutils", "exceptions", "fractions", "future_builtins", "htmlentitydefs", "httplib", "imp", "inspect", "itertools",
    "locale", "md5", "new", "operator", "os", "pipes", "platform", "random", "robotparser", "sets", "sha", "string",
    "sys", "thread", "threading", "time", "tkColorChooser", "tkFileDialog", "tkFont", "tkMessageBox", "tkSimpleDialog",
    "ttk", "types", "unittest", "urllib", "urllib2", "urlparse", "whichdb", "xml", "xmlrpclib",
)  # fmt: skip
"""Modules of Python's own library, of today and of before, of which the tables know something."""

_WORDS = {
    "python": _LIBRARY,
    "places": ("pandas", "pd", "seaborn", "sklearn"),
    "numpy": ("np", "numpy", "A", "A1"),  # the attributes of what SciPy gives
    "pandas": ("pd", "pandas"),
    "sklearn": ("sklearn",),
    "cv2": ("cv2",),
    "accelerate": ("accelerate",),
    "datasets": ("datasets",),
    "gensim": ("gensim",),
    "huggingface_hub": ("huggingface_hub",),
    "ipython": ("IPython",),
    "lightning": ("lightning", "pytorch_lightning"),
    "matplotlib": ("plt", "matplotlib", "pylab", "set_xticks", "set_yticks", "set_zticks"),
    "networkx": ("networkx",),
    "pillow": ("PIL", "Image", "ImageChops", "ImageDraw", "ImageEnhance", "ImageFilter", "ImageFont", "ImageOps"),
    "scipy": ("scipy",),
    "seaborn": ("seaborn",),
    "skimage": ("skimage",),
    "successors": tuple(SUCCESSORS),
    "timm": ("timm",),
    "torch": ("functorch", "torchtext"),
    "torchmetrics": ("torchmetrics",),
    "torchvision": ("torchvision",),
    "transformers": ("transformers",),
    "trl": ("trl",),
}
"""Identifiers, one of which a program must have for the table of another library to be read."""

_KEPT_KERAS = (
    "tf_keras",
    "tensorflow.compat",
    "tensorflow.contrib",
    "tensorflow.python",
    "keras.src",
    "keras._tf_keras",
)
"""Where old names live on or are another matter."""

_GONE_WITH_VERSION_1 = ("tensorflow.contrib", "tensorflow.compat.v1.")
"""Those of them of which parts are gone: what the tables have of a part holds for all that is in it."""

_BEFORE_VERSION_2 = ("0.12", "1.0")
"""The releases that took names away for good."""

_PRIVATE, _PUBLIC = "keras.src.legacy.preprocessing.", "tensorflow.keras.preprocessing."
"""Where Keras 3 keeps what it does not show any more, and where TensorFlow shows it to this day."""

_HIDDEN = ("DataFrameIterator", "flip_axis", "transform_matrix_offset_center")
"""What is not shown there either."""

_FOLLOWED = 4
"""How many changes in a row are followed from an old name to the present one."""


@record
class Target:
    """What a qualified name is called today. `final` is empty where nothing replaces it; `changes` led there.

    A name whose module is gone, and which is itself only deprecated where it is now, keeps itself in `final`; `today`
    has what it would be called if it were written now.
    """

    written: str
    final: str
    changes: tuple[Change, ...]
    today: str

    @property
    def change(self) -> Change:
        """The change that the report speaks of."""
        return self.changes[-1]

    @property
    def deprecated(self) -> bool:
        """Whether the old name still works."""
        return all(change.deprecated for change in self.changes)

    @property
    def names_module(self) -> bool:
        """Whether the name is itself a module that moved."""
        first = self.changes[0]
        return first.kind == "module" and self.written.removeprefix("tensorflow.") == first.old

    @property
    def safe(self) -> bool:
        """Whether every step keeps the meaning."""
        return all(change.safe for change in self.changes)

    @property
    def exact(self) -> bool:
        """Whether every step does what the older version did."""
        return all(change.safe or change.exact for change in self.changes)


def tables_for(source: Source) -> tuple[Table, ...]:
    """The tables of the built-in files that can concern a program, read only then."""
    names = [name for name, frameworks in _GATES.items() if source.frameworks.intersection(frameworks)]
    around = source.words_of_program
    names += [name for name, words in _WORDS.items() if not around.isdisjoint(words)]
    paths = [DATA / f"{name}.toml" for name in dict.fromkeys(names)]
    used = source.words | {new for old, new in SUCCESSORS.items() if old in source.words}
    histories = [(name, table(path)) for name, path in _histories().items() if name in used]
    meant = [known for name, known in histories if is_meant(source, name, known.shown)]
    return (*(table(path) for path in paths if path.is_file()), *meant)


@cache
def _histories() -> dict[str, Path]:
    """What packages have lost over their releases, by the name under which programs import them."""
    return {path.stem: path for path in sorted((DATA / "history").glob("*.json"))}


@dataclass
class Uses:
    """The outdated names, keywords and method names of one program; built once and shared by the templates."""

    source: Source
    tables: tuple[Table, ...]
    hot: frozenset[str] = field(init=False)
    """Identifiers of the program that occur in a table."""
    on_tensorflow: bool = field(init=False, default=False)
    """Whether TensorFlow is there: the program uses it, or a run showed that Keras does."""
    _targets: dict[str, Target | None] = field(init=False, default_factory=dict)
    _readings: dict[Hashable, Any] = field(init=False, default_factory=dict)
    _knowing: dict[tuple[str, ...], tuple[Table, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        words = self.source.words
        self.hot = frozenset().union(*(known.words.keys() & words for known in self.tables))
        self.on_tensorflow = "tensorflow" in self.source.frameworks

    def saw(self, versions: Container[str]) -> None:
        """Take note of the packages that a run showed: Keras may compute with a TensorFlow that the program does not name."""
        if not self.on_tensorflow and "tensorflow" in versions:
            self.on_tensorflow = True
            self._targets.clear()
            self._readings.clear()

    @cached_property
    def _nodes(self) -> dict[type[ast.AST], list[ast.AST]]:
        return self.source.places.by_type

    def knowing(self, *names: str) -> tuple[Table, ...]:
        """The tables that have anything under the last word of one of these names: few of all."""
        found = self._knowing.get(names)
        if found is None:
            words = [name.rpartition(".")[2] for name in names]
            found = tuple(known for known in self.tables if any(word in known.words for word in words))
            self._knowing[names] = found
        return found

    def imports(self) -> Iterator[ast.Import | ast.ImportFrom]:
        """The import statements that are not relative."""
        for node in (*self._nodes.get(ast.Import, ()), *self._nodes.get(ast.ImportFrom, ())):
            if isinstance(node, ast.Import) or isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node

    def names(self, *ids: str) -> Iterator[ast.Name]:
        """The names with one of the identifiers."""
        known = [name for name in dict.fromkeys(ids) if name in self._named]
        if len(known) == 1:
            yield from self._named[known[0]]
        elif known:
            for node in self._nodes.get(ast.Name, ()):
                if isinstance(node, ast.Name) and node.id in known:
                    yield node

    @cached_property
    def _named(self) -> dict[str, list[ast.Name]]:
        """The names by their identifiers."""
        found: defaultdict[str, list[ast.Name]] = defaultdict(list)
        for node in self._nodes.get(ast.Name, ()):
            if isinstance(node, ast.Name):
                found[node.id].append(node)
        return found

    def attributes(self) -> Iterator[ast.Attribute]:
        """The attributes of a table's words, or of modules that are such, outer ones before what they are of."""
        modules = self.hot & self.imported.keys()
        for node in self._nodes.get(ast.Attribute, ()):
            if isinstance(node, ast.Attribute) and (
                node.attr in self.hot or (isinstance(node.value, ast.Name) and node.value.id in modules)
            ):
                yield node

    def hot_names(self) -> Iterator[ast.Name]:
        """The bare names that are a table's words."""
        for node in self._nodes.get(ast.Name, ()):
            if isinstance(node, ast.Name) and node.id in self.hot and isinstance(node.ctx, ast.Load):
                yield node

    def all_attributes(self) -> Iterator[ast.Attribute]:
        """Every attribute of the program."""
        for node in self._nodes.get(ast.Attribute, ()):
            if isinstance(node, ast.Attribute):
                yield node

    @cached_property
    def bound(self) -> frozenset[str]:
        """Identifiers that the program binds other than by an import: variables, parameters, definitions."""
        found: set[str] = set()
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            found.update(getattr(node, "name", "") for node in self._nodes.get(kind, ()))
        found.update(node.arg for node in self._nodes.get(ast.arg, ()) if isinstance(node, ast.arg))
        for name, nodes in self._named.items():
            if any(isinstance(node.ctx, ast.Store) for node in nodes):
                found.add(name)
        return frozenset(found)

    @cached_property
    def defined(self) -> frozenset[str]:
        """The functions and methods that the program defines."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return frozenset(getattr(node, "name", "") for kind in kinds for node in self._nodes.get(kind, ()))

    def calls(self) -> Iterator[ast.Call]:
        """Every call."""
        for node in self._nodes.get(ast.Call, ()):
            if isinstance(node, ast.Call):
                yield node

    def subscripts(self) -> Iterator[ast.Subscript]:
        """Every indexing."""
        for node in self._nodes.get(ast.Subscript, ()):
            if isinstance(node, ast.Subscript):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        """Every class."""
        for node in self._nodes.get(ast.ClassDef, ()):
            if isinstance(node, ast.ClassDef):
                yield node

    def constants(self) -> Iterator[ast.Constant]:
        """Every literal."""
        for node in self._nodes.get(ast.Constant, ()):
            if isinstance(node, ast.Constant):
                yield node

    def assignments(self) -> Iterator[ast.Assign]:
        """Every plain assignment."""
        for node in self._nodes.get(ast.Assign, ()):
            if isinstance(node, ast.Assign):
                yield node

    def divisions(self) -> Iterator[ast.BinOp]:
        """Every `/`."""
        for node in self._nodes.get(ast.BinOp, ()):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                yield node

    @cached_property
    def kept(self) -> frozenset[str]:
        """The attributes that the program's own classes assign."""
        own = (node for node in self.all_attributes() if isinstance(node.ctx, ast.Store))
        return frozenset(node.attr for node in own if isinstance(node.value, ast.Name) and node.value.id == "self")

    def stores(self, attribute: str) -> bool:
        """Whether the program itself assigns an attribute of this name to any object."""
        if any(node.attr == attribute and not isinstance(node.ctx, ast.Load) for node in self.all_attributes()):
            return True
        return any(
            len(call.args) == 3 and isinstance(call.args[1], ast.Constant) and call.args[1].value == attribute
            for call in self.calls()
            if isinstance(call.func, ast.Name) and call.func.id == "setattr"
        )

    @cached_property
    def imported(self) -> dict[str, str]:
        """What the import statements bind, as written."""
        found: dict[str, str] = {}
        for statement in self.imports():
            for alias in statement.names:
                if isinstance(statement, ast.ImportFrom):
                    found[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
                elif alias.asname:
                    found[alias.asname] = alias.name
                else:
                    root = alias.name.partition(".")[0]
                    found[root] = root
        return found

    def is_bound_before(self, local: str, node: ast.AST) -> bool:
        """Whether an import binds a name before a place is come to; what stands in a function runs later than it is written."""
        if self.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) is not None:
            return True
        line = self.source.site(node).line
        before = (statement for statement in self.imports() if self.source.site(statement).line <= line)
        return any(
            local == (alias.asname or alias.name.partition(".")[0]) for statement in before for alias in statement.names
        )

    @cached_property
    def patched(self) -> frozenset[str]:
        """Qualified names that the program assigns itself (`np.bool = bool`)."""
        stores = (node for node in self.all_attributes() if not isinstance(node.ctx, ast.Load))
        return frozenset(name for name in (self.source.written(node) for node in stores) if name)

    def target(self, written: str) -> Target | None:
        """The present name of a name, written as its import has it; `None` where nothing changed."""
        if written not in self._targets:
            self._targets[written] = self._target(written)
        found = self._targets[written]
        if found is None or not self.on_tensorflow or not found.final.startswith(_PRIVATE):
            return found
        if found.final.endswith(_HIDDEN):
            return found
        return replace(found, final=found.final.replace(_PRIVATE, _PUBLIC, 1))

    def part_lives_on(self, node: ast.expr) -> bool:
        """Whether only a part of what a name stands for is meant, which has a name of its own today: `HfFolder.get_token`."""
        above = self.source.parent(node)
        written = self.source.written(above) if isinstance(above, ast.Attribute) else None
        target = self.target(written) if written else None
        return target is not None and bool(target.final) and target.change.kind == "name"

    def has_form(self, name: str) -> bool:
        """Whether calls of a function are written in another form today, which leaves its import without a use."""
        forms = (form for known in self.tables for form in known.forms(name.rpartition(".")[2]))
        return any(form.old.startswith(f"{name}(") for form in forms)

    def _target(self, written: str) -> Target | None:
        if written in self.patched:
            return None
        if written.startswith(_KEPT_KERAS):
            return self._kept(written)
        prefix = "tensorflow." if written.startswith("tensorflow.keras.") else ""
        name = written[len(prefix) :]
        kept = ""
        changes: list[Change] = []
        for _ in range(_FOLLOWED):
            change = self._change(name, bool(prefix))
            if change is None:
                break
            kept = kept or (name if changes and change.deprecated and changes[-1].removed else "")
            if not kept:
                changes.append(change)
            if not change.new:
                return Target(written, prefix * kept.startswith("keras.") + kept, tuple(changes), kept)
            name = change.new + name[len(change.old) :] if change.kind == "module" else change.new
            if change.old.partition(".")[0] in SUCCESSORS:
                name = self._within_package(name)
                break
        if not changes:
            return None
        final, today = (prefix * each.startswith("keras.") + each for each in (kept or name, name))
        return Target(written, final, tuple(changes), today)

    def _within_package(self, name: str) -> str:
        """What a name of a package is called there today; what left the package is another matter, once it is imported."""
        for _ in range(_FOLLOWED):
            change = self._nearest(name)
            if change is None or change.new.partition(".")[0] != name.partition(".")[0]:
                break
            name = change.new + name[len(change.old) :]
        return name

    def _nearest(self, name: str) -> Change | None:
        """The change of a name, or of the nearest of those that it is below."""
        whole = name
        while name:
            for known in self.knowing(name):
                change = known.name(name) or known.module(name)
                if change is not None:
                    return self._shown_above(known, change, whole) or change
            name = name.rpartition(".")[0]
        return None

    def _kept(self, written: str) -> Target | None:
        """A name below a root that is spared: an entry for exactly that name counts, or for a part that is gone."""
        for known in self.knowing(written):
            change = known.name(written) or known.module(written)
            if change is not None and change.new:
                return Target(written, change.new, (change,), change.new)
        if not written.startswith(_GONE_WITH_VERSION_1):
            return None
        before = self._before_version_1(written)
        if before is not None:
            return before
        change = self._nearest(written)
        if change is None:
            return None
        now = change.new + written[len(change.old) :] if change.new else ""
        return Target(written, now, (change,), now)

    def _before_version_1(self, written: str) -> Target | None:
        """A name that TensorFlow lost before its version 1, and that is for that reason not below compat.v1 either."""
        version_1, rest = "tensorflow.compat.v1.", written.removeprefix("tensorflow.compat.v1.")
        change = next((c for known in self.tables if (c := known.name(f"tensorflow.{rest}")) is not None), None)
        if rest == written or change is None or change.removed not in _BEFORE_VERSION_2:
            return None
        if not change.new.startswith("tensorflow.") or change.new.startswith(version_1):
            return Target(written, change.new, (change,), change.new) if change.new else None
        now = version_1 + change.new.removeprefix("tensorflow.")
        return Target(written, now, (change,), now)

    def _change(self, name: str, in_tensorflow: bool) -> Change | None:
        public = canonical(name)
        for known in self.knowing(name, public):
            for spelled in dict.fromkeys((name, public)):
                change = known.name(spelled)
                if change is not None and not (change.standalone and in_tensorflow):
                    if not change.deprecated or spelled == name:
                        return change
                    return self._moved(name, in_tensorflow) or change
        return self._moved(name, in_tensorflow)

    def _moved(self, name: str, in_tensorflow: bool) -> Change | None:
        """The change of the nearest module that a name is in."""
        module = name
        while module:
            for known in self.knowing(module):
                change = known.module(module)
                if change is not None and not (change.standalone and in_tensorflow):
                    return self._shown_above(known, change, name) or change
            module = module.rpartition(".")[0]
        return None

    def _shown_above(self, known: Table, change: Change, name: str) -> Change | None:
        """The class that a package shows itself, of which one of its modules that are gone had the name as well."""
        package, rest = name.partition(".")[0], name[len(change.old) + 1 :]
        of = rest.partition(".")[0]
        if change.new or not of[:1].isupper() or of not in known.shown or self._change(f"{package}.{of}", False):
            return None
        return replace(change, kind="name", old=name, new=f"{package}.{rest}")


_LAST: list[Uses] = []
"""The uses of the program looked at last: a scan goes from file to file and must not keep them."""


def uses_of(source: Source) -> Uses:
    """The uses of one program, worked out once while it is being looked at."""
    if not _LAST or _LAST[0].source is not source:
        _LAST[:] = [Uses(source, tables_for(source))]
    return _LAST[0]
