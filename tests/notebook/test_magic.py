"""`%%dnnfix` and `%dnnfix` in a real kernel: what they show, and that the cell runs as it would without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.notebook.conftest import ROOT, Kernel, until

pytest.importorskip("IPython", reason="IPython is not installed")

LOSS = """%%dnnfix
# Verlust für „Größe“
loss_fn = nn.CrossEntropyLoss()
loss = loss_fn(model(torch.randn(32, 20)), torch.randint(0, 10, (32,)))
loss.shape"""
IMPORTS = "\nimport torch\nfrom torch import nn\n"
MODEL = "model = nn.Sequential(nn.Linear(20, 10), nn.Softmax(dim=1))"


def test_a_cell_is_checked_with_those_before_it_and_then_runs(kernel: Kernel) -> None:
    kernel.run("!echo 你好\nimport torch\nfrom torch import nn")
    ran = kernel.run(f"%%dnnfix\n{MODEL}\nlen(model)")
    assert ran.ok and "No problems found in this cell" in ran.text and ran.outputs[-1]["text/plain"] == "2"
    ran = kernel.run(LOSS.replace("%%dnnfix", "%%dnnfix --select DNF3"))
    assert ran.outputs[-1]["text/plain"] == "torch.Size([])"
    assert "In [3], line 2" in ran.text and "this cell" in ran.text  # the softmax is in the cell before
    ran = kernel.run(f"%%dnnfix\n\n{MODEL}\n{LOSS.partition(chr(10))[2]}")
    assert "In [5], line 3: DNF301" in ran.text and "+model = nn.Sequential(nn.Linear(20, 10))" in ran.text
    assert '<mark class="n">nn</mark>' in ran.html and "In [5], line 3" in ran.html and 'class="removed"' in ran.html
    ran = kernel.run("%dnnfix check")
    assert "In [3], line 2: DNF301" in ran.text and "In [5], line 3: DNF301" in ran.text


def test_a_cell_runs_as_it_would_without(kernel: Kernel) -> None:
    ran = kernel.run("%%dnnfix\nx = 1\n\n1 / 0")
    assert not ran.ok and ran.reply["ename"] == "ZeroDivisionError" and "magic.py" not in ran.error
    assert ", line 4" in ran.error.replace("\x1b[32m", "").replace("\x1b[39m", "")
    ran = kernel.run("%%dnnfix\nimport asyncio\nawait asyncio.sleep(0, 'waited')")
    assert ran.ok and ran.outputs[-1]["text/plain"] == "'waited'"
    ran = kernel.run("%%dnnfix\n%%bash\necho from a shell")
    assert ran.ok and ran.stdout == "from a shell\n"
    ran = kernel.run("%%capture kept\n%%dnnfix\nprint('held')")
    assert ran.ok and kernel.run("kept.stdout").outputs[0]["text/plain"].startswith("'held")
    ran = kernel.run("get_ipython().run_cell('')\nget_ipython().run_line_magic('dnnfix', 'cell')")
    assert ran.ok and "this cell" in ran.text
    ran = kernel.run("%%dnnfix --no-run\nx = 2")
    assert ran.ok and "No problems found" in ran.text and kernel.run("x").text == "1"
    ran = kernel.run("get_ipython().run_cell_magic('dnnfix', '', 'x = 3')")
    assert ran.ok and kernel.run("x").text == "3"


def test_a_cell_counts_once_in_its_last_version(kernel: Kernel) -> None:
    kernel.run("from torch import nn\n" + MODEL, "a")
    kernel.run("from torch import nn\nmodel = nn.Linear(20, 10)", "a")
    assert "More in cells" not in kernel.run(LOSS.replace("%%dnnfix", "%%dnnfix --no-run"), "b").text
    kernel.run("from torch import nn\n" + MODEL, "a")
    assert (
        "More in cells before it (In [5], line 2)"
        in kernel.run(LOSS.replace("%%dnnfix", "%%dnnfix --no-run"), "b").text
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%dnnfix --suggst", "unrecognized arguments: --suggst"),
        ("%dnnfix chek", "%dnnfix has no `chek`. Did you mean `%dnnfix check`?"),
        ("%dnnfix apply", "give the id of a patch"),
        ("%dnnfix apply patch-7", "patch-7: no such patch. Run `%dnnfix suggest` first."),
        ("%dnnfix check --file weg.ipynb", "weg.ipynb: no such file in "),
        ("%dnnfix check --file train.py", "train.py: not a notebook"),
        ("%dnnfix check --file bad.ipynb", "bad.ipynb: not a notebook, not JSON at line 1"),
        ("%dnnfix check --file r.ipynb", "a notebook in r; dnnfix reads Python ones"),
        ("%dnnfix check --select DNF3999", "no rule is meant by `DNF3999`"),
        ("%dnnfix suggest --budget soon", "invalid float value: 'soon'"),
        ("%dnnfix suggest --python /nowhere/python", "/nowhere/python"),
        ("%%dnnfix --unknown\nran = True", "unrecognized arguments: --unknown"),
    ],
)
def test_a_mistake_is_told_in_one_line(shared: Kernel, line: str, said: str) -> None:
    ran = shared.run(line)
    assert not ran.ok and ran.error == "" and ran.text in ("", "dnnfix: stopped.")
    assert said in ran.stderr and len(ran.stderr.strip().splitlines()) == 1
    assert shared.run("'ran' in globals()").text == "False"


def test_help_is_shown_and_a_check_says_how_to_run(shared: Kernel) -> None:
    ran = shared.run("%dnnfix --help")
    assert ran.ok and "--suggest" in ran.text + ran.stdout and "%dnnfix apply ID" in ran.text + ran.stdout
    assert "`%dnnfix suggest` does that" in shared.run("%%dnnfix\nimport torch").text


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("shared") / "work"
    folder.mkdir()
    (folder / "bad.ipynb").write_text("{,")
    (folder / "r.ipynb").write_text('{"cells": [], "metadata": {"language_info": {"name": "R"}}}')
    kernel = Kernel(folder)
    kernel.run("%load_ext dnnfix")
    yield kernel
    kernel.close()


def test_help_and_loading_again(shared: Kernel) -> None:
    asked = shared.run("%dnnfix?").reply["payload"][0]["data"]["text/plain"]
    assert "--no-run" in asked and "%dnnfix apply ID" in asked
    shared.run("%reload_ext dnnfix")
    assert shared.run("%%dnnfix\n7").outputs[-1]["text/plain"] == "7"
    shared.run("%unload_ext dnnfix")
    assert "not found" in shared.run("%dnnfix check").stderr
    assert shared.run("%load_ext dnnfix").ok


SLEEPS = "%%dnnfix --suggest\nimport time, torch\nprint('begun')\ntime.sleep(900)"


def test_an_interruption_ends_the_runs_and_leaves_nothing_running(kernel: Kernel) -> None:
    message = kernel.start(SLEEPS)
    assert until(lambda: len(kernel.children()) >= 3)
    kernel.manager.interrupt_kernel()
    ran = kernel.wait(message)
    assert not ran.ok and ran.reply["ename"] == "Interrupted"
    assert ran.error == "dnnfix: interrupted; nothing is left running, and the cell was not run."
    assert ran.text == "dnnfix: interrupted." and ran.told[0] == "dnnfix: 0 s: starting"
    assert until(lambda: not kernel.children(), 10)
    assert kernel.run("%%dnnfix\n'alive'").outputs[-1]["text/plain"] == "'alive'"


def test_a_shell_in_a_terminal(folder: Path) -> None:
    script = f"%load_ext dnnfix\nimport torch; from torch import nn; {MODEL}\n%dnnfix check\n%dnnfix chek\nexit\n"
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder), "IPYTHONDIR": str(folder)}
    done = subprocess.run(
        command, input=script, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert "No problems found in the cells executed so far" in done.stdout and "HTML" not in done.stdout
    assert "Did you mean `%dnnfix check`?" in done.stdout + done.stderr and "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(("missing", "said"), [("jinja2", "%pip install 'dnnfix[notebook]'"), ("ipywidgets", "DNF301")])
def test_without_a_library(folder: Path, missing: str, said: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from IPython.testing.globalipapp import start_ipython\n"
        "shell = start_ipython(); shell.run_line_magic('load_ext', 'dnnfix')\n"
        f"shell.run_cell({LOSS.replace('%%dnnfix', f'%%dnnfix --no-run{IMPORTS}{MODEL}')!r})\n"
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder), "IPYTHONDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert said in done.stdout + done.stderr, done
