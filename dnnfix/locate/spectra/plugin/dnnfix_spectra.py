"""A plugin of pytest that writes which lines of a repository each test executes, and whether the test failed.

It runs in the user's interpreter, of whatever version from 3.6 on, and imports nothing of dnnfix. Lines that run while modules are
imported or fixtures are made belong to no test. `DNNFIX_SPECTRA` names the file that is written.
"""

import json
import os
import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, Generator, Optional, Set

import pytest

ROOT = os.path.realpath(os.environ.get("DNNFIX_SPECTRA_ROOT") or os.getcwd()) + os.sep

_lines: Dict[str, Set[int]] = {}
_tests: Dict[str, Any] = {}
_known: Dict[str, Optional[str]] = {}


def _path(name: str) -> Optional[str]:
    """The path of a code's file from the root of the repository; `None` for one that lies elsewhere."""
    if name not in _known:
        real = os.path.realpath(name)
        inside = real.startswith(ROOT) and "site-packages" not in real and not name.startswith("<")
        _known[name] = real[len(ROOT) :] if inside else None
    return _known[name]


def _call(frame: FrameType, event: str, argument: Any) -> Optional[Callable[..., Any]]:
    path = _path(frame.f_code.co_filename)
    if path is None:
        return None
    seen = _lines.setdefault(path, set())
    seen.add(frame.f_lineno)

    def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        seen.add(frame.f_lineno)
        return line

    return line


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, None]:
    """Run one test and keep the lines that it executes."""
    _lines.clear()
    before = sys.gettrace()
    threading.settrace(_call)
    sys.settrace(_call)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(None)


def pytest_runtest_logreport(report: Any) -> None:
    """Keep how the test ended, as pytest says it; tests that are skipped or expected to fail tell nothing."""
    if report.when == "call" and report.outcome != "skipped" and not hasattr(report, "wasxfail"):
        lines = {path: sorted(seen) for path, seen in _lines.items()}
        _tests[report.nodeid] = {"failed": report.outcome == "failed", "lines": lines}


def pytest_sessionfinish(session: Any) -> None:
    """Write what was kept."""
    with open(os.environ["DNNFIX_SPECTRA"], "w") as file:
        json.dump(_tests, file)
