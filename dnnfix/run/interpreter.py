"""Describes the user's Python interpreter: its version, its frameworks, and the paths that a trial has to read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dnnfix.errors import InterpreterError

OLDEST = (3, 8)
"""The oldest Python that the probe is written for."""
OLDEST_BASELINE = (3, 6)
"""The oldest Python that the recorder is written for, which runs programs in interpreters of an old era."""
PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "share", "etc", "ssl", "nvvm", "targets", "pyvenv.cfg")
"""What of an interpreter's folder is shown to a trial; an environment may share its folder with the user's files."""

_QUESTION = """
import importlib.util, json, os, site, sys
user = site.getusersitepackages() if site.ENABLE_USER_SITE else None
print(json.dumps({
    "executable": sys.executable, "version": list(sys.version_info[:3]),
    "prefixes": sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}),
    "packages": [p for p in sys.path if os.path.isdir(p) and os.path.basename(p) in ("site-packages", "dist-packages")],
    "user_base": site.getuserbase() if user and os.path.isdir(user) else None,
    "installed": [n for n in ("torch", "keras", "tensorflow", "jax") if importlib.util.find_spec(n) is not None],
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter that can be started: its executable, its version and the paths that it reads from."""

    executable: str
    version: tuple[int, ...]
    readable: tuple[str, ...]
    user_base: str | None
    installed: frozenset[str] = frozenset()
    """Which of torch, keras, tensorflow and jax it has."""


@lru_cache(maxsize=16)
def describe(path: Path, flag: str = "--python", oldest: tuple[int, ...] = OLDEST) -> Interpreter:
    """Ask an interpreter about itself. Raises `InterpreterError`, naming the `flag` that selected it, where it does not
    start or is older than `oldest`.
    """
    try:
        done = subprocess.run(
            [str(path), "-c", _QUESTION],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            cwd="/",
            env={key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ},
            stdin=subprocess.DEVNULL,
        )
        answer = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else None
    except OSError as error:
        raise _no_interpreter(path, flag, error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise _no_interpreter(path, flag, f"no answer in {error.timeout:.0f} s") from error
    except (ValueError, IndexError) as error:
        raise _no_interpreter(path, flag, "it does not answer as Python does") from error
    if not isinstance(answer, dict):
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise _no_interpreter(path, flag, said[0][:200])
    if tuple(answer["version"]) < oldest:
        raise InterpreterError(
            f"{flag} takes Python {oldest[0]}.{oldest[1]} or later. Received: {path} is {answer['version']}"
        )
    readable = [os.path.join(prefix, part) for prefix in answer["prefixes"] for part in PREFIX_PARTS]
    readable += answer["packages"] + _hops(answer["executable"])
    shown: dict[str, None] = {}
    for place in readable:
        if os.path.exists(place):
            shown[place] = None
            shown[os.path.realpath(place)] = None
    return Interpreter(
        answer["executable"],
        tuple(answer["version"]),
        tuple(shown),
        answer["user_base"],
        frozenset(answer["installed"]),
    )


_MODULES = """
import json, pkgutil, sys
names = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
names.update(module.name for module in pkgutil.iter_modules())
print(json.dumps(sorted(names)))
"""


@lru_cache(maxsize=16)
def modules(path: Path) -> frozenset[str]:
    """The top-level modules that an interpreter can import; empty where it does not answer."""
    return frozenset(_asked(path, _MODULES) or ())


def _asked(path: Path, question: str) -> Any:
    """What a short script says in JSON; `None` where it says nothing."""
    words = [str(path), "-c", question]
    try:
        done = subprocess.run(words, check=False, capture_output=True, timeout=60, cwd="/", stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None


_VERSIONS = """
import importlib.metadata as metadata, json, platform
found = {"python": platform.python_version()}
for name in ("torch", "keras", "tensorflow", "tensorflow-cpu", "jax", "numpy"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@lru_cache(maxsize=16)
def versions(path: Path) -> Mapping[str, str]:
    """The versions of Python and of the frameworks in an interpreter; empty where it does not answer."""
    return dict(_asked(path, _VERSIONS) or {})


def describe_baseline(path: Path) -> Interpreter:
    """The interpreter of an old era. Raises `InterpreterError` also where it has no Keras to compare with."""
    found = describe(path, "--baseline-python", OLDEST_BASELINE)
    if not found.installed & {"keras", "tensorflow"}:
        raise InterpreterError(
            "The interpreter of the old era needs Keras or TensorFlow; make one with tools/make_baseline.py. "
            f"Received: --baseline-python {path}, which has neither"
        )
    return found


def _no_interpreter(path: Path, flag: str, why: str) -> InterpreterError:
    if path.is_dir():
        own = path / "bin" / "python"
        why = f"it is a folder; the interpreter in it is {own}" if own.exists() else "it is a folder"
    return InterpreterError(f"The interpreter cannot be started; give another with {flag}. Received: {path} ({why})")


def _hops(executable: str) -> list[str]:
    """The executable and every link on the way to the file that it is."""
    found = [executable]
    while os.path.islink(found[-1]) and len(found) < 20:
        target = os.readlink(found[-1])
        found.append(os.path.normpath(os.path.join(os.path.dirname(found[-1]), target)))
    return found
