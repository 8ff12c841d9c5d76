"""The warm process: imports the framework once, trains something tiny, and forks a supervisor for every trial."""

from __future__ import annotations

import array
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
from typing import Any, Dict, List, Set, Tuple

from ..sandbox import isolate, linux
from . import gpu, supervisor, warm

DESCRIPTORS = 5
"""Descriptors that come with every request: report channel, trace, output, job, bundle."""


def serve(control: socket.socket) -> None:
    """Answer requests on `control` until its other end is closed; the first message is the settings."""
    message = control.recv(1 << 16)
    if not message:
        return
    settings: Dict[str, Any] = json.loads(message)
    children: Set[int] = set()
    try:
        _answer(control, settings, children)
    except BrokenPipeError:
        pass  # the runner was killed: what it would have cleaned up is cleaned up here
    finally:
        _finish(children)
        if settings["tier"] != "bubblewrap":
            shutil.rmtree(settings["scratch"], ignore_errors=True)


def _answer(control: socket.socket, settings: Dict[str, Any], children: Set[int]) -> None:
    _become(settings)
    os.environ.update(settings.get("environment", {}))
    ready = warm.up(settings.get("framework"), settings.get("modules", ()), trains=not settings["gpu"])
    if settings["tier"] == "bubblewrap":
        ready["nested"] = isolate.choose(settings)
        # The zygote shows nothing of itself in /proc, not even which descriptors it has.
        linux.prctl(linux.DUMPABLE, 0)
    else:
        settings["nested"] = False
    ready["threads"] = _threads()
    ready["gpu"] = gpu.started()
    gc.collect()
    gc.freeze()
    control.sendall(json.dumps(ready).encode())
    while True:
        readable, _, _ = select.select([control], [], [], 1.0)
        _reap(children)
        if not readable:
            continue
        message, descriptors = _receive(control)
        if not message:
            break
        if len(descriptors) != DESCRIPTORS or (settings["forks"] and _threads() != 1):
            _close(descriptors)
            continue
        children.add(_start(control, descriptors, settings))


def _become(settings: Dict[str, Any]) -> None:
    """Leave the superuser, where the sandbox was started by it: the trials must not be his."""
    user = settings.get("user")
    if user and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        # Who changes his user number loses the right to his own entries in /proc, where namespaces are set up.
        linux.prctl(linux.DUMPABLE, 1)


def _start(control: socket.socket, descriptors: List[int], settings: Dict[str, Any]) -> int:
    process = os.fork()
    if process == 0:
        try:
            control.close()
            channel = socket.socket(fileno=descriptors[0])
            supervisor.supervise(channel, descriptors[1:], settings)
        except BaseException as error:
            sys.stderr.write("the supervisor failed: %s: %s\n" % (type(error).__name__, error))
            sys.stderr.flush()
        finally:
            os._exit(0)
    _close(descriptors)
    return process


def _receive(control: socket.socket) -> Tuple[bytes, List[int]]:
    """One message and the descriptors that came with it."""
    numbers = array.array("i")
    message, ancillary, _flags, _address = control.recvmsg(4096, socket.CMSG_SPACE(DESCRIPTORS * numbers.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return message, list(numbers)


def _close(descriptors: List[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _reap(children: Set[int]) -> None:
    for child in list(children):
        if os.waitpid(child, os.WNOHANG)[0]:
            children.discard(child)


def _finish(children: Set[int]) -> None:
    """End the supervisors that still run; each takes its trial along."""
    for child in children:
        os.kill(child, signal.SIGTERM)
    for child in children:
        os.waitpid(child, 0)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
