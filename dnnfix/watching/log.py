"""The log of symptoms that a watched training leaves: lines of JSON, as `docs/watching.md` describes them.

It imports no framework: `dnnfix suggest --log` reads it where the training was, or elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from dnnfix.errors import InputError
from dnnfix.records import Json, Symptom
from dnnfix.records.record import record
from dnnfix.validate.reading import Reading

SCHEMA = "dnnfix-symptoms/1"
"""What the first line of each run names."""


@record
class Seen:
    """A symptom that a training showed after `step` optimizer steps, counted from 1.

    `where` is the path of the module in the model (`layers.0`), of a weight (`layers.0.weight`), or empty for the training
    as a whole; `file` and `line` say where the module is made, as far as known: `file` is relative to the program's folder.
    """

    step: int
    reading: Reading
    where: str = ""
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """`file:line`, or nothing."""
        return f"{self.file}:{self.line}" if self.file and self.line else ""


@record
class SymptomLog:
    """A run of a log: the program that was trained, how far it came, and its symptoms in the order of their steps.

    Where several models were watched in one run their symptoms are together. `steps` is 0 where the run was killed before
    it showed a symptom, `sha256` that of the program's file as it was then.
    """

    path: str
    program: str
    sha256: str
    framework: str
    steps: int
    seen: tuple[Seen, ...] = ()

    def verify(self, raw: bytes, path: str) -> None:
        """Raises `InputError` where the run was not one of this program, as it is now."""
        if self.sha256 and self.sha256 == digest(raw):
            return
        if os.path.basename(self.program) != os.path.basename(path):
            said = f"the run was one of {self.program or 'a program without a file'}, not of {path}"
            raise InputError(f"{self.path}: {said}. Give the log that this program wrote.")
        said = f"{path} was changed since that run"
        raise InputError(f"{self.path}: {said}. Train again with dnnfix.watch, or give the program as it was.")


def digest(raw: bytes) -> str:
    """What a log tells a program's bytes by."""
    return hashlib.sha256(raw).hexdigest()


class LogWriter:
    """Appends one run of one model to a log; each line is written at once, so that a killed run leaves whole lines.

    Raises `InputError` where the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], program: str, framework: str, model: str) -> None:
        self._begun = time.time()
        self._run = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(_STARTED))}-{os.getpid()}"
        try:
            self._file: TextIO = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - open while it trains
        except OSError as error:
            said = f"the log of symptoms cannot be written ({error.strerror})"
            raise InputError(f"{os.fspath(path)}: {said}. Give another place: log=...") from error
        raw = _contents(program)
        self._write(
            {
                "schema": SCHEMA,
                "run": self._run,
                "program": program,
                "sha256": digest(raw) if raw is not None else "",
                "framework": framework,
                "model": model,
                "time": round(self._begun, 3),
            }
        )

    def add(self, seen: Seen) -> None:
        """Write one symptom."""
        self._write(
            {
                "run": self._run,
                "step": seen.step,
                "symptom": seen.reading.name,
                "kind": seen.reading.symptom.value,
                "said": seen.reading.said,
                "where": seen.where,
                "file": seen.file,
                "line": seen.line,
                "numbers": dict(seen.reading.numbers),
                "time": round(time.time(), 3),
            }
        )

    def end(self, steps: int, share: float) -> None:
        """The training is over, or watched no longer: how many steps it took, and the share of the time that watching took."""
        if not self._file.closed:
            seconds = round(time.time() - self._begun, 3)
            self._write({"run": self._run, "steps": steps, "seconds": seconds, "share": round(share, 5)})
            self._file.close()

    def _write(self, fields: Mapping[str, Json]) -> None:
        self._file.write(json.dumps(_plain(fields), ensure_ascii=False, allow_nan=False) + "\n")


_STARTED = time.time()
"""What the runs of one process have in common, also where several models are watched."""


def read_log(path: str | os.PathLike[str], program: str = "") -> SymptomLog:
    """The last run of a log, if it has one of a program of that name the last of these.

    Raises `InputError`, with the line, where it is no log or a line is broken.
    """
    name = os.fspath(path)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"{name}: the log of symptoms cannot be read: {said}. Check what you gave to --log."
        ) from error
    heads: list[Mapping[str, Json]] = []
    bodies: list[tuple[int, Mapping[str, Json]]] = []
    for number, line in enumerate(lines, 1):
        fields = _line(name, number, line)
        if "schema" in fields:
            if fields["schema"] != SCHEMA:
                raise _broken(name, number, f"expected the schema {SCHEMA}. Received: {fields['schema']!r}")
            heads.append(fields)
        elif not heads:
            raise _broken(name, number, f"expected a first line with the schema {SCHEMA}")
        else:
            bodies.append((number, fields))
    if not heads:
        raise InputError(f"{name}: the log of symptoms is empty. It is written while dnnfix.watch is at work.")
    meant = os.path.basename(program)
    head = next((one for one in reversed(heads) if meant and _file_name(one) == meant), heads[-1])
    run = _text(name, len(lines), head, "run")
    own = [(number, fields) for number, fields in bodies if fields.get("run") == run]
    seen = tuple(_seen(name, number, fields) for number, fields in own if "symptom" in fields)
    ends = [_count(name, number, fields, "steps") for number, fields in own if "symptom" not in fields]
    last = max([*ends, *(one.step for one in seen)], default=0)
    program, sha256, framework = (_text(name, 1, head, key) for key in ("program", "sha256", "framework"))
    return SymptomLog(name, program, sha256, framework, last, tuple(sorted(seen, key=lambda one: one.step)))


def _file_name(head: Mapping[str, Json]) -> str:
    return os.path.basename(str(head.get("program") or ""))


def _seen(name: str, number: int, fields: Mapping[str, Json]) -> Seen:
    try:
        symptom = Symptom(_text(name, number, fields, "kind"))
    except ValueError:
        raise _broken(name, number, f"unknown kind of symptom. Received: {fields['kind']!r}") from None
    numbers, line = fields.get("numbers"), fields.get("line")
    if not isinstance(numbers, Mapping) or not (line is None or isinstance(line, int)):
        raise _broken(name, number, "expected an object `numbers` and a number or null as `line`")
    reading = Reading(_text(name, number, fields, "symptom"), _text(name, number, fields, "said"), symptom, numbers)
    where, file = (_text(name, number, fields, key) for key in ("where", "file"))
    return Seen(_count(name, number, fields, "step"), reading, where, file, line)


def _line(name: str, number: int, line: str) -> Mapping[str, Json]:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise _broken(name, number, f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _broken(name, number, f"expected an object. Received: {line[:40]!r}")
    return fields


def _text(name: str, number: int, fields: Mapping[str, Json], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise _broken(name, number, f"expected a string `{key}`. Received: {value!r}")
    return value


def _count(name: str, number: int, fields: Mapping[str, Json], key: str) -> int:
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _broken(name, number, f"expected a number of steps as `{key}`. Received: {value!r}")
    return value


def _broken(name: str, number: int, said: str) -> InputError:
    return InputError(f"{name}:{number}: broken line in the log of symptoms: {said}. Remove the line, or train again.")


def _contents(program: str) -> bytes | None:
    try:
        return Path(program).read_bytes() if program else None
    except OSError:
        return None


def _plain(value: Json) -> Json:
    """The value with numbers that JSON does not know as strings."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value
