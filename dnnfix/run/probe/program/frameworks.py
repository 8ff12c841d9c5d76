"""Which framework a program trains with, judged by its source, and the probe for that framework."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
from typing import Any, Dict, List

from .. import libraries, wire

_TORCH_WORDS = ("torch.nn", "nn.Module", "torch.optim", "optim.", "torch.autograd", "lightning")
_KERAS_WORDS = tuple(
    "keras" + word
    for word in (
        ".layers",
        ".models",
        ".Model",
        ".Sequential",
        " import layers",
        " import models",
        " import Sequential",
    )
)
"""Words of programs that build a Keras model, on torch as the backend mostly; others use Keras for its data sets."""
_FILES = 200
"""Modules beside the program that are looked into where the program itself names no framework."""


def named_in(text: str) -> List[str]:
    """The frameworks that a source imports; searched as words, so that it also works where the source does not
    parse.
    """
    found = set()
    for line in text.splitlines():
        words = line.replace(",", " ").replace(".", " ").replace(";", " ").split()
        if words[:1] == ["from"]:
            found.update(words[1:2])
        elif words[:1] == ["import"]:
            found.update(words[1:])
    if found.intersection(libraries.ON_TORCH):
        found.add("torch")
    if found.intersection(libraries.ON_KERAS):
        found.add("keras")
    return [name for name in libraries.FRAMEWORKS if name in found]


def named_below(folder: str) -> List[str]:
    """The frameworks that the modules in `folder` import."""
    found: List[str] = []
    seen = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if not name.endswith(".py") or seen >= _FILES:
                continue
            seen += 1
            try:
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as stream:
                    found += named_in(stream.read(200000))
            except OSError:
                continue
    return [name for name in libraries.FRAMEWORKS if name in found]


def primary(named: List[str], text: str) -> str:
    """The framework that a program trains with, of the ones that it imports; `none` without any."""
    others = [name for name in named if name != "torch"]
    builds_keras = bool(others) and any(word in text for word in _KERAS_WORDS)
    if "torch" in named and not builds_keras and (not others or any(word in text for word in _TORCH_WORDS)):
        return "torch"
    if "tensorflow" in others and ("keras" not in others or importlib.util.find_spec("tensorflow") is not None):
        return "tensorflow"
    return others[0] if others else "none"


def observe(framework: str, job: Dict[str, Any]) -> List[Any]:
    """Install the probe of a framework; returns its hooks. Where a framework is not installed, the program's own import
    fails and says so.
    """
    try:
        probe = probe_of(framework)
        return [installed(probe, job)] if probe is not None else []
    except Exception as error:
        if getattr(error, "name", None) == framework and isinstance(error, ImportError):
            return []
        wire.emit("note", text="%s is not observed: %s: %s" % (framework, type(error).__name__, error))
    return []


def load(framework: str) -> None:
    """Import a framework, where it is there to be imported."""
    with contextlib.suppress(Exception):
        importlib.import_module(framework)


def installed(probe: Any, job: Dict[str, Any]) -> Any:
    """The installed hooks of a probe; if it cannot observe the program, everything it changed is undone."""
    hooks = probe.Hooks(job)
    try:
        hooks.begin()
    except Exception:
        hooks.withdraw()
        raise
    return hooks


def probe_of(framework: str) -> Any:
    """The module that observes a framework, which is imported first; `None` for an unknown one."""
    if framework not in libraries.FRAMEWORKS:
        return None
    importlib.import_module(framework)
    return importlib.import_module("..%s.hooks" % _PROBES[framework], __package__)


def versions(named: List[str]) -> Dict[str, str]:
    """The versions of Python, the frameworks and numpy; for Keras also that of TensorFlow, whether it is used or not."""
    found = {"python": platform.python_version()}
    for name in list(named) + ["tensorflow"] * ("keras" in named) + ["numpy"]:
        if name not in _versions:
            _versions[name] = next(filter(None, map(_version, _DISTRIBUTIONS.get(name, [name]))), "")
        if _versions[name]:
            found[name] = _versions[name]
    return found


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


_DISTRIBUTIONS = {"tensorflow": ["tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos"]}
_versions: Dict[str, str] = {}
_PROBES = {"torch": "torch", "keras": "keras", "tensorflow": "keras"}
"""The folders of the probes."""
