"""`dnnfix bot serve`: the web server that receives the webhooks of a GitHub App."""

from __future__ import annotations

import argparse
import os

from dnnfix.cli.bot import app
from dnnfix.cli.console import CLEAN, Console

OPERANDS = ""

DESCRIPTION = f"""Take webhooks of GitHub in, keep what they ask for, and have it carried to the workers (`dnnfix bot work`) by a Redis. Webhooks
go to /webhook and are signed with the secret in {app.SECRET}; /healthz says whether store and Redis answer, /metrics counts for
Prometheus. It never works on a repository and needs no token."""

EXAMPLES = """  dnnfix bot serve --port 8000
  dnnfix bot serve --store postgresql+psycopg://dnnfix@db/dnnfix --broker redis://queue:6379/0
"""

EXIT_CODES = "0 ended by a signal, 2 error"


def configure(parser: argparse.ArgumentParser) -> None:
    """The flags of `bot serve`."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="where to listen (127.0.0.1: a proxy in front has the certificate)"
    )
    parser.add_argument("--port", type=int, default=8000, help="the port (8000)")
    app.add_places(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Listen until a signal ends it."""
    from dnnfix.errors import InputError

    secret = os.environ.get(app.SECRET, "")
    if not secret:
        raise InputError(f"dnnfix bot serve: set {app.SECRET} to the secret of the App's webhook.")
    with app.places(arguments, console) as (store, broker):
        import uvicorn

        from dnnfix.bot.app.broker import Courier
        from dnnfix.bot.app.web import application

        courier = Courier(store, broker)
        made = application(store, secret, broker.answers, courier.ring)
        courier.start()
        try:
            uvicorn.run(
                made, host=arguments.host, port=arguments.port, log_config=None, access_log=False, server_header=False
            )
        finally:
            courier.stop()
    return CLEAN
