"""What watching a training adds to its steps.

    OMP_NUM_THREADS=1 python benchmarks/watch.py [--framework torch|keras] [--rounds 7]

One process trains the same network in turns: a stretch of steps without `dnnfix.watch`, a stretch with it, and so on. Each stretch lasts a few seconds, as
a look has to wait until it is within its share; the time is the processor's. The median of the ratios of the pairs is what watching costs, which one
lucky round does not move; it must be at most 1.02. A small network is one whose step takes well below a millisecond, where counting a step counts most; a medium one has
convolutions, where a look takes long.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from _measure import Table, arguments

LIMIT = 1.02
STRETCH = 3.0
"""Processor seconds of one stretch, about."""

Train = Callable[[int, bool], tuple[float, float]]
"""Trains for so many steps, watched or not, and returns the seconds that a step took, and the share that the watch says it took."""


def torch_training(medium: bool) -> Train:
    """A training loop of torch."""
    import torch
    from torch import nn

    import dnnfix

    torch.manual_seed(0)
    if medium:
        net: Any = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip
        batches = [(torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))) for _ in range(20)]
    else:
        net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
        batches = [(torch.randn(32, 64), torch.randint(0, 10, (32,))) for _ in range(20)]
    optimizer = torch.optim.Adam(net.parameters())
    criterion = nn.CrossEntropyLoss()

    def train(steps: int, watched: bool) -> tuple[float, float]:
        watch = dnnfix.watch(net, log=None) if watched else None
        begun = time.process_time()
        for step in range(steps):
            x, y = batches[step % len(batches)]
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
        took = time.process_time() - begun
        share = watch.share if watch is not None else 0.0
        if watch is not None:
            watch.close()
        return took / steps, share

    return train


def keras_training(medium: bool) -> Train:
    """`fit` of Keras, on the backend that `KERAS_BACKEND` names."""
    import keras
    import numpy as np
    from keras import layers

    from dnnfix.keras import WatchCallback

    keras.utils.set_random_seed(0)
    random = np.random.RandomState(0)
    if medium:
        model = keras.Sequential(
            [
                keras.Input((32, 32, 3)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
                layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
                layers.Dense(128, activation="relu"), layers.Dense(10, activation="softmax"),
            ]
        )  # fmt: skip
        x = random.rand(320, 32, 32, 3).astype("float32")
    else:
        hidden = [layers.Dense(128, activation="relu"), layers.Dense(128, activation="relu")]
        model = keras.Sequential([keras.Input((64,)), *hidden, layers.Dense(10, activation="softmax")])
        x = random.rand(640, 64).astype("float32")
    y = random.randint(0, 10, len(x))
    model.compile("adam", "sparse_categorical_crossentropy")
    size = 16 if medium else 32

    def train(steps: int, watched: bool) -> tuple[float, float]:
        callbacks = [WatchCallback(log=None)] if watched else []
        epochs = max(1, steps * size // len(x))
        begun = time.process_time()
        model.fit(x, y, batch_size=size, epochs=epochs, verbose=0, callbacks=callbacks)
        took = (time.process_time() - begun) / (epochs * len(x) // size)
        return took, callbacks[0].watch.share if callbacks else 0.0

    return train


def measure(name: str, train: Train, rounds: int, stretch: float, table: Table) -> None:
    """The ratios of `rounds` pairs of stretches."""
    gc.collect()
    train(20, True)
    steps = max(100, int(stretch / train(40, False)[0]))
    plain: list[float] = []
    watched: list[float] = []
    shares: list[float] = []
    for _ in range(rounds):
        plain.append(train(steps, False)[0])
        took, share = train(steps, True)
        watched.append(took)
        shares.append(share)
    pairs = [b / a for a, b in zip(plain, watched, strict=True)]
    told = f"{steps} steps; by its own clocks {1 + max(shares):.3f}; smallest rounds {min(watched) / min(plain):.3f}: {min(watched) * 1e6:.0f} us / {min(plain) * 1e6:.0f} us"
    table.row(f"{name}: a watched step / a plain one, median of pairs", statistics.median(pairs), LIMIT, told)


def main() -> None:
    """Measure; 1 where the median of the pairs is over the limit."""
    parser = arguments(__doc__)
    parser.add_argument("--framework", choices=("torch", "keras"), help="only this one")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--stretch", type=float, default=STRETCH, help="processor seconds of one stretch (3)")
    options = parser.parse_args()
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import torch

    torch.set_num_threads(1)
    table = Table.of(options)
    for framework, made in (("torch", torch_training), ("keras", keras_training)):
        if options.framework in (None, framework):
            backend = f" on {os.environ['KERAS_BACKEND']}" if framework == "keras" else ""
            table.title(f"{framework}{backend}: {options.rounds} rounds")
            for name, medium in (("small network", False), ("medium network", True)):
                measure(name, made(medium), options.rounds, options.stretch, table)
    table.end()


if __name__ == "__main__":
    main()
