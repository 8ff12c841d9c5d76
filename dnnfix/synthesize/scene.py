"""The facts about a crash for the search over small edits: its frames, values, parameters and the names in scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dnnfix.records import Json, Site
from dnnfix.subject import Subject
from dnnfix.synthesize.definitions import FUNCTIONS

TENSOR = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter"})
ARRAY = "numpy.ndarray"

PROGRAM = "<program>"
"""The path of the program's own file, seen from a module beside it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function. `how` is `place`, `both`, `name`, `places` or `names`; `default` is its code."""

    name: str
    how: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What the run recorded of a value; what it did not record is `None` or empty."""

    kind: str
    shape: tuple[int | None, ...] | None = None
    dtype: str = ""
    low: float | None = None
    high: float | None = None
    whole: bool = False
    grown: bool = False
    """Whether gradients flow through it."""
    device: str = ""
    """The device of torch that it is on, or names."""
    number: int | float | None = None
    text: str | None = None
    size: int | None = None
    items: tuple[Told, ...] = ()
    keys: tuple[str | int, ...] = ()
    attributes: tuple[str, ...] = ()
    takes: tuple[Parameter, ...] = ()
    module: str = ""

    @property
    def last(self) -> str:
        """The name of the kind without its module."""
        return self.kind.rpartition(".")[2]

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The shape, where all of it is known."""
        known = tuple(size for size in self.shape or () if size is not None)
        return known if self.shape is not None and len(known) == len(self.shape) else None

    @property
    def is_torch(self) -> bool:
        """Whether it is a tensor of torch with numbers in it."""
        return self.kind in TENSOR

    @property
    def is_numpy(self) -> bool:
        """Whether it is an array of NumPy."""
        return self.kind == ARRAY

    @property
    def is_array(self) -> bool:
        """Whether it has a shape and numbers of one kind, whatever library it is of."""
        return self.shape is not None

    @property
    def is_sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return self.kind.startswith("scipy.sparse.")

    @property
    def integer(self) -> bool:
        """Whether its dtype is an integer type."""
        return self.dtype.startswith(("int", "uint", "bool"))


@dataclass(frozen=True)
class Frame:
    """One frame that the exception passed through: the site of its statement, and what names and expressions held."""

    path: str
    function: str
    statement: Site
    names: Mapping[str, Told]
    values: Mapping[Site, Told]


@dataclass(frozen=True)
class Scene:
    """The facts about a crash. `frames` are the innermost first."""

    subject: Subject
    frames: tuple[Frame, ...]
    past: tuple[Frame, ...] = ()
    """The last frame of each function that had given a value, the latest first, at the statement that gave it."""
    calls: Mapping[Site, tuple[Parameter, ...]] = field(default_factory=dict)
    """What is taken by the function that a call names at that site."""
    compared: Mapping[Site, Told] = field(default_factory=dict)
    """Functions, not what they give, that stand in a comparison."""
    before: Mapping[Site, tuple[tuple[int | None, str], ...]] = field(default_factory=dict)
    """Ranks and kinds of numbers that names of the failing statement had when it ran before."""
    near: tuple[tuple[str, str], ...] = ()
    """What the object has whose attribute was missing: names, each with `class`, `call` or `value`."""

    @property
    def message(self) -> str:
        """What the exception said."""
        return self.subject.crash.message if self.subject.crash is not None else ""

    @property
    def kind(self) -> str:
        """The exception's class, without its module."""
        return self.subject.crash.kind.rpartition(".")[2] if self.subject.crash is not None else ""

    def site(self, node: ast.AST) -> Site:
        """The site of a node of the program."""
        return self.subject.source.site(node)

    def code(self, node: ast.AST) -> str:
        """The source code of a node."""
        return self.subject.text(self.site(node))

    def told(self, node: ast.expr) -> Told | None:
        """What an expression held: as it was evaluated where the program stopped, or as a name in one of the frames."""
        site = self.site(node)
        for frame in (*self.frames, *self.past):
            if site in frame.values:
                return frame.values[site]
        if site in self.compared:
            return self.compared[site]
        if isinstance(node, ast.Constant):
            value = node.value
            number = value if isinstance(value, (int, float)) else None
            return Told(type(value).__name__, number=number, text=value if isinstance(value, str) else None)
        if isinstance(node, ast.Name | ast.Attribute):
            return self.names(node).get(ast.unparse(node))
        return None

    def failed_in(self, node: ast.AST) -> bool:
        """Whether what failed in one of the frames is an expression or a part of it."""
        crash = self.subject.crash
        own = self.site(node)
        return crash is not None and any(own == f.site or own.encloses(f.site) for f in crash.frames)

    def takes(self, call: ast.Call) -> tuple[Parameter, ...]:
        """The parameters of what a call calls; none where they are not known."""
        told = self.told(call.func)
        return (told.takes if told is not None else ()) or self.calls.get(self.site(call.func), ())

    def parameter(self, node: ast.expr) -> str:
        """The parameter that an expression is given as; empty where that is not known."""
        match self.subject.source.parent(node):
            case ast.keyword(arg=str() as name):
                return name
            case ast.Call(args=args) as call if node in args:
                places = [each.name for each in self.takes(call) if each.how in ("both", "place")]
                return places[args.index(node)] if args.index(node) < len(places) else ""
        return ""

    def names(self, node: ast.AST) -> Mapping[str, Told]:
        """The names in reach of a node, where the program stopped in its function or had left it; else those of the module."""
        source = self.subject.source
        owner = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
        for frame in (*self.frames, *self.past):
            at = (
                None
                if frame.path
                else source.enclosing(_at(source.places, frame.statement), ast.FunctionDef, ast.AsyncFunctionDef)
            )
            if not frame.path and at is owner:
                return frame.names
        return next((frame.names for frame in reversed(self.frames) if not frame.path), {})

    def spelled(self, number: int, node: ast.AST) -> Iterator[str]:
        """A number as an expression there: names that hold it first, then its digits."""
        for name, told in self.names(node).items():
            if (
                told.number == number
                and name.count(".") < 2
                and isinstance(told.number, int)
                and not isinstance(told.number, bool)
                and number > 1
            ):
                yield name
        yield str(number)

    def measured(self, number: int, node: ast.AST) -> Iterator[tuple[str, int]]:
        """A number as the size of an array that its function, or the module, has a name for by then, each with the axis."""
        owner = self.subject.source.enclosing(node, *FUNCTIONS) or self.subject.source.tree
        line = self.site(node).line
        own = {n.arg for n in ast.walk(owner) if isinstance(n, ast.arg) and n.lineno <= line}
        own |= {
            n.id
            for n in ast.walk(owner)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.lineno < line
        }
        for name, told in self.names(node).items():
            for axis, size in enumerate(told.shape or () if name in own else ()):
                if size == number > 1:
                    of_torch = told.is_torch and ".size(" in self.subject.source.text
                    yield (f"{name}.size({axis})" if of_torch else f"{name}.shape[{axis}]"), axis


def _at(tree: Any, site: Site) -> ast.AST:
    found = tree.node_at(site)
    return found if found is not None else ast.Pass()


FILES = 4
"""Files whose places are searched: those of the frames, and those that gave values last."""


def scenes_of(subject: Subject, survey: Json) -> dict[str, Scene]:
    """The scene in a survey, as seen from each file of the program that has a part in it, by the file's path."""
    if not isinstance(survey, dict):
        return {}
    told = [*reversed(_listed(survey.get("frames"))), *_listed(survey.get("past"))]
    paths = [path for path in dict.fromkeys(str(fields["path"]) for fields in told) if path in subject.files]
    return {path: _scene(subject.files[path], survey, path) for path in paths[:FILES]}


def _scene(subject: Subject, survey: Mapping[str, Any], home: str) -> Scene:
    """The scene as seen from the file at `home`, whose sites have no path."""

    def seen(path: str) -> str:
        return "" if path == home else path or PROGRAM

    def at(span: Sequence[int], path: str) -> Site:
        line, column, end_line, end_column = span
        return Site(line, column, end_line, end_column, seen(path))

    def frame(fields: Mapping[str, Any]) -> Frame:
        path = str(fields["path"])
        return Frame(
            seen(path),
            str(fields["function"]),
            at(fields["statement"], path),
            {str(name): _told(told) for name, told in fields["names"].items()},
            {at(span, path): _told(told) for span, told in fields["values"]},
        )

    return Scene(
        subject,
        frames=tuple(map(frame, reversed(_listed(survey.get("frames"))))),
        past=tuple(map(frame, _listed(survey.get("past")))),
        calls={at(span, path): tuple(map(_parameter, takes)) for path, span, takes in _listed(survey.get("calls"))},
        compared={at(span, path): _told(told) for path, span, told in _listed(survey.get("compared"))},
        before={
            at(span, path): tuple((rank, str(kind)) for rank, kind in kinds)
            for path, span, kinds in _listed(survey.get("before"))
        },
        near=tuple((str(name), str(sort)) for name, sort in _listed(survey.get("near"))),
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parameter(fields: Sequence[Any]) -> Parameter:
    return Parameter(str(fields[0]), str(fields[1]), fields[2])


def _told(fields: Mapping[str, Any]) -> Told:
    shape = fields.get("shape")
    return Told(
        kind=str(fields.get("kind", "")),
        shape=tuple(shape) if shape is not None else None,
        dtype=str(fields.get("dtype", "")),
        low=fields.get("low"),
        high=fields.get("high"),
        whole=bool(fields.get("whole")),
        grown=bool(fields.get("grown")),
        device=str(fields.get("device", "")),
        number=fields.get("number"),
        text=fields.get("text"),
        size=fields.get("size"),
        items=tuple(_told(item) for item in fields.get("items", ())),
        keys=tuple(fields.get("keys", ())),
        attributes=tuple(fields.get("attributes", ())),
        takes=tuple(_parameter(each) for each in fields.get("takes", ())),
        module=str(fields.get("module", "")),
    )
