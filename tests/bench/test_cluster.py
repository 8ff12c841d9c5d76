"""Replays on a real Ray cluster of two nodes on this machine, one of which is killed in the middle."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dnnfix.bench.assessment import Arm, Assessed
from dnnfix.bench.cases import case_ids, read_case
from dnnfix.bench.executors.cluster import RayExecutor
from dnnfix.bench.executors.local import LocalExecutor
from dnnfix.bench.instances import read_index
from dnnfix.bench.replay import planned, replay
from dnnfix.bench.store import Store
from dnnfix.config import Settings
from dnnfix.errors import EnvironmentProblem

ray = pytest.importorskip("ray")
pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without cores, and two nodes of one core each: every task runs on a node that can be lost."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAY_DISABLE_IMPORT_WARNING", "1")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.nodes_to_lose = [made.add_node(num_cpus=1) for _ in range(2)]
    made.wait_for_nodes()
    yield made
    with contextlib.suppress(Exception):
        ray.shutdown()
    made.shutdown()


def plain(results: list[Assessed]) -> list[dict[str, Any]]:
    """Results without their times."""
    data = [json.loads(json.dumps(result.to_json())) for result in results]
    return [{name: value for name, value in one.items() if "seconds" not in name} for one in data]


@pytest.mark.slow
def test_a_node_that_is_lost_loses_nothing_and_makes_nothing_twice(
    cluster: Any, benchmark: Path, tmp_path: Path
) -> None:
    index = read_index(benchmark)
    cases = [read_case(benchmark, index, id) for id in case_ids(benchmark)]
    wanted = list(planned(cases, 60.0, list(Arm)))
    settings = Settings(python=sys.executable)
    seen: list[tuple[str, Arm]] = []

    def progress(done: int, newest: Assessed | None) -> None:
        if newest is None:
            return
        seen.append((newest.case, newest.arm))
        if len(seen) == 3:
            cluster.remove_node(cluster.nodes_to_lose[0], allow_graceful=False)

    with Store(tmp_path / "ray.sqlite") as store:
        replay(wanted, {"engine": "e"}, store, (), RayExecutor(settings, cluster.address), progress)
        found = store.results()
    assert sorted(seen) == sorted((one.case, one.arm) for one in wanted), "each once"
    assert not [result.failed for result in found if result.failed]
    with Store(tmp_path / "local.sqlite") as store:
        replay(wanted, {"engine": "e"}, store, (), LocalExecutor(settings, 2), lambda done, newest: None)
        assert plain(found) == plain(store.results()), "the same results as local processes give"


def test_a_cluster_that_is_not_there_is_named() -> None:
    executor = RayExecutor(Settings(), "127.0.0.1:9")
    with pytest.raises(EnvironmentProblem, match="The Ray cluster cannot be reached"):
        list(executor.run([]))
