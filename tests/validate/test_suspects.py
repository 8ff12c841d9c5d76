"""Settings that are suspected where a training shows no fault by itself, and how long it is looked at before that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnnfix.records import Trace
from dnnfix.source.program import Source
from dnnfix.synthesize.at_training import Look, as_suspected, look_at_training
from tests.validate.test_search import Table
from tests.validate.test_symptoms import CLEAR, FALLING, noisy, trained

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

batches = DataLoader(rows, batch_size=1)
net = nn.Linear(6, 3)
optimizer = torch.optim.Adam(net.parameters(), lr={rate})
for epoch in range({epochs}):
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""


class Watched(Table):
    """A laboratory that gives one trace for each length of a look, and keeps which were asked for."""

    def __init__(self, *traces: Trace) -> None:
        super().__init__()
        self.traces = traces
        self.lengths: list[int] = []

    def look(self, source: Source, seed: int, length: int = 0) -> Trace:
        self.lengths.append(length)
        return self.traces[min(length, len(self.traces) - 1)]


def looked(*traces: Trace, rate: str = "0.01", epochs: int = 30) -> tuple[Look, list[int]]:
    laboratory = Watched(*traces)
    source = Source.from_bytes(PROGRAM.format(rate=rate, epochs=epochs).encode(), "program.py")
    return look_at_training(source, 0, laboratory), laboratory.lengths


HALF_WAY = trained(noisy(1.2), skill=0.4, reference=CLEAR)
OVER = replace(HALF_WAY, spent=False)


def test_of_a_training_that_is_over_half_way_likely_settings_are_suspected() -> None:
    found, _ = looked(OVER)
    assert {one.setting for one in found.suspects} == {"learning-rate", "batch-size"}
    assert found.finding is None and "whether the network learns what there is" in found.unsure
    shown = as_suspected(found).finding
    assert shown is not None and shown.message.startswith("the training learns far less than there is to learn")


def test_of_one_that_was_cut_no_setting_is_suspected_that_is_not_far_off() -> None:
    found, _ = looked(HALF_WAY)
    assert not found.suspects and as_suspected(found).finding is None


def test_longer_training_makes_any_training_better_and_is_not_suspected() -> None:
    ended = trained(FALLING, skill=0.4, reference=CLEAR, spent=False)
    found, _ = looked(ended, epochs=1)
    assert not found.suspects and found.finding is None


@pytest.mark.parametrize("reference", [None, {**CLEAR, "skill": 0.5}], ids=["no yardstick", "close to it"])
def test_what_is_far_off_is_suspected_without_a_yardstick_after_a_longer_look(reference: None) -> None:
    found, lengths = looked(replace(HALF_WAY, probes={"reference": reference}), rate="1e-6")
    assert {one.setting for one in found.suspects} == {"learning-rate"} and lengths == [0, 1]
    assert found.finding is None and not found.unsure


def test_a_loss_of_rewards_may_grow() -> None:
    away = trained([2.0**step for step in range(20)], skill=None)
    found, _ = looked(away)
    assert found.finding is not None
    found, _ = looked(away, rate="0.01 if reward else 0.1")
    assert found.finding is None and "the loss runs away" in found.unsure


def test_looks_get_longer_only_as_far_as_they_say_nothing() -> None:
    slow = trained(FALLING, reference=CLEAR)
    assert looked(slow)[1] == [0, 1, 2]
    assert looked(slow, trained(FALLING, skill=0.4, reference=CLEAR))[1] == [0, 1]
    assert looked(trained(noisy(0.1), skill=0.95, reference=CLEAR))[1] == [0]
