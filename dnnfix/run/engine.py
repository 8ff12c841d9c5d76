"""The thread behind a `Runner`: it starts warm processes, sends them trials, and reads their traces.

It is one thread for two reasons: pipes are drained whatever the caller is doing, and a warm process, which ends with
its parent, ends with the thread that started it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import socket
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field

from dnnfix.errors import EnvironmentProblem, SandboxError
from dnnfix.records import RunOutcome, Trace
from dnnfix.run.gpu import Turn
from dnnfix.run.interpreter import Interpreter
from dnnfix.run.job import Job
from dnnfix.run.project import Project, memory_file
from dnnfix.run.sandbox import Confinement
from dnnfix.run.trial import Trial
from dnnfix.run.withheld_files import why_missed
from dnnfix.run.zygote import START_SECONDS, Kind, Zygote

KEPT = 3
"""Warm processes that are kept while nothing runs in them; the one used longest ago goes first."""
TRIAL_START = 95.0
"""Seconds that a trial may take to import what its zygote has not imported."""


@dataclass(frozen=True)
class Order:
    """A job with the program's files and its path among them, and the kind of warm process that it needs."""

    job: Job
    project: Project
    place: str
    kind: Kind
    start: str = ""
    """The folder that the program is run from, as seen from its own; empty for that."""


@dataclass
class _Task:
    order: Order
    future: Future[Trace]
    trial: Trial | None = None
    zygote: Zygote | None = None
    cancelled: bool = False


@dataclass
class Engine:
    """Carries out orders in a thread of its own until it is closed."""

    interpreter: Interpreter
    confinement: Confinement
    closed: bool = False
    _tasks: list[_Task] = field(default_factory=list)
    _incoming: list[_Task] = field(default_factory=list)
    _zygotes: dict[Kind, Zygote] = field(default_factory=dict)
    _unforkable: set[Kind] = field(default_factory=set)
    _turn: Turn = field(default_factory=Turn)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._work, name="dnnfix-runner", daemon=True)
        self._thread.start()

    def submit(self, order: Order) -> Future[Trace]:
        """Carry out an order; the future holds the trace, or an `EnvironmentProblem`."""
        task = _Task(order, Future())
        with self._lock:
            self._incoming.append(task)
        self._ring()
        return task.future

    def cancel(self, future: Future[Trace]) -> None:
        """End the trial of a future whose trace nobody waits for."""
        with self._lock:
            for task in [*self._tasks, *self._incoming]:
                if task.future is future:
                    task.cancelled = True
        self._ring()

    def close(self) -> None:
        """End every trial and process, and the thread."""
        self.closed = True
        self._ring()
        self._thread.join()
        self._selector.close()
        self._bell.close()
        self._turn.give_up()
        self._ringer.close()

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._ringer.send(b"!")

    def _work(self) -> None:
        try:
            while not self.closed:
                for key, _events in self._selector.select(0.5):
                    self._hear(key)
                with self._lock:
                    self._tasks += self._incoming
                    self._incoming.clear()
                self._advance()
            self._end(SandboxError("The runner was closed while the job ran."))
        except BaseException as error:  # noqa: BLE001 - told to those who wait: nobody else sees what ends a thread
            self._end(error)
        finally:
            self.closed = True

    def _hear(self, key: selectors.SelectorKey) -> None:
        if key.data is None:
            with contextlib.suppress(OSError):
                self._bell.recv(4096)
        elif isinstance(key.data, Zygote):
            if not key.data.hear():
                self._lose(key.data)
        else:
            task: _Task = key.data
            if task.trial is not None and not task.trial.pump(key.fd):
                self._selector.unregister(key.fd)

    def _advance(self) -> None:
        for task in list(self._tasks):
            if task.trial is None:
                self._start(task)
            elif task.trial.done:
                self._conclude(task)
            elif task.cancelled:
                self._drop(task)
            elif task.trial.overdue() and task.zygote is not None:
                self._lose(task.zygote)
        if self._turn.held and not any(task.order.kind.gpu for task in self._tasks):
            self._turn.give_up()
        busy = {id(task.zygote) for task in self._tasks}
        idle = sorted((z for z in self._zygotes.values() if id(z) not in busy and z.ready), key=lambda z: z.used)
        wanted = {self._effective(task.order.kind) for task in self._tasks if task.trial is None}
        for zygote in idle[: max(0, len(self._zygotes) - KEPT)]:
            if zygote.kind not in wanted:
                self._lose(zygote)

    def _has_the_card(self, task: _Task) -> bool:
        """Whether a task may begin on the card, which no other uses, of this process or another."""
        busy = any(other.order.kind.gpu and other.zygote is not None for other in self._tasks if other is not task)
        return not busy and self._turn.take()

    def _effective(self, kind: Kind) -> Kind:
        """The kind that serves in its place where nothing can be forked from that one."""
        plain = dataclasses.replace(kind, disk=0)
        return dataclasses.replace(kind, framework=None, modules=()) if plain in self._unforkable else kind

    def _start(self, task: _Task) -> None:
        if task.cancelled:
            self._tasks.remove(task)
            task.future.cancel()
            return
        if task.order.kind.gpu and not self._has_the_card(task):
            return
        kind = self._effective(task.order.kind)
        if kind is not task.order.kind and kind.once is None:
            kind = dataclasses.replace(kind, once=-id(task), disk=task.order.job.budget.disk)
        zygote = self._zygotes.get(kind)
        try:
            if zygote is None:
                zygote = self._zygotes[kind] = Zygote(kind, self.interpreter, self.confinement)
                self._selector.register(zygote.control, selectors.EVENT_READ, zygote)
        except EnvironmentProblem as error:
            self._tasks.remove(task)
            task.future.set_exception(error)
            return
        task.zygote = zygote
        if zygote.ready is None:
            if time.monotonic() - zygote.started > START_SECONDS:
                self._lose(zygote)
            return
        if kind.once is None and not zygote.forkable:
            self._unforkable.add(dataclasses.replace(kind, disk=0))
            self._lose(zygote, keep_tasks=True)
            self._ring()
            return
        self._send(task, zygote)

    def _send(self, task: _Task, zygote: Zygote) -> None:
        trial = task.trial = Trial(task.order.job, task.future, os.path.dirname(task.order.place))
        trial.notes += [f"sandbox: {gap}" for gap in self.confinement.gaps]
        job = memory_file(_payload(task.order, zygote))
        sent = zygote.request([*trial.descriptors, job, task.order.project.bundle])
        os.close(job)
        if not sent:
            trial.abandon()
            task.trial = None
            self._lose(zygote)
            return
        trial.sent(TRIAL_START)
        for descriptor in trial.files:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ, task)

    def _conclude(self, task: _Task) -> None:
        if task.trial is not None and not task.future.cancelled():
            task.future.set_result(_explained(task.trial.trace(), task.order))
        self._tasks.remove(task)
        if task.zygote is not None and task.zygote.kind.once is not None:
            self._lose(task.zygote)

    def _drop(self, task: _Task) -> None:
        if task.trial is not None:
            for descriptor in task.trial.files:
                self._selector.unregister(descriptor)
            task.trial.cancel()
        self._tasks.remove(task)
        task.future.cancel()
        if task.zygote is not None and task.zygote.kind.once is not None:
            self._lose(task.zygote)

    def _lose(self, zygote: Zygote, keep_tasks: bool = False) -> None:
        """End a process that is gone, stuck or no longer needed; jobs that it had not begun are told why."""
        self._zygotes.pop(zygote.kind, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(zygote.control)
        said = zygote.said()
        warm = zygote.ready is not None
        zygote.close()
        for task in [] if keep_tasks else list(self._tasks):
            if task.zygote is zygote and task.trial is None:
                self._tasks.remove(task)
                detail = "the process for trials ended" if warm else "the interpreter did not start"
                task.future.set_result(
                    Trace(RunOutcome.ENVIRONMENT, task.order.job.seed, detail=f"{detail}: {said[-500:]}")
                )

    def _end(self, why: BaseException) -> None:
        self.closed = True
        for task in self._tasks:
            if task.trial is not None:
                task.trial.cancel()
            if not task.future.done():
                task.future.set_exception(why)
        with self._lock:
            for task in self._incoming:
                task.future.set_exception(SandboxError("The runner was closed before the job ran."))
            self._incoming.clear()
        self._tasks.clear()
        for zygote in list(self._zygotes.values()):
            self._lose(zygote)


def _explained(trace: Trace, order: Order) -> Trace:
    """The trace, with a note where the program lacked a file that is kept from it."""
    why = why_missed(order.project, order.place, trace)
    return trace if why is None else dataclasses.replace(trace, notes=(*trace.notes, why))


def _payload(order: Order, zygote: Zygote) -> bytes:
    """The job as the probe reads it; bytes of the program travel as text, one character each."""
    job = order.job
    targets = zygote.link_targets()
    return json.dumps(
        {
            "path": os.path.basename(order.place),
            "place": order.place,
            "start": order.start,
            "program": job.program.decode("latin-1"),
            "beside": [[path, text.decode("latin-1")] for path, text in job.beside],
            "seed": job.seed,
            "pace": job.pace,
            "gpu": order.kind.gpu,
            "budget": dataclasses.asdict(job.budget),
            "record_steps": job.record_steps,
            "experiments": [experiment.value for experiment in job.experiments],
            "arguments": list(job.arguments),
            "recorder": dataclasses.asdict(job.recorder) if job.recorder else None,
            "scaffold": dataclasses.asdict(job.scaffold) if job.scaffold else None,
            "speculation": job.speculation.to_json() if job.speculation else None,
            "folder": order.project.name,
            "folders": order.project.folders,
            "files": order.project.files,
            "links": [[path, targets[full]] for path, full in order.project.links],
        }
    ).encode()
