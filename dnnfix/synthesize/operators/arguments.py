"""The operator "arguments": an argument is left out, added, exchanged, passed by keyword, or given another value."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from dnnfix.detect.tensors.symbolic import parameters
from dnnfix.network.facts import signature
from dnnfix.records import Edit, FixPattern, RemoveArgument, RenameArgument, Replace, SetArgument, Site
from dnnfix.synthesize.operators.change import NUMBER, Change, call_of
from dnnfix.synthesize.operators.names import GOOD, NEAR, alike, plain, ranked
from dnnfix.synthesize.scene import Parameter, Scene, Told
from dnnfix.synthesize.slices import Place, Role

PATTERN = FixPattern.API_CONTRACT

WORDS = (
    ("same", "valid"), ("channels_first", "channels_last"), ("mean", "sum", "none"), ("bilinear", "nearest"),
    ("float32", "float64", "int64", "int32"),
)  # fmt: skip
"""Texts that arguments of layers and functions take in each other's place."""

NAMED = 1.8
"""What an argument that the message names gains, in logarithms, where it is left out."""

TOO_MANY = 2.4
"""What the last argument gains, in logarithms, where more were given than are taken."""

UNKNOWN = 0.8
"""What it gains more where the function takes nothing that is called alike: it took that once."""

CALLED_AS = 2.0
"""What arguments gain that are given by the names that they have, where those are names of other parameters."""

KNOWN = ("dtype", "device", "dim", "keepdim", "axis", "keepdims", "requires_grad", "size", "out", "layout", "shape")
"""Keywords of functions written in C, whose signature cannot be asked for."""

REDUCTIONS = frozenset({"mean", "std", "var", "sum", "prod", "norm", "amax", "amin", "logsumexp"})
"""Functions and methods of torch that take an axis away."""

KEPT = 1.2
"""What it gains to keep a reduced axis where sizes do not meet."""

SPELT = 0.75
"""Likeness from which on a keyword is one of those."""

SIBLING = 1.5
"""What a name for an argument gains, in logarithms, where other calls of the same function in the program use it."""

LIKE = 0.6
"""Likeness from which on a keyword may be another name for a parameter that has a default."""

UNLIKE = -9.0
"""What it loses, in logarithms, for each unit of likeness that it falls short."""

TAKEN_ELSEWHERE = -2.2
"""What another name for an argument loses where a function of the program has a parameter of the name that is refused."""

ONE_SIBLING = -1.0
"""What an argument loses that a single other call gives: of two calls neither is the odd one."""

ODD = -1.5
"""What leaving an argument out loses where another would then be of a kind that its parameter does not take."""

EVADES = -2.0
"""What leaving out an argument loses that is, or has in it, what failed: that is no repair."""

SELF_TWICE = 0.6
"""What leaving out `self` gains where a method of `super()` is given it a second time."""

ASKED_FOR_NONE = -0.3
"""What `None` loses for a missing argument that a function of the program may go without."""

COUNTED = frozenset({"num", "size", "classes", "depth", "units", "channels", "length", "maxlen"})
"""Words of parameters that are sizes, and are left to what the data show where they are not given."""

LEARNS = ("requires_grad", True)
"""A switch that is not turned off: what no longer learns does not fail, and nobody meant that."""

AXES = ("dim", "axis", "dim0", "dim1")
"""Parameters that are numbers of axes."""

_TOO_MANY = re.compile(r"takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) w")
_TWICE = re.compile(r"multiple values for (?:keyword )?argument '(\w+)'")

OF_AXES = REDUCTIONS | frozenset(
    {"squeeze", "unsqueeze", "argmax", "argmin", "softmax", "log_softmax", "cumsum", "size"}
)
"""Methods of arrays whose first argument is an axis; written in C, they do not tell it."""

ABSENT_AXES = (("-1", 0.0), ("1", -0.3), ("0", -1.2))
"""Axes that are given where none was, each with what it loses in logarithms: the first is most often that of the samples."""

_OF_SIZES = re.compile(r"expanded size|must match|broadcast|same size", re.IGNORECASE)
_WANTED = re.compile(r"missing (?:a |\d+ )?required (?:positional |keyword-only )?arguments?:? (.+)")
_OPTION = re.compile(r"invalid combination of arguments - got \(\).*?\(int (dim|axis)\b", re.DOTALL)

SMALL = (0, 1, 2, -1)
"""Whole numbers that axes, paddings and strides have."""


def changes(scene: Scene, place: Place) -> Iterator[Change]:
    """Changed arguments for the call at a place."""
    call = place.node
    if not isinstance(call, ast.Call):
        return
    takes = scene.takes(call)
    if place.role is Role.FAILING:  # other calls took what they were given
        yield from _missing(scene, call)
        yield from _places(scene, call, takes)
        yield from _called_as(scene, call, takes)
    if place.role is Role.FAILING or any(f"'{keyword.arg}'" in scene.message for keyword in call.keywords):
        yield from _names(scene, call, takes)
    if place.role in (Role.FAILING, Role.STATEMENT, Role.CONSTRUCTOR):
        yield from _orders(scene, call)
    yield from _left_out(scene, call, takes)
    yield from _values(scene, call, takes)
    yield from _as_siblings(scene, call)
    yield from _added(scene, call, takes)
    yield from _inserted(scene, call, takes)
    if not takes:
        yield from _kept(scene, call)


def _names(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    """A keyword that is not taken, under a name that is."""
    site, free = scene.site(call), [p.name for p in takes if p.how in ("both", "name")]
    if not takes:
        yield from _known_names(scene, call)
    given = {keyword.arg for keyword in call.keywords}
    places = [p for p in takes if p.how in ("both", "place")]
    placed = {p.name for p in places[: len(call.args)]}
    for keyword in call.keywords:
        if keyword.arg is None or not free or keyword.arg in free:
            continue
        others = [name for name in free if name not in given and name not in placed]
        others.sort(key=lambda name: -alike(keyword.arg or "", name))
        used = _used_by_siblings(scene, call)
        elsewhere = TAKEN_ELSEWHERE * _is_parameter(scene, keyword.arg)
        for name in others[:4]:
            likeness = alike(keyword.arg, name)
            wanted = any(p.name == name and p.default is None for p in takes)
            less = 0.0 if wanted else UNLIKE * max(0.0, LIKE - likeness)
            less += elsewhere
            known = SIBLING * (name in used and (wanted or likeness >= LIKE))
            yield Change(
                (RenameArgument(site, keyword.arg, name),), f"Give {keyword.arg} as {name}", "rename", less + known
            )


def _places(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    """Places given by name."""
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(p.how == "places" for p in takes):
        return  # any number of places is taken, or filled
    site, free = scene.site(call), [p.name for p in takes if p.how in ("both", "name")]
    given = {keyword.arg for keyword in call.keywords}
    places = [p for p in takes if p.how in ("both", "place")]
    for number, arg in enumerate(call.args):
        for name in [name for name in free if name not in given][:6]:
            if number and number == len(call.args) - 1:
                edit = RenameArgument(site, "", name, number)
                yield Change((edit,), f"Give {scene.code(arg)} as {name}", "by name")
    rest = range(len(places), len(call.args))
    wanted_by_name = [p.name for p in takes if p.how == "name" and p.default is None and p.name not in given]
    if rest and len(rest) == len(wanted_by_name):
        edits = _by_name(site, len(places), wanted_by_name)
        yield Change(edits, f"Give {', '.join(wanted_by_name)} by name", "rest by name")
    if 1 < len(call.args) <= 3:
        orders = [free[n : n + len(call.args)] for n in range(min(4, len(free)))]
        orders += [order[::-1] for order in orders]
        for order in orders:
            if len(order) == len(call.args) and not given & set(order):
                yield Change(_by_name(site, 0, order), f"Give the arguments as {', '.join(order)}", "all by name")


def _called_as(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    """Arguments from one place on that are called as other parameters than those that they are given as, by these names."""
    described = signature(scene.subject.source.qualified(call.func) or "")
    names = described.positional if described is not None else [p.name for p in takes if p.how == "both"]
    called = [arg.id if isinstance(arg, ast.Name) else getattr(arg, "attr", "") for arg in call.args]
    given = {keyword.arg for keyword in call.keywords}
    odd = [n for n, (own, name) in enumerate(zip(called, names, strict=False)) if own != name and own in names]
    rest = called[odd[0] :] if odd else []
    if rest and given.isdisjoint(rest) and len(set(rest)) == len(rest) and set(rest) <= set(names[odd[0] :]):
        yield Change(
            _by_name(scene.site(call), odd[0], rest), f"Give {', '.join(rest)} by name", "rest by name", CALLED_AS
        )


def _is_parameter(scene: Scene, name: str) -> bool:
    """Whether a function of the program has a parameter of that name."""
    return any(name in parameters(function) for function in scene.subject.source.nodes(ast.FunctionDef))


def _by_name(site: Site, start: int, names: Sequence[str]) -> tuple[Edit, ...]:
    """Edits that give arguments from one place on by name."""
    return tuple(RenameArgument(site, "", name, n) for n, name in enumerate(names, start))


def _known_names(scene: Scene, call: ast.Call) -> Iterator[Change]:
    """A keyword that the message names, spelt as one that functions without a signature take."""
    for keyword in call.keywords:
        if keyword.arg is None or f"'{keyword.arg}'" not in scene.message or keyword.arg in KNOWN:
            continue
        name = max(KNOWN, key=lambda known: alike(keyword.arg or "", known))
        if alike(keyword.arg, name) >= SPELT:
            edit = RenameArgument(scene.site(call), keyword.arg, name)
            yield Change((edit,), f"Give {keyword.arg} as {name}", "rename")


def _used_by_siblings(scene: Scene, call: ast.Call) -> set[str]:
    """The names under which other calls of the same function are given something."""
    return {keyword.arg for other in _siblings(scene, call) for keyword in other.keywords if keyword.arg is not None}


def _siblings(scene: Scene, call: ast.Call) -> list[ast.Call]:
    """The other calls of the same function."""
    function = ast.unparse(call.func)
    return [
        other for other in scene.subject.source.all_calls if other is not call and ast.unparse(other.func) == function
    ]


def _orders(scene: Scene, call: ast.Call) -> Iterator[Change]:
    for one, other in zip(call.args, call.args[1:], strict=False):
        if isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
            continue
        edits = (Replace(scene.site(one), scene.code(other)), Replace(scene.site(other), scene.code(one)))
        yield Change(edits, f"Exchange {scene.code(one)[:40]} and {scene.code(other)[:40]}", "exchange")


def _left_out(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    site = scene.site(call)
    places = [p for p in takes if p.how in ("both", "place")]
    twice, said = _TWICE.search(scene.message), _TOO_MANY.search(scene.message)
    if said is not None:
        yield from _without_rest(scene, call, int(said[2]) - int(said[1]))
    for keyword in call.keywords:
        if keyword.arg is not None:
            named = NAMED if f"'{keyword.arg}'" in scene.message and not twice else 0.0
            if named and takes and max((alike(keyword.arg, p.name) for p in takes), default=0.0) < LIKE:
                named += UNKNOWN
            yield Change((RemoveArgument(site, keyword.arg),), f"Leave out {keyword.arg}", "drop", named)
    for number, arg in enumerate(call.args):
        too_many = said is not None
        if (too_many or len(call.args) + len(call.keywords) > 1) and not isinstance(arg, ast.Starred):
            meant = twice is not None and number < len(places) and places[number].name == twice.group(1)
            last = too_many and number == len(call.args) - 1
            likeness = TOO_MANY if last else NAMED if meant or too_many else 0.0
            rest = [*call.args[:number], *call.args[number + 1 :]]
            odd = any(_is_odd(p, scene.told(one)) for p, one in zip(places, rest, strict=False))
            likeness += (
                ODD * odd + EVADES * scene.failed_in(arg) + SELF_TWICE * (too_many and _is_self_of_super(call, arg))
            )
            yield Change((RemoveArgument(site, "", number),), f"Leave out {scene.code(arg)[:40]}", "drop", likeness)


def _without_rest(scene: Scene, call: ast.Call, extra: int) -> Iterator[Change]:
    """The last arguments left out, as many as are given too many, where that is more than one."""
    if 1 < extra <= len(call.args) and not any(isinstance(arg, ast.Starred) for arg in call.args):
        code = call_of(scene, call, map(scene.code, (*call.args[:-extra], *call.keywords)))
        left_out = ", ".join(scene.code(arg) for arg in call.args[-extra:])
        yield Change((Replace(scene.site(call), code),), f"Leave out {left_out[:40]}", "drop", TOO_MANY)


def _is_self_of_super(call: ast.Call, arg: ast.expr) -> bool:
    """Whether `self` is given to a method of `super()`, which has it already."""
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return isinstance(arg, ast.Name) and arg.id == "self"
    return False


def _is_odd(parameter: Parameter, told: Told | None) -> bool:
    """Whether a parameter that takes a text would be given a number or an array, or one that takes a number a text."""
    if told is None:
        return False
    text = told.text is not None
    default = parameter.default or ""
    if parameter.name == "name" or default[:1] in ("'", '"'):
        return not text and told.kind != "NoneType"
    return text and (default in ("True", "False") or default.lstrip("-").replace(".", "").isdigit())


def _values(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    places = [p.name for p in takes if p.how in ("both", "place")]
    given = [(k.arg, k.value, k.arg) for k in call.keywords if k.arg]
    if not takes and isinstance(call.func, ast.Attribute):
        places = [call.func.attr]
    places += [""] * len(call.args)
    given += [("", arg, name) for arg, name in zip(call.args, places, strict=False)]
    for name, value, parameter in given:
        if not isinstance(value, ast.Constant):
            continue
        for other, form in _others(parameter, value.value):
            title = f"Set {name} to {other}" if name else f"Take {other} for {scene.code(value)}"
            said = NAMED * (form == "flag" and plain(name) in plain(scene.message))
            if (
                form == "flag" and f"{name}={value.value!r}" in scene.message
            ):  # what else it asks for is missing, and it is meant
                said = -said
            yield Change((Replace(scene.site(value), other),), title, form, said)
            alike = [k.value for c in scene.subject.source.all_calls for k in c.keywords if k.arg == name]
            sites = [scene.site(v) for v in alike if isinstance(v, ast.Constant) and v.value is value.value]
            if said > 0 and len(sites) > 1:
                yield Change(tuple(Replace(site, other) for site in sites), f"{title} everywhere", form, said)


def _missing(scene: Scene, call: ast.Call) -> Iterator[Change]:
    """Arguments that the message says are missing: parts of one that was given, a name that is called so, an axis, `None`."""
    names = _WANTED.search(scene.message)
    wanted = re.findall(r"['\"](\w+)['\"]", names.group(1)) if names is not None else []
    wanted += _OPTION.findall(scene.message)[:1]
    if not wanted or not _is_named(scene, call):
        return
    yield from _spread(scene, call, 1 + len(wanted))
    if len(wanted) != 1 or any(k.arg == wanted[0] for k in call.keywords):
        return
    (name,) = wanted
    site = scene.site(call)
    if name in AXES:
        for value, less in ABSENT_AXES:
            yield Change((SetArgument(site, name, value),), f"Give {value} as {name}", "missing", less)
    for other, less in ranked(name, scene.names(call))[:NEAR]:
        if alike(name, other) >= GOOD:
            yield Change((SetArgument(site, name, other),), f"Give {other} as {name}", "missing", less)
    if _is_asked_for_none(scene, name):
        yield Change((SetArgument(site, name, "None"),), f"Give None as {name}", "missing", ASKED_FOR_NONE)


def _is_named(scene: Scene, call: ast.Call) -> bool:
    """Whether the message names what a call calls: a function, a class, or a layer's `forward` by its class."""
    told = scene.told(call.func)
    names = {ast.unparse(call.func).rpartition(".")[2], told.last if told is not None else ""} - {""}
    return any(re.search(rf"\b{re.escape(name)}(?:\.__init__|\.forward|\.call)?\(\)", scene.message) for name in names)


def _spread(scene: Scene, call: ast.Call, count: int) -> Iterator[Change]:
    """A tuple or list of as many values as are wanted, given as so many arguments."""
    for number, arg in enumerate(call.args):
        told = scene.told(arg)
        if isinstance(arg, ast.List | ast.Tuple) and len(arg.elts) == count:
            parts = ", ".join(scene.code(each) for each in arg.elts)
        elif told is not None and told.kind in ("tuple", "list") and told.size == count:
            parts = f"*{scene.code(arg)}"
        else:
            continue
        codes = [scene.code(each) for each in (*call.args, *call.keywords)]
        code = call_of(scene, call, [*codes[:number], parts, *codes[number + 1 :]])
        title = f"Give {scene.code(arg)[:40]} as {count} arguments"
        yield Change((Replace(scene.site(call), code),), title, "spread")


def _is_asked_for_none(scene: Scene, name: str) -> bool:
    """Whether a function of the program that has such a parameter asks whether it is `None`."""
    for function in scene.subject.source.nodes(ast.FunctionDef):
        if name in parameters(function):
            for node in ast.walk(function):
                match node:
                    case ast.Compare(left=ast.Name(id=asked), ops=[ast.Is() | ast.IsNot()]) if asked == name:
                        return True
    return False


def _others(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Other values for a parameter, each with its form."""
    if isinstance(value, bool):
        if (name, value) != LEARNS:
            yield str(not value), "flag"
    elif isinstance(value, str):
        for group in WORDS:
            if value in group:
                yield from ((repr(other), "word") for other in group if other != value)
    elif isinstance(value, int):
        form = "axis" if name in AXES or name in OF_AXES else "number"
        near = (value - 1, value + 1) if value not in SMALL else ()
        yield from (
            (str(other), form) for other in (*SMALL, *near) if other != value and (other >= 0 or name in (*AXES, ""))
        )


def _as_siblings(scene: Scene, call: ast.Call) -> Iterator[Change]:
    """An argument that other calls of the same function give by name, and this one does not or gives another value."""
    own = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    others = Counter(
        (keyword.arg, ast.unparse(keyword.value))
        for other in _siblings(scene, call)
        for keyword in other.keywords
        if keyword.arg is not None and isinstance(keyword.value, ast.Constant)
    )
    for (name, value), calls in others.items():
        if own.get(name) != value:
            edit = SetArgument(scene.site(call), name, value)
            yield Change((edit,), f"Set {name} to {value}", "as sibling", ONE_SIBLING * (calls == 1))


def _added(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    """A parameter with a default gets another value: flags the other one, paddings and strides small numbers."""
    site = scene.site(call)
    given = {keyword.arg for keyword in call.keywords}
    placed = {p.name for p in [p for p in takes if p.how in ("both", "place")][: len(call.args)]}
    for parameter in takes:
        if parameter.name in given or parameter.name in placed or parameter.how not in ("both", "name"):
            continue
        for value in _instead(parameter):
            edit = SetArgument(site, parameter.name, value)
            group = _group(parameter)
            said = NAMED * (group == "flag" and plain(parameter.name) in plain(scene.message))
            yield Change((edit,), f"Set {parameter.name} to {value}", f"add {group}", said)
        if parameter.default == "None" and set(parameter.name.split("_")) & COUNTED:
            for size in dict.fromkeys(int(text) for text in NUMBER.findall(scene.message)):
                for value in islice(scene.spelled(size, call), 2) if size > 1 else ():
                    edit = SetArgument(site, parameter.name, value)
                    yield Change((edit,), f"Set {parameter.name} to {value}", "add size")
        if parameter.default is None and parameter.name in scene.names(call):
            edit = SetArgument(site, parameter.name, parameter.name)
            yield Change((edit,), f"Give {parameter.name}", "add name")


def _inserted(scene: Scene, call: ast.Call, takes: tuple[Parameter, ...]) -> Iterator[Change]:
    """An argument that was left out between others: a name in scope that is called as its parameter is."""
    places = [p.name for p in takes if p.how in ("both", "place")]
    codes = [scene.code(arg) for arg in call.args]
    given = {keyword.arg for keyword in call.keywords}
    names = scene.names(call)
    for number, name in enumerate(places[: len(codes)]):
        free = name not in codes and name not in given and name != "self" and name in names
        if free and len(codes) < len(places) and not any(isinstance(arg, ast.Starred) for arg in call.args):
            rest = [scene.code(keyword) for keyword in call.keywords]
            code = call_of(scene, call, [*codes[:number], name, *codes[number:], *rest])
            yield Change((Replace(scene.site(call), code),), f"Give {name} before {codes[number][:40]}", "insert")


def _kept(scene: Scene, call: ast.Call) -> Iterator[Change]:
    """A reduction over one axis keeps it: torch's do not tell what they take."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = {keyword.arg for keyword in call.keywords}
    owner = scene.told(call.func.value) if isinstance(call.func, ast.Attribute) else None
    before = 1 if owner is not None and owner.is_array else 2  # a method is given the axis first, a function the array
    of_axis = "dim" in given or len(call.args) == before
    if name in REDUCTIONS and of_axis and "keepdim" not in given and _OF_SIZES.search(scene.message):
        yield Change((SetArgument(scene.site(call), "keepdim", "True"),), "Set keepdim to True", "add flag", KEPT)


def _instead(parameter: Parameter) -> Iterator[str]:
    default = parameter.default
    if default in ("True", "False"):
        yield "False" if default == "True" else "True"
    elif default is not None and default.lstrip("-").isdigit():
        yield from (str(n) for n in SMALL if n >= 0 and str(n) != default)
    elif default is not None and default[:1] in "'\"":
        yield from (
            repr(other) for group in WORDS if default[1:-1] in group for other in group if other != default[1:-1]
        )
    elif default == "None" and parameter.name in ("dim", "axis"):
        yield from ("1", "-1", "0")
    elif default == "None" and parameter.name == "data_format":
        yield from ("'channels_first'", "'channels_last'")


def _group(parameter: Parameter) -> str:
    default = parameter.default or ""
    if default in ("True", "False"):
        return "flag"
    return "number" if default.lstrip("-").isdigit() else "value"
