"""`python -m dnnfix.cli.ask PORT FILE…`: what `check` finds in files, asked of a `dnnfix server --tcp PORT` that runs already.

For hooks: it imports nothing but a little of the standard library, and the server has its rules loaded.
"""

from __future__ import annotations

import json
import os
import socket
import sys

USAGE = "usage: python -m dnnfix.cli.ask PORT FILE...   (of a `dnnfix server --tcp PORT` on this machine)"
PATIENCE = 300.0
"""Seconds for all files together."""


def main(words: list[str]) -> int:
    """Print a line for each finding. Returns 0 where there is none, 1 where there are, and 2 for an error."""
    if len(words) < 2 or not words[0].isdigit():
        print(USAGE, file=sys.stderr)
        return 2
    port, *paths = words
    try:
        answer = asked(int(port), {"folder": os.getcwd(), "paths": paths})
    except (OSError, ValueError, OverflowError) as error:
        print(
            f"dnnfix: no server answers at 127.0.0.1:{port} ({error}). Start it: dnnfix server --tcp {port}",
            file=sys.stderr,
        )
        return 2
    for line in answer["lines"]:
        print(line)
    for problem in answer["errors"]:
        print(f"dnnfix: {problem}", file=sys.stderr)
    return 2 if answer["errors"] else 1 if answer["lines"] else 0


def asked(port: int, params: dict[str, object]) -> dict[str, list[str]]:
    """The server's answer. Raises `OSError` where there is none, and `ValueError` where it is not one."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "dnnfix/check", "params": params}).encode()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection, connection.makefile("rb") as stream:
        connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                raise ValueError("the connection was closed")
            message = json.loads(stream.read(length))
            if message.get("id") == 1 and "error" in message:
                raise ValueError(str(message["error"].get("message")))
            if message.get("id") == 1 and "result" in message:
                found: dict[str, list[str]] = message["result"]
                return found


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
