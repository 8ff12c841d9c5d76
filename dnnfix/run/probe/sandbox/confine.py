"""Confinement that each process of a trial applies to itself: resource limits, privileges, system calls, Landlock."""

from __future__ import annotations

import glob
import os
import resource
import sys
from typing import Any, Dict, List

from . import isolate, landlock, linux, seccomp

FILES = 1024
"""Open files that a trial may have."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/sys/devices/system", "/etc/ld.so.cache",
          "/etc/alternatives", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf")  # fmt: skip
"""What a trial may read of the system where nothing but Landlock holds it."""
PROCESSES = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/version",
             "/proc/uptime", "/proc/filesystems", "/proc/sys/kernel/osrelease", "/proc/sys/vm/overcommit_memory",
             "/proc/sys/kernel/random")  # fmt: skip
"""What of /proc it may read then: of processes only its own entry."""


def limit(budget: Dict[str, Any], settings: Dict[str, Any]) -> None:
    """Resource limits for this process and its children, as the budget of the job says."""
    seconds = int(float(budget.get("seconds", 20)) * 4) + 60
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, seconds)
    _lower(resource.RLIMIT_FSIZE, int(budget["disk"]))
    _lower(resource.RLIMIT_NOFILE, FILES)
    if not settings.get("gpu") and hasattr(resource, "RLIMIT_DATA"):
        _lower(resource.RLIMIT_DATA, _data() + int(budget["memory"]))
    processes = int(budget["processes"])
    if settings.get("nested") and linux.kernel() >= (5, 14):
        _lower(resource.RLIMIT_NPROC, processes)
    else:
        _lower(resource.RLIMIT_NPROC, processes + _tasks_of_user())


def lock(settings: Dict[str, Any], writable: List[str], readable: List[str]) -> None:
    """Give up every privilege, and on the *limits* tier also files and network; raises OSError where that fails."""
    if settings["tier"] == "none" or not sys.platform.startswith("linux"):
        return
    linux.prctl(linux.NO_NEW_PRIVILEGES, 1)
    linux.drop_capabilities()
    linux.prctl(linux.DUMPABLE, 1)
    if settings["tier"] == "limits":
        system = list(SYSTEM) + list(PROCESSES) + list(settings.get("readable", ())) + readable
        devices = list(DEVICES)
        if settings.get("gpu"):
            devices += glob.glob("/dev/nvidia*")
            writable = writable + ["/proc/self/task"]  # the driver names its threads
            system += [
                "/proc/driver/nvidia",
                "/proc/devices",
                "/proc/modules",
                "/sys/module",
                "/sys/bus/pci",
                "/sys/devices",
            ]
        _files, signals = landlock.restrict(system, writable, devices)
        seccomp.restrict(network=True, signals=not signals)
    elif seccomp.supported() is None:
        # Without processes of its own the trial has its supervisor in reach.
        seccomp.restrict(network=False, signals=not isolate.own_processes(settings))


def _lower(which: int, value: int) -> None:
    """Set both limits, never above the present hard one."""
    _soft, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(which, (value, value))
    except (ValueError, OSError):
        return


def _data() -> int:
    """Bytes of private writable memory that this process has mapped; a third of a gigabyte where that is unknown."""
    try:
        with open("/proc/self/status") as stream:
            for line in stream:
                if line.startswith("VmData:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 1 << 28


def _tasks_of_user() -> int:
    """Threads that this user runs on the machine: the process limit counts them all."""
    count = 0
    user = os.getuid()
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return 1024
    for name in names:
        try:
            if os.stat("/proc/" + name).st_uid == user:
                count += len(os.listdir("/proc/%s/task" % name))
        except OSError:
            continue
    return count
