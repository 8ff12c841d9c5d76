"""The executor on this machine: worker processes, each replaced when it dies, so that its assignment is done by a new
one.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, cast

from dnnfix.bench.assessment import Assessed, Assignment
from dnnfix.bench.executors import RETRIES
from dnnfix.bench.oracle import SECONDS
from dnnfix.bench.worker import settings_to_json
from dnnfix.config import Settings
from dnnfix.errors import EnvironmentProblem

START = 120.0
"""Seconds that starting interpreters and importing frameworks may add to an assignment."""


@dataclass
class LocalExecutor:
    """`workers` processes side by side."""

    settings: Settings
    workers: int = 1

    def run(self, assignments: Iterable[Assignment]) -> Iterator[tuple[Assignment, Assessed]]:
        """Each assignment with its result, as they are done.

        Raises `EnvironmentProblem` where a worker cannot be started at all.
        """
        waiting: queue.SimpleQueue[Assignment] = queue.SimpleQueue()
        count = 0
        for assignment in assignments:
            waiting.put(assignment)
            count += 1
        done: queue.SimpleQueue[tuple[Assignment, Assessed] | BaseException] = queue.SimpleQueue()
        lanes = [_Lane(self.settings, waiting, done) for _ in range(min(self.workers, count))]
        try:
            for lane in lanes:
                lane.start()
            for _ in range(count):
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            for lane in lanes:
                lane.stop()


class _Lane:
    """One worker process after the other, fed from the queue."""

    def __init__(
        self,
        settings: Settings,
        waiting: queue.SimpleQueue[Assignment],
        done: queue.SimpleQueue[tuple[Assignment, Assessed] | BaseException],
    ) -> None:
        self._thread = threading.Thread(target=self._work, name="dnnfix-lane", daemon=True)
        self._settings = settings
        self._waiting = waiting
        self._done = done
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin to take assignments, until none is left."""
        self._thread.start()

    def _work(self) -> None:
        try:
            while not self._stopped:
                assignment = self._waiting.get_nowait()
                self._done.put((assignment, self._taken_to_its_end(assignment)))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - told to the caller: nobody else sees what ends a thread
            self._done.put(error)
        finally:
            self._end()

    def stop(self) -> None:
        """End the worker, whatever it is doing."""
        self._stopped = True
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def _taken_to_its_end(self, assignment: Assignment) -> Assessed:
        how = ""
        for _attempt in range(1 + RETRIES):
            if self._stopped:
                break
            answer, how = self._asked(assignment)
            if answer is not None:
                return Assessed.from_json(answer)
        return Assessed(assignment.case, assignment.arm, failed=f"its worker was lost {1 + RETRIES} times: {how}")

    def _asked(self, assignment: Assignment) -> tuple[dict[str, Any] | None, str]:
        """The worker's answer, or how it was lost."""
        process = self._process = self._process or self._started()
        asked, answered = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
        # The engine keeps to its budget and the oracle to its own; who exceeds both by far hangs.
        limit = START + 3 * assignment.budget + 20 * SECONDS
        watch = threading.Timer(limit, process.kill)
        watch.start()
        try:
            asked.write(json.dumps(assignment.to_json()) + "\n")
            asked.flush()
            line = answered.readline()
        except OSError:
            line = ""
        finally:
            watch.cancel()
        if line:
            return json.loads(line), ""
        status = process.wait()
        self._end()
        return None, f"killed by signal {-status}" if status < 0 else f"exit code {status}"

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dnnfix.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        asked = cast(IO[str], process.stdin)
        try:
            asked.write(json.dumps(settings_to_json(self._settings)) + "\n")
            asked.flush()
        except OSError as error:
            raise EnvironmentProblem(f"A worker cannot be started: {error}") from error
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
