"""Programs that do what no training script should, all in one call: each gets its outcome and harms nothing.

One process works on all of them, so that it is also seen that none spoils the report of the next.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from dnnfix.emit import contract
from tests.robust.calls import Said, contents, dnnfix

SECONDS = 5.0
"""Budget of each program."""


class Ending(NamedTuple):
    """What is expected of the report: the outcome of the run, and words about it in the report."""

    outcome: str
    words: str = ""


FINISHED, TIMEOUT, CRASH = Ending("finished"), Ending("timeout", "s were over"), "DNF901"

PROGRAMS: dict[str, tuple[str, Ending]] = {
    "asks": ("name = input('your name? ')", Ending("needs-input", "asks for input: your name?")),
    "reads_stdin": ("import sys; print(sys.stdin.read(), sys.stdin.readline())", FINISHED),
    "asks_secretly": ("import getpass; getpass.getpass()", Ending("needs-input", "asks for a password")),
    "stops_in_the_debugger": ("breakpoint()", Ending("needs-input", "stops in the debugger")),
    "opens_a_window": ("import tkinter; tkinter.Tk().mainloop()", Ending("environment")),
    "exits_well": ("import sys; sys.exit(0)", FINISHED),
    "exits": ("import sys; sys.exit(3)", Ending("exited", "the program ended itself with 3")),
    "exits_with_words": ("raise SystemExit('no data set given')", Ending("exited", "no data set given")),
    "exits_at_once": ("import os; os._exit(5)", Ending("exited", "at once, with exit code 5")),
    "needs_arguments": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()",
        Ending("exited"),
    ),
    "forks": ("import os, time\nfor i in range(4):\n    if os.fork() == 0:\n        time.sleep(900)", FINISHED),
    "forks_without_end": ("import os\nwhile True:\n    os.fork()", Ending("", "processes")),
    "spawns": (
        "import multiprocessing as m, time\nif __name__ == '__main__':\n    p = m.Process(target=time.sleep, args=[9**9])\n"
        + "    p.start(); p.join()",
        TIMEOUT,
    ),
    "starts_commands": ("import subprocess; subprocess.run('sleep 900 & sleep 901', shell=True)", TIMEOUT),
    "starts_threads": (
        "import threading, time\nfor i in range(4):\n    threading.Thread(target=time.sleep, args=(900,)).start()",
        TIMEOUT,
    ),
    "daemonizes": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(900)\n    os._exit(0)",
        FINISHED,
    ),
    "writes": ("open('out.txt', 'w').write('x'); open('data.csv', 'w').write('changed')", FINISHED),
    "deletes_its_folder": (
        "import os, shutil\nshutil.rmtree(os.path.dirname(os.path.abspath(__file__)))\nprint(os.path.exists(__file__))",
        FINISHED,
    ),
    "eats_memory": ("x = []\nwhile True:\n    x.append(bytearray(10**10))", Ending("out-of-memory", "smaller network")),
    "loops": ("while True:\n    pass", Ending("timeout", "a longer --budget")),
    "sleeps": ("import time; time.sleep(900)", Ending("timeout", "at line 1 of program.py")),
    "prints_without_end": ("while True:\n    print('x' * 100000)", Ending("timeout", "MiB printed")),
    "downloads": (
        "import urllib.request; urllib.request.urlopen('http://example.com/data.zip')",
        Ending("needs-network", "runs have no network"),
    ),
    "connects": ("import socket; socket.create_connection(('192.0.2.7', 80), 2)", Ending("needs-network")),
    "imports_what_is_absent": (
        "import no_such_package_at_all\nno_such_package_at_all.train(epochs=3)",
        Ending("environment", "'no_such_package_at_all' is not installed"),
    ),
    "reads_what_is_absent": ("open('train.csv')", Ending("needs-data", "train.csv); runs see the files")),
    "reads_elsewhere": ("open('/etc/shadow').read()", Ending("needs-data", "/etc/shadow")),
    "reads_beside_itself": (
        "import os\nhere = os.path.dirname(os.path.abspath(__file__))\nprint(open(os.path.join(here, 'data.csv')).read())",
        FINISHED,
    ),
    "imports_beside_itself": ("import helper; from package.deep import f; print(helper.double(f()))", FINISHED),
    "imports_relatively": ("from . import helper", Ending("environment", "module of a package")),
    "reads_argv": ("import sys; print(sys.argv[1])", Ending("crashed")),
    "interrupts_itself": ("raise KeyboardInterrupt", Ending("crashed", "KeyboardInterrupt")),
    "raises_a_base_exception": (
        "class Stop(BaseException): pass\nraise Stop('enough')",
        Ending("crashed", "Stop: enough"),
    ),
    "kills_itself": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Ending("")),
    "kills_its_parent": ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", Ending("")),
    "breaks_memory": ("import ctypes; ctypes.string_at(0)", Ending("crashed", "SIGSEGV")),
    "has_no_streams": ("import builtins, sys; builtins.print = None; sys.stdout = sys.stderr = None", FINISHED),
    "closes_everything": ("import os; os.closerange(0, 256)", Ending("")),
    "prints_bytes": ("import sys; sys.stdout.buffer.write(bytes(range(256)) * 9); print('\\ud800')", Ending("")),
    "changes_its_folder": ("import os; os.chdir('/'); raise ValueError('lost')", Ending("crashed", "ValueError: lost")),
    "does_not_want_to_end": (
        "import atexit, signal, time\natexit.register(time.sleep, 900)\n"
        + "for s in (signal.SIGTERM, signal.SIGALRM, signal.SIGINT, signal.SIGXCPU): signal.signal(s, signal.SIG_IGN)",
        TIMEOUT,
    ),
    "has_a_message_that_fails": (
        "class E(Exception):\n    def __str__(self): raise self\nraise E()",
        Ending("crashed", "E"),
    ),
    "has_a_long_message": ("raise RuntimeError('x' * 10**7)", Ending("crashed", "RuntimeError: xxx")),
    "has_escapes_in_its_message": (
        "raise RuntimeError('\\x1b[31mred\\x07\\x00\\u202e evil\\nsecond')",
        Ending("crashed", "RuntimeError"),
    ),
    "empties_sys_modules": ("import sys; sys.modules.clear()", Ending("")),
    "patches_the_library": (
        "import builtins, json, os, time\nos.write = os.read = json.dumps = None\ntime.monotonic = lambda: 0",
        Ending(""),
    ),
    "forges_the_trace": (
        'import os\nfor fd in range(3, 64):\n    try: os.write(fd, b\'{"event": "end", "outcome": "no"}\\n\\xff\\n\' * 9)\n'
        + "    except OSError: pass",
        Ending(""),
    ),
    "hangs_when_collected": ("class D:\n    def __del__(self):\n        while True: pass\nd = D()\ndel d", TIMEOUT),
    "recurses": ("import sys; sys.setrecursionlimit(10**9)\ndef f(): f()\nf()", Ending("")),
    "does_no_harm": ("print('fine')", FINISHED),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each program, with a module, a package and data beside it."""
    place = tmp_path_factory.mktemp("hostile") / "work"
    for name, (text, _) in PROGRAMS.items():
        own = place / name
        (own / "package").mkdir(parents=True)
        (own / "program.py").write_text(text + "\n")
        (own / "data.csv").write_text("1;2\n")
        (own / "helper.py").write_text("def double(x):\n    return 2 * x\n")
        (own / "package" / "__init__.py").touch()
        (own / "package" / "deep.py").write_text("from . import more\n\n\ndef f():\n    return more.x\n")
        (own / "package" / "more.py").write_text("x = 3\n")
    return place


@pytest.fixture(scope="module")
def said(folder: Path) -> Iterator[Said]:
    """The one call over all of them; afterwards every file is as it was, and none has come."""
    before = contents(folder)
    programs = [f"{name}/program.py" for name in PROGRAMS]
    flags = ["--isolated", "--budget", str(SECONDS), "--output-format", "json"]
    made = dnnfix("suggest", *programs, *flags, folder=folder, seconds=400)
    yield made
    assert contents(folder) == before


@pytest.fixture(scope="module")
def document(said: Said) -> dict[str, Any]:
    """The report of that call."""
    return said.document


@pytest.mark.slow
def test_the_call_ends_well(said: Said, document: dict[str, Any]) -> None:
    assert said.code == 1, "crashes are findings"
    jsonschema.Draft202012Validator(contract.schema()).validate(document)
    assert {finding["path"] for finding in document["findings"]} <= {f"{name}/program.py" for name in PROGRAMS}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_has_its_outcome(document: dict[str, Any], name: str) -> None:
    expected = PROGRAMS[name][1]
    path = f"{name}/program.py"
    runs = [run for run in document["runs"] if run["id"].startswith(path)]
    found = [finding["message"] for finding in document["findings"] if finding["path"] == path]
    told = [text for text in document["unchecked"] if text.startswith(f"{path}: ")]
    assert runs, "a run is reported, however it ended"
    assert expected.outcome in ("", runs[0]["outcome"]), told
    assert all(run["seconds"] < 4 * SECONDS for run in runs)
    assert not expected.words or any(expected.words in text for text in found + told), (found, told)
    made = [run for run in runs if run["reproduction"]]
    assert bool(found) == ((made or runs)[0]["outcome"] == "crashed")
    assert found or told or made or runs[0]["outcome"] == "finished"


def test_control_characters_do_not_reach_the_terminal(folder: Path) -> None:
    said = dnnfix("suggest", "has_escapes_in_its_message/program.py", "--isolated", folder=folder)
    assert said.code == 1 and "RuntimeError" in said.text
    assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(said.text)
    assert json.dumps(said.text) and os.linesep in said.text
