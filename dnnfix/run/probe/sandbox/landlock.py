"""Restricts a process to some files and folders with Landlock, which needs no namespaces and no privileges."""

from __future__ import annotations

import os
import stat
import struct
from typing import Iterable, Tuple

from . import linux

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_TRUNCATE, _DEVICE = 1 << 14, 1 << 15
_CHANGE_FOLDER = sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12, 13))


def version() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    try:
        return linux.syscall(_CREATE, None, 0, 1)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> Tuple[bool, bool]:
    """Leave this process and its children only these files and folders; returns (files restricted, signals restricted).

    `readable` may be read and executed, `writable` everything; `devices` are single files to read and write. Paths
    that do not exist are left out. Where the kernel has no Landlock nothing happens and (False, False) is given.
    """
    known = version()
    if known < 1:
        return False, False
    handled = (1 << 13) - 1
    handled |= (1 << 13 if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0) | (_DEVICE if known >= 5 else 0)
    scoped = 3 if known >= 6 else 0
    attributes = struct.pack("QQQ", handled, 0, scoped)
    size = 24 if known >= 6 else 8
    ruleset = linux.syscall(_CREATE, attributes, size, 0)
    try:
        for path in readable:
            _allow(ruleset, path, handled & (_EXECUTE | _READ | _LIST))
        for path in writable:
            _allow(ruleset, path, handled & (_EXECUTE | _READ | _LIST | _WRITE | _TRUNCATE | _CHANGE_FOLDER))
        for path in devices:
            _allow(ruleset, path, handled & (_READ | _WRITE | _TRUNCATE | _DEVICE))
        linux.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return True, bool(scoped)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
        linux.syscall(_ADD, ruleset, 1, struct.pack("=Qi", access, descriptor), 0)
    finally:
        os.close(descriptor)
