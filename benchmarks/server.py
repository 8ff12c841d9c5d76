"""The language server beside a keyboard: what a changed file waits for, and what the server does for it.

    python benchmarks/server.py [--files 6] [--rounds 20] [--lines 500]

A client of its own, on the server's streams, opens installed files of about so many lines that build modules of torch, adds a
line at a time, and waits for the diagnostics of just that text. What is told of is the slowest file, each with the quickest of its
rounds; the processor's time is the server's own, from the kernel. An answer is also asked for while nothing rests:
twenty changes at once, as a held key makes them.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _corpus import find, spread
from _measure import CHECK, DNNFIX, ROOT, Cost, Table, arguments, environment, in_turn, run

ANSWER = 50.0
"""Milliseconds in which a changed file of 500 lines is to be answered."""
LARGE = 10_000
FAULTY = "\nfrom torch import nn as _nn\n_net = _nn.Sequential(_nn.Linear(2, 2), _nn.Softmax(dim=1))\n_loss = _nn.CrossEntropyLoss()(_net(_x), _y)\n"


class Client:
    """Speaks to a server that it started."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            (*DNNFIX, "server", "--isolated"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
        )
        self._number = 0

    def notify(self, method: str, **params: Any) -> None:
        """Send what is not answered."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and return its result."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return self.heard(lambda message: message.get("id") == self._number and "method" not in message)["result"]

    def published(self, uri: str, version: int) -> list[Any]:
        """Wait for the diagnostics of a version."""
        method = "textDocument/publishDiagnostics"
        told = self.heard(
            lambda m: m.get("method") == method and (m["params"]["uri"], m["params"].get("version")) == (uri, version)
        )
        return list(told["params"]["diagnostics"])

    def heard(self, wanted: Any) -> Any:
        """The next message that is wanted; the others are passed over."""
        while True:
            length = 0
            while line := self._out.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                raise SystemExit("the server ended.")
            message = json.loads(self._out.read(length))
            if wanted(message):
                return message

    def cpu(self) -> float:
        """Milliseconds that the server's processor worked, all threads together."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e6

    def close(self) -> None:
        """End the server, if it has not ended."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(60)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe = self.process.stdin
        if pipe is not None:
            pipe.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            pipe.flush()

    @property
    def _out(self) -> Any:
        return self.process.stdout


@contextmanager
def connected() -> Iterator[Client]:
    """A server that has loaded its rules."""
    client = Client()
    try:
        client.ask("initialize", processId=os.getpid(), rootUri=ROOT.as_uri(), capabilities={})
        client.notify("initialized")
        yield client
        client.ask("shutdown")
        client.notify("exit")
    finally:
        client.close()


def settled(client: Client) -> None:
    """Wait till the server has nothing to do: it loads its rules once it is connected."""
    before = -1.0
    while (now := client.cpu()) - before > 1.0:
        before = now
        time.sleep(0.5)


def typed(client: Client, file: Path, text: str, rounds: int) -> list[tuple[float, float]]:
    """Milliseconds of time and of the processor until the answer, for each of so many lines that are typed."""
    uri = file.as_uri()
    client.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "python", "version": 0, "text": text})
    client.published(uri, 0)
    costs = []
    for version in range(1, rounds + 1):
        place = {"line": text.count("\n") // 2, "character": 0}
        change = {"range": {"start": place, "end": place}, "text": f"# typed {version}\n"}
        time.sleep(0.1)  # nobody types faster, and what the last answer left behind is collected
        begun, worked = time.perf_counter(), client.cpu()
        client.notify("textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=[change])
        client.published(uri, version)
        costs.append(((time.perf_counter() - begun) * 1e3, client.cpu() - worked))
    return costs


def held(client: Client, file: Path, first: int, changes: int) -> float:
    """Milliseconds until the last of changes that come at once is answered."""
    begun = time.perf_counter()
    place = {"line": 0, "character": 0}
    for version in range(first, first + changes):
        change = {"range": {"start": place, "end": place}, "text": "#"}
        document = {"uri": file.as_uri(), "version": version}
        client.notify("textDocument/didChange", textDocument=document, contentChanges=[change])
    client.published(file.as_uri(), first + changes - 1)
    return (time.perf_counter() - begun) * 1e3


def started() -> Cost:
    """The cost of a server that is connected to and ended."""
    begun = time.perf_counter()
    with connected():
        pass
    return Cost(time.perf_counter() - begun, 0.0, 0.0, 0)


@contextmanager
def staying() -> Iterator[int]:
    """The port of a server that stays, and is ended afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = (*DNNFIX, "server", "--isolated", "--tcp", str(port))
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), cwd=ROOT
    ) as process:
        if process.stderr is not None:
            process.stderr.readline()
        try:
            yield port
        finally:
            process.terminate()


def programs(lines: int, count: int) -> list[Path]:
    """Installed files with about so many lines that build modules of torch."""
    near = [(f, r) for f, r in find(None) if abs(f.read_bytes().count(b"\n") - lines) <= lines // 25]
    near = [(f, r) for f, r in near if b"nn.Module)" in f.read_bytes() or b"import torch" in f.read_bytes()]
    return [file for file, _ in spread(near, count)]


def main() -> None:
    """Measure, and say by the exit code whether all targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lines", type=int, default=500)
    options = parser.parse_args()
    table = Table.of(options)
    files = programs(options.lines, options.files)
    table.title(f"a line typed into each of {len(files)} installed files of about {options.lines} lines")
    with connected() as client:
        settled(client)
        quickest = []
        for file in files:
            costs = typed(client, file, file.read_text("utf-8") + FAULTY, options.rounds)
            quickest.append(tuple(map(min, zip(*costs, strict=True))))
        walls, cpus = zip(*quickest, strict=True)
        detail = f"half of the files {statistics.median(walls):.0f}"
        table.row("until its diagnostics, ms", max(walls), ANSWER, detail, wall=True)
        table.row("the processor's part, ms", max(cpus), ANSWER, f"half of the files {statistics.median(cpus):.0f}")
        table.row("twenty changes at once, until the last is answered, ms", held(client, files[0], 100, 20))
        begun = time.perf_counter()
        text = files[0].read_text("utf-8") + FAULTY
        place = {"line": text.count("\n") + options.rounds - 2, "character": 40}
        where = {"start": place, "end": place}
        found = client.ask(
            "textDocument/codeAction",
            textDocument={"uri": files[0].as_uri()},
            range=where,
            context={"diagnostics": []},
        )
        if not found:
            raise SystemExit("no action was offered at the fault.")
        table.row("the actions at a fault, ms", (time.perf_counter() - begun) * 1e3, None, f"{len(found)} of them")
        many = "".join(f"x{n} = nn.Linear({n}, {n})\n" for n in range(LARGE))
        large = typed(client, ROOT / "large.py", "from torch import nn\n" + many + FAULTY, 5)
        table.row(f"a line typed into {LARGE:,} lines, ms", min(wall for wall, _ in large))
    table.title("a hook that asks a server that stays, for a file of about 500 lines")
    with staying() as port:
        ask = (sys.executable, "-m", "dnnfix.cli.ask", str(port), str(files[0]))
        run(ask)
        nothing, own, check = in_turn(
            5,
            lambda: run((sys.executable, "-c", "pass")),
            lambda: run(ask),
            lambda: run((*CHECK, "--no-cache", ask[-1])),
        )
    detail = f"{own.wall * 1e3:.0f} ms / {nothing.wall * 1e3:.0f} ms"
    table.row("ask / python -c pass, wall", own.wall / nothing.wall, None, detail, wall=True)
    detail = f"{own.wall * 1e3:.0f} ms / {check.wall * 1e3:.0f} ms"
    table.row("ask / check, wall", own.wall / check.wall, 1 / 2, detail, wall=True)
    table.title("a server that starts, is connected to, and ends")
    nothing, own = in_turn(3, lambda: run((sys.executable, "-c", "pass")), started)
    detail = f"{own.wall * 1e3:.0f} ms / {nothing.wall * 1e3:.0f} ms"
    table.row("server / python -c pass, wall", own.wall / nothing.wall, None, detail, wall=True)
    table.end()


if __name__ == "__main__":
    main()
