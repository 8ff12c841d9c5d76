"""Large networks get fewer samples where nothing says how many there are, so that a short run sees some of their training."""

from __future__ import annotations

import pytest

from dnnfix.reproduce.data.network_cost import affordable, few_of_a_batch, few_together, multiplications
from dnnfix.source.program import Source


def read(text: str) -> Source:
    imports = "import torch\nfrom torch import nn\n" if "nn." in text else "from keras.layers import *\n"
    return Source.from_bytes((imports + text).encode(), "program.py")


SMALL = {
    "rows": ("model.add(Dense(64, activation='relu'))\nmodel.add(Dense(10))", (784,), 784 * 64 + 64 * 10),
    "a recurrent layer": ("x = LSTM(32)(x)\nx = Dense(1)(x)", (20, 8), 20 * 4 * 32 * 40 + 32),
    "both directions": ("x = Bidirectional(GRU(8))(x)", (10, 4), 10 * 3 * 8 * 12 * 2),
    "images": ("Conv2D(8, 3)\nMaxPooling2D(2)\nFlatten()\nDense(10)", (28, 28, 1), 784 * 9 * 8 + 196 * 8 * 10),
    "PyTorch": ("nn.Conv2d(3, 16, 3)\nnn.Linear(16, 10)", (3, 32, 32), 1024 * 9 * 3 * 16 + 1024 * 16 * 10),
    "channels first in Keras": ("Conv2D(8, 3)\nFlatten()\nDense(10)", (1, 28, 28), 784 * 9 * 8 + 784 * 8 * 10),
    "sizes in names": ("units = 64\nDense(units)", (16,), 16 * 64),
    "strides and sizes that are parameters": (
        (
            "class D(nn.Module):\n    def __init__(self, d=4):\n        self.a = nn.Conv2d(1, d, 4, 2, 1)\n"
            "        self.b = nn.Conv2d(d, d * 2, 4, stride=2)"
        ),
        (1, 16, 16),
        64 * 16 * 4 + 16 * 16 * 4 * 8,
    ),
    "transposed convolutions from a single place": (
        (
            "class D(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(256, 2)\n"
            "class G(nn.Module):\n    def __init__(self):\n        self.a = nn.ConvTranspose2d(10, 8, 4, 1, 0)\n"
            "        self.b = nn.ConvTranspose2d(8, 1, 4, 2, 1)\n"
        ),
        (256,),
        256 * 2 + 16 * 10 * 8 + 16 * 16 * 8,
    ),
    "the first Keras": ("Dense(output_dim=64)\nConvolution2D(4, 3, 3)", (8, 8, 4), 64 * 4 * 64 + 64 * 64 * 9 * 4),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_work_for_a_sample_is_counted_and_small_networks_get_all_samples(name: str) -> None:
    text, shape, wanted = SMALL[name]
    assert multiplications(read(text), shape) == wanted
    assert affordable(read(text), shape, 512, 32) == 512


def test_large_networks_get_fewer_samples_and_never_none() -> None:
    recurrent = read("x = Bidirectional(LSTM(300, return_sequences=True))(x)\nx = LSTM(300)(x)")
    assert 32 <= affordable(recurrent, (50, 16), 512, 32) < 512
    deep = read("Conv2D(512, 3)\n" * 12)
    assert affordable(deep, (256, 256, 3), 512, 32) == 32
    assert affordable(deep, (), 512, 32) == 512


def test_a_data_set_is_cut_only_where_a_batch_is_too_much_for_a_run() -> None:
    network = "net = nn.Sequential(nn.Conv2d(1, 1024, 3), nn.Conv2d(1024, 64, 3))\n"
    loader = "loader = torch.utils.data.DataLoader(data, batch_size=size, {})\nsize = 128\n"
    assert few_of_a_batch(read(network + loader.format("shuffle=True")), (1, 64, 64)) == 8
    assert few_of_a_batch(read(network + loader.format("drop_last=True")), (1, 64, 64)) == 0
    assert few_of_a_batch(read(network + loader.format("shuffle=True")), (1, 8, 8)) == 0
    assert few_of_a_batch(read(network), (1, 64, 64)) == 0
    counted = network + loader.format("shuffle=True") + "noise = torch.randn(size, 20)\n"
    assert few_of_a_batch(read(counted), (1, 64, 64)) == 0


def test_with_little_data_a_data_set_has_two_images_unless_full_batches_are_counted_on() -> None:
    loader = (
        "net = nn.Linear(784, 10)\nloader = torch.utils.data.DataLoader(data, batch_size=opt.batch)\nprint(opt.batch)\n"
    )
    assert few_of_a_batch(read(loader), (1, 28, 28)) == 0
    assert few_of_a_batch(read(loader), (1, 28, 28), little_data=True) == 2
    assert few_of_a_batch(read(loader + "x = y.view(opt.batch, -1)\n"), (1, 28, 28), little_data=True) == 0


def test_what_comes_to_a_linear_layer_of_pytorch_was_flattened() -> None:
    assert multiplications(read("nn.Linear(784, 400)\nnn.Linear(400, 20)"), (1, 28, 28)) == 784 * 400 + 400 * 20


def test_test_images_that_are_fed_all_at_once_are_as_many_as_memory_holds() -> None:
    text = """
import tensorflow as tf
width = {width}
kernels = {{"first": tf.Variable(tf.random_normal([3, 3, 1, width])), "next": tf.Variable(tf.random_normal([3, 3, 64, 512]))}}
pooled = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
session.run(accuracy, feed_dict={{x: test_images}})
"""
    mnist = (28, 28, 1)
    assert few_together(read(text.format(width=64)), mnist, 10_000) == 1300
    assert few_together(read(text.format(width=8)), mnist, 10_000) == 0
    assert few_together(read(text.format(width=64) + "for step in range(10000): pass\n"), mnist, 10_000) == 1300
    assert few_together(read(text.format(width=64) + "rounds = 10000 // 100\n"), mnist, 10_000) == 0
    assert few_together(read(text.format(width=64).replace("feed_dict", "inputs")), mnist, 10_000) == 0
