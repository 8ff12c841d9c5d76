"""The process: its streams, what it makes of nonsense, how it is connected to and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.cli.programs import FAULTY
from tests.server.conftest import PATIENCE

Connected = Callable[..., Any]
SERVER = (sys.executable, "-m", "dnnfix", "server")
INITIALIZE = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
ENDING = ({"id": 2, "method": "shutdown", "params": None}, {"method": "exit", "params": None})


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def messages(raw: bytes) -> list[Any]:
    """The messages in a stream, which has to hold nothing else."""
    found = []
    while raw:
        head, _, rest = raw.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
        assert len(lengths) == 1, f"no message: {raw[:200]!r}"
        found.append(json.loads(rest[: int(lengths[0])]))
        raw = rest[int(lengths[0]) :]
    return found


def conversed(command: tuple[str, ...], folder: Path, said: list[Any], last: int) -> tuple[list[Any], int, bytes]:
    """What is heard in answer, up to that of request `last` and then to the end; the exit code; what was said besides."""
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, stderr=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(b"".join(framed(message) for message in said))
    server.stdin.flush()
    raw = b""
    while not any(m.get("id") == last and "method" not in m for m in messages(raw)):
        while not (head := server.stdout.readline()).strip():
            raw += head
        rest = b""
        while (line := server.stdout.readline()).strip():
            rest += line
        length = int((head + rest).lower().split(b"content-length:")[1].split(b"\r\n")[0])
        raw += head + rest + b"\r\n" + server.stdout.read(length)
    out, err = server.communicate(b"".join(map(framed, ENDING)), timeout=PATIENCE)
    return messages(raw + out), server.returncode, err


def test_nonsense_ends_nothing(folder: Path) -> None:
    nonsense = [
        b"{",
        b"[1, 2]",
        b'"\xff"',
        {"method": "textDocument/didOpen", "params": {"textDocument": 3}},
        {"method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///no", "version": 1}, "contentChanges": [{"text": ""}]}},
        {"id": 7, "method": "workspace/executeCommand", "params": {"command": "dnnfix.prove", "arguments": [1, 2, 3]}},
        {"id": 8, "method": "workspace/executeCommand", "params": {"command": "dnnfix.prove", "arguments": ["file:///no.py", ""]}},
        {"id": 9, "method": "textDocument/codeAction", "params": {"textDocument": {"uri": "file:///no.py"}, "range": {"start": {"line": 9, "character": 9}, "end": {"line": 1, "character": 1}}, "context": {"diagnostics": []}}},
        {"id": 10, "method": "no/such", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": FAULTY + "\ud800"}}},
    ]  # fmt: skip
    said = [INITIALIZE, {"method": "initialized", "params": {}}, *nonsense]
    heard, code, _ = conversed(SERVER, folder, said, 10)
    assert code == 0
    answers = {message["id"]: message for message in heard if "id" in message and "method" not in message}
    assert {1, 2, 7, 8, 9, 10} <= answers.keys()
    assert "error" in answers[7] and "error" in answers[8] and "is no open Python program" in json.dumps(answers[8])
    assert answers[9]["result"] == []


def test_what_is_printed_is_not_in_the_protocol(folder: Path) -> None:
    """A rule of one's own that prints, and a process that writes to the standard output by its number."""
    (folder / "rules").mkdir()
    (folder / "rules" / "mine.py").write_text("import os\nprint('printed')\nos.system('echo written; cat')\n")
    (folder / "dnnfix.toml").write_text('templates = ["rules"]\n')
    document = {"uri": (folder / "a.py").as_uri(), "languageId": "python", "version": 1, "text": FAULTY}
    opened = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
    asked = {"id": 3, "method": "textDocument/hover", "params": {"textDocument": document, "position": {"line": 0, "character": 0}}}  # fmt: skip
    heard, code, besides = conversed((*SERVER, "--local-rules"), folder, [INITIALIZE, opened, asked], 3)
    assert code == 0 and {1, 2, 3} <= {message.get("id") for message in heard}
    assert b"printed" in besides and b"written" in besides


def test_it_ends_with_its_input(folder: Path) -> None:
    done = subprocess.run(
        SERVER, check=False, input=framed(INITIALIZE), capture_output=True, cwd=folder, timeout=PATIENCE
    )
    assert done.returncode == 0 and messages(done.stdout)[0]["id"] == 1


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    """The port of a resident server that is started in the folder; it has to end when it is told to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = int(free.getsockname()[1])
    server = subprocess.Popen(
        (*SERVER, "--tcp", str(number)), cwd=folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert server.stderr is not None and f"127.0.0.1:{number}".encode() in server.stderr.readline()
        yield number
        server.terminate()
        assert server.wait(PATIENCE) == 0
    finally:
        server.kill()
        server.communicate()


def test_editors_come_and_go_on_this_machine_alone(folder: Path, port: int) -> None:
    if sys.platform == "linux":
        assert f"0100007F:{port:04X}" in Path("/proc/net/tcp").read_text()
        assert f"00000000:{port:04X}" not in Path("/proc/net/tcp").read_text()
    document = {"uri": (folder / "a.py").as_uri(), "languageId": "python", "version": 1, "text": FAULTY}
    opened = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as other:
                for connection in (one, other):
                    connection.sendall(b"".join(map(framed, (INITIALIZE, opened))))
                one.sendall(b"".join(map(framed, ENDING)))  # which is the end of nothing but itself
                raw = b""
                while b"DNF301" not in raw:
                    more = other.recv(4096)
                    assert more, "the connection was closed"
                    raw += more
            with one.makefile("rb") as rest:
                assert b'"capabilities"' in rest.read()


def ask(port: int, folder: Path, *paths: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "dnnfix.cli.ask", str(port), *paths)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": "#"}, {"cell_type": "code", "source": FAULTY}], "nbformat": 4}


def test_a_hook_asks_the_server_that_is_there(folder: Path, port: int) -> None:
    (folder / "a b.py").write_text(FAULTY)
    (folder / "fine.py").write_text("import torch\n")
    (folder / "c.ipynb").write_text(json.dumps(NOTEBOOK))
    (folder / "coded.py").write_bytes(b"# coding: latin-1\nx = '\xe9'\n" + FAULTY.encode())
    done = ask(port, folder, "a b.py", "fine.py", "c.ipynb", "coded.py")
    assert done.returncode == 1 and done.stderr == ""
    places = [line[: line.index("DNF301") + 6] for line in done.stdout.splitlines()]
    assert places == ["a b.py:4:72: DNF301", "c.ipynb:cell 2:4:72: DNF301", "coded.py:6:72: DNF301"]
    assert ask(port, folder, "fine.py").returncode == 0
    missing = ask(port, folder, "no.py", "a b.py")
    assert missing.returncode == 2 and "no.py: no such file" in missing.stderr and "DNF301" in missing.stdout
    (folder / "dnnfix.toml").write_text('ignore = ["DNF301"]\n')
    assert ask(port, folder, "a b.py").returncode == 0


def test_a_hook_without_a_server_says_so(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        done = ask(free.getsockname()[1], folder, "a.py")
    assert done.returncode == 2 and "dnnfix server --tcp" in done.stderr and "Traceback" not in done.stderr
    assert ask(0, folder).returncode == 2


def test_what_asks_imports_next_to_nothing(folder: Path) -> None:
    code = "import sys, dnnfix.cli.ask\nassert not {'typer', 'libcst', 'pygls', 'asyncio', 'dnnfix.records'} & set(sys.modules)"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flags", [("--tcp", "0"), ("--tcp", "x"), ("--config", "no.toml"), ("a.py",)])
def test_flags_that_make_no_sense(folder: Path, flags: tuple[str, ...]) -> None:
    done = subprocess.run(
        (*SERVER, *flags), check=False, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder, timeout=PATIENCE
    )
    assert done.returncode == 2 and done.stdout == b"" and done.stderr and b"Traceback" not in done.stderr


def test_without_its_extra_it_says_which_to_install(folder: Path) -> None:
    blocked = "import sys\nsys.modules['pygls'] = sys.modules['lsprotocol'] = None\nfrom dnnfix.cli.main import run\nsys.exit(run(['server']))"
    done = subprocess.run(
        (sys.executable, "-c", blocked), check=False, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder
    )
    assert done.returncode == 2 and b"dnnfix[server]" in done.stderr and b"Traceback" not in done.stderr


def test_check_imports_nothing_of_it(folder: Path) -> None:
    (folder / "a.py").write_text(FAULTY)
    code = "import sys\nfrom dnnfix.cli.main import run\nrun(['check', 'a.py', '--quiet', '--no-cache'])\nassert not {'pygls', 'lsprotocol', 'asyncio', 'dnnfix.server'} & set(sys.modules)"
    done = subprocess.run(
        (sys.executable, "-c", code), check=False, capture_output=True, cwd=folder, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr


def test_an_untitled_document_is_a_program(connected: Connected) -> None:
    async def main() -> None:
        async with connected() as editor:
            item = types.TextDocumentItem("untitled:Untitled-1", "python", 1, FAULTY)
            editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            assert len(await editor.diagnostics("untitled:Untitled-1")) == 1

    asyncio.run(main())
