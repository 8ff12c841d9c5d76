"""The executor on a Ray cluster: each assignment is a task that carries JSON, and the sandbox is inside every worker.

Ray is an extra (`pip install 'dnnfix[ray]'`). Nothing pickled of a user's or of a case travels: a task receives
strings and returns a string. A task whose worker or node is lost is given to another by Ray itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dnnfix.bench.assessment import Assessed, Assignment
from dnnfix.bench.executors import RETRIES
from dnnfix.bench.worker import Assessor, settings_to_json
from dnnfix.config import Settings
from dnnfix.run import ray_cluster

AHEAD = 2
"""Tasks that are handed out for each core: enough that no worker waits, few enough to stop soon."""

_assessors: dict[str, Assessor] = {}
"""In a worker: what assesses, by its settings. It lives as long as the worker."""


def assessed(settings: str, assignment: str) -> str:
    """The task: an assignment and the settings in, the result out, all as JSON."""
    assessor = _assessors.get(settings)
    if assessor is None:
        assessor = _assessors[settings] = Assessor(json.loads(settings))
    return json.dumps(assessor(json.loads(assignment)))


@dataclass
class RayExecutor:
    """The cluster at `address`: `auto` for the one that this machine belongs to, or none for one of its own.

    Raises `ConfigError` without Ray, `EnvironmentProblem` where the cluster cannot be reached.
    """

    settings: Settings
    address: str | None = None
    workers: int | None = None
    """Cores of a cluster of its own; a given cluster has as many as it has."""

    def run(self, assignments: Iterable[Assignment]) -> Iterator[tuple[Assignment, Assessed]]:
        """Each assignment with its result, as they are done."""
        ray = ray_cluster.imported()
        started = not ray.is_initialized()
        if started:
            ray_cluster.reach(self.address, self.workers)
        try:
            yield from self._results(ray, iter(assignments))
        finally:
            if started:
                ray.shutdown()

    def _results(self, ray: Any, waiting: Iterator[Assignment]) -> Iterator[tuple[Assignment, Assessed]]:
        settings = json.dumps(settings_to_json(self.settings))
        task = ray.remote(assessed)
        lanes = {gpu: task.options(num_cpus=1, num_gpus=int(gpu), max_retries=RETRIES) for gpu in (False, True)}
        gpus = ray.cluster_resources().get("GPU", 0) > 0
        running: dict[Any, Assignment] = {}
        while True:
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(running) < AHEAD * cores and (assignment := next(waiting, None)) is not None:
                lane = lanes[assignment.gpu and gpus]
                running[lane.remote(settings, json.dumps(assignment.to_json()))] = assignment
            if not running:
                return
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            assignment = running.pop(done)
            try:
                yield assignment, Assessed.from_json(json.loads(ray.get(done)))
            except ray.exceptions.RayError as error:
                said = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                failed = f"its worker was lost {1 + RETRIES} times: {said[0]}"
                yield assignment, Assessed(assignment.case, assignment.arm, failed=failed)
