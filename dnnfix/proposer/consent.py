"""Whether a host may be told of a program: one that is not this machine is asked about once, on the terminal or by a flag.

A repository's settings may name an endpoint, so that the choice of the host is never theirs: it is kept in the user's cache folder.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dnnfix.endpoint import Endpoint
from dnnfix.errors import ConfigError

FILE = "hosts"
"""The file in the folder of the model's cache that has the hosts that were allowed, one on a line."""


def allow(endpoint: Endpoint, folder: Path, allowed: tuple[str, ...], ask: Callable[[str], bool] | None) -> None:
    """Return where the host may be told of programs. `allowed` are the hosts that flags name; `ask` puts a question to a person.

    Raises `ConfigError` where it may not.
    """
    if endpoint.is_here or endpoint.host in allowed:
        return
    file = folder / FILE
    known: list[str] = []
    with suppress(OSError, ValueError):
        known = file.read_text(encoding="utf-8").splitlines()
    if endpoint.host in known:
        return
    key = f" with the key in {endpoint.key_env}" if endpoint.key_env else ""
    if ask is None or not ask(f"Parts of your programs would be sent to {endpoint.host}{key}. Allow that from now on?"):
        raise ConfigError(
            f"`endpoint` is {endpoint.endpoint}, and parts of your programs would be sent to {endpoint.host}. "
            f"--allow-host {endpoint.host} allows it; --proposer model --dry-run shows what would be sent."
        )
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text("\n".join([*known, endpoint.host]) + "\n", encoding="utf-8")
