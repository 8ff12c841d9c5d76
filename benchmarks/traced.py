"""What a training step of Keras on TensorFlow takes in a trial, where it runs traced, beside one that runs eagerly.

    python benchmarks/traced.py [--python PYTHON] [--rounds 3]

Both are runs of one program under the probe, in turns; the second is told to run eagerly by its own `compile`. Left out with a
message where the interpreter has no TensorFlow.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from _measure import ROOT, Table, arguments

sys.path.insert(0, str(ROOT))

from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner

PROGRAM = """\
import tensorflow as tf

x = tf.random.normal((640, {size}))
y = tf.cast(x[:, :1] > 0, tf.float32)
layers = [tf.keras.layers.Dense({width}, activation="relu") for _ in range({depth})]
model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy"{eagerly})
model.fit(x, y, epochs=20, batch_size=32, verbose=0)
"""
NETWORKS = {
    "one small layer": {"size": 8, "width": 16, "depth": 1},
    "four layers": {"size": 32, "width": 64, "depth": 4},
    "ten layers": {"size": 32, "width": 64, "depth": 10},
}
STEPS = 200
SHARE = 1 / 4
"""Of the time of an eager step."""


def main() -> None:
    """Measure, and say by the exit code whether the target is met."""
    parser = arguments(__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; the fastest counts")
    given = parser.parse_args()
    if subprocess.run([given.python, "-c", "import tensorflow"], capture_output=True, check=False).returncode:
        print(f"{given.python} has no TensorFlow: nothing was measured")
        return
    table = Table.of(given)
    table.title(f"a traced step / an eager one: the median of {STEPS} steps")
    with Runner(Path(given.python)) as runner:
        for name, network in NETWORKS.items():
            seconds: dict[str, float] = {}
            for seed in range(given.rounds):
                for eagerly in ("", ", run_eagerly=True"):
                    text = PROGRAM.format(**network, eagerly=eagerly)
                    budget = Budget(steps=STEPS, seconds=120)
                    trace = runner.run(Job("program.py", text.encode(), seed, budget, record_steps=0))
                    taken = trace.step_seconds or float("inf")
                    seconds[eagerly] = min(taken, seconds.get(eagerly, taken))
            traced, eager = seconds.values()
            table.row(name, traced / eager, SHARE, f"{1000 * traced:.2f} / {1000 * eager:.2f} ms")
    table.end()


if __name__ == "__main__":
    main()
