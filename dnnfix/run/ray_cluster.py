"""Connects to a Ray cluster. Ray is an optional dependency (`pip install 'dnnfix[ray]'`)."""

from __future__ import annotations

import socket
from typing import Any

from dnnfix.errors import ConfigError, EnvironmentProblem

PATIENCE = 10.0
"""Seconds in which somebody has to listen at an address."""


def imported() -> Any:
    """The module `ray`. Raises `ConfigError` where it is not installed."""
    try:
        import ray
    except ImportError:
        raise ConfigError("Ray is not installed: pip install 'dnnfix[ray]'") from None
    return ray


def reach(address: str | None, workers: int | None = None) -> Any:
    """Ray, connected to the cluster at `address`; `auto` is this machine's, and without one a local one with `workers`
    cores starts.

    Raises `ConfigError` without Ray, `EnvironmentProblem` where the cluster cannot be reached.
    """
    ray = imported()
    _answers(address)
    try:
        ray.init(
            address=address,
            num_cpus=workers if address is None else None,
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            configure_logging=False,
        )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise EnvironmentProblem(f"The Ray cluster cannot be reached: {error}") from error
    return ray


def _answers(address: str | None) -> None:
    """Ray itself waits for minutes where nobody listens. Raises `EnvironmentProblem`."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except OSError as error:
        raise EnvironmentProblem(f"The Ray cluster cannot be reached: {address}: {error}") from error
