"""How a run ends, in the words of the record: the program's own doing, or what the environment lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.records import RunOutcome, Site, Trace
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner

Run = Callable[..., Trace]


@pytest.mark.parametrize(
    ("text", "outcome", "detail"),
    [
        ("x = 1", RunOutcome.FINISHED, ""),
        ("import sys; sys.exit()", RunOutcome.FINISHED, ""),
        ("import sys; sys.exit(0)", RunOutcome.FINISHED, ""),
        ("import sys; sys.exit(3)", RunOutcome.EXITED, "3"),
        ("import sys; sys.exit('no data given')", RunOutcome.EXITED, "no data given"),
        ("import os; os._exit(4)", RunOutcome.EXITED, "4"),
        ("import os; os._exit(0)", RunOutcome.EXITED, "0"),
        ("1 / 0", RunOutcome.CRASHED, "ZeroDivisionError"),
        ("import os; os.abort()", RunOutcome.CRASHED, "the process was ended by SIG"),
        ("import ctypes; ctypes.string_at(0)", RunOutcome.CRASHED, "SIGSEGV"),
        ("import no_such_package.part", RunOutcome.ENVIRONMENT, "'no_such_package'"),
        ("import cPickle", RunOutcome.CRASHED, "cPickle"),
        ("import json.nothing", RunOutcome.CRASHED, "json.nothing"),
        ("from json import nothing", RunOutcome.CRASHED, "ImportError"),
        ("open('train.csv')", RunOutcome.NEEDS_DATA, "train.csv"),
        ("import os; os.listdir('images/train')", RunOutcome.NEEDS_DATA, "images/train"),
        ("import numpy; numpy.load('weights.npy')", RunOutcome.NEEDS_DATA, "weights.npy"),
        ("import numpy; numpy.loadtxt('./rows.txt')", RunOutcome.NEEDS_DATA, "./rows.txt"),
        ("import pandas; pandas.read_csv('data/table.csv')", RunOutcome.NEEDS_DATA, "data/table.csv"),
        ("import h5py; h5py.File('model.h5', 'r')", RunOutcome.NEEDS_DATA, "model.h5"),
        ("open('missing_folder/out.txt', 'w')", RunOutcome.CRASHED, "missing_folder"),
        ("open('/data/results/out.txt', 'w')", RunOutcome.ENVIRONMENT, "/data/results/out.txt"),
        ("name = input('your name? ')", RunOutcome.NEEDS_INPUT, "your name?"),
        ("import urllib.request; urllib.request.urlopen('http://example.com/data.zip')", RunOutcome.NEEDS_NETWORK, ""),
        ("import socket; socket.create_connection(('192.0.2.7', 80), 2)", RunOutcome.NEEDS_NETWORK, ""),
        ("raise RuntimeError('Error downloading x.gz:\\ngot: <urlopen error [Errno -3]>')", RunOutcome.NEEDS_NETWORK, ""),
        ("import subprocess; subprocess.run(['no-such-command', 'x'])", RunOutcome.ENVIRONMENT, "no-such-command"),
        ("raise MemoryError()", RunOutcome.OUT_OF_MEMORY, ""),
        ("bytearray(10**13)", RunOutcome.OUT_OF_MEMORY, ""),
        ("raise RuntimeError('Found no NVIDIA driver on your system.')", RunOutcome.NEEDS_GPU, "NVIDIA"),
        ("raise AssertionError('Torch not compiled with CUDA enabled')", RunOutcome.NEEDS_GPU, "CUDA"),
        ("raise ValueError('Your setup doesn\\'t support bf16/gpu.')", RunOutcome.NEEDS_GPU, "bf16"),
        ("raise RuntimeError('No supported gpu backend found!')", RunOutcome.NEEDS_GPU, "gpu backend"),
        ("raise ImportError('x is not met: pip install x')", RunOutcome.ENVIRONMENT, "pip install x"),
        ("raise ImportError('Make sure to install tensorboard')", RunOutcome.ENVIRONMENT, "tensorboard"),
        ("from math import install", RunOutcome.CRASHED, "install"),
        ("import tkinter; tkinter.Tk()", RunOutcome.ENVIRONMENT, "no display"),
        ("raise RuntimeError('Invalid DISPLAY variable: cannot connect to display')", RunOutcome.ENVIRONMENT, "display"),
        ("raise BlockingIOError(11, 'Resource temporarily unavailable')", RunOutcome.ENVIRONMENT, "no more processes"),
        ("import getpass; getpass.getpass()", RunOutcome.NEEDS_INPUT, "password"),
        ("breakpoint()\nx = 1", RunOutcome.NEEDS_INPUT, "debugger"),
        ("import subprocess; subprocess.check_call(['false'])", RunOutcome.ENVIRONMENT, "'false'"),
        ("from . import helper", RunOutcome.ENVIRONMENT, "module of a package"),
        ("import sys; sys.stdout = sys.stderr = None", RunOutcome.FINISHED, ""),
        ("raise KeyboardInterrupt", RunOutcome.CRASHED, "KeyboardInterrupt"),
        ("def f(: pass", RunOutcome.CRASHED, "SyntaxError"),
        ("# -*- coding: nonsense -*-\nx = 1", RunOutcome.CRASHED, "SyntaxError"),
        ("def f(): f()\nf()", RunOutcome.CRASHED, "RecursionError"),
        ("import threading\nthreading.Thread(target=lambda: print('thread')).start()", RunOutcome.FINISHED, ""),
        ("import atexit\natexit.register(print, 'over')", RunOutcome.FINISHED, ""),
        ("class Odd(Exception):\n def __str__(self): return 1 / 0\nraise Odd()", RunOutcome.CRASHED, "Odd"),
    ],
    ids=lambda value: value.replace("\n", ";")[:40] if isinstance(value, str) else str(value),
)  # fmt: skip
def test_the_outcome(run: Run, text: str, outcome: RunOutcome, detail: str) -> None:
    trace = run(text)
    assert (trace.outcome, detail in trace.detail) == (outcome, True), trace.detail


SERIES = """
import torch

w = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for epoch in range(30):
    (w**2).sum().backward()
    optimizer.step()
    with open(f"{epoch}.txt", "w") as file:
        file.write("1")
print(sum(int(open(f"{epoch}.txt").read()) for epoch in range(30)), open("other.txt").read())
"""


def test_a_file_that_a_loop_would_have_written_is_not_missing_data(run: Run) -> None:
    trace = run(SERIES, steps=5)
    assert trace.outcome is RunOutcome.BUDGET
    assert trace.crash is None
    assert "a loop that was cut" in trace.detail
    assert run(SERIES, steps=60).outcome is RunOutcome.NEEDS_DATA


def test_what_a_program_registers_for_its_end_still_runs(run: Run) -> None:
    assert run("import atexit\natexit.register(print, 'over')\nprint('first')").printed == "first\nover\n"


def test_the_sites_of_a_crash_are_those_of_the_file(run: Run) -> None:
    trace = run("def löschen(liste):\n    return liste['ä'] + liste[3]\n\nwerte = [1]; löschen(\n    werte)\n")
    assert trace.crash is not None
    assert [frame.site for frame in trace.crash.frames] == [Site(4, 14, 5, 11), Site(2, 12, 2, 22)]
    assert [frame.function for frame in trace.crash.frames] == ["<module>", "löschen"]


def test_the_site_of_a_syntax_error(run: Run) -> None:
    trace = run("x = 1\ny = (2,\nz = 3 3\n")
    assert trace.crash is not None and trace.crash.site is not None
    assert trace.crash.kind == "SyntaxError" and trace.crash.site.line in (2, 3)


def test_a_program_is_run_as_main_with_its_arguments_in_its_folder(run: Run) -> None:
    trace = run(
        "import os, sys, json\nif __name__ == '__main__':\n    print(json.dumps([sys.argv[1:], os.path.basename(sys.argv[0]),"
        " os.path.dirname(os.path.abspath(__file__)) == os.getcwd(), os.listdir('.'), sys.path[0] == os.getcwd()]))",
        path="train_it.py", arguments=("--epochs", "3"),
    )  # fmt: skip
    assert json.loads(trace.printed) == [["--epochs", "3"], "train_it.py", True, ["train_it.py"], True]


def test_the_main_module_can_be_pickled_from_and_inspected(run: Run) -> None:
    trace = run(
        "import pickle, inspect\nclass Net:\n    x = 1\nprint(type(pickle.loads(pickle.dumps(Net()))).x, len(inspect.getsource(Net)))"
    )
    assert trace.printed == "1 21\n", trace.detail


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_columns_count_characters_whatever_the_encoding(runner: Runner, encoding: str) -> None:
    text = f"# -*- coding: {encoding} -*-\r\nü = 'äöü'; print(ü); ü.none\r\n"
    trace = runner.run(Job("program.py", text.encode(encoding)))
    assert trace.printed == "äöü\n"
    assert trace.crash is not None and trace.crash.site == Site(2, 22, 2, 28)


def test_what_a_library_logs_as_a_warning_is_reported_once(run: Run) -> None:
    trace = run("""
import logging
library, own = logging.getLogger("transformers.generation"), logging.getLogger("own")
for _ in range(2):
    library.warning("right-padding was detected")
    library.info("read")
    own.warning("mine")
""")
    assert [(w.category, w.message, w.site and w.site.line) for w in trace.warnings] == [
        ("logged", "right-padding was detected", 5)
    ]


def test_warnings_are_reported_once_per_place(run: Run) -> None:
    trace = run("""
import warnings
for i in range(5):
    warnings.warn("odd %d" % i)
    warnings.warn("old", DeprecationWarning)
warnings.simplefilter("ignore")
warnings.warn("silenced")
""")
    assert [(w.category, w.message, w.site and w.site.line) for w in trace.warnings] == [
        ("UserWarning", "odd 0", 4),
        ("DeprecationWarning", "old", 5),
    ]


def test_what_one_call_of_a_library_warns_of_is_reported_once_each(run: Run) -> None:
    trace = run("""
import warnings
for i in range(4):
    warnings.warn_explicit(("odd %d", "other %d")[i % 2] % i, UserWarning, "/library/module.py", 3)
""")
    assert [(w.message, w.site and w.site.line) for w in trace.warnings] == [("odd 0", 4), ("other 1", 4)]


def test_figures_are_not_shown(run: Run) -> None:
    pytest.importorskip("matplotlib")
    trace = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('shown')", seconds=60)
    assert trace.printed.endswith("shown\n")


RANDOM = """
import random, numpy, os, uuid
print(random.random(), numpy.random.rand(), numpy.random.default_rng().random(), numpy.random.default_rng().random())
print(numpy.random.default_rng(3).random(), {"b", "a", "c"}, os.getcwd())
raise ValueError(os.path.abspath("data"))
"""


def test_the_same_seed_gives_the_same_trace(run: Run) -> None:
    first, second, other = run(RANDOM, seed=7), run(RANDOM, seed=7), run(RANDOM, seed=8)
    assert first.printed.splitlines()[0] == second.printed.splitlines()[0]
    assert first.detail == second.detail and first.crash == second.crash
    assert first.printed.splitlines()[0] != other.printed.splitlines()[0]
    draws = first.printed.split()
    assert draws[2] != draws[3]


COMPANION = """
import helper, package.deep
from pathlib import Path
print(Path("data/table.csv").read_text(), helper.double(2))
Path("data/table.csv").write_text("changed")
Path("model.pt").write_text("written")
package.deep.fail()
"""


def test_modules_and_data_beside_the_program(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "package").mkdir(parents=True)
    (project / "data").mkdir()
    (project / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    (project / "package" / "__init__.py").write_text("")
    (project / "package" / "deep.py").write_text("def fail():\n    raise ValueError('deep')\n")
    (project / "data" / "table.csv").write_text("1;2")
    (project / "program.py").write_text("never run")
    for _ in range(2):
        trace = run(COMPANION, path=str(project / "program.py"))
        assert trace.printed == "1;2 4\n", trace.detail
        assert trace.crash is not None
        assert trace.crash.site == Site(2, 5, 2, 29, "package/deep.py")
    assert (project / "data" / "table.csv").read_text() == "1;2"
    assert sorted(path.name for path in project.iterdir()) == ["data", "helper.py", "package", "program.py"]


def test_large_files_are_linked_and_cannot_be_written(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "big.bin").write_bytes(b"x" * 3_000_000)
    (project / "other.bin").write_bytes(b"y" * 3_000_000)
    (project / "program.py").write_text("never run")
    text = """
import glob, os
print(len(open("big.bin", "rb").read()), [os.path.getsize(p) for p in glob.glob("oth*")])
with open("big.bin", "wb") as stream:
    stream.write(b"copied, since it is named")
try:
    open(glob.glob("oth*")[0], "ab").write(b"z")
except OSError:
    print("refused")
"""
    trace = run(text, path=str(project / "program.py"))
    assert trace.printed == "3000000 [3000000]\nrefused\n", trace.detail
    assert (project / "other.bin").read_bytes() == b"y" * 3_000_000


def test_a_large_program_runs_as_given_and_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    notebook = project / "large.ipynb"
    notebook.write_bytes(b"x" * 3_000_000)
    trace = run("print('the text of the job')", path=str(notebook))
    assert trace.printed == "the text of the job\n", trace.detail
    assert notebook.read_bytes() == b"x" * 3_000_000


def test_a_program_below_the_folder_of_its_companions(tier: object, tmp_path: Path, runner: Runner) -> None:
    from dnnfix.run.job import Tier
    from tests.run.conftest import PYTHON

    (tmp_path / "repo" / "examples").mkdir(parents=True)
    (tmp_path / "repo" / "library.py").write_text("def f():\n    raise KeyError('k')\n")
    program = tmp_path / "repo" / "examples" / "train.py"
    program.write_text("x")
    with Runner(PYTHON, tier=Tier(str(tier)), companions=tmp_path / "repo") as one:
        trace = one.run(Job(str(program), b"import library\nlibrary.f()"))
    assert trace.crash is not None and trace.crash.site == Site(2, 5, 2, 24, "../library.py")


def test_many_jobs_come_back_each_with_its_own_trace(runner: Runner) -> None:
    jobs = [Job("program.py", f"import time; time.sleep({0.2 * (3 - n)}); print({n})".encode()) for n in range(4)]
    done = list(runner.run_many(jobs, parallel=4))
    assert {job.program for job, _ in done} == {job.program for job in jobs}
    assert all(f"print({trace.printed.strip()})".encode() in job.program for job, trace in done)
    assert done[0][1].printed.strip() != "0"


def test_what_is_not_waited_for_is_ended(runner: Runner) -> None:
    jobs = [
        Job("program.py", text, budget=Budget(seconds=60)) for text in (b"print(1)", b"import time; time.sleep(50)")
    ]
    many = runner.run_many(jobs, parallel=2)
    next(many)
    many.close()  # type: ignore[attr-defined]
    assert runner.run(Job("program.py", b"print(2)")).printed == "2\n"


PROCESSES_WITH_LOCKS = {
    "bubblewrap": (RunOutcome.FINISHED, "[1, 4, 9]\n"),
    # Locks between processes are files in memory that all programs of a user share: refused where nothing hides them.
    "limits": (RunOutcome.ENVIRONMENT, ""),
}


def test_the_program_may_start_processes_of_its_own(run: Run, runner: Runner) -> None:
    assert (
        run("""
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True).stdout)
""").printed
        == "child\n\n"
    )
    trace = run(
        """
import multiprocessing
def square(x):
    return x * x
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, [1, 2, 3]))
""",
        seconds=30,
    )
    assert (trace.outcome, trace.printed) == PROCESSES_WITH_LOCKS[runner.tier], trace.detail


def test_spawned_processes_find_the_program(run: Run, runner: Runner) -> None:
    trace = run(
        """
import multiprocessing
def square(x):
    return x * x
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, [1, 2, 3]))
""",
        seconds=30,
    )
    assert (trace.outcome, trace.printed) == PROCESSES_WITH_LOCKS[runner.tier], trace.detail
