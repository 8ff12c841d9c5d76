"""Puts a trial into Linux namespaces of its own, inside the sandbox: processes, mounts, network, shared memory.

The sandbox keeps all trials away from the machine; this keeps them away from each other and from the zygote. It costs a
few milliseconds and needs no privileges.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, Optional

from . import linux

INSIDE = 1000
"""User and group number that a trial sees as its own."""


def enter(settings: Dict[str, Any]) -> None:
    """Called in the supervisor: the next process that it forks is the first one of the new namespaces."""
    user, group = os.geteuid(), os.getegid()
    processes = linux.NEW_PID if own_processes(settings) else 0
    linux.unshare(linux.NEW_USER | processes | linux.NEW_IPC | linux.NEW_NET)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", "%d %d 1" % (INSIDE, user))
    _write("/proc/self/gid_map", "%d %d 1" % (INSIDE, group))
    try:
        linux.raise_loopback()
    except OSError:
        return


def own_processes(settings: Dict[str, Any]) -> bool:
    """Whether a trial is the first process of a namespace of its own, with which all that it starts ends."""
    return bool(settings.get("nested")) and bool(settings.get("processes", True))


def hide(settings: Dict[str, Any], disk: int) -> None:
    """Called in the trial: private mounts, a scratch folder in memory of `disk` bytes, and no way to undo it."""
    scratch = settings["scratch"]
    linux.unshare(linux.NEW_MOUNT)
    linux.mount(None, "/", None, linux.MOUNT_RECURSIVE | linux.MOUNT_PRIVATE)
    options = "size=%d,nr_inodes=50000,mode=0755" % disk
    linux.mount("tmpfs", scratch, "tmpfs", linux.MOUNT_NO_SUID | linux.MOUNT_NO_DEVICES, options)
    for name, target in (("tmp", "/tmp"), ("shm", "/dev/shm")):
        os.mkdir(os.path.join(scratch, name))
        if name != "tmp" or settings.get("private_tmp"):
            linux.mount(os.path.join(scratch, name), target, None, linux.MOUNT_BIND)
        else:
            # The interpreter lies below /tmp and must stay in sight; then /tmp is no place that trials may share.
            held = linux.MOUNT_NO_SUID | linux.MOUNT_NO_DEVICES
            linux.mount(None, target, None, linux.MOUNT_REMOUNT | linux.MOUNT_BIND | linux.MOUNT_READ_ONLY | held)
    if not own_processes(settings):
        return
    try:
        linux.mount("proc", "/proc", "proc", linux.MOUNT_NO_SUID | linux.MOUNT_NO_DEVICES | linux.MOUNT_NO_EXEC)
    except OSError:
        # Where parts of /proc are covered the kernel refuses a fresh one. The old one shows the numbers of other
        # processes, but the kernel lets nobody of another user namespace look into them.
        if settings.get("gpu"):  # its driver looks there for its own threads, by the numbers that it knows of them
            raise


def choose(settings: Dict[str, Any]) -> Optional[str]:
    """Settle how far trials of this sandbox are kept apart; `None`, or why they can have no namespaces of their own.

    One on a GPU shares the numbers of processes with the sandbox where it would not find its own in /proc else.
    """
    settings["processes"] = True
    reason = works(settings)
    if reason is not None and settings.get("gpu"):
        settings["processes"] = False
        reason = works(settings)
    settings["nested"] = reason is None
    return reason


def works(settings: Dict[str, Any]) -> Optional[str]:
    """`None` where a process of this sandbox can have namespaces of its own, else why not."""
    tried = dict(settings, nested=True, scratch=tempfile.gettempdir())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        message = ""
        try:
            enter(tried)
            if os.fork() == 0:
                try:
                    hide(tried, 1 << 20)
                except OSError as error:
                    os.write(writer, str(error).encode())
                os._exit(0)
            os.wait()
        except OSError as error:
            message = str(error)
        os.write(writer, message.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read().decode("utf-8", "replace")
    os.waitpid(child, 0)
    return answer or None


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
