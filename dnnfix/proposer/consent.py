"""Whether a host may be told of a program: one that is not this machine, or is sent a key, is asked about once, on the terminal or by a flag.

A repository's settings may name an endpoint, a variable with a key and a folder for caches, so that none of these is its choice:
what was allowed is kept in the user's own cache folder, for a host and a variable.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dnnfix.endpoint import Endpoint
from dnnfix.errors import ConfigError

FILE = "hosts"
"""The file that has the hosts that were allowed, one on a line, each with the variable whose value may be sent there as the key."""


def allow(endpoint: Endpoint, folder: Path, allowed: tuple[str, ...], ask: Callable[[str], bool] | None) -> None:
    """Return where the host may be told of programs. `folder` is
    the user's, `allowed` are the hosts that flags name; `ask` puts a question to a person.

    Raises `ConfigError` where it may not.
    """
    if (endpoint.is_here and not endpoint.key_env) or endpoint.host in {host.strip().lower() for host in allowed}:
        return
    wanted = f"{endpoint.host} {endpoint.key_env}".strip()
    file = folder / FILE
    known: list[str] = []
    with suppress(OSError, ValueError):
        known = file.read_text(encoding="utf-8").splitlines()
    if wanted in known:
        return
    key = f" with the key in {endpoint.key_env}" if endpoint.key_env else ""
    if ask is None or not ask(f"Parts of your programs would be sent to {endpoint.host}{key}. Allow that from now on?"):
        raise ConfigError(
            f"`endpoint` is {endpoint.endpoint}, and parts of your programs would be sent to {endpoint.host}{key}. "
            f"--allow-host {endpoint.host} allows it; --proposer model --dry-run shows what would be sent."
        )
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text("\n".join([*known, wanted]) + "\n", encoding="utf-8")
