"""Which programs are run on a GPU, and how: told without one, which a file in place of the driver's stands for."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from dnnfix.errors import EnvironmentProblem
from dnnfix.records import Trace
from dnnfix.run import gpu
from dnnfix.run.job import Budget, Device, Job
from dnnfix.run.runner import Runner

NAMES = b'net.to("cuda")'
LOOKS = b'device = "cuda" if torch.cuda.is_available() else "cpu"'
PLAIN = b"import torch"
TAKES = b"import tensorflow as tf"


@pytest.fixture
def present(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose driver tells of two cards."""
    control = tmp_path / "nvidiactl"
    control.touch()
    for place, model in (("0000:01", "Small Card"), ("0000:02", "Large Card")):
        folder = tmp_path / "gpus" / place
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t {model}\nIRQ:   1\n")
    monkeypatch.setattr(gpu, "_CONTROL", control)
    monkeypatch.setattr(gpu, "_DRIVER", tmp_path / "gpus")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return control


@pytest.mark.parametrize(
    ("program", "devices"),
    [
        (NAMES, [Device.AUTO, Device.CUDA]),
        (b"net.cuda()", [Device.AUTO, Device.CUDA]),
        (b'with tf.device("/GPU:0"): pass', [Device.AUTO, Device.CUDA]),
        (LOOKS, [Device.CUDA]),
        (TAKES, [Device.CUDA]),
        (PLAIN, []),
    ],
)
@pytest.mark.usefixtures("present")
def test_a_program_that_can_run_elsewhere_is_on_the_gpu_only_when_that_is_asked_for(
    program: bytes, devices: list[Device]
) -> None:
    assert [device for device in Device if gpu.runs_on_it(program, device)] == devices


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_gpu_that_is_not_there_or_hidden_is_used_by_nobody(
    present: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert not gpu.runs_on_it(NAMES, Device.CUDA)
    with pytest.raises(EnvironmentProblem, match="Leave --device out"):
        Runner(Path(sys.executable), device=Device.CUDA)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    present.unlink()
    assert not gpu.runs_on_it(NAMES, Device.AUTO)
    with pytest.raises(EnvironmentProblem, match="no .*nvidiactl"):
        gpu.required(Device.CUDA)


@pytest.mark.usefixtures("present")
def test_the_device_is_named_and_what_it_hides_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.device_of(PLAIN, Device.CUDA) == "cpu"
    assert gpu.device_of(NAMES, Device.AUTO) == "cuda (Small Card)"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert gpu.device_of(NAMES, Device.AUTO) == "cuda (Large Card)"
    assert "rounding" in gpu.remark(NAMES, Device.AUTO)
    assert "--device cuda" in gpu.remark(LOOKS, Device.AUTO)
    assert not gpu.remark(LOOKS, Device.CPU) and not gpu.remark(PLAIN, Device.AUTO)


@pytest.mark.usefixtures("present")
def test_another_process_waits_for_its_turn() -> None:
    turn = gpu.Turn()
    asking = "from dnnfix.run.gpu import Turn; raise SystemExit(int(Turn().take()))"
    assert turn.take() and turn.take() and turn.held
    assert subprocess.run([sys.executable, "-c", asking], check=False).returncode == 0
    turn.give_up()
    assert subprocess.run([sys.executable, "-c", asking], check=False).returncode == 1


TIMED = """
import time
begun = time.time()
time.sleep(0.5)
print("cuda", begun, time.time())
"""


@pytest.mark.usefixtures("present")
def test_trials_on_the_card_come_one_after_the_other() -> None:
    jobs = [Job("program.py", TIMED.encode(), seed, Budget(seconds=10.0)) for seed in range(3)]
    with Runner(Path(sys.executable)) as runner:
        times = sorted(spans(trace) for _, trace in runner.run_many(jobs, parallel=3))
    assert len(times) == 3 and all(end <= begun for (_, end), (begun, _) in itertools.pairwise(times))


def spans(trace: Trace) -> tuple[float, float]:
    _, begun, end = trace.printed.split()
    return float(begun), float(end)


BOUND = """
import os, torch
print("cuda"[:0], torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
print(os.environ["CUDA_VISIBLE_DEVICES"], os.environ["CUBLAS_WORKSPACE_CONFIG"])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("present")
def test_what_torch_leaves_to_chance_is_bound() -> None:
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(Job("program.py", BOUND.encode(), 0, Budget(seconds=60.0)))
        other = runner.run(Job("program.py", BOUND.replace('"cuda"[:0], ', "").split("print(os")[0].encode()))
    assert trace.printed.split() == ["True", "True", "0", ":4096:8"], trace.detail
    assert other.printed.split() == ["False", "False"]


THREADS = """
import os, threading
print("cuda"[:0], os.path.exists("/proc/self/task/%d/comm" % threading.get_native_id()))
"""


@pytest.mark.usefixtures("present")
def test_the_driver_finds_its_threads_where_it_looks_for_them() -> None:
    with Runner(Path(sys.executable)) as runner:
        trace = runner.run(Job("program.py", THREADS.encode(), budget=Budget(seconds=10.0)))
    assert trace.printed.split() == ["True"], trace.detail
