"""Runs programs under the probe, each in a child forked from one process that is warm with a framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dnnfix import registry
from dnnfix.records import Applicability, Candidate, FixPattern, RunOutcome, Status, Trace
from dnnfix.run.trace import TraceReader
from dnnfix.source.program import Source
from dnnfix.validate.evidence import Evidence
from dnnfix.validate.ladder import measurements

PROBE = Path(__file__).parents[1] / "dnnfix" / "run" / "probe"

_LOADED = """
import importlib.util, json, os, sys, time
spec = importlib.util.spec_from_file_location("probe_main", sys.argv[1] + "/__main__.py")
main = importlib.util.module_from_spec(spec)
spec.loader.exec_module(main)
main._load_package()
"""
_SERVING = """
for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(request["folder"])
        for name, descriptor in (("trace", 1), ("printed", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        os.environ.pop("PYTHONPATH", None)
        try:
            main._run_one("job.json")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    deadline = time.monotonic() + 300
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            break
        time.sleep(0.002)
    print("done", flush=True)
"""


class Observed:
    """What the probe wrote about one run."""

    def __init__(self, events: list[dict[str, Any]], printed: str, source: str) -> None:
        self.events = events
        self.printed = printed
        self._lines = source.split("\n")

    def of(self, event: str) -> list[dict[str, Any]]:
        """All events of one kind, in order."""
        return [e for e in self.events if e["event"] == event]

    @property
    def outcome(self) -> str:
        """How the run ended."""
        return str(self.of("end")[0]["outcome"])

    @property
    def notes(self) -> list[str]:
        """The texts of the notes."""
        return [str(e["text"]) for e in self.of("note")]

    @property
    def components(self) -> dict[int, dict[str, Any]]:
        """Every component as it was last described."""
        return {e["id"]: e for e in self.of("component")}

    def component(self, name: str, number: int = 0) -> dict[str, Any]:
        """A component of that canonical name, in order of construction."""
        return [c for c in self.components.values() if c["name"] == name][number]

    def calls(self, name: str | None = None, step: int | None = None) -> list[dict[str, Any]]:
        """The recorded calls, of one name and one step where they are given."""
        return [
            c for c in self.of("call") if (name is None or c["name"] == name) and (step is None or c["step"] == step)
        ]

    def call(self, name: str, number: int = 0) -> dict[str, Any]:
        """One recorded call of that name."""
        return self.calls(name)[number]

    def names(self, step: int | None = None) -> list[str]:
        """The names of the recorded calls in order."""
        return [str(c["name"]) for c in self.calls(step=step)]

    def producer(self, value: dict[str, Any]) -> str | None:
        """The name of the call that made a value."""
        return next((str(c["name"]) for c in self.calls() if c["id"] == value["producer"]), None)

    def text(self, site: list[Any] | None) -> str:
        """The source text at a site."""
        if site is None:
            return ""
        line, column, end_line, end_column = site[:4]
        if line == end_line:
            return str(self._lines[line - 1][column - 1 : end_column - 1])
        inner = self._lines[line : end_line - 1]
        return "\n".join([self._lines[line - 1][column - 1 :], *inner, self._lines[end_line - 1][: end_column - 1]])

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameters by name."""
        return {p["name"]: p for e in self.of("parameters") for p in e["parameters"]}

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The optimizer steps."""
        return self.of("step")

    @property
    def crash(self) -> dict[str, Any]:
        """The crash."""
        return self.of("crash")[0]

    def trace(self) -> Trace:
        """The run as a validator sees it."""
        reader = TraceReader()
        for event in self.events:
            reader.feed(json.dumps(event).encode())
        return reader.finish(reader.ended or RunOutcome.KILLED, reader.detail, reader.seconds, 0, self.printed)

    def probe(self, name: str) -> Any:
        """The result of an experiment."""
        return next(e["value"] for e in self.of("probe") if e["name"] == name)


Observe = Callable[..., Observed]
"""`observe(source, steps=6, record_steps=2, seed=0, experiments=[...])` runs a program and gives its trace."""


def judged(observe: Observe, old: str, new: str) -> dict[str, Status]:
    """What each validator says of a change, from one run of the program before it and one after."""
    old, new = old.lstrip("\n"), new.lstrip("\n")
    experiments = [experiment.value for experiment in measurements(registry.validators())]
    before, after = (observe(text, experiments=experiments).trace() for text in (old, new))
    change = Candidate("DNF180", "change", FixPattern.DATA_DIMENSION, (), (), Applicability.UNSAFE)
    sources = [Source.from_bytes(text.encode(), "program.py") for text in (old, new)]
    evidence = Evidence((change,), sources[0], sources[1], before, after)
    return {validator.name: validator.judge(evidence).status for validator in registry.validators()}


class Zygote:
    """A process that `warm`, code after the probe's package is loaded, has made ready; programs run in its children."""

    def __init__(self, warm: str, evaluation_batches: int, **environment: str) -> None:
        self._evaluation_batches = evaluation_batches
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOADED + warm + _SERVING, str(PROBE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **environment},
        )

    def observer(self, root: Path) -> Observe:
        """What runs programs, each in a folder of its own under `root`."""
        count = 0

        def run(source: str, **job: Any) -> Observed:
            nonlocal count
            count += 1
            folder = root / str(count)
            folder.mkdir()
            return self._run(folder, source, **job)

        return run

    def _run(self, folder: Path, source: str, **job: Any) -> Observed:
        text = textwrap.dedent(source).lstrip("\n")
        batches = job.pop("evaluation_batches", self._evaluation_batches)
        budget = {"steps": job.pop("steps", 6), "evaluation_batches": batches}
        record = {"path": "program.py", "program": text, "seed": 0, "budget": budget, "record_steps": 2}
        record.update({"experiments": [], "arguments": [], **job})
        (folder / "program.py").write_text(text)
        (folder / "job.json").write_text(json.dumps(record))
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("no pipes to the zygote")
        self._process.stdin.write(json.dumps({"folder": str(folder)}) + "\n")
        self._process.stdin.flush()
        if not self._process.stdout.readline():
            raise RuntimeError("the zygote is gone")
        events = [json.loads(line) for line in (folder / "trace").read_bytes().splitlines()]
        return Observed(events, (folder / "printed").read_text(), text)

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(300)
