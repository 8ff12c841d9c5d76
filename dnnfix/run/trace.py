"""Reads the trace, the JSON lines that the probe writes, into records.

Each line is one object with a key `event`. The other keys are the fields of the record of that name in
`dnnfix.records`, so that probe and reader cannot drift apart; a field that is left out is unknown. A site is
`[line, column, end_line, end_column, path]`, already in characters counted from 1.

| event       | record        | when                                                                                |
|-------------|---------------|-------------------------------------------------------------------------------------|
| `begin`     | –             | first: `versions` ({"python": …, "torch": …, "keras": …}), `seed`, `framework`       |
| `component` | `Component`   | a layer, loss, metric, optimizer, model or loader is made; again when facts are added |
| `call`      | `Call`        | a recorded call returns; `inputs` and `outputs` are `Value` objects                  |
| `parameters`| `Parameter`   | `parameters`: a list, after the first full step (or at the end where there is none)  |
| `step`      | `Step`        | an optimizer step is done                                                           |
| `loop`      | `LoopEvent`   | an operation of the training loop, for the first three steps                         |
| `warning`   | `CodeWarning` | a warning was shown                                                                 |
| `cut`       | –             | `site`: a loop or `fit` was ended by the budget                                      |
| `note`      | –             | `text`: something that a reader of the report should know                            |
| `probe`     | –             | `name`, `value`: the result of an experiment                                         |
| `crash`     | `Crash`       | an exception left the program; `call` is the call in flight, `frames` are user code  |
| `caught`    | `Caught`      | a broad handler of the program's swallowed an exception                              |
| `spent`     | –             | all optimizer steps of the budget were done                                          |
| `hurried`   | –             | the time for training is over before all steps of the budget were done               |
| `end`       | –             | last: `outcome`, `detail`, `seconds`, `step_seconds`, `peak_memory` (bytes)          |

A run that is killed has no `end`; whoever killed it supplies the outcome.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from dnnfix import records
from dnnfix.records import (
    Call,
    Caught,
    CodeWarning,
    Component,
    Crash,
    Json,
    LoopEvent,
    Network,
    Parameter,
    RunOutcome,
    Site,
    Step,
    Trace,
)

Convert = Callable[[Any], Any]


@dataclasses.dataclass
class TraceReader:
    """Builds a `Trace` from the lines of a run, one at a time.

    The lines come from a process that runs code nobody has vetted: a line that is not an event is counted and left
    out, and never raises.
    """

    seed: int = 0
    framework: str = "none"
    ended: RunOutcome | None = None
    detail: str = ""
    seconds: float = 0.0
    peak_memory: int = 0
    step_seconds: float | None = None
    spent: bool = False
    hurried: bool = False
    crash: Crash | None = None
    caught: Caught | None = None
    unreadable: int = 0
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    steps: list[Step] = dataclasses.field(default_factory=list)
    loop: list[LoopEvent] = dataclasses.field(default_factory=list)
    warnings: list[CodeWarning] = dataclasses.field(default_factory=list)
    cut: list[Site] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    probes: dict[str, Json] = dataclasses.field(default_factory=dict)
    calls: list[Call] = dataclasses.field(default_factory=list)
    _components: dict[int, dict[str, Any]] = dataclasses.field(default_factory=dict)
    _parameters: dict[str, Parameter] = dataclasses.field(default_factory=dict)

    def feed(self, line: bytes) -> None:
        """Take one line of the trace."""
        if not line.strip():
            return
        try:
            fields = json.loads(line)
            event = fields.pop("event")
            self._take(event, fields)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            self.unreadable += 1

    def finish(
        self,
        outcome: RunOutcome,
        detail: str,
        seconds: float,
        peak_memory: int,
        printed: str,
        notes: Iterable[str] = (),
    ) -> Trace:
        """The trace, with what the runner knows: `outcome` and `detail` are how the run ended for it."""
        said = [*self.notes, *notes]
        if self.unreadable:
            said.append(f"{self.unreadable} lines of the trace could not be read")
        return Trace(
            outcome=outcome,
            seed=self.seed,
            seconds=seconds,
            detail=detail,
            network=self._network(),
            crash=self.crash,
            caught=self.caught,
            steps=tuple(self.steps),
            loop=tuple(self.loop),
            warnings=tuple(self.warnings),
            versions=self.versions,
            peak_memory=peak_memory,
            step_seconds=self.step_seconds,
            cut=tuple(self.cut),
            spent=self.spent,
            hurried=self.hurried,
            printed=printed,
            notes=tuple(said),
            probes=self.probes,
        )

    def _take(self, event: str, fields: dict[str, Any]) -> None:
        match event:
            case "begin":
                self.seed = int(fields["seed"])
                self.framework = str(fields.get("framework", "none"))
                self.versions = {str(key): str(value) for key, value in fields.get("versions", {}).items()}
            case "component":
                known = self._components.get(int(fields["id"]), {})
                merged = {**known, **fields}
                record(Component, merged)
                self._components[int(fields["id"])] = merged
            case "call":
                self.calls.append(record(Call, fields))
            case "parameters":
                for parameter in fields["parameters"]:
                    self._parameters[str(parameter["name"])] = record(Parameter, parameter)
            case "step":
                self.steps.append(record(Step, fields))
            case "loop":
                self.loop.append(record(LoopEvent, fields))
            case "warning":
                self.warnings.append(record(CodeWarning, fields))
            case "cut":
                if fields.get("site") is not None:
                    self.cut.append(_site(fields["site"]))
            case "spent":
                self.spent = True
            case "hurried":
                self.hurried = True
            case "note":
                self.notes.append(str(fields["text"])[:1000])
            case "probe":
                self.probes[str(fields["name"])] = fields.get("value")
            case "caught":
                self.caught = record(Caught, fields)
            case "crash":
                self.crash = record(Crash, fields)
            case "end":
                self._end(fields)
            case _:
                raise ValueError(event)

    def _end(self, fields: dict[str, Any]) -> None:
        self.ended = RunOutcome(fields["outcome"])
        self.detail = str(fields.get("detail", ""))
        self.seconds = float(fields.get("seconds", 0.0))
        self.peak_memory = int(fields.get("peak_memory", 0))
        took = fields.get("step_seconds")
        self.step_seconds = float(took) if took is not None else None

    def _network(self) -> Network | None:
        if not self._components and not self.calls and not self._parameters:
            return None
        components = tuple(record(Component, fields) for fields in self._components.values())
        return Network(self.framework, "trace", components, tuple(self.calls), tuple(self._parameters.values()))


def read_trace(lines: Iterable[bytes]) -> Trace:
    """The trace in the lines of a run; `KILLED` where they have no end."""
    reader = TraceReader()
    for line in lines:
        reader.feed(line)
    outcome = reader.ended or RunOutcome.KILLED
    return reader.finish(outcome, reader.detail, reader.seconds, reader.peak_memory, "")


def record(kind: type[Any], fields: Mapping[str, Any]) -> Any:
    """An object of the record type `kind`, without the keys it does not know; raises where a value has a wrong type."""
    hashable: Any = kind
    converters = _converters(hashable)
    return kind(**{key: converters[key](value) for key, value in fields.items() if key in converters})


@lru_cache(maxsize=32)
def _converters(kind: Any) -> dict[str, Convert]:
    # A record's annotations name what its own module imports, and records of other rooms.
    hints = typing.get_type_hints(kind, {**vars(records), **vars(sys.modules[kind.__module__])}, vars(records))
    found: dict[str, Convert] = {field.name: _converter(hints[field.name]) for field in dataclasses.fields(kind)}
    return found


def _converter(hint: Any) -> Convert:
    """What turns a JSON value into a value of the annotated type."""
    if hint is Site:
        return _site
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value: record(hint, value)
    if hint in (int, float, str, bool):
        return lambda value: _scalar(hint, value)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        element = _converter(inside[0])
        return lambda value: tuple(element(each) for each in _listed(value))
    if origin in (types.UnionType, typing.Union):
        only = _converter(next(each for each in inside if each is not type(None)))
        return lambda value: None if value is None else only(value)
    return _mapping


def _site(value: Any) -> Site:
    line, column, end_line, end_column, *path = _listed(value)
    numbers = [_scalar(int, number) for number in (line, column, end_line, end_column)]
    return Site(*numbers, *[_scalar(str, each) for each in path])


def _scalar(kind: Any, value: Any) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) and kind is not bool or not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} expected. Received: {value!r:.100}")
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list expected. Received: {value!r:.100}")
    return value


def _mapping(value: Any) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"an object expected. Received: {value!r:.100}")
    return value
