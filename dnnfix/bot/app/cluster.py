"""Runs analyses on a Ray cluster: the checkout travels as an archive, the report comes back as bytes, tokens stay
here.

Ray is an extra (`pip install 'dnnfix[ray]'`). A task whose node is lost is given to another by Ray itself.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from dnnfix.bot.analysis_process import POLL, Flags, analysed
from dnnfix.errors import AnalysisFailed
from dnnfix.run import ray_cluster

LOCAL = "local"
"""In place of an address: a cluster of its own."""

RETRIES = 2
"""How often Ray gives an analysis to another node where one is lost."""


class RayAnalyser:
    """Analyses on the cluster at `address`: `auto` for the one that this machine belongs to, `local` for one of its own.

    Raises `ConfigError` without Ray, `EnvironmentProblem` where the cluster cannot be reached.
    """

    def __init__(self, address: str, flags: Flags, stopped: Event) -> None:
        ray = ray_cluster.reach(None if address == LOCAL else address)
        self._ray: Any = ray
        self._task = ray.remote(analysed_there).options(num_cpus=1, max_retries=RETRIES)
        self._flags, self._stopped = flags, stopped

    def __call__(self, checkout: Path, slug: str, report: Path, since: str) -> None:
        """Have a checkout analysed there. Raises `AnalysisFailed`."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as packed:
            packed.add(checkout, arcname=checkout.name)
        task = self._task.remote(archive.getvalue(), checkout.name, slug, replace(self._flags, since=since or None))
        try:
            while not self._ray.wait([task], timeout=POLL)[0]:
                if self._stopped.is_set():
                    self._ray.cancel(task, force=True)
                    raise AnalysisFailed("was stopped")
            found: bytes | None = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            raise AnalysisFailed(f"could not be analysed on the cluster ({str(error)[:200]})") from None
        if found is None:
            raise AnalysisFailed("could not be analysed")
        report.write_bytes(found)


def analysed_there(archive: bytes, name: str, slug: str, flags: Flags) -> bytes | None:
    """The task: an archive of a checkout in, its report out; `None` where there is none."""
    with tempfile.TemporaryDirectory(prefix="dnnfix-bot-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            # links of the checkout stay what they are: it is confined when it is run
            packed.extractall(folder, filter="tar")
        report = Path(folder, "report.json")
        if analysed(flags.command(Path(folder, name), slug, report), needed=flags.keys):
            return None
        return report.read_bytes()
