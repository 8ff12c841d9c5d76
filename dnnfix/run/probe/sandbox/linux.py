"""Linux kernel calls that Python does not offer: namespaces, mounts, capabilities, process settings."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import struct
from typing import Any, Optional, Tuple

NEW_USER = 0x10000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000
NEW_IPC = 0x08000000
NEW_MOUNT = 0x00020000

MOUNT_READ_ONLY = 1
MOUNT_NO_SUID = 2
MOUNT_NO_DEVICES = 4
MOUNT_NO_EXEC = 8
MOUNT_REMOUNT = 32
MOUNT_BIND = 4096
MOUNT_RECURSIVE = 16384
MOUNT_PRIVATE = 1 << 18

PARENT_DEATH_SIGNAL = 1
DUMPABLE = 4
SECCOMP = 22
DROP_BOUND = 24
CHILD_SUBREAPER = 36
NO_NEW_PRIVILEGES = 38

_libc: Any = None


def libc() -> Any:
    """The C library of this process."""
    global _libc
    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
    return _libc


def checked(result: int, what: str) -> int:
    """The result of a call of the C library; raises OSError where it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def prctl(option: int, value: Any) -> None:
    """Change a setting of this process; raises OSError."""
    checked(libc().prctl(option, value, 0, 0, 0), "prctl %d" % option)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones; raises OSError."""
    checked(libc().unshare(flags), "unshare")


def mount(source: Optional[str], target: str, kind: Optional[str], flags: int, data: Optional[str] = None) -> None:
    """Mount `source` on `target`; raises OSError."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    text = None if data is None else data.encode()
    checked(libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), text), "mount %s" % target)


def syscall(number: int, *arguments: Any) -> int:
    """Any system call by its number; raises OSError."""
    return checked(libc().syscall(ctypes.c_long(number), *arguments), "system call %d" % number)


def drop_capabilities() -> None:
    """Give up all capabilities, for good: also what a later `exec` could regain."""
    for capability in range(64):
        if libc().prctl(DROP_BOUND, capability, 0, 0, 0) != 0:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    checked(libc().capset(header, data), "capset")


def raise_loopback() -> None:
    """Bring up the loopback interface of a fresh network namespace, so that a program can talk to itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = 1 | 64
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", flags))


def kernel() -> Tuple[int, int]:
    """The kernel's version, major and minor."""
    numbers = platform.release().split("-")[0].split(".")
    try:
        return int(numbers[0]), int(numbers[1])
    except (IndexError, ValueError):
        return 0, 0
