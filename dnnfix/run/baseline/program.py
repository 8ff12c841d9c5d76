"""Runs the program as `__main__` until its first training call is recorded, or to its end if it makes none."""

import builtins
import contextlib
import importlib.util
import json
import os
import platform
import random
import sys
import traceback
import types
from typing import Any, Dict, List, Tuple

from . import hooks, recording, wire

LONGEST_TEXT = 600
"""Characters kept of the message of an exception."""


def run(path: str, trace: int, announce: int) -> None:
    """Run the job in the file `path`, write all events to the trace, and end the process."""
    for descriptor in (trace, announce):
        os.set_inheritable(descriptor, False)
    with open(path, encoding="ascii") as stream:
        job = json.load(stream)
    os.unlink(path)
    wire.attach(trace)
    _choose_backend()
    filename = os.path.join(os.getcwd(), os.path.basename(job["path"]))
    _prepare(job, filename)
    text = job["program"].encode("latin-1").decode("utf-8", "replace")
    hooks.install("keras" in text, announce, lambda *call: _record(job, *call))
    ended, detail = _execute(job, filename)
    _end(job["seed"], ended, detail)


def _record(job: Dict[str, Any], keras: Any, model: Any, method: str, given: Dict[str, Any]) -> None:
    """Record a training call; the program is over then, whatever it would have done next."""
    try:
        recording.make(job.get("given"), keras, model, method, given)
    except recording.NotComparable as reason:
        _end(job["seed"], "finished", str(reason))
    except Exception as error:
        _end(job["seed"], "crashed", "%s, when it trains" % _said(error))
    _end(job["seed"], "finished", "")


def _end(seed: int, ended: str, detail: str) -> None:
    wire.emit("begin", versions=_versions(), seed=seed, framework="keras")
    wire.emit("end", outcome=ended, detail=detail[:LONGEST_TEXT])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the program may have put anything in its place
            stream.flush()
    os._exit(0)


def _execute(job: Dict[str, Any], filename: str) -> Tuple[str, str]:
    """Run the program; gives how it ended where no training call ended it."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=filename, __builtins__=builtins)
    try:
        code = compile(job["program"].encode("latin-1"), filename, "exec", dont_inherit=True)
        sys.modules["__main__"] = module
        sys.argv = [filename] + [str(word) for word in job.get("arguments", ())]
        exec(code, module.__dict__)
    except SystemExit as stop:
        return ("exited", "exit code %s" % stop.code) if stop.code else ("finished", "")
    except BaseException as error:
        return "crashed", _said(error) + _place(error, filename)
    return "finished", ""


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0]) if lines else type(error).__name__


def _place(error: BaseException, filename: str) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
    return " (line %s)" % lines[-1] if lines else ""


def _prepare(job: Dict[str, Any], filename: str) -> None:
    """Path, seeds and the answers that nobody gives; as the probe has them."""
    folder = os.path.dirname(filename)
    sys.path.insert(0, folder)
    for _level in range(int(job.get("depth", 0))):
        folder = os.path.dirname(folder)
        sys.path.append(folder)
    builtins.input = _refuse
    random.seed(job["seed"])
    if importlib.util.find_spec("numpy") is not None:
        import numpy

        numpy.random.seed(int(job["seed"]) % 2**32)


def _refuse(prompt: Any = "") -> str:
    raise EOFError("the program asks for input: %s" % (prompt,))


def _choose_backend() -> None:
    """Keras before version 3, which no Python before 3.9 has, knows other backends than what the new one is told."""
    if sys.version_info < (3, 9):
        known = [name for name in ("tensorflow", "theano", "cntk") if importlib.util.find_spec(name) is not None]
        os.environ["KERAS_BACKEND"] = (known or ["tensorflow"])[0]


def _versions() -> Dict[str, str]:
    found = {"python": platform.python_version()}
    names: List[str] = ["keras", "tensorflow", "theano", "torch", "jax", "numpy"]
    for name in names:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found
