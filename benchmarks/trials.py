"""What a trial costs beside a fresh process that runs the same program: start, twenty candidates, memory.

Run it as `python benchmarks/trials.py [torch] [keras] [tensorflow] [--python PYTHON]`; TensorFlow is not measured unless it is
named. Every number is a ratio of two measurements made side by side,
alternating, in one interpreter and on as many threads (one); the targets are those of the design.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _measure import Table, arguments

from dnnfix.records import RunOutcome
from dnnfix.run.job import Budget, Job, Tier
from dnnfix.run.runner import Runner

IMPORTS = {name: f"import {name}\n" for name in ("torch", "keras", "tensorflow")}
BACKEND = {"torch": "torch", "keras": "torch", "tensorflow": "tensorflow"}
PROGRAMS = {
    "torch": """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
inputs, labels = torch.randn(256, 20), torch.randint(0, 3, (256,))
for epoch in range(5):
    for i in range(0, 256, 64):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[i:i + 64]), labels[i:i + 64])
        loss.backward()
        optimizer.step()
""",
    "keras": """
import keras, numpy
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(numpy.random.rand(256, 20), numpy.random.randint(0, 3, 256), batch_size=64, epochs=5, verbose=0)
""",
    "tensorflow": """
import tensorflow as tf
inputs, labels = tf.random.normal([256, 20]), tf.random.uniform([256], 0, 3, tf.int64)
first, second = tf.Variable(tf.random.normal([20, 32])), tf.Variable(tf.random.normal([32, 3]))
for epoch in range(5):
    for i in range(0, 256, 64):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(inputs[i:i + 64] @ first) @ second
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels[i:i + 64], logits))
        for weight, gradient in zip((first, second), tape.gradient(loss, (first, second))):
            weight.assign_sub(0.01 * gradient)
""",
}
TARGETS = {
    "torch": {"start": 0.05, "one": 1.1, "many": 0.10, "count": 20},
    "keras": {"start": 0.05, "one": 1.1, "many": 0.20, "count": 10},
    "tensorflow": {"start": 0.05, "one": 1.1, "many": 0.25, "count": 10},
}
PRIVATE = """
import {framework}
def read():
    with open("/proc/self/smaps_rollup") as stream:
        found = dict(line.split(":", 1) for line in stream if line.startswith("Private"))
    return sum(int(value.split()[0]) for value in found.values()) // 1024
print(read())
"""


def fresh(python: Path, framework: str, folder: Path, program: str) -> float:
    """Seconds of a plain interpreter that runs the program."""
    file = folder / "fresh.py"
    file.write_text(program)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    environment |= {"KERAS_BACKEND": BACKEND[framework], "CUDA_VISIBLE_DEVICES": ""}
    begun = time.perf_counter()
    subprocess.run([str(python), str(file)], check=True, env=environment, capture_output=True)
    return time.perf_counter() - begun


def trial(runner: Runner, program: str) -> float:
    """Seconds of one trial, from asking for it to having its trace."""
    begun = time.perf_counter()
    trace = runner.run(Job("program.py", program.encode(), budget=Budget(steps=100, seconds=60)))
    if trace.outcome is not RunOutcome.FINISHED:
        raise SystemExit(f"the benchmark's program did not finish: {trace.outcome} {trace.detail} {trace.printed}")
    return time.perf_counter() - begun


def alone(python: Path, framework: str, tier: Tier, program: str) -> float:
    """Seconds of a runner that is made for one trial and closed after it."""
    begun = time.perf_counter()
    with Runner(python, tier=tier, framework=framework) as runner:
        trial(runner, program)
    return time.perf_counter() - begun


def alternating(one: Callable[[], float], other: Callable[[], float], times: int) -> tuple[float, float]:
    """Medians of two measurements that are made in turn."""
    pairs = [(one(), other()) for _ in range(times)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def measure(python: Path, framework: str, tier: Tier, times: int, table: Table) -> None:
    """Measure one framework in one tier."""
    target, program, imports = TARGETS[framework], PROGRAMS[framework], IMPORTS[framework]
    count = int(target["count"])
    with tempfile.TemporaryDirectory() as name:
        plain = partial(fresh, python, framework, Path(name))
        plain(program)
        with Runner(python, tier=tier, framework=framework) as runner:
            trial(runner, program)
            fresh_start, start = alternating(lambda: plain(imports), lambda: trial(runner, imports), times)
            private = runner.run(Job("program.py", PRIVATE.format(framework=framework).encode())).printed
        one_fresh, one = alternating(lambda: plain(program), lambda: alone(python, framework, tier, program), times)
        begun = time.perf_counter()
        with Runner(python, tier=tier, framework=framework) as runner:
            for _ in range(count):
                trial(runner, program)
        many = time.perf_counter() - begun
        many_fresh = sum(plain(program) for _ in range(count))
    table.title(f"{framework}, {tier}")
    told = f"{start * 1e3:.0f} ms / {fresh_start * 1e3:.0f} ms"
    table.row("start of a trial / a fresh process", start / fresh_start, target["start"], told)
    told = f"{one:.2f} s / {one_fresh:.2f} s"
    table.row("one candidate / one fresh process", one / one_fresh, target["one"], told)
    told = f"{many:.2f} s / {many_fresh:.2f} s"
    table.row(f"{count} candidates / {count} fresh processes", many / many_fresh, target["many"], told)
    table.row("private memory of a trial, MiB", float(private), 25.0)


def main() -> None:
    """Measure what the arguments name; the exit code says whether all targets are met."""
    parser = arguments(__doc__)
    parser.add_argument("framework", nargs="*", default=["torch", "keras"])
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the interpreter with the frameworks")
    parser.add_argument("--tier", type=Tier, default=Tier.BUBBLEWRAP)
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    table = Table.of(options)
    for framework in options.framework:
        measure(options.python.absolute(), framework, options.tier, options.times, table)
    table.end()


if __name__ == "__main__":
    main()
