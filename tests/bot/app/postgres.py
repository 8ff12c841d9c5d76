"""A PostgreSQL on a free port of loopback, for as long as the tests take."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
PLACES = [*(str(path.parent) for path in SERVERS), *os.environ.get("PATH", "").split(os.pathsep)]


def initdb() -> str | None:
    """The command that makes a cluster; `None` where there is none, or where we are root and there is nobody else to be."""
    found = shutil.which("initdb", path=os.pathsep.join(PLACES))
    return found if os.getuid() or any(one.pw_name == "postgres" for one in pwd.getpwall()) else None


@contextmanager
def cluster() -> Iterator[str]:
    """The address of an empty database."""
    command = initdb()
    assert command is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="dnnfix-postgres-") as folder:
        another: dict[str, str] = {}
        if os.getuid() == 0:  # PostgreSQL does not run as root
            another["user"] = "postgres"
            shutil.chown(folder, "postgres")
        data, options = f"{folder}/data", f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        control = [str(Path(command).with_name("pg_ctl")), "-D", data, "-w", "-s"]

        def done(words: list[str]) -> None:
            subprocess.run(
                words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **another
            )  # type: ignore[call-overload]

        done([command, "-D", data, "-U", "dnnfix", "-A", "trust", "-E", "UTF8", "--no-sync"])
        done([*control, "-o", options, "start"])
        try:
            yield f"postgresql+psycopg://dnnfix@127.0.0.1:{port}/postgres"
        finally:
            done([*control, "-m", "immediate", "stop"])
