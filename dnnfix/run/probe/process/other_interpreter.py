"""Replaces the process of a trial by the recorder in another interpreter, which may be too old for the probe.

All limits of the trial (resource limits, namespaces, the system call filter, Landlock) survive `exec`, and the
supervisor goes on watching the same process.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict

from .. import sites

RECORDER = os.path.join(os.path.dirname(sites.PROBE), "baseline")
"""The folder that is started in the other interpreter."""


def run(job: Dict[str, Any], scratch: str, trace: int, announce: int) -> None:
    """Become the recorder in the interpreter that the job names; raises `OSError` where that cannot be started."""
    order = {
        "path": job["path"],
        "program": job["program"],
        "seed": job["seed"],
        "arguments": job["arguments"],
        "depth": os.path.dirname(job["place"]).count(os.sep) + bool(os.path.dirname(job["place"])),
        "given": json.loads(job["recorder"]["given"] or "null"),
    }
    path = os.path.join(scratch, "tmp", "recorder.json")
    with open(path, "w", encoding="ascii") as stream:
        json.dump(order, stream)
    for descriptor in (trace, announce):
        os.set_inheritable(descriptor, True)
    interpreter = job["recorder"]["interpreter"]
    os.environ["PATH"] = os.path.dirname(interpreter) + os.pathsep + os.environ.get("PATH", os.defpath)
    os.execv(interpreter, [interpreter, RECORDER, path, str(trace), str(announce)])
