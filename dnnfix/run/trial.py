"""The parent's side of one trial: reads its trace and output pipes, and decides how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from dnnfix.records import Crash, RunOutcome, Trace
from dnnfix.run.job import Job
from dnnfix.run.trace import TraceReader

GRACE = 10.0
"""Seconds beyond its budget after which a trial is given up that nobody ended."""
TRACE_BYTES = 128 * 2**20
"""Bytes that a trace may have; a program that writes more to it is ended."""
LINE_BYTES = 8 * 2**20
_CHUNK = 1 << 18

_AT = re.compile(r'File "(?:/scratch|[^"]*/trial-\d+)/work/[^"/]+/([^"]+)", line (\d+)')
_STACK = "Stack (most recent call first):"
_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
_BEYOND = {
    "memory": (RunOutcome.OUT_OF_MEMORY, "more memory than the budget of {memory} bytes"),
    "processes": (RunOutcome.KILLED, "more than {processes} processes"),
    "disk": (RunOutcome.KILLED, "more than {disk} bytes on disk"),
    "cancelled": (RunOutcome.KILLED, "ended by dnnfix"),
    "trace": (RunOutcome.KILLED, "more than the trace can hold"),
}


@dataclass
class Printed:
    """Keeps the beginning and the end of a program's output; the middle is counted and dropped."""

    most: int
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: deque[bytes] = field(default_factory=deque)
    _kept: int = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = max(0, self.most // 2 - len(self._head))
        self._head += data[:room]
        if data[room:]:
            self._tail.append(data[room:])
            self._kept += len(data[room:])
            while self._tail and self._kept - len(self._tail[0]) >= self.most // 2:
                self._kept -= len(self._tail.popleft())

    def text(self) -> str:
        """What was printed, with a line in the middle that says how much is left out."""
        tail = b"".join(self._tail)[-max(1, self.most // 2) :]
        missing = self.total - len(self._head) - len(tail)
        middle = f"\n... {missing} bytes left out ...\n".encode() if missing > 0 else b""
        return (bytes(self._head) + middle + tail).decode("utf-8", "replace")


class Trial:
    """A job under way, whose program lies in `folder` of its project.

    `descriptors` go to the zygote; `files` are to be watched for reading.
    """

    def __init__(self, job: Job, future: Future[Trace], folder: str = "") -> None:
        self.job = job
        self._folder = folder
        self.future = future
        self.notes: list[str] = []
        self._reader = TraceReader(seed=job.seed)
        self._printed = Printed(job.budget.output)
        self._line = bytearray()
        self._bytes = 0
        self._report: dict[str, object] | None = None
        self._stopped_for: str | None = None
        self._begun = time.monotonic()
        self._deadline = 0.0
        self._ours, self._theirs = socket.socketpair()
        self._trace, self._trace_end = os.pipe()
        self._output, self._output_end = os.pipe()
        self._open = {self._trace, self._output, self._ours.fileno()}

    @property
    def descriptors(self) -> list[int]:
        """The ends that the zygote gets: report channel, trace, output."""
        return [self._theirs.fileno(), self._trace_end, self._output_end]

    @property
    def files(self) -> set[int]:
        """The descriptors that are still open on this side."""
        return set(self._open)

    def sent(self, start_seconds: float) -> None:
        """The zygote has its ends; they are closed here, and the clock of last resort starts."""
        self._theirs.close()
        os.close(self._trace_end)
        os.close(self._output_end)
        self._begun = time.monotonic()
        self._deadline = self._begun + start_seconds + self.job.budget.seconds + GRACE

    def pump(self, descriptor: int) -> bool:
        """Take what has come on one descriptor; false once it is closed."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self._open.discard(descriptor)
            if descriptor == self._ours.fileno():
                return False
            os.close(descriptor)
            return False
        if descriptor == self._output:
            self._printed.add(data)
        elif descriptor == self._trace:
            self._take(data)
        else:
            with contextlib.suppress(ValueError):
                self._report = json.loads(data)
        return True

    def overdue(self) -> bool:
        """Whether the trial should have been ended by its supervisor long ago."""
        return time.monotonic() > self._deadline

    @property
    def done(self) -> bool:
        """Whether all output of the trial has been read."""
        return not self._open

    def cancel(self) -> None:
        """Close this side; the supervisor then ends the trial."""
        self._stopped_for = self._stopped_for or "cancelled"
        for descriptor in list(self._open):
            self._open.discard(descriptor)
            if descriptor != self._ours.fileno():
                os.close(descriptor)
        self._ours.close()

    def abandon(self) -> None:
        """Close both sides of a trial that was never sent."""
        self._theirs.close()
        os.close(self._trace_end)
        os.close(self._output_end)
        self.cancel()

    def trace(self) -> Trace:
        """What the trial recorded, once it is done."""
        if self._line:
            self._reader.feed(bytes(self._line))
        self._ours.close()
        report = self._report or {}
        outcome, detail = self._ending(report)
        if self._printed.total > self.job.budget.output:
            self.notes.append(f"the program printed {self._printed.total} bytes, of which most are left out")
        seconds = self._reader.seconds or _number(report.get("seconds")) or time.monotonic() - self._begun
        peak = max(self._reader.peak_memory, int(_number(report.get("peak"))))
        printed = self._printed.text()
        if report.get("killed_for") == "seconds" and _STACK in printed:
            printed = printed.rpartition(_STACK)[0]
        return self._reader.finish(outcome, detail, seconds, peak, printed, self.notes)

    def _take(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > TRACE_BYTES:
            self._stopped_for = "trace"
            self._ours.shutdown(socket.SHUT_RDWR)
            return
        self._line += data
        if b"\n" in data:
            *lines, rest = bytes(self._line).split(b"\n")
            self._line = bytearray(rest)
            for line in lines:
                self._reader.feed(line)
        elif len(self._line) > LINE_BYTES:
            self._line.clear()

    def _ending(self, report: dict[str, object]) -> tuple[RunOutcome, str]:
        reason = self._stopped_for or report.get("killed_for")
        reader = self._reader
        if reader.ended is not None and reason in (None, "seconds"):
            return reader.ended, reader.detail
        budget = self.job.budget
        if reason == "seconds":
            over = f"{round(budget.seconds, 1):g} s were over"
            if len(reader.steps) >= budget.steps:
                return RunOutcome.BUDGET, f"all {budget.steps} steps were done, and {over} after them"
            if reader.hurried:
                done = f"the time for training was used up by {len(reader.steps)} steps"
                return RunOutcome.BUDGET, f"{done}, and {over} after them"
            return RunOutcome.TIMEOUT, f"{over} after {len(reader.steps)} optimizer steps{self._where()}{self._flood()}"
        if reason in _BEYOND:
            outcome, words = _BEYOND[str(reason)]
            allowed = words.format(memory=budget.memory, processes=budget.processes, disk=budget.disk)
            return outcome, allowed if reason == "cancelled" else f"the program used {allowed}"
        return self._ended_by_itself(report)

    def _flood(self) -> str:
        """How much the program printed, where that is more than can be of use to anybody."""
        total = self._printed.total
        return f", and {total // 2**20} MiB printed" if total > 16 * self.job.budget.output else ""

    def _where(self) -> str:
        """The line of user code that was running, as the trial printed it before it was ended."""
        printed = self._printed.text()
        last = printed.rfind(_STACK)
        found = _AT.search(printed, last) if last >= 0 else None
        return f", at line {found[2]} of {os.path.relpath(found[1], self._folder or os.curdir)}" if found else ""

    def _ended_by_itself(self, report: dict[str, object]) -> tuple[RunOutcome, str]:
        """The end of a process that wrote no end."""
        number, code = report.get("signal"), report.get("code")
        if isinstance(number, int):
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            if number in _FAULTS:
                self._reader.crash = self._reader.crash or Crash(name, f"the process was ended by {name}")
                return RunOutcome.CRASHED, f"the process was ended by {name}"
            if number == signal.SIGXCPU:
                return RunOutcome.TIMEOUT, "the processor time was used up"
            return RunOutcome.KILLED, f"the process was ended by {name}"
        if isinstance(code, int):
            return RunOutcome.EXITED, f"the program ended its process at once, with exit code {code}"
        return RunOutcome.KILLED, "the process that ran the program is gone"


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
