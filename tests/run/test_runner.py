"""The runner with frameworks: warm and fresh processes agree, tiers are never lowered, an ordinary user is as safe."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dnnfix.errors import InterpreterError, SandboxError
from dnnfix.records import RunOutcome, Trace
from dnnfix.run import sandbox
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.runner import Runner

PYTHON = Path(sys.executable)
BUDGET = Budget(steps=6, seconds=90)

TORCH = b"""
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
data = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=8, shuffle=True)
for epoch in range(100):
    for inputs, labels in data:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
print("epochs begun:", epoch + 1, "threads:", torch.get_num_threads())
nn.Linear(8, 3)(torch.zeros(2, 9))
"""

KERAS = b"""
import keras, numpy
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(numpy.random.rand(64, 4), numpy.random.randint(0, 3, 64), batch_size=8, epochs=50, verbose=0)
print("trained", keras.backend.backend(), [layer.name for layer in model.layers])
"""


def comparable(trace: Trace) -> Trace:
    """The trace without its times and sizes of memory."""
    return dataclasses.replace(trace, seconds=0.0, peak_memory=0, step_seconds=None)


def test_a_torch_program_is_cut_to_its_budget_and_what_follows_still_runs(torch_runner: Runner) -> None:
    trace = torch_runner.run(Job("program.py", TORCH, budget=BUDGET))
    assert trace.outcome is RunOutcome.CRASHED, trace.detail
    assert trace.printed == "epochs begun: 1 threads: 1\n"
    assert trace.crash is not None and trace.crash.site is not None
    assert (trace.crash.site.line, trace.crash.site.column) == (15, 1)
    assert len(trace.steps) == 6
    assert {site.line for site in trace.cut} == {8, 9}
    assert trace.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("program", [TORCH, KERAS], ids=["torch", "keras"])
def test_training_that_takes_too_long_is_cut_by_the_clock_and_what_follows_still_runs(
    tier: Tier, program: bytes
) -> None:
    slow = program.replace(b"optimizer.step()", b"optimizer.step(); import time; time.sleep(2)").replace(
        b"verbose=0",
        b"verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: __import__('time').sleep(2))]",
    )
    with Runner(PYTHON, tier=tier, framework="keras" if program is KERAS else "torch") as runner:
        trace = runner.run(Job("program.py", slow, budget=Budget(steps=600, seconds=90, training=8)))
    assert 1 <= len(trace.steps) < 5 and trace.hurried and trace.cut
    assert trace.printed


@pytest.mark.slow
def test_a_run_whose_time_is_over_after_training_was_cut_has_used_its_budget(tier: Tier) -> None:
    slow = TORCH.replace(b"optimizer.step()", b"optimizer.step(); import time; time.sleep(1)")
    with Runner(PYTHON, tier=tier, framework="torch") as runner:
        endless = Job(
            "program.py",
            b"def after():\n    while True:\n        pass\n\n\n" + slow,
            0,
            Budget(600, seconds=6, training=2),
        )
        followed = runner.run(replace(endless, program=endless.program.replace(b"print(", b"after()\nprint(", 1)))
        stuck = runner.run(replace(endless, program=slow.replace(b"time.sleep(1)", b"time.sleep(60)")))
    assert followed.outcome is RunOutcome.BUDGET and followed.hurried and followed.steps, followed.detail
    assert followed.detail.startswith("the time for training was used up by ")
    assert stuck.outcome is RunOutcome.TIMEOUT and not stuck.hurried, stuck.detail


def test_warm_and_fresh_processes_give_the_same_trace(tier: Tier, torch_runner: Runner) -> None:
    warm = [torch_runner.run(Job("program.py", TORCH, seed=3, budget=BUDGET)) for _ in range(2)]
    with Runner(PYTHON, tier=tier, fresh=True) as runner:
        fresh = runner.run(Job("program.py", TORCH, seed=3, budget=BUDGET))
    assert comparable(warm[0]) == comparable(warm[1])
    assert comparable(warm[0]) == comparable(fresh)
    other = torch_runner.run(Job("program.py", TORCH, seed=4, budget=BUDGET))
    assert [step.loss for step in other.steps] != [step.loss for step in fresh.steps]


@pytest.mark.slow
def test_a_keras_program(tier: Tier) -> None:
    with Runner(PYTHON, tier=tier, framework="keras") as runner:
        traces = [runner.run(Job("program.py", KERAS, budget=BUDGET)) for _ in range(2)]
    assert traces[0].outcome is RunOutcome.FINISHED, (traces[0].detail, traces[0].notes)
    assert traces[0].printed == "trained torch ['dense']\n"
    assert comparable(traces[0]) == comparable(traces[1])


def test_a_framework_that_is_not_installed_is_named(tier: Tier) -> None:
    text = b"import tensorflow as tf\nmodel = tf.keras.Sequential()\n"
    pytest.importorskip("torch")
    with Runner(PYTHON, tier=tier, framework="tensorflow") as runner:
        trace = runner.run(Job("program.py", text))
    if trace.outcome is RunOutcome.FINISHED:
        pytest.skip("tensorflow is installed")
    assert trace.outcome is RunOutcome.ENVIRONMENT and "'tensorflow'" in trace.detail
    assert trace.crash is not None and trace.crash.site is not None and trace.crash.site.line == 1


def test_where_trials_cannot_have_namespaces_each_gets_a_sandbox(monkeypatch: pytest.MonkeyPatch, tier: Tier) -> None:
    if tier is not Tier.BUBBLEWRAP:
        pytest.skip("only bubblewrap has namespaces")
    words = ["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--unshare-net"]
    words += ["--unshare-ipc", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    monkeypatch.setattr(sandbox, "_namespaces", lambda: words)
    kill = b"import os\nfor n in range(1, 300):\n  try:\n    os.kill(n, 9)\n  except OSError: pass\nprint('alive')"
    write = b"import os\nprint(os.listdir('.')); open('x', 'w').write('x' * 1000)"
    with Runner(PYTHON, tier=tier) as runner:
        first, second, third = (runner.run(Job("program.py", text)) for text in (write, write, kill))
    assert first.printed == second.printed == "['program.py']\n", (first.detail, first.notes)
    assert third.outcome in {RunOutcome.FINISHED, RunOutcome.KILLED}


def test_a_tier_that_does_not_work_is_an_error_and_not_another_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_attempts", lambda _: {t: ("broken", ()) for t in (Tier.BUBBLEWRAP, Tier.LIMITS)})
    for tier in (Tier.BUBBLEWRAP, Tier.LIMITS):
        with pytest.raises(SandboxError, match=f"{tier} does not work here: broken"):
            sandbox.choose(PYTHON, tier, trust=True)
    with pytest.raises(SandboxError, match="--trust"):
        sandbox.choose(PYTHON, None, trust=False)
    with pytest.raises(SandboxError, match="--trust"):
        sandbox.choose(PYTHON, Tier.NONE, trust=False)
    assert sandbox.choose(PYTHON, None, trust=True).tier is Tier.NONE


def test_without_bubblewrap_the_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._attempts.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    try:
        assert "not installed" in str(sandbox.probe_tiers(PYTHON)[Tier.BUBBLEWRAP])
        with pytest.raises(SandboxError, match="install bubblewrap"):
            Runner(PYTHON, tier=Tier.BUBBLEWRAP)
    finally:
        sandbox._attempts.cache_clear()


def test_trust_alone_runs_without_a_sandbox_and_says_so() -> None:
    with Runner(PYTHON, tier=Tier.NONE, trust=True) as runner:
        trace = runner.run(Job("program.py", b"import os; print(os.environ.get('GITHUB_TOKEN'), os.listdir('.'))"))
        slow = runner.run(Job("program.py", b"while True: pass", budget=Budget(seconds=0.5)))
    assert trace.printed == "None ['program.py']\n"
    assert trace.notes == ("sandbox: nothing keeps the program from this machine",)
    assert slow.outcome is RunOutcome.TIMEOUT


@pytest.mark.parametrize("path", ["/nowhere/python", "/bin/false", __file__])
def test_an_interpreter_that_does_not_start_is_an_error(path: str) -> None:
    with pytest.raises(InterpreterError, match="--python"):
        Runner(Path(path))


def test_a_closed_runner_runs_nothing() -> None:
    runner = Runner(PYTHON, tier=Tier.NONE, trust=True)
    runner.close()
    runner.close()
    with pytest.raises(SandboxError, match="closed"):
        runner.run(Job("program.py", b""))


def test_twenty_candidates_cost_a_fraction_of_fresh_processes(torch_runner: Runner, tmp_path: Path) -> None:
    """The fastest of five, and a generous bound: benchmarks/trials.py has the real one."""
    file = tmp_path / "program.py"
    file.write_bytes(b"import torch")
    begun = time.perf_counter()
    subprocess.run([str(PYTHON), str(file)], check=True)
    fresh = time.perf_counter() - begun
    torch_runner.run(Job("program.py", b"import torch"))
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        assert torch_runner.run(Job("program.py", b"import torch")).outcome is RunOutcome.FINISHED
        took.append(time.perf_counter() - begun)
    assert min(took) < fresh / 4


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the tests beside this one are run by an ordinary user already")
def test_an_ordinary_user_is_held_as_well(tmp_path: Path) -> None:
    """The hostile programs again, started by somebody who is not the superuser, in the system's interpreter."""
    system = next(
        (p for p in ("/usr/bin/python3.13", "/usr/bin/python3.12", "/usr/bin/python3") if os.path.exists(p)), None
    )
    if system is None or shutil.which("setpriv") is None:
        pytest.skip("no interpreter that everybody may start, or no setpriv")
    root = Path(sandbox.__file__).resolve().parents[2]
    packages = Path(pytest.__file__).resolve().parents[1]
    place = Path("/var/tmp") / f"dnnfix-user-{os.getpid()}"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(place),
        "PYTHONPATH": f"{root}:{packages}",
        "TMPDIR": str(place),
    }
    words = ["setpriv", "--reuid", "4321", "--regid", "4321", "--clear-groups", system, "-B", "-m", "pytest", "-q"]
    words += [
        "-p",
        "no:cacheprovider",
        str(root / "tests" / "run" / "test_hostile.py"),
        "--basetemp",
        str(place / "tmp"),
    ]
    try:
        check = subprocess.run(
            [*words[:7], "-c", "import sys, pytest; sys.exit(sys.version_info < (3, 11))"], env=environment, check=False
        )
        if check.returncode != 0:
            pytest.skip("the system's interpreter cannot run the tests")
        done = subprocess.run(
            words, env=environment, cwd=place, capture_output=True, text=True, timeout=300, check=False
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout, done.stdout[-500:]


def test_a_failure_while_a_trace_is_read_reaches_who_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise LookupError("no such record")

    monkeypatch.setattr("dnnfix.run.trial.Trial.trace", fail)
    with Runner(PYTHON) as runner, pytest.raises(LookupError, match="no such record"):
        runner.run(Job("program.py", b"print(1)"))
    runner.close()


@pytest.mark.parametrize("imported", ["keras", "pandas", "transformers.trainer", "lightning", "datasets"])
def test_what_programs_import_beforehand_starts_no_thread(imported: str) -> None:
    pytest.importorskip(imported.partition(".")[0])
    job = Job("program.py", f"import torch\nimport {imported}\n".encode(), budget=BUDGET)
    with Runner(PYTHON) as runner:
        assert {runner.run(job).outcome for _ in range(2)} == {RunOutcome.FINISHED}
        [used] = runner._engine._zygotes.values()
        assert used.forkable and used.requests == 2, used.ready
