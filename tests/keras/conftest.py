"""Runs Keras programs under the probe, each in a child forked from one process that is warm with Keras on torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.torch.conftest import PROBE, Observed

_ZYGOTE = """
import importlib.util, json, os, sys, time
spec = importlib.util.spec_from_file_location("probe_main", sys.argv[1] + "/__main__.py")
main = importlib.util.module_from_spec(spec)
spec.loader.exec_module(main)
main._load_package()
from dnnfix_probe import warm
missing = warm.up("keras", ["numpy", "pandas"])["missing"]
if missing:
    sys.exit(str(missing))
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
    deadline = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            break
        time.sleep(0.002)
    print("done", flush=True)
"""

Observe = Callable[..., Observed]


class _Zygote:
    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "KERAS_BACKEND": "torch"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ZYGOTE, str(PROBE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, folder: Path, source: str, **job: Any) -> Observed:
        text = textwrap.dedent(source).lstrip("\n")
        budget = {"steps": job.pop("steps", 6), "evaluation_batches": job.pop("evaluation_batches", 2)}
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
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(10)


@pytest.fixture(scope="session")
def _zygote() -> Iterator[_Zygote]:
    zygote = _Zygote()
    yield zygote
    zygote.close()


@pytest.fixture
def observe(_zygote: _Zygote, tmp_path: Path) -> Observe:
    """`observe(source, steps=6, record_steps=2, experiments=[...])` runs a program and gives its trace."""
    count = 0

    def run(source: str, **job: Any) -> Observed:
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        return _zygote.run(folder, source, **job)

    return run
