"""Trainings of torch that are sound, of different kinds, and some that are not; each is run by a watch that is more eager than by default."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

STEPS = 300


def classes(rows: int = 640) -> tuple[Any, Any]:
    """Rows of six numbers, and one of three classes for each."""
    torch.manual_seed(3)
    measured = torch.randn(rows, 6)
    return measured, (measured[:, 0] + measured[:, 1] > 0).long() + (measured[:, 2] > 0).long()


def batches(*columns: Any, size: int = 32, steps: int = STEPS) -> Iterator[tuple[Any, ...]]:
    """So many batches of rows, over and over."""
    rows = len(columns[0])
    for step in range(steps):
        start = step * size % rows
        yield tuple(column[start : start + size] for column in columns)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))


def plainly(net: nn.Module, steps: int = STEPS, rate: float = 0.01) -> None:
    measured, wanted = classes()
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    for x, y in batches(measured, wanted, steps=steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


class Recurrent(nn.Module):  # type: ignore[misc]
    """Reads sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(2, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x: Any) -> Any:
        return self.head(self.cell(x)[0][:, -1])


def recurrent(net: nn.Module) -> None:
    torch.manual_seed(1)
    x = torch.randn(256, 8, 2)
    y = x.sum((1, 2))[:, None]
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for a, b in batches(x, y):
        optimizer.zero_grad()
        ((net(a) - b) ** 2).mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


def normalized_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 2),
    )


def normalized(net: nn.Module) -> None:
    torch.manual_seed(2)
    x = torch.randn(256, 1, 8, 8)
    y = (x[:, 0, :4].mean((1, 2)) > x[:, 0, 4:].mean((1, 2))).long()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step, (a, b) in enumerate(batches(x, y)):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(a), b).backward()
        optimizer.step()
        if step % 50 == 49:
            net.eval()
            with torch.no_grad():
                net(x)
            net.train()


def accumulated(net: nn.Module) -> None:
    measured, wanted = classes()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for step, (x, y) in enumerate(batches(measured, wanted, size=16, steps=640)):
        (nn.functional.cross_entropy(net(x), y) / 4).backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def in_bfloat16(net: nn.Module) -> None:
    measured, wanted = classes()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for x, y in batches(measured, wanted):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()


def scaled(net: nn.Module) -> None:
    """Mixed precision with a scaler, whose losses and gradients are 65,536 times as large on their way."""
    measured, wanted = classes()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", growth_interval=40)
    for x, y in batches(measured, wanted):
        optimizer.zero_grad()
        scaler.scale(nn.functional.cross_entropy(net(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()


class Frozen(nn.Module):  # type: ignore[misc]
    """A new head on a body that is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU()).requires_grad_(False)
        self.head = nn.Linear(32, 3)

    def forward(self, x: Any) -> Any:
        return self.head(torch.relu(self.body(x)))


def head_alone(net: nn.Module) -> None:
    """The optimizer holds the head only, though gradients come to the whole network."""
    net.requires_grad_(True)
    measured, wanted = classes()
    optimizer = torch.optim.Adam(net[2].parameters(), lr=0.01)
    for x, y in batches(measured, wanted):
        net.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def warmed_up(net: nn.Module) -> None:
    """A rate that rises from nothing, and falls to nothing."""
    measured, wanted = classes()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: math.sin(math.pi * (step + 1) / (STEPS + 1)) ** 2
    )
    for x, y in batches(measured, wanted):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        schedule.step()


class Coded(nn.Module):  # type: ignore[misc]
    """Two parts, each with an optimizer of its own, which lower one loss together."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(6, 4)
        self.decoder = nn.Linear(4, 6)

    def forward(self, x: Any) -> Any:
        return self.decoder(torch.tanh(self.encoder(x)))


def coded(net: Coded) -> None:
    measured, _ = classes()
    optimizers = [torch.optim.Adam(part.parameters(), lr=0.01) for part in (net.encoder, net.decoder)]
    for (x,) in batches(measured):
        for optimizer in optimizers:
            optimizer.zero_grad()
        nn.functional.mse_loss(net(x), x).backward()
        for optimizer in optimizers:
            optimizer.step()


class Adversaries(nn.Module):  # type: ignore[misc]
    """A generator and its discriminator."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))


def adversarial(net: Adversaries) -> None:
    torch.manual_seed(5)
    made, judged = net.generator, net.discriminator
    first = torch.optim.Adam(made.parameters(), lr=2e-4, betas=(0.5, 0.999))
    second = torch.optim.Adam(judged.parameters(), lr=2e-4, betas=(0.5, 0.999))
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    measure = nn.BCEWithLogitsLoss()
    for _ in range(STEPS):
        real, noise = torch.randn(32, 2) * 0.5 + 1, torch.randn(32, 4)
        second.zero_grad()
        (measure(judged(real), ones) + measure(judged(made(noise).detach()), zeros)).backward()
        second.step()
        first.zero_grad()
        measure(judged(made(noise)), ones).backward()
        first.step()


def by_noise(net: nn.Module) -> None:
    """Targets that have nothing to do with the inputs: no network learns them, and none is at fault."""
    torch.manual_seed(7)
    x, y = torch.randn(6400, 6), torch.randint(0, 3, (6400,))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for a, b in batches(x, y):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(a), b).backward()
        optimizer.step()


HEALTHY: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "perceptron": (perceptron, plainly),
    "recurrent": (Recurrent, recurrent),
    "batch-norm": (normalized_net, normalized),
    "accumulated": (perceptron, accumulated),
    "bfloat16": (perceptron, in_bfloat16),
    "scaler": (perceptron, scaled),
    "frozen": (Frozen, plainly),
    "head-alone": (perceptron, head_alone),
    "warm-up": (perceptron, warmed_up),
    "two-optimizers": (Coded, coded),
    "adversaries": (Adversaries, adversarial),
    "noise": (perceptron, by_noise),
}
