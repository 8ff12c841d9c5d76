"""`dnnfix bot work`: the workers that carry out the jobs that `dnnfix bot serve` stored."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dnnfix.bot.analysis_process import Flags, LocalAnalyser
from dnnfix.cli.bot import app, choosing
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.forge.protocol import Forge

if TYPE_CHECKING:
    from dnnfix.bot.app.store import Job
    from dnnfix.bot.visit import Analyser


EXAMPLES = """  dnnfix bot work --forge github --workers 2
  dnnfix bot work --forge github --workers 32 --ray auto     analyses on the Ray cluster of this machine
"""

EXIT_CODES = "0 ended by a signal, 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    target: choosing.Target,
    analysis: choosing.Analysing,
    places: app.Places,
    workers: Annotated[int, Option(metavar="NUMBER", help="visits at a time (1); each takes about a core")] = 1,
    ray: Annotated[
        str | None, Option(metavar="ADDRESS", help="analyse on a Ray cluster: auto, local or its address")
    ] = None,
    metrics_port: Annotated[int | None, Option(metavar="PORT", help="serve counts for Prometheus there")] = None,
) -> int:
    """Visit the repositories that webhooks asked for, as `dnnfix bot run` does: analyse without tokens in the sandbox, then publish. Any
    number of workers, on any number of machines, share a store and a Redis; a repository is visited by one at a time, and what a worker that
    died had taken is taken by another. As a GitHub App, with its number in DNNFIX_APP_ID and its key in the file that DNNFIX_APP_KEY_FILE names; or with a token."""
    from dnnfix.errors import InputError

    if workers < 1:
        raise InputError(f"--workers: has to be 1 or more. Received: {workers}")
    with places.opened(console) as (store, broker), app.until_signalled() as stopped:
        from prometheus_client import start_http_server

        from dnnfix.bot.app.worker import Worker
        from dnnfix.bot.visit import Visited, visited, visited_pull

        flags = analysis.flags()
        analyse = _on_cluster(ray, flags, stopped) if ray else LocalAnalyser(flags, stopped)

        def visit(forge: Forge, job: Job) -> Visited:
            if job.pull:
                return Visited(visited_pull(forge, job.slug, job.pull, analyse, by_person=target.asked))
            push, by_person = not target.dry_run, target.asked
            return visited(forge, job.slug, analyse, push=push, by_person=by_person, since=job.settled)

        worker = Worker(store, app.forges(target, console), visit, stopped)
        if metrics_port:
            start_http_server(metrics_port, "127.0.0.1")
        threads = broker.workers(worker.work, workers)
        stopped.wait()
        threads.stop()
    return CLEAN


def _on_cluster(address: str, flags: Flags, stopped: Event) -> Analyser:
    from dnnfix.bot.app.cluster import RayAnalyser

    return RayAnalyser(address, flags, stopped)
