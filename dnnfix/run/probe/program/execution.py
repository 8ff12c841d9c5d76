"""Runs the user's program from its first line to the closed trace: seeds, guarded loops, framework probes, outcome."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import os
import resource
import sys
import threading
import time
import tokenize
import types
from typing import Any, Dict, List, Optional, Tuple

from .. import budget, sites, wire
from ..crash import outcome
from ..edits import returned, visits
from ..process import gpu
from . import (
    clocks,
    frameworks,
    handlers,
    lines,
    loops,
    modules_beside,
    ranks,
    rehearsal,
    scaffold,
    seeds,
    unattended,
    unwatched,
    writes,
)

EXIT_CRASHED = 1
"""Exit code of the process after a program that did not finish."""


def run(job: Dict[str, Any], source: bytes, top: str, trace: int, announce: Optional[int]) -> int:
    """Run the program of `job` in the current folder, and write the whole trace; returns the exit code.

    `top` is the folder that all user code lies in, `trace` the descriptor of the trace. A byte on `announce` says that
    the frameworks are imported and the program's own time begins.
    """
    filename = os.path.join(os.getcwd(), os.path.basename(job["path"]))
    wire.attach(trace, os.getcwd(), top)
    budget.start(job)
    loops.reset()
    loops.install()
    rehearsal.install()
    sites.configure(top, filename)
    text = decode(source)
    sites.add_source(filename, text or "")
    handlers.configure(job.get("scaffold") or {})
    lines.configure(job)
    read = "\n".join([scaffold.text_of(job), text or ""])
    named = frameworks.named_in(read) or frameworks.named_below(os.getcwd())
    primary = frameworks.primary(named, read)
    wire.emit("begin", versions=frameworks.versions(named), seed=job["seed"], framework=primary)
    unattended.install()
    unattended.catch_warnings()
    modules_beside.install(top, filename, job.get("scaffold") or {})
    unwatched.install()
    atexit._clear()
    if primary == "torch":
        frameworks.load(primary)
        ranks.begin(text, job, os.getcwd(), top)
    hooks = frameworks.observe(primary, job)
    # Ranks that plant no seed of their own draw different numbers.
    seeds.plant(int(job["seed"]) + (ranks.rank or 0), named)
    if float(job.get("pace", 1.0)) != 1.0:
        clocks.run_fast(float(job["pace"]))
    if job.get("gpu"):
        gpu.bound(int(job["budget"]["memory"]))
    if announce is not None:
        if ranks.rank != 1:
            os.write(announce, b"r")
        os.close(announce)
    writes.watch()
    wanted = job.get("speculation")
    if wanted and not wanted.get("edits"):
        visits.watch(wanted.get("watched", ()))
        returned.watch()
    if job.get("start"):
        os.chdir(job["start"])
    budget.begin()
    begun = time.monotonic()
    ranks.watch(functools.partial(_end_at, begun, hooks))
    ended, detail = _execute(source, filename, job, hooks)
    ended, detail = _settle(ended, detail, hooks)
    for hook in hooks if ranks.rank == 1 else ():
        hook.tell_rank()
    ranks.over(ended, detail)
    finish(ended, detail, time.monotonic() - begun, hooks)
    return 0 if ended == outcome.FINISHED else EXIT_CRASHED


def _end_at(begun: float, hooks: List[Any], crash: Optional[Dict[str, Any]]) -> None:
    """End a run in which no rank can go on, from beside the program, which waits: the other rank ends with this one."""
    for hook in hooks:
        hook.flush()
    if crash is None:
        ended, detail = outcome.ENVIRONMENT, "the program has several processes, and nothing tells it which it is"
    else:
        ended, detail = outcome.CRASHED, wire.shorten("%s: %s" % (crash["kind"], crash["message"]))
        wire.emit("crash", **crash)
        wire.emit("probe", name="ranks", value={"parted": ranks.parted()})
    wire.emit("end", outcome=ended, detail=detail, seconds=time.monotonic() - begun)
    os._exit(EXIT_CRASHED)


def finish(ended: str, detail: str, seconds: float, hooks: List[Any]) -> None:
    """Let the probes write their final events, and close the trace."""
    for hook in hooks:
        try:
            hook.finish()
        except Exception as error:
            wire.emit("note", text="the probe could not finish: %s: %s" % (type(error).__name__, error))
    ranks.stop()
    lines.tell()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    took = [hook.step_seconds for hook in hooks if hook.step_seconds is not None]
    fields: Dict[str, Any] = {"step_seconds": took[0]} if took else {}
    detail = wire.shorten(detail)
    wire.emit("end", outcome=ended, detail=detail, seconds=seconds, peak_memory=peak, **fields)


def decode(source: bytes) -> Optional[str]:
    """The source of a program as Python decodes it; `None` where Python cannot."""
    try:
        encoding, _lines = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return None


def _execute(source: bytes, filename: str, job: Dict[str, Any], hooks: List[Any]) -> Tuple[str, str]:
    """Run the source as `__main__`, inside its scaffold where the job has one; gives how it ended."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=filename, __builtins__=__builtins__)
    try:
        parts = scaffold.compiled(source, filename, job.get("scaffold"), module.__dict__)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return outcome.report(error, hooks)
    sys.modules["__main__"] = module
    sys.argv = [filename] + [str(argument) for argument in job.get("arguments", ())]
    sys.argv += ranks.arguments(decode(source))
    try:
        with ranks.in_turn():
            for code in parts[:-2]:
                exec(code, module.__dict__)
        for code in parts[-2:]:
            exec(code, module.__dict__)
    except BaseException as error:
        return outcome.report(error, hooks)
    return outcome.FINISHED, ""


def _settle(ended: str, detail: str, hooks: List[Any]) -> Tuple[str, str]:
    """What an interpreter does when a program is over: wait for its threads, call what it registered, flush."""
    try:
        if ended == outcome.FINISHED:
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()
        atexit._run_exitfuncs()
    except BaseException as error:
        if ended == outcome.FINISHED:
            ended, detail = outcome.report(error, hooks)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the program may have put anything or nothing in its place
            stream.flush()
    return ended, detail
