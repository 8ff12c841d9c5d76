"""`dnnfix mcp`: the tools for coding agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from dnnfix import config
from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, Console
from dnnfix.errors import InputError

EXAMPLES = """  dnnfix mcp                         for an agent that starts it: docs/agents.md has the settings of each
  dnnfix mcp --isolated              with no settings of the folders that the agent works in
  dnnfix mcp --python .venv/bin/python     the interpreter that has the programs' packages
"""

EXIT_CODES = "0 ended by the agent, 2 error"

OF_THE_EXTRA = ("mcp", "mcp_types", "pydantic", "anyio")


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    configuration: options.Configuration,
    programs: options.Programs,
    local_rules: Annotated[
        bool,
        Option(
            "--local-rules",
            help="trust what the settings of folders name: `templates`, `python`, `test-command` and `baseline-python`, which run with your rights, and `cache-dir`",
            rich_help_panel=options.RULES,
        ),
    ] = False,
) -> int:
    """Give coding agents check, suggest, reproduce, explain and verify as tools. Nothing of yours is changed, and programs
    run in the sandbox, whatever an agent asks for. Speaks the Model Context Protocol over standard input and output.
    Needs the extra dnnfix[mcp]."""
    try:
        import asyncio

        from dnnfix.mcp.app import serve
        from dnnfix.mcp.guard import Guard
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in OF_THE_EXTRA:
            raise
        raise InputError(
            f"dnnfix mcp: {error.name} is not installed. Install it with: pip install 'dnnfix[mcp]'"
        ) from None
    file = Path(configuration.config).absolute() if configuration.config else None
    if file is not None and not file.is_file():
        raise InputError(f"{file}: no such file. Check what you gave to --config.")
    overrides = options.overrides(configuration, programs)
    given = {name: _from_here(name, value) for name, value in overrides.items() if value is not None}
    config.load(
        Path.cwd(), given, file=file, isolated=file is None
    )  # flags that make no sense are told now, not at each call
    asyncio.run(serve(Guard(given, file, configuration.isolated, local_rules)))
    return CLEAN


def _from_here(name: str, value: Any) -> Any:
    """A flag's value whose path starts from this working folder: calls are carried out in those of the client."""
    is_path = name == "cache_dir" or (name == "python" and os.sep in value)
    return str(Path(value).absolute()) if is_path else value
