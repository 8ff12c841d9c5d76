"""`dnnfix bot serve`: the web server that receives the webhooks of a GitHub App."""

from __future__ import annotations

import os
from typing import Annotated

from typer import Option

from dnnfix.cli.bot import app
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console

EXAMPLES = """  dnnfix bot serve --port 8000
  dnnfix bot serve --store postgresql+psycopg://dnnfix@db/dnnfix --broker redis://queue:6379/0
"""

EXIT_CODES = "0 ended by a signal, 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    places: app.Places,
    host: Annotated[
        str, Option(metavar="HOST", help="where to listen (127.0.0.1: a proxy in front has the certificate)")
    ] = "127.0.0.1",
    port: Annotated[int, Option(metavar="PORT", help="the port (8000)")] = 8000,
) -> int:
    """Take webhooks of GitHub in, keep what they ask for, and have it carried to the workers (`dnnfix bot work`) by a Redis. Webhooks
    go to /webhook and are signed with the secret in DNNFIX_WEBHOOK_SECRET; /healthz says whether store and Redis answer, /metrics counts for
    Prometheus. It never works on a repository and needs no token."""
    from dnnfix.errors import InputError

    secret = os.environ.get(app.SECRET, "")
    if not secret:
        raise InputError(f"dnnfix bot serve: set {app.SECRET} to the secret of the App's webhook.")
    with places.opened(console) as (store, broker):
        import uvicorn

        from dnnfix.bot.app.broker import Courier
        from dnnfix.bot.app.web import application

        courier = Courier(store, broker)
        made = application(store, secret, broker.answers, courier.ring)
        courier.start()
        try:
            uvicorn.run(made, host=host, port=port, log_config=None, access_log=False, server_header=False)
        finally:
            courier.stop()
    return CLEAN
