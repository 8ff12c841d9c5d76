"""A seccomp filter that refuses the system calls no trial needs or that reach beyond the trial.

The filter refuses a list and lets the rest pass, because frameworks use most of the kernel. It keeps a trial from
mounting, entering namespaces, tracing, loading code into the kernel and reading key rings; on the *limits* tier, which
has no namespaces, also from the network, from the sockets of other programs and from changing files it does not own.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Callable, Dict, List, Optional, Tuple

from . import linux

_NUMBERS: Dict[str, Tuple[int, int]] = {
    # name: (x86-64, aarch64); -1 where the machine has no such call
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "socket": (41, 198), "connect": (42, 203),
    "sendto": (44, 206), "clone": (56, 220), "kill": (62, 129), "semget": (64, 190), "msgget": (68, 186),
    "chmod": (90, -1), "fchmod": (91, 52), "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1),
    "ptrace": (101, 117), "syslog": (103, 116), "rt_sigqueueinfo": (129, 138), "utime": (132, -1),
    "setpriority": (141, 140), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "pivot_root": (155, 41),
    "chroot": (161, 51), "acct": (163, 89), "settimeofday": (164, 170), "mount": (165, 40), "umount2": (166, 39),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "init_module": (175, 105),
    "delete_module": (176, 106), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "tkill": (200, 130),
    "sched_setaffinity": (203, 122), "tgkill": (234, 131), "utimes": (235, -1), "mq_open": (240, 180),
    "kexec_load": (246, 104), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "ioprio_set": (251, 30), "fchownat": (260, 54), "futimesat": (261, -1), "fchmodat": (268, 53),
    "unshare": (272, 97), "utimensat": (280, 88), "rt_tgsigqueueinfo": (297, 240), "perf_event_open": (298, 241),
    "fanotify_init": (300, 262), "prlimit64": (302, 261), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "setns": (308, 268), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "finit_module": (313, 273), "sched_setattr": (314, 274),
    "kexec_file_load": (320, 294), "bpf": (321, 280), "userfaultfd": (323, 282), "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "clone3": (435, 435), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "mount_setattr": (442, 442), "fchmodat2": (452, 452), "setxattrat": (463, 463),
    "removexattrat": (466, 466),
}  # fmt: skip

_BEYOND = (
    "ptrace", "syslog", "pivot_root", "chroot", "acct", "settimeofday", "mount", "umount2", "swapon", "swapoff", "reboot",
    "init_module", "delete_module", "kexec_load", "add_key", "request_key", "keyctl", "unshare", "perf_event_open",
    "fanotify_init", "name_to_handle_at", "open_by_handle_at", "setns", "process_vm_readv", "process_vm_writev", "kcmp",
    "finit_module", "kexec_file_load", "bpf", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pidfd_getfd", "process_madvise",
    "mount_setattr",
)  # fmt: skip
_METADATA = (
    "chmod", "fchmod", "chown", "fchown", "lchown", "utime", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr", "utimes", "fchownat", "futimesat", "fchmodat", "utimensat", "fchmodat2", "setxattrat",
    "removexattrat",
)  # fmt: skip
_SHARED = ("shmget", "shmat", "shmctl", "semget", "msgget", "mq_open", "ioprio_set")
_OTHERS = ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")
_SIGNALS = ("rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "tkill")

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_NAMESPACES = 0x7E020080
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06

Instruction = Tuple[int, int, int, int]


def supported() -> Optional[str]:
    """`None` where a filter can be set, else why not."""
    if platform.machine() not in _MACHINES:
        return "no system-call filter is known for the processor %s" % platform.machine()
    if linux.libc().prctl(21, 0, 0, 0, 0) < 0:
        return "the kernel has no seccomp"
    return None


def restrict(network: bool, signals: bool) -> None:
    """Set the filter for this process and all that it starts; raises OSError.

    `network` refuses the network and everything that is shared with other programs of the user; `signals` refuses
    signals to others, for kernels where nothing else does. No-new-privileges must be set already.
    """
    program = _program(network, signals)
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    pointer = ctypes.create_string_buffer(header, len(header))
    linux.checked(linux.libc().prctl(linux.SECCOMP, 2, pointer, 0, 0), "seccomp")


def _program(network: bool, signals: bool) -> List[Instruction]:
    column, audit = _MACHINES[platform.machine()]
    rules = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _refuse(errno.EPERM)),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, 0x40000000),
        (_RETURN, 0, 0, _refuse(errno.EPERM)),
    ]

    def on(name: str, *then: Instruction) -> None:
        """When the call is `name`: do `then`, which falls through to the next rule with the number loaded again."""
        number = _NUMBERS[name][column]
        if number >= 0:
            body = list(then) if then[0][0] == _RETURN else list(then) + [(_LOAD, 0, 0, 0)]
            rules.append((_EQUAL, 0, len(body), number))
            rules.extend(body)

    for name in _BEYOND:
        on(name, (_RETURN, 0, 0, _refuse(errno.EPERM)))
    on("clone3", (_RETURN, 0, 0, _refuse(errno.ENOSYS)))
    on("clone", _argument(0), (_ANY_BIT, 0, 1, _NAMESPACES), (_RETURN, 0, 0, _refuse(errno.EPERM)))
    if network:
        _refuse_shared(on)
    if signals:
        for name in _SIGNALS:
            on(name, (_RETURN, 0, 0, _refuse(errno.EPERM)))
        for name in ("kill", "tgkill"):
            on(name, _argument(0), (_EQUAL, 1, 0, os.getpid()), (_RETURN, 0, 0, _refuse(errno.EPERM)))
    return rules + [(_RETURN, 0, 0, _ALLOW)]


def _refuse_shared(rule: Callable[..., None]) -> None:
    """Rules for what a namespace would hide: networks, other programs' sockets and memory, the files' metadata."""
    unreachable = (_RETURN, 0, 0, _refuse(errno.ENETUNREACH))
    rule("socket", _argument(0), (_EQUAL, 1, 0, 1), unreachable, _argument(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 1, 2),
         unreachable)  # fmt: skip
    rule("connect", unreachable)
    rule("sendto", _argument(4), (_EQUAL, 1, 0, 0), unreachable)
    for name in _SHARED:
        rule(name, (_RETURN, 0, 0, _refuse(errno.EPERM)))
    for name in _METADATA:
        # Answered with success and not done: programs that copy files set their modes and times in passing.
        rule(name, (_RETURN, 0, 0, _refuse(0)))
    for name in _OTHERS:
        rule(name, _argument(0), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _refuse(errno.EPERM)))
    rule("setpriority", _argument(1), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _refuse(errno.EPERM)))
    rule("prlimit64", _argument(0), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _refuse(errno.EPERM)))


def _argument(index: int) -> Instruction:
    """Loads the lower half of an argument of the call (both machines are little-endian)."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _refuse(number: int) -> int:
    return _ERRNO | number
