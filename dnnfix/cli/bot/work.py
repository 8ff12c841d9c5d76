"""`dnnfix bot work`: the workers that carry out the jobs that `dnnfix bot serve` stored."""

from __future__ import annotations

import argparse
from threading import Event
from typing import TYPE_CHECKING

from dnnfix.bot.analysis_process import Flags, LocalAnalyser
from dnnfix.cli.bot import app, choosing
from dnnfix.cli.console import CLEAN, Console
from dnnfix.forge.protocol import Forge

if TYPE_CHECKING:
    from dnnfix.bot.app.store import Job
    from dnnfix.bot.visit import Analyser

OPERANDS = ""

DESCRIPTION = f"""Visit the repositories that webhooks asked for, as `dnnfix bot run` does: analyse without tokens in the sandbox, then publish. Any
number of workers, on any number of machines, share a store and a Redis; a repository is visited by one at a time, and what a worker that
died had taken is taken by another. As a GitHub App, with its number in {app.APP} and its key in the file that {app.KEY_FILE} names; or with a token."""

EXAMPLES = """  dnnfix bot work --forge github --workers 2
  dnnfix bot work --forge github --workers 32 --ray auto     analyses on the Ray cluster of this machine
"""

EXIT_CODES = "0 ended by a signal, 2 error"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot work`."""
    parser.add_argument(
        "--workers", type=int, default=1, metavar="NUMBER", help="visits at a time (1); each takes about a core"
    )
    parser.add_argument("--ray", metavar="ADDRESS", help="analyse on a Ray cluster: auto, local or its address")
    parser.add_argument("--metrics-port", type=int, metavar="PORT", help="serve counts for Prometheus there")
    choosing.add_forge(parser)
    choosing.add_analysis(parser)
    app.add_places(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Work until a signal ends it; what is not done then is taken by another."""
    from dnnfix.errors import InputError

    if arguments.workers < 1:
        raise InputError(f"--workers: has to be 1 or more. Received: {arguments.workers}")
    with app.places(arguments, console) as (store, broker), app.until_signalled() as stopped:
        from prometheus_client import start_http_server

        from dnnfix.bot.app.worker import Worker
        from dnnfix.bot.visit import Visited, visited, visited_pull

        flags = choosing.flags(arguments)
        analyse = _on_cluster(arguments.ray, flags, stopped) if arguments.ray else LocalAnalyser(flags, stopped)

        def visit(forge: Forge, job: Job) -> Visited:
            if job.pull:
                return Visited(visited_pull(forge, job.slug, job.pull, analyse, by_person=arguments.asked))
            push, by_person = not arguments.dry_run, arguments.asked
            return visited(forge, job.slug, analyse, push=push, by_person=by_person, since=job.settled)

        worker = Worker(store, app.forges(arguments, console), visit, stopped)
        if arguments.metrics_port:
            start_http_server(arguments.metrics_port, "127.0.0.1")
        threads = broker.workers(worker.work, arguments.workers)
        stopped.wait()
        threads.stop()
    return CLEAN


def _on_cluster(address: str, flags: Flags, stopped: Event) -> Analyser:
    from dnnfix.bot.app.cluster import RayAnalyser

    return RayAnalyser(address, flags, stopped)
