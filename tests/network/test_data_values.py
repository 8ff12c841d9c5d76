"""What is known of arrays and tensors that a program writes down."""

from __future__ import annotations

import pytest

from dnnfix.records import Value
from tests.network.programs import read


def made(expression: str) -> Value:
    """The value that an expression has where it enters a layer."""
    _, network = read(
        f"import torch, numpy as np\nimport torch.nn as nn\nlayer = nn.Linear(3, 3)\nlayer({expression})\n"
    )
    return network.calls[-1].inputs[0]


@pytest.mark.parametrize(
    ("expression", "shape", "dtype", "low", "high"),
    [
        ("torch.randn(32, 3, 28, 28)", (32, 3, 28, 28), "float32", None, None),
        ("torch.rand((2, 3))", (2, 3), "float32", 0.0, 1.0),
        ("torch.randint(0, 10, (64,))", (64,), "int64", 0.0, 9.0),
        ("torch.randint(5, (4, 2))", (4, 2), "int64", 0.0, 4.0),
        ("torch.randint(low=1, high=k, size=(4,))", (4,), "int64", None, None),
        ("torch.zeros(4, dtype=torch.long)", (4,), "int64", 0.0, 0.0),
        ("torch.tensor([[1, 2], [3, 4]])", (2, 2), "int64", 1.0, 4.0),
        ("torch.tensor([1.0, -2.5])", (2,), "float32", -2.5, 1.0),
        ("torch.tensor([1, n])", None, None, None, None),
        ("torch.FloatTensor([[1, 2, 3]])", (1, 3), "float32", 1.0, 3.0),
        ("np.random.rand(100, 20)", (100, 20), "float64", 0.0, 1.0),
        ("np.random.randint(0, 5, size=(7,))", (7,), "int64", 0.0, 4.0),
        ("np.zeros((3, 4)).astype('float32')", (3, 4), "float32", 0.0, 0.0),
        ("torch.randn(n, 3)", None, "float32", None, None),
    ],
)
def test_literals_give_shape_dtype_and_range(
    expression: str, shape: tuple[int, ...] | None, dtype: str | None, low: float | None, high: float | None
) -> None:
    value = made(expression)

    assert (value.shape, value.dtype, value.low, value.high) == (shape, dtype, low, high)


def test_sizes_may_be_named_constants_and_sums() -> None:
    assert made("[(B := 4), torch.zeros(B * 2 + 1, B)][1]").shape == (9, 4)


def test_casts_and_activations_keep_the_shape() -> None:
    _, network = read("import torch\ny = torch.sigmoid(torch.randn(4, 2)).long().to('cpu')\n")

    assert [c.outputs[0].shape for c in network.calls] == [(4, 2)] * 3
    assert network.calls[1].outputs[0].dtype == "int64"


def test_batches_of_a_loader_are_data() -> None:
    code = """
    import torch.nn as nn
    from torch.utils.data import DataLoader
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    layer = nn.Linear(3, 3)
    for i, (x, y) in enumerate(loader):
        layer(x.to("cuda"))
    """
    program, network = read(code)

    loader = network.components[0]
    assert loader.kind == "loader" and loader.args["batch_size"] == 8 and loader.args["shuffle"] is True
    moved = network.calls[0]
    assert moved.name == "torch.Tensor.to" and moved.inputs[0].origin == "data"
    assert moved.inputs[0].site is not None and program.segment(moved.inputs[0].site) == "x"
