"""`dnnfix server`: findings in an editor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, BinaryIO

from typer import Option

from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.errors import InputError

EXAMPLES = """  dnnfix server                      for an editor that starts it: docs/editors.md has the settings of each
  dnnfix server --tcp 9257           for those that connect to it, editors and hooks, on this machine alone
  dnnfix server --python .venv/bin/python     the interpreter that has the programs' packages
"""

EXIT_CODES = "0 ended by the editor, 2 error"


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    configuration: options.Configuration,
    programs: options.Programs,
    tcp: Annotated[
        int | None, Option(metavar="PORT", min=1, max=65535, help="listen on this port of 127.0.0.1")
    ] = None,
    local_rules: Annotated[
        bool,
        Option(
            "--local-rules",
            help="load rules of the folders that settings name in `templates`: they are programs, and run on opening",
            rich_help_panel=options.RULES,
        ),
    ] = False,
) -> int:
    """Tell an editor what `check` finds as you type, offer its patches, and prove them by running when you ask for it.
    Speaks the language server protocol over standard input and output. Needs the extra dnnfix[server]."""
    try:
        import asyncio

        from dnnfix.server.features import server
        from dnnfix.server.settings import EditorSettings
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise InputError(f"dnnfix server: {error.name} is not installed. Install dnnfix[server].") from None
    file = Path(configuration.config) if configuration.config else None
    if file is not None and not file.is_file():
        raise InputError(f"{file}: no such file. Check what you gave to --config.")
    given = {name: value for name, value in options.overrides(configuration, programs).items() if value is not None}

    def settings() -> EditorSettings:
        return EditorSettings(given, file, isolated=configuration.isolated, local_rules=local_rules)

    if tcp is None:
        server(settings()).start_io(*_streams())
    else:
        from dnnfix.server.resident import LOOPBACK, serve

        asyncio.run(serve(settings, tcp, lambda: console.remark(f"listening on {LOOPBACK}:{tcp}")))
    return CLEAN


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams of the protocol, which nothing else may read or write: what a rule or a library prints goes to standard error."""
    theirs, ours = os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(theirs, "rb"), os.fdopen(ours, "wb")
