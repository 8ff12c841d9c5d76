"""Runs one trial in a process of its own and watches it: limits on time, memory, processes and disk, and how it ends.

The supervisor is a fork of the zygote and runs no user code. The trial is a fork of the supervisor; on the tier
*bubblewrap* it is the first process of its own namespaces, so that killing it ends everything that it started.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional

from .. import wire
from ..program import execution
from ..sandbox import confine, isolate, linux
from . import other_interpreter, scratch, usage

START_SECONDS = 90.0
"""How long a trial may take to import its frameworks before its own time begins to count."""
LOOK_EVERY = 0.05
"""Seconds between two looks at what the trial uses."""
ANSWER_SECONDS = 1.0
"""How long a trial on a busy machine may take to come to the signal that asks it where it is."""
PRINT_SECONDS = 0.5
"""How long it may take, once it has come to the signal, to print the answer: nothing outside shows when that is done."""
WHERE = signal.SIGUSR2
"""The signal on which a trial prints where it is."""


def supervise(channel: socket.socket, descriptors: List[int], settings: Dict[str, Any]) -> None:
    """Run the job and report on `channel`; `descriptors` are trace, output, job and bundle."""
    trace, output, job_file, bundle = descriptors
    parent = os.getppid()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    job = _load(job_file)
    settings = dict(settings)
    if settings["tier"] != "bubblewrap":
        settings["scratch"] = os.path.join(settings["scratch"], "trial-%d" % os.getpid())
        os.mkdir(settings["scratch"], 0o700)
    if settings.get("nested"):
        linux.prctl(linux.DUMPABLE, 1)
        isolate.enter(settings)
    if sys.platform.startswith("linux"):
        linux.prctl(linux.PARENT_DEATH_SIGNAL, signal.SIGTERM)
        linux.prctl(linux.CHILD_SUBREAPER, 1)
        if os.getppid() != parent:
            os._exit(1)
    ready, announce = os.pipe()
    begun = time.monotonic()
    process = os.fork()
    if process == 0:
        keep = [trace, output, bundle, announce]
        _trial(job, keep, settings)
    for descriptor in (trace, output, bundle, announce):
        os.close(descriptor)
    if settings.get("nested"):
        linux.prctl(linux.DUMPABLE, 0)
    report = _stand_over(process, channel, ready, job["budget"], settings)
    report["seconds"] = time.monotonic() - begun
    if not isolate.own_processes(settings):
        usage.kill_below(os.getpid())
    with contextlib.suppress(OSError):
        channel.sendall(json.dumps(report).encode())
    channel.close()
    if settings["tier"] != "bubblewrap":  # nobody waits for that, which takes long where there are many files
        shutil.rmtree(settings["scratch"], ignore_errors=True)


def _load(descriptor: int) -> Dict[str, Any]:
    size = os.fstat(descriptor).st_size
    job: Dict[str, Any] = json.loads(os.pread(descriptor, size, 0))
    os.close(descriptor)
    return job


def _stand_over(
    process: int, channel: socket.socket, ready: int, budget: Dict[str, Any], settings: Dict[str, Any]
) -> Dict[str, Any]:
    """Wait for the trial's end and bring it about where it goes beyond its budget; gives how it ended."""
    folder = settings["scratch"] if settings["tier"] == "limits" else None
    use = usage.Watch(process, budget, folder)
    os.set_blocking(ready, False)
    running = False
    deadline = time.monotonic() + START_SECONDS
    reason: Optional[str] = None
    while True:
        woken = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM}, LOOK_EVERY)
        done, status, used = os.wait4(process, os.WNOHANG)
        if done:
            break
        if not running and _announced(ready):
            running = True
            deadline = time.monotonic() + float(budget["seconds"])
        reason = reason or use.excess()
        if time.monotonic() > deadline:
            reason = reason or "seconds"
        if (woken is not None and woken.si_signo == signal.SIGTERM) or _left(channel):
            reason = reason or "cancelled"
        if reason:
            if reason == "seconds" and running:
                _ask_where(process)
            _end(process, settings)
            _done, status, used = os.wait4(process, 0)
            break
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    return {"killed_for": reason, "signal": killed, "code": code, "peak": max(use.peak, used.ru_maxrss * 1024)}


def _ask_where(process: int) -> None:
    """Have the trial print the line that it is at; a program that refuses to is waited for a moment only."""
    os.kill(process, WHERE)
    until = time.monotonic() + ANSWER_SECONDS
    while usage.pending(process, WHERE) and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
    time.sleep(PRINT_SECONDS)


def _end(process: int, settings: Dict[str, Any]) -> None:
    if not isolate.own_processes(settings):
        try:
            os.killpg(process, signal.SIGKILL)
        except OSError:
            pass
    os.kill(process, signal.SIGKILL)


def _announced(ready: int) -> bool:
    try:
        os.read(ready, 1)
    except BlockingIOError:
        return False
    return True


def _left(channel: socket.socket) -> bool:
    """Whether the other end, which sends nothing, has gone."""
    try:
        return channel.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _trial(job: Dict[str, Any], keep: List[int], settings: Dict[str, Any]) -> None:
    """The trial itself; never returns."""
    code = 70
    try:
        code = _prepare_and_run(job, keep, settings)
    except BaseException as error:
        wire.emit(
            "end", outcome="environment", detail="the trial could not start: %s: %s" % (type(error).__name__, error)
        )
    finally:
        os._exit(code)


def _prepare_and_run(job: Dict[str, Any], keep: List[int], settings: Dict[str, Any]) -> int:
    trace, output, bundle, announce = keep
    wire.attach(trace)
    os.setsid()
    _first_to_go()
    _standard_streams(output)
    if settings.get("nested"):
        isolate.hide(settings, int(job["budget"]["disk"]))
    folder = scratch.unpack(settings["scratch"], job, bundle)
    top = os.path.join(settings["scratch"], "work")
    _close_others({trace, announce})
    os.chdir(folder)
    _environment(settings["scratch"])
    confine.limit(job["budget"], settings)
    confine.lock(settings, [settings["scratch"]], [target for _path, target in job.get("links", ())])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    faulthandler.register(WHERE, file=2, all_threads=False)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    if job.get("recorder"):
        other_interpreter.run(job, settings["scratch"], trace, announce)
    return execution.run(job, scratch.source_of(job), top, trace, announce)


def _first_to_go() -> None:
    """Where the machine runs out of memory, it is the trial that the kernel ends."""
    try:
        with open("/proc/self/oom_score_adj", "w") as stream:
            stream.write("1000")
    except OSError:
        return


def _standard_streams(output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # New objects: those of the zygote think that they write to a file in which one can seek.
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(number, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)


def _close_others(keep: "set[int]") -> None:
    """Close every descriptor beyond the standard three that is not in `keep`: the rest are the zygote's."""
    low = 3
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, 4096)


def _environment(base: str) -> None:
    home, temporary = os.path.join(base, "home"), os.path.join(base, "tmp")
    os.environ.update(HOME=home, TMPDIR=temporary, XDG_CACHE_HOME=os.path.join(home, ".cache"), MPLCONFIGDIR=home)
    tempfile.tempdir = None
