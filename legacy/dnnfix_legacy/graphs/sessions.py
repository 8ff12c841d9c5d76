"""Sessions that a Keras program makes only for their settings (GPU memory, threads), and edits that replace them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dnnfix.detect.versioning.names import uses_of
from dnnfix.records import AddImport, Delete, Edit, Replace, Site
from dnnfix.source.program import Source, once

_SET = "keras.backend.set_session"
_MADE = frozenset({"tensorflow.Session", "tensorflow.InteractiveSession", "keras.backend.get_session"})
_HELD = _MADE | {"tensorflow.ConfigProto", "tensorflow.GPUOptions"}
"""Calls whose results a program keeps for nothing but a session."""

_INITIALIZED = frozenset(
    f"tensorflow.{name}"
    for name in (
        "global_variables_initializer",
        "initialize_all_variables",
        "local_variables_initializer",
        "tables_initializer",
    )
)
"""What such a session may run: Keras 3 gives its weights their first values itself."""

_SHARE = "per_process_gpu_memory_fraction"
_SAID = {
    "allow_growth": "for gpu in {tf}.config.list_physical_devices('GPU'):\n"
    "    {tf}.config.experimental.set_memory_growth(gpu, {value})",
    "intra_op_parallelism_threads": "{tf}.config.threading.set_intra_op_parallelism_threads({value})",
    "inter_op_parallelism_threads": "{tf}.config.threading.set_inter_op_parallelism_threads({value})",
    "log_device_placement": "{tf}.debugging.set_log_device_placement({value})",
    "allow_soft_placement": "{tf}.config.set_soft_device_placement({value})",
}
"""By setting of a session, how TensorFlow 2 is told."""

_ALLOCATOR = "allocator_type"
_GRAPH = "tensorflow.get_default_graph"
"""What a session that is told no graph has, too."""

_LOST = frozenset({*_SAID, _SHARE, _ALLOCATOR})
"""Settings that change no more than speed, memory and what is printed: a program trains the same without them."""

_GPUS = "{tf}.config.set_visible_devices({tf}.config.list_physical_devices('GPU')[{which}], 'GPU')"

_NO_EFFECT = frozenset(
    f"{module}.{name}"
    for module, names in (("builtins", ("bool", "float", "int", "str")), ("os", ("environ.get", "getenv", "cpu_count")))
    for name in names
) | {"multiprocessing.cpu_count"}
"""Calls that can go along with the settings for which they are made."""

SESSIONS = frozenset({_SET, *_HELD, *_INITIALIZED})
"""Names of which a program has no use any more, once its settings are said without a session."""

_IDLE = (
    *(
        "keras.backend.backend",
        "keras.backend.floatx",
        "keras.backend.image_",
        "keras.backend.set_",
        "keras.callbacks.",
        "keras.datasets.",
    ),
    *("keras.preprocessing.", "keras.utils.", "tensorflow.config.", "tensorflow.logging."),
)
"""Calls that make no tensor."""

_Name = tuple[ast.AST | None, str]
"""A variable: the function it is in, and its identifier."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The statements about the session, where it is given to Keras, and the edits that say the settings without one."""

    places: tuple[ast.expr, ...]
    sites: tuple[Site, ...]
    edits: tuple[Edit, ...]
    title: str = ""
    decline: str = ""


@dataclass
class _Reader:
    source: Source
    held: dict[_Name, ast.Call] = field(default_factory=dict)
    """The variables that hold a session, its settings, or a part of them."""
    stored: dict[_Name, dict[str, ast.expr]] = field(default_factory=dict)
    """The settings that are assigned to such a variable."""
    gone: list[ast.stmt] = field(default_factory=list)
    made: dict[ast.Call, ast.FunctionDef] = field(default_factory=dict)
    """By call that gives a session to Keras, the function of the program that makes it for nothing else."""
    given: list[ast.Call] = field(default_factory=list)
    """Where a session is given to Keras, or made and kept nowhere."""

    def called(self, node: ast.AST | None) -> str:
        """The name of what a call calls, the same for every way to import it."""
        name = (self.source.written(node.func) or "") if isinstance(node, ast.Call) else ""
        name = name.removeprefix("tensorflow.") if name.startswith("tensorflow.keras.") else name
        name = name.replace(".tensorflow_backend.", ".").replace("keras.backend.tf.", "tensorflow.")
        if name == _SET or not self.to_keras:
            return name  # what `compat.v1` has still works, where it is not given to Keras
        return name.replace("tensorflow.compat.v1.", "tensorflow.")

    @cached_property
    def to_keras(self) -> bool:
        """Whether the program gives a session to Keras, by a function that Keras 3 does not have."""
        return any(
            (self.source.written(call.func) or "").endswith("backend.set_session") for call in self.source.all_calls
        )

    def name(self, node: ast.AST | None) -> _Name | None:
        """The variable that an expression names; one of the module where the function has none of its own."""
        if not isinstance(node, ast.Name):
            return None
        inside = self.source.enclosing(node, ast.FunctionDef)
        own = any(
            isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)
            for n in (ast.walk(inside) if inside is not None else ())
        )
        return (inside if own else None, node.id)

    def read(self) -> str:
        """Collect the statements. Returns why they cannot be removed, or an empty string."""
        for statement in self.source.nodes(ast.Assign):
            name = self.name(statement.targets[0]) if len(statement.targets) == 1 else None
            called = self.called(statement.value)
            if isinstance(statement.value, ast.Call) and called in _HELD | _INITIALIZED and name is not None:
                if name in self.held:
                    return f"{name[1]} is created in more than one place"
                self.held[name] = statement.value
                self.gone.append(statement)
        for statement in self.source.nodes(ast.Assign):
            target = statement.targets[-1]
            root: ast.expr = target
            while isinstance(root, ast.Attribute):
                root = root.value
            name = self.name(root)
            if isinstance(target, ast.Attribute) and name in self.held and name is not None:
                if self.source.parent(statement) is not self.source.parent(self.source.statement_of(self.held[name])):
                    return f"a setting depends on what is read before line {statement.lineno}"
                self.stored.setdefault(name, {})[target.attr] = statement.value
                self.gone.append(statement)
        for call in self.source.all_calls:
            above = self.source.parent(call)
            if self.called(call) == _SET:
                if not isinstance(above, ast.Expr) or len(call.args) + len(call.keywords) != 1:
                    return "the session is passed to Keras within another expression"
                self.given.append(call)
                self.gone.append(above)
                if (function := self._function(_given(call))) is not None:
                    self.made[call], self.gone = function, [*self.gone, function]
            elif isinstance(above, ast.Expr) and (self.called(call) in _MADE or self._initializes(call)):
                if self.called(call) in _MADE:
                    self.given.append(call)
                self.gone.append(above)
        return self._used()

    def _function(self, session: ast.expr) -> ast.FunctionDef | None:
        """The function that is called for a session, once, and gives nothing else."""
        if not isinstance(session, ast.Call) or not isinstance(session.func, ast.Name):
            return None
        name = session.func.id
        named = [n for n in self.source.nodes(ast.Name) if n.id == name]
        found = [f for f in self.source.nodes(ast.FunctionDef) if f.name == name]
        returned = [n.value for f in found for n in ast.walk(f) if isinstance(n, ast.Return)]
        alone = len(named) == len(found) == 1 and bool(returned)
        made = alone and not found[0].decorator_list and self._harmless(found[0].args)
        made = made and all(self.called(self._whole(value)) in _MADE for value in returned)
        return found[0] if made and all(self._only_sets(statement) for statement in found[0].body) else None

    def _only_sets(self, statement: ast.stmt) -> bool:
        """Whether a statement of a function does nothing but make a session and its settings."""
        if isinstance(statement, ast.If):
            return self._harmless(statement.test) and all(map(self._only_sets, (*statement.body, *statement.orelse)))
        if isinstance(statement, ast.Assign):
            return self._harmless(statement) and all(
                isinstance(target, ast.Name) or self.source.statement_of(target) in self.gone
                for target in statement.targets
            )
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        return text or isinstance(statement, ast.Return) and self._harmless(statement)

    def _harmless(self, node: ast.AST) -> bool:
        """Whether everything that is called within is part of a session, or has no effect."""
        return not any(
            isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
            or isinstance(part, ast.Call)
            and self.called(part) not in (*SESSIONS, _GRAPH)
            and self.source.qualified(part.func) not in _NO_EFFECT
            and not self._initializes(part)
            for part in ast.walk(node)
        )

    def settled(self, node: ast.AST) -> bool:
        """Whether a node goes along with what goes."""
        inside = self.source.enclosing(node, ast.FunctionDef)
        return self.source.statement_of(node) in self.gone or inside in self.gone

    def _initializes(self, call: ast.Call) -> bool:
        """`session.run(init)`, or the end of a session."""
        if not isinstance(call.func, ast.Attribute):
            return False
        session = self.held.get(self.name(call.func.value) or (None, ""), call.func.value)
        if self.called(session) not in _MADE or call.keywords or len(call.args) > 1:
            return False
        first = call.args[0] if call.args else None
        run = self.held.get(self.name(first) or (None, ""), first)
        return (
            call.func.attr == "run" and self.called(run) in _INITIALIZED or call.func.attr == "close" and not call.args
        )

    def _used(self) -> str:
        """What keeps one of the variables, or a session, alive."""
        for node in self.source.nodes(ast.Name):
            held = isinstance(node.ctx, ast.Load) and self.name(node) in self.held
            if held and not self.settled(node):
                return f"{node.id} is also used in line {node.lineno}"
        for call in self.source.all_calls:
            if self.called(call) in _HELD and not self.settled(call):
                return f"a session is also used in line {call.lineno}"
        functions = [function.name for function in self.made.values()]
        for statement in self.gone:
            parts = [n for n in ast.walk(statement) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            own = [part for part in parts if isinstance(part.func, ast.Name) and part.func.id in functions]
            inner = [arg for part in own for arg in (*part.args, *part.keywords)]
            if not isinstance(statement, ast.FunctionDef) and not all(
                self._harmless(node) for node in (inner if own else [statement])
            ):
                return f"line {statement.lineno} does more than make settings"
        if implicit := self._implicit():
            return f"the session is used without its name, in line {implicit.lineno}"
        for call in self.given:
            session = self._whole(_given(call)) if self.called(call) == _SET else call
            if call not in self.made and self.called(session) not in _MADE:
                return "where the session is created cannot be read"
        return ""

    def _implicit(self) -> ast.Call | None:
        """A call that takes the session which is open: `y.eval()`, `step.run()` beside an `InteractiveSession`."""
        if not any(self.called(call) == "tensorflow.InteractiveSession" for call in self.source.all_calls):
            return None
        for call in self.source.all_calls:
            func = call.func
            if isinstance(func, ast.Attribute) and func.attr in ("eval", "run"):
                of_module = self.source.qualified(func) is not None
                if not of_module and not self.settled(call):
                    return call
        return None

    def _whole(self, expression: ast.expr | None) -> ast.expr | None:
        """The call that an expression stands for."""
        name = self.name(expression)
        return self.held.get(name, expression) if name is not None else expression

    def settings(self, expression: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
        """The settings of a session, or of what it is given, by name; an empty name for what cannot be read."""
        name, call = self.name(expression), self._whole(expression)
        if isinstance(call, ast.Call) and self.called(call) in _HELD:
            yield from (("", argument) for argument in call.args)
            for keyword in call.keywords:
                if keyword.arg in ("config", "gpu_options"):
                    yield from self.settings(keyword.value)
                elif keyword.arg != "graph" or self.called(keyword.value) != _GRAPH:
                    yield keyword.arg or "", keyword.value
        elif expression is not None and not (isinstance(expression, ast.Constant) and expression.value is None):
            yield "", expression
        yield from self.stored.get(name, {}).items() if name is not None else ()

    def early(self, call: ast.Call, inner: frozenset[str] = frozenset()) -> bool:
        """Whether nothing of Keras or TensorFlow runs before: TensorFlow takes no such settings afterwards.

        In a function, that is one which is named once, where it is called; `inner` are those that were gone through.
        """
        repeated = (ast.For, ast.While, ast.ClassDef, ast.AsyncFunctionDef, ast.Lambda)
        if any(self.source.enclosing(call, kind) is not None for kind in repeated):
            return False
        function = self.source.enclosing(call, ast.FunctionDef)
        before = (other for other in self.source.all_calls if other.lineno < call.lineno and not self.settled(other))
        if any(self._computes(other) for other in before if self.source.enclosing(other, ast.FunctionDef) is function):
            return False
        if function is None:
            return True
        named = [node for node in self.source.nodes(ast.Name) if node.id == function.name]
        above = self.source.parent(named[0]) if len(named) == 1 and function.name not in inner else None
        return isinstance(above, ast.Call) and above.func is named[0] and self.early(above, inner | {function.name})

    def _computes(self, call: ast.Call, inner: frozenset[str] = frozenset()) -> bool:
        """Whether a call may run anything of Keras or TensorFlow, also by way of the program's own functions."""
        name = self.called(call)
        if name.startswith(("keras.", "tensorflow.")):
            return not name.startswith(_IDLE)
        own = self.source.definition(call.func)
        if own is None or own.name in inner:
            return False
        parts = (part for part in ast.walk(own) if isinstance(part, ast.Call) and not self.settled(part))
        return (
            isinstance(own, ast.ClassDef)
            and bool(own.bases)
            or any(self._computes(part, inner | {own.name}) for part in parts)
        )


@once
def session_settings(source: Source) -> SessionSettings | None:
    """The session that a program of Keras makes for its settings; `None` where it makes none."""
    if "keras" not in source.frameworks or source.words.isdisjoint({"set_session", "Session", "InteractiveSession"}):
        return None
    reader = _Reader(source)
    decline = reader.read()
    places = [*reader.given]
    places += [call for call in reader.held.values() if reader.called(call) in _MADE and not reader.given]
    if not places:
        return None
    imported = uses_of(source).imported
    tensorflow = next((local for local, name in imported.items() if name == "tensorflow"), "tf")
    replaced: dict[ast.stmt, str] = {}
    unsaid: dict[str, None] = {}
    for call in () if decline else places:
        settings, lost = _settings(reader, call)
        early = reader.early(call)
        alike = [name for name in settings if name in _LOST or _known(reader, name, settings)]
        strange = [name for name in (*lost, *settings) if name not in (*_LOST, *alike)]
        if strange or not _LOST.issuperset(lost):
            decline = f"TensorFlow 2 has nothing like {(strange or lost)[0] or 'what the session receives'}"
            break
        said = {name: settings[name] for name in alike if early or name not in _LOST}
        lines = list(_lines(reader, said, tensorflow))
        if lines and not early:
            decline = "TensorFlow 2 takes no devices after its first operation"
            break
        unsaid.update(dict.fromkeys(n for n in (*settings, *lost) if n not in said or n == _ALLOCATOR))
        replaced[source.statement_of(call)] = "\n".join(lines)
    if decline:
        return SessionSettings(tuple(places), (), (), decline=decline)
    edits: list[Edit] = []
    inner = [s for s in reader.gone if source.enclosing(s, ast.FunctionDef) in reader.made.values()]
    for statement in dict.fromkeys(s for s in reader.gone if s not in inner):
        site, code = source.site(statement), replaced.get(statement, "")
        edits.append(Replace(site, code) if code else Delete(site))
    if any(replaced.values()) and tensorflow not in imported:
        edits.append(AddImport("import tensorflow as tf"))
    title = "apply the settings without a session" if any(replaced.values()) else "remove the session"
    title += f", without {', '.join(unsaid)}" if unsaid else ""
    return SessionSettings(tuple(places), tuple(source.site(s) for s in reader.gone), tuple(edits), title)


def _given(call: ast.Call) -> ast.expr:
    """What a call of one argument is given."""
    return call.args[0] if call.args else call.keywords[0].value


def _settings(reader: _Reader, call: ast.Call) -> tuple[dict[str, ast.expr], list[str]]:
    """The settings at a place by name, and the names of those that depend on what only a function of the program knows."""
    if call not in reader.made:
        return dict(reader.settings(_given(call) if reader.called(call) == _SET else call)), []
    returned = [dict(reader.settings(n.value)) for n in ast.walk(reader.made[call]) if isinstance(n, ast.Return)]
    settings: dict[str, ast.expr] = {}
    lost: list[str] = []
    for name in dict.fromkeys(name for each in returned for name in each):
        values = [each.get(name) for each in returned]
        value = values[0]
        written = {ast.unparse(one) if one is not None else "" for one in values}
        named = value is None or any(isinstance(part, ast.Name) for part in ast.walk(value))
        if value is not None and (name == _SHARE or len(written) == 1 and not named):
            settings[name] = value
        else:
            lost.append(name)
    return settings, lost


def _known(reader: _Reader, name: str, settings: Mapping[str, ast.expr]) -> bool:
    """Whether TensorFlow 2 has something that is like a setting with this value."""
    if name == "visible_device_list":
        place = _constant(settings[name])
        return (
            "device_count" not in settings
            and isinstance(place, str)
            and (not place or len(place) == 1 and place.isdigit())
        )
    counts = _counts(settings.get(name)) if name == "device_count" else {}
    named = any(
        isinstance(node.value, str) and "cpu:" in node.value.lower() for node in reader.source.nodes(ast.Constant)
    )
    return bool(counts) and set(counts) <= {"CPU", "GPU"} and not (named and counts.get("CPU", 1) != 1)


def _counts(devices: ast.expr | None) -> dict[object, int]:
    """How many devices there are to be of each kind, where that is written out."""
    pairs = list(zip(devices.keys, devices.values, strict=True)) if isinstance(devices, ast.Dict) else []
    written = [(_constant(key), _constant(value)) for key, value in pairs]
    counts: dict[object, int] = {key: value for key, value in written if key is not None and isinstance(value, int)}
    return counts if len(counts) == len(pairs) else {}


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _lines(reader: _Reader, settings: Mapping[str, ast.expr], tensorflow: str) -> Iterator[str]:
    """The statements that tell TensorFlow 2 the settings."""
    said = {name: reader.source.segment(reader.source.site(value)) for name, value in settings.items()}
    if said.get("allow_growth", "False") == "False" and _SHARE in said:
        said["allow_growth"] = "True"  # TensorFlow 2 knows no share; it takes what it needs then
    for name, form in _SAID.items():
        if name in said and (said[name], name) != ("False", "allow_growth"):
            yield form.format(tf=tensorflow, value=said[name])
    if (gpus := _counts(settings.get("device_count")).get("GPU")) is not None:
        yield (
            _GPUS.format(tf=tensorflow, which=f":{gpus}")
            if gpus
            else f"{tensorflow}.config.set_visible_devices([], 'GPU')"
        )
    if place := _constant(settings.get("visible_device_list")):
        yield _GPUS.format(tf=tensorflow, which=f"{place!s}:{int(str(place)) + 1}")
