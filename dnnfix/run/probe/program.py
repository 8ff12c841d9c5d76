"""Runs the user's program: seeds, guarded loops, companions, warnings, and how the run ended."""

from __future__ import annotations

import os
import random
import resource
import sys
import time
import types
import warnings
from typing import Any, Dict, List, Optional, Tuple

from . import budget, companions, loops, outcome, quiet, sites, wire


def run(job: Dict[str, Any], text: str) -> None:
    """Run the program of `job` with `text` as its source in the current folder, writing the whole trace."""
    root = os.getcwd()
    filename = os.path.join(root, os.path.basename(job["path"]))
    budget.start(job)
    loops.reset()
    loops.install()
    sites.configure(root, filename)
    sites.add_source(filename, text)
    frameworks = frameworks_of(text)
    begun = time.monotonic()
    wire.emit("begin", versions=_versions(frameworks), seed=job["seed"], framework=_primary(frameworks, text))
    quiet.install()
    _catch_warnings()
    companions.install(root)
    _seed(int(job["seed"]), frameworks)
    hooks, unavailable = _install_probes(frameworks, text, job)
    ended, detail = unavailable or _execute(text, filename, job, hooks)
    for hook in hooks:
        try:
            hook.finish()
        except Exception as error:
            wire.emit("note", text="the probe could not finish: %s: %s" % (type(error).__name__, error))
    wire.emit("end", outcome=ended, detail=wire.shorten(detail), seconds=time.monotonic() - begun,
              peak_memory=_peak_memory(), **_step_seconds(hooks))
    sys.stdout.flush()
    sys.stderr.flush()


def frameworks_of(text: str) -> List[str]:
    """The frameworks that the text imports, by its words alone (a text that does not parse has them too)."""
    found = []
    for line in text.splitlines():
        words = line.replace(",", " ").replace(".", " ").split()
        if words[:1] == ["import"] or words[:1] == ["from"]:
            named = words[1:2] if words[0] == "from" else words[1:]
            found += [name for name in named if name in ("torch", "keras", "tensorflow", "torchvision")]
    ordered = ("torch", "keras", "tensorflow")
    found = ["torch" if name == "torchvision" else name for name in found]
    return [name for name in ordered if name in found]


def _primary(frameworks: List[str], text: str) -> str:
    """The framework that the program trains with, where it imports several."""
    trains_in_torch = any(word in text for word in ("torch.nn", "nn.Module", "torch.optim", "optim.", "torch.autograd"))
    if "torch" in frameworks and (trains_in_torch or len(frameworks) == 1):
        return "torch"
    others = [name for name in frameworks if name != "torch"]
    return others[0] if others else "none"


def _install_probes(frameworks: List[str], text: str, job: Dict[str, Any]) -> Tuple[List[Any], Optional[Tuple[str, str]]]:
    primary = _primary(frameworks, text)
    hooks: List[Any] = []
    try:
        if primary == "torch":
            import torch  # noqa: F401

            from . import torch_probe

            hooks.append(torch_probe.install(wire, job))
        elif primary in ("keras", "tensorflow"):
            __import__("tensorflow" if primary == "tensorflow" else "keras")
            from . import keras_probe

            hooks.append(keras_probe.install(wire, job))
    except ImportError as error:
        if error.name and error.name.startswith("dnnfix_probe"):
            wire.emit("note", text="no probe for %s" % primary)
            return hooks, None
        return hooks, (outcome.ENVIRONMENT, outcome.missing_module(error))
    except Exception as error:
        return hooks, (outcome.ENVIRONMENT, "%s cannot be imported or observed: %s: %s" % (primary, type(error).__name__, error))
    return hooks, None


def _execute(text: str, filename: str, job: Dict[str, Any], hooks: List[Any]) -> Tuple[str, str]:
    """Run the text as `__main__`; gives how it ended."""
    try:
        code = loops.compile_source(text, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return outcome.report(error, hooks)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=filename, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv = [filename] + [str(argument) for argument in job.get("arguments", ())]
    sys.path.insert(0, os.path.dirname(filename))
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        return outcome.report(error, hooks)
    return outcome.FINISHED, ""


def _seed(seed: int, frameworks: List[str]) -> None:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)  # type: ignore[attr-defined]
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)  # type: ignore[attr-defined]
    for name in ("keras", "tensorflow"):
        if name in frameworks and name in sys.modules:
            module: Any = sys.modules[name]
            try:
                getattr(module, "keras", module).utils.set_random_seed(seed % 2**32)
            except AttributeError:
                pass


def _catch_warnings() -> None:
    """Report every category of warning once per site, and keep the warnings' own printing out of the way."""
    seen = set()

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        site = sites.line_site(filename, lineno) or sites.caller_site()
        key = (category.__name__, str(site), "" if site else str(message)[:80])
        if key not in seen and len(seen) < 200:
            seen.add(key)
            wire.emit("warning", category=category.__name__, message=wire.shorten(str(message), 1000), site=site)

    warnings.showwarning = show
    warnings.simplefilter("always")


def _versions(frameworks: List[str]) -> Dict[str, str]:
    versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
    try:
        from importlib.metadata import PackageNotFoundError, version
    except ImportError:
        return versions
    for name in frameworks + ["numpy"]:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _step_seconds(hooks: List[Any]) -> Dict[str, float]:
    for hook in hooks:
        seconds = getattr(hook, "step_seconds", None)
        if isinstance(seconds, float):
            return {"step_seconds": seconds}
    return {}
