"""Tests, inside the sandbox, that a tier refuses what it promises to refuse; that it starts proves nothing."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, Dict

from . import confine, isolate, landlock, seccomp


def report(tier: str) -> None:
    """Print what holds on this machine as one JSON object: `{"network": null, "files": reason, ...}`, null for held."""
    held: Dict[str, Any] = {"network": None, "files": None, "namespaces": None}
    if tier == "limits":
        held["network"] = seccomp.supported()
        if landlock.version() < 1:
            held["files"] = "the kernel has no Landlock"
        if held["network"] is None:
            confine.lock({"tier": "limits", "readable": sys.path[:1]}, [], [])
            held["network"] = _network()
            held["files"] = held["files"] or _files()
    else:
        held["namespaces"] = isolate.works({})
        held["network"] = _network()
    sys.stdout.write(json.dumps(held) + "\n")


def _network() -> Any:
    """`None` where no address outside can be reached."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside:
            outside.connect(("192.0.2.1", 9))
    except OSError:
        return None
    return "a network is in reach"


def _files() -> Any:
    """`None` where a folder that was not granted cannot be read."""
    try:
        os.listdir("/home")
    except OSError:
        return None
    return "folders outside of the trial can be read"
