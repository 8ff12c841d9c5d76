"""How much a probe slows a training step once the recorded steps are over, and how much a look for symptoms adds to that.

    OMP_NUM_THREADS=1 python benchmarks/probe_overhead.py [--framework torch|keras] [--rounds 9]

One process trains the same small network (batch 32, three layers, Adam) in turns: a stretch of steps without the probe,
a stretch with it, and so on. The median of the ratios of the pairs is what the probe costs, which one lucky round does not
move; it must be at most 1.15. A third stretch also looks into the layers at a few steps,
as a look at training does (its rows are put aside before, and asked behind it); over one with the probe it may take 1.05.
As in the process that real trials are forked from, what is alive at the start is kept away from the garbage collector.
The program that trains counts as user code, so that every watcher does the work that it does for a real program.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from _measure import Table, arguments

PROBE = Path(__file__).parents[1] / "dnnfix" / "run" / "probe"
LIMIT = 1.15
SYMPTOMS_LIMIT = 1.05
LOOKING = ["reference", "units"]
"""The experiments of a look at training (`TrialLaboratory.look`)."""

TRAINING = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.second = nn.Linear(128, 128)
        self.last = nn.Linear(128, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.last(x)

torch.manual_seed(0)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters())
batches = [(torch.randn(32, 64), torch.randint(0, 10, (32,))) for _ in range(50)]

def train(steps, clock):
    begun = clock()
    for step in range(steps):
        x, y = batches[step % 50]
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    return (clock() - begun) / steps
"""

KERAS_TRAINING = """
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(0)
model = keras.Sequential([
    keras.Input((64,)), layers.Dense(128, activation="relu"), layers.Dense(128, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
batches = [(np.random.rand(32, 64).astype("float32"), np.random.randint(0, 10, 32)) for _ in range(50)]

def train(steps, clock):
    begun = clock()
    for step in range(steps):
        x, y = batches[step % 50]
        model.train_on_batch(x, y)
    return (clock() - begun) / steps
"""


def _load_probe() -> None:
    spec = importlib.util.spec_from_file_location("probe_main", PROBE / "__main__.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"no probe at {PROBE}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module._load_package()


def measure(rounds: int, steps: int, framework: str, table: Table) -> None:
    """What the probe adds to a step, and what a look adds to that, over `rounds` turns of `steps` steps each."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import torch

    torch.set_num_threads(1)
    _load_probe()
    from dnnfix_probe import budget, sites, wire  # type: ignore[import-not-found]
    from dnnfix_probe.program import frameworks  # type: ignore[import-not-found]

    probe = frameworks.probe_of(framework)
    training = KERAS_TRAINING if framework == "keras" else TRAINING

    with tempfile.TemporaryDirectory() as folder:
        filename = os.path.join(folder, "program.py")
        sites.configure(folder, filename)
        sites.add_source(filename, training)
        wire.attach(os.open(os.path.join(folder, "trace"), os.O_WRONLY | os.O_CREAT))
        job = {"seed": 0, "budget": {"steps": 10**9}, "record_steps": 2, "experiments": []}
        look = {**job, "experiments": LOOKING}
        plain: list[float] = []
        probed: list[float] = []
        looked: list[float] = []
        gc.collect()
        gc.freeze()
        code = compile(training, filename, "exec")
        for _ in range(rounds):
            for times, asked in ((plain, None), (probed, job), (looked, look)):
                budget.start(asked or job)
                hooks = frameworks.installed(probe, asked) if asked is not None else None
                space: dict[str, Any] = {"__name__": "__main__"}
                exec(code, space)  # noqa: S102
                space["train"](40, time.process_time)
                times.append(space["train"](steps, time.process_time))
                if hooks is not None:
                    hooks.finish()
    without, with_probe = min(plain), min(probed)
    table.title(f"{framework}: {rounds} rounds of {steps} steps")
    pairs = [b / a for a, b in zip(plain, probed, strict=True)]
    told = f"smallest rounds {with_probe / without:.2f}: {with_probe * 1e6:.0f} us / {without * 1e6:.0f} us"
    table.row("a step with the probe / without, median of pairs", statistics.median(pairs), LIMIT, told)
    added = [b / a for a, b in zip(probed, looked, strict=True)]
    table.row("a step in a look / with the probe, median of pairs", statistics.median(added), SYMPTOMS_LIMIT)


def main() -> None:
    """Measure; 1 where the median of the pairs is over a limit: one lucky round does not move it."""
    parser = arguments(__doc__)
    parser.add_argument("--framework", choices=("torch", "keras"), help="only this one")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    table = Table.of(options)
    for framework in [options.framework] if options.framework else ["torch", "keras"]:
        measure(options.rounds, options.steps, framework, table)
    table.end()


if __name__ == "__main__":
    main()
