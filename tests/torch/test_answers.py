"""The first examples of a training are told with their answers."""

from __future__ import annotations

import zlib

from tests.observing import Observe

TORCH = """
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
y = {target}
net, criterion = nn.Linear(4, {outputs}), {loss}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for start in (0, 20):
    loss = criterion(net(x[start : start + 20]), y[start : start + 20])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_the_first_examples_of_a_loop_of_torch_are_told(observe: Observe) -> None:
    told = observe(
        TORCH.format(target="x.sum(1) > 0", outputs=1, loss="lambda a, b: nn.functional.mse_loss(a[:, 0], b.float())"),
        experiments=["answers"],
    ).probe("answers")
    assert len(told["rows"]) == len(set(told["rows"])) == len(told["targets"]) == 40 and told["width"] == 1
    assert {row[0] for row in told["targets"]} == {0.0, 1.0}
    images = observe(
        TORCH.format(target="torch.arange(8000.0).view(40, 200)", outputs=200, loss="nn.MSELoss()"),
        experiments=["answers"],
    ).probe("answers")
    assert images["width"] == 200 and images["targets"][1][0] == 200.0 and images["targets"][0][-1] == 199.0
    assert {len(row) for row in images["targets"]} == {16} and images["rows"] == told["rows"]


def test_checksums_are_those_of_the_rows_as_numbers(observe: Observe) -> None:
    source = TORCH.format(target="torch.zeros(40, 1)", outputs=1, loss="nn.MSELoss()").replace(
        "torch.randn(40, 4)", "torch.zeros(40, 4)"
    )
    told = observe(source, experiments=["answers"]).probe("answers")
    assert set(told["rows"]) == {zlib.crc32(bytes(32))}
