"""Sessions that a program makes for Keras alone, to say how much of the GPU it takes or with how many threads it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dnnfix.detect.api_names import uses_of
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

SESSIONS = frozenset({_SET, *_HELD, *_INITIALIZED})
"""Names of which a program has no use any more, once its settings are said without a session."""

_IDLE = (
    *("keras.backend.floatx", "keras.backend.image_", "keras.backend.set_", "keras.callbacks.", "keras.datasets."),
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
        return name.replace("tensorflow.compat.v1.", "tensorflow.")

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
        """Collect the statements; why they cannot go, or nothing."""
        for statement in self.source.nodes(ast.Assign):
            name = self.name(statement.targets[0]) if len(statement.targets) == 1 else None
            called = self.called(statement.value)
            if isinstance(statement.value, ast.Call) and called in _HELD | _INITIALIZED and name is not None:
                if name in self.held:
                    return f"{name[1]} is made at more than one place"
                self.held[name] = statement.value
                self.gone.append(statement)
        for statement in self.source.nodes(ast.Assign):
            target = statement.targets[0]
            root: ast.expr = target
            while isinstance(root, ast.Attribute):
                root = root.value
            name = self.name(root)
            if isinstance(target, ast.Attribute) and name in self.held and name is not None:
                self.stored.setdefault(name, {})[target.attr] = statement.value
                self.gone.append(statement)
        for call in self.source.all_calls:
            above = self.source.parent(call)
            if self.called(call) == _SET:
                if not isinstance(above, ast.Expr) or len(call.args) + len(call.keywords) != 1:
                    return "the session is given to Keras within another expression"
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
        return found[0] if alone and all(self.called(self._whole(value)) in _MADE for value in returned) else None

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
                return f"{node.id} is used further, as in line {node.lineno}"
        for call in self.source.all_calls:
            if self.called(call) in _HELD and not self.settled(call):
                return f"a session is used further, as in line {call.lineno}"
        for call in self.given:
            session = self._whole(_given(call)) if self.called(call) == _SET else call
            if call not in self.made and self.called(session) not in _MADE:
                return "where the session is made cannot be told"
        return ""

    def _whole(self, expression: ast.expr | None) -> ast.expr | None:
        """The call that an expression stands for."""
        name = self.name(expression)
        return self.held.get(name, expression) if name is not None else expression

    def settings(self, expression: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
        """The settings of a session, or of what it is given, by name."""
        name, call = self.name(expression), self._whole(expression)
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg in ("config", "gpu_options"):
                yield from self.settings(keyword.value)
            elif keyword.arg:
                yield keyword.arg, keyword.value
        yield from self.stored.get(name, {}).items() if name is not None else ()

    def early(self, call: ast.Call) -> bool:
        """Whether nothing of Keras or TensorFlow runs before: TensorFlow takes no such settings afterwards."""
        if self.source.enclosing(call, ast.FunctionDef) is not None:
            return False
        before = (other for other in self.source.all_calls if other.lineno < call.lineno)
        names = ((other, self.called(other)) for other in before)
        return not any(
            name.startswith(("keras.", "tensorflow.")) and not name.startswith(_IDLE) and not self.settled(other)
            for other, name in names
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
    if decline:
        return SessionSettings(tuple(places), (), (), decline)
    replaced: dict[ast.stmt, str] = {}
    imported = uses_of(source).imported
    tensorflow = next((local for local, name in imported.items() if name == "tensorflow"), "tf")
    for call in places:
        settings = dict(reader.settings(_given(call) if reader.called(call) == _SET else call))
        if call in reader.made:
            returned = (node for node in ast.walk(reader.made[call]) if isinstance(node, ast.Return))
            said = [pair for node in returned for pair in reader.settings(node.value)]
            settings = {name: value for name, value in said if name == _SHARE or isinstance(value, ast.Constant)}
        lines = _lines(reader, call, settings, tensorflow)
        replaced[source.statement_of(call)] = "\n".join(lines)
    edits: list[Edit] = []
    inner = [s for s in reader.gone if source.enclosing(s, ast.FunctionDef) in reader.made.values()]
    for statement in dict.fromkeys(s for s in reader.gone if s not in inner):
        site, code = source.site(statement), replaced.get(statement, "")
        edits.append(Replace(site, code) if code else Delete(site))
    if any(replaced.values()) and tensorflow not in imported:
        edits.append(AddImport("import tensorflow as tf"))
    return SessionSettings(tuple(places), tuple(source.site(s) for s in reader.gone), tuple(edits))


def _given(call: ast.Call) -> ast.expr:
    """What a call of one argument is given."""
    return call.args[0] if call.args else call.keywords[0].value


def _lines(reader: _Reader, call: ast.Call, settings: Mapping[str, ast.expr], tensorflow: str) -> Iterator[str]:
    """The statements that tell TensorFlow 2 the settings, where it still takes them."""
    if not reader.early(call):
        return
    said = {name: reader.source.segment(reader.source.site(value)) for name, value in settings.items()}
    if said.get("allow_growth", "False") == "False" and _SHARE in said:
        said["allow_growth"] = "True"  # TensorFlow 2 knows no share; it takes what it needs then
    for name, form in _SAID.items():
        if name in said and (said[name], name) != ("False", "allow_growth"):
            yield form.format(tf=tensorflow, value=said[name])
    devices = settings.get("device_count")
    if isinstance(devices, ast.Dict) and ("GPU", 0) in {
        (getattr(key, "value", None), getattr(value, "value", None))
        for key, value in zip(devices.keys, devices.values, strict=True)
    }:
        yield f"{tensorflow}.config.set_visible_devices([], 'GPU')"
