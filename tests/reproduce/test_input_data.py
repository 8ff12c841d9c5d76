"""Data of undefined names: what is planned for a program, and that the program then runs with them."""

from __future__ import annotations

import pytest

from dnnfix.records import EditStep, RunOutcome
from dnnfix.reproduce.actions import input_data
from dnnfix.reproduce.case import Case
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source
from tests.reproduce.input_plans import finished, plan, run

# --- undefined names

TORCH = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, {outputs}))
criterion = nn.{loss}()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(60):
    optimizer.zero_grad()
    loss = criterion(net(X), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "outputs"), [("CrossEntropyLoss", 3), ("MSELoss", 1), ("BCEWithLogitsLoss", 1), ("BCEWithLogitsLoss", 4)]
)
def test_tensors_for_a_torch_snippet_can_be_learned(torch_runner: Runner, loss: str, outputs: int) -> None:
    trace = run(torch_runner, TORCH.format(loss=loss, outputs=outputs), steps=60)
    assert trace.outcome in (RunOutcome.FINISHED, RunOutcome.BUDGET), trace.detail
    assert trace.steps[-1].skill is not None and trace.steps[-1].skill > 0.6


def test_a_loader_for_a_loop_over_batches(torch_runner: Runner) -> None:
    code = """
import torch
from torch import nn
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 26 * 26, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(epoch):
    for i, (images, labels) in enumerate(train_loader):
        loss = nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(images.shape[1:], len(train_loader.dataset))
train(1)
"""
    assert finished(run(torch_runner, code, steps=40)) == "torch.Size([1, 28, 28]) 512\n"


def test_arrays_for_a_keras_snippet(keras_runner: Runner) -> None:
    code = """
from keras.models import Sequential
from keras.layers import Dense
model = Sequential([Dense(16, activation="relu", input_dim=9), Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=2, verbose=0)
print(X_train.shape, y_train.shape, (X_train[:9] != X_test[:9]).any())
"""
    assert finished(run(keras_runner, code)) == "(512, 9) (512,) True\n"


def test_what_a_report_says_comes_before_the_network(keras_runner: Runner) -> None:
    code = """
from keras.models import Sequential
from keras.layers import Dense
model = Sequential([Dense(16, input_shape=(10,)), Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, verbose=0)
"""
    steps, _ = plan(code, said="Here x.shape is (300, 7).")
    assert "(7,)" in steps[0].what and "the report" in steps[0].evidence
    trace = run(keras_runner, code, said="Here x.shape is (300, 7).")
    assert trace.outcome is RunOutcome.CRASHED and "7" in trace.detail  # the mismatch is still there


def test_data_taken_from_the_network_says_so() -> None:
    steps, _ = plan(TORCH.format(loss="MSELoss", outputs=1))
    assert all("could not show" in step.evidence for step in steps)


def test_labels_that_the_program_makes_one_hot_are_indices(keras_runner: Runner) -> None:
    code = """
import keras
from keras import layers
model = keras.Sequential([layers.Dense(7, activation="softmax", input_dim=3)])
model.compile("sgd", "categorical_crossentropy")
labels = keras.utils.to_categorical(y, 7)
model.fit(x, labels, verbose=0)
print(y.shape, labels.shape)
"""
    assert finished(run(keras_runner, code)) == "(512,) (512, 7)\n"


def test_contradictory_shapes_name_both_places() -> None:
    code = "import keras\n# x: (60, 28, 28)\nmodel = keras.Sequential()\nmodel.fit(x, y)\n"
    _, missing = plan(code, said="x.shape = (60, 784)")
    assert any("contradictory shapes of x" in gap and "line 2" in gap and "the report" in gap for gap in missing)


def test_a_name_that_nothing_describes_is_a_gap() -> None:
    steps, missing = plan("import torch\nprint(train_data.mean())\n")
    assert steps == [] and any("`train_data`" in gap for gap in missing)


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nmodel = torch.nn.Linear(2, 1)\ninputs = torch.ones(3, 2)\nprint(model(imputs))\n",  # misspelt
        "import torch\ntrain_x = torch.ones(3, 2)\nprint(torch.nn.Linear(2, 1)(trian_x))\n",
        "import keras\nmodel = keras.Sequential()\nmodel.add(Dense(3, input_dim=4))\n",  # an import
        "import torch\nprint(torch.nn.Linear(input_dim, 3))\n",  # a size
        "import torch\nx, y = torch.ones(3, 2), torch.ones(3, 1)\nprint(torch.nn.MSELoss()(preds, y))\n",  # a prediction
        "import torch\nnet = torch.nn.LSTM(2, 3)\nfor i in range(3):\n    out, hidden = net(torch.ones(1, 1, 2), hidden)\n",
        "import torch\nx = torch.ones(2, 3)\nprint(torch.nn.Linear(3, 1)(x))\n",  # healthy
    ],
)
def test_what_is_no_data_is_not_made(code: str) -> None:
    assert plan(code)[0] == []


def test_files_of_known_data_sets_have_their_documented_form(torch_runner: Runner) -> None:
    code = """
import numpy as np, pickle
def unpickle(file):
    with open(file, "rb") as opened:
        return pickle.load(opened, encoding="bytes")
for number in [1, 2]:
    data = unpickle("cifar-10-batches-py/data_batch_" + str(number))
    print(data[b"data"].shape, data[b"data"].dtype, len(data[b"labels"]))
f = np.load("mnist.npz")
print(f["x_train"].shape, f["x_test"].dtype, f["y_test"].max())
"""
    printed = finished(run(torch_runner, code))
    assert printed == "(10000, 3072) uint8 10000\n" * 2 + "(60000, 28, 28) uint8 9\n"


def test_a_table_for_an_undefined_frame(torch_runner: Runner) -> None:
    code = """
import pandas as pd
import torch
X = df.drop("target", axis=1).values
y = df["target"].values
model = torch.nn.Linear(6, 1)
loss = torch.nn.functional.binary_cross_entropy_with_logits(model(torch.Tensor(X))[:, 0], torch.Tensor(y))
print(X.shape[1], sorted(set(y)))
"""
    assert finished(run(torch_runner, code)) == "6 [np.int64(0), np.int64(1)]\n"


def test_texts_of_a_folder_are_named_after_what_the_program_looks_up(torch_runner: Runner) -> None:
    code = """
import glob
lines = {}
for name in glob.glob("../data/names/*.txt"):
    category = name.split("/")[-1].split(".")[0]
    lines[category] = open(name).read().strip().split("\\n")
print(len(lines["Italian"]), len(lines))
"""
    assert finished(run(torch_runner, code)) == "60 2\n"


def test_an_autoencoder_learns_its_inputs_in_the_range_of_its_loss(keras_runner: Runner) -> None:
    code = """
from keras.layers import Dense, Input
from keras.models import Model
inputs = Input(shape=(64,))
outputs = Dense(64, activation="sigmoid")(Dense(16, activation="relu")(inputs))
model = Model(inputs, outputs)
model.compile("adam", "binary_crossentropy")
model.fit(x_train, x_train, validation_data=(x_test, x_test), verbose=0)
print(x_train.shape, x_train.min() >= 0, x_test.max() <= 1)
"""
    assert finished(run(keras_runner, code, steps=20)) == "(512, 64) True True\n"


def test_masks_for_a_network_that_ends_in_a_convolution(keras_runner: Runner) -> None:
    code = """
from keras.layers import Conv2D, Input
from keras.models import Model
image = Input((32, 32, 3))
model = Model(image, Conv2D(1, 1, activation="sigmoid")(Conv2D(4, 3, padding="same", activation="relu")(image)))
model.compile("adam", "binary_crossentropy")
model.fit(X_train, Y_train, verbose=0)
print(Y_train.shape, sorted(set(Y_train.ravel())))
"""
    assert finished(run(keras_runner, code, steps=4)).startswith("(512, 32, 32, 1)")


def test_generators_for_fit(keras_runner: Runner) -> None:
    code = """
from keras.models import Sequential
from keras.layers import Dense
model = Sequential([Dense(4, activation="softmax", input_shape=(6,))])
model.compile("adam", "categorical_crossentropy")
model.fit(train_generator, steps_per_epoch=3, validation_data=validation_generator, validation_steps=2, verbose=0)
print(next(train_generator)[1].shape)
"""
    assert finished(run(keras_runner, code)) == "(32, 4)\n"


def test_what_one_part_scales_from_bytes_is_bytes_in_all_parts() -> None:
    code = """
import keras
train_images = train_images / 255.0
model = keras.Sequential([keras.layers.Flatten(input_shape=(28, 28)), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train_images, train_labels)
model.evaluate(test_images, test_labels)
"""
    made = {step.scaffold.definitions[0][0]: step.scaffold.definitions[0][1] for step in plan(code)[0]}
    assert set(made) == {"train_images", "train_labels", "test_images", "test_labels"}
    assert all("'bytes'" in text for text in made.values())
    assert all("part=1" in made[name] for name in ("test_images", "test_labels"))


def test_records_of_json_and_columns_that_are_filtered(torch_runner: Runner) -> None:
    code = """
import json
import pandas as pd
with open("data.json") as f:
    data = json.load(f)
texts = [record["text"] for record in data]
labels = [record["label"] for record in data]
print(len(texts[0].split()) > 3, sorted(set(labels)))
prices = pd.read_csv("prices.csv", index_col="Date", parse_dates=True).filter(["Close"])
print(prices.shape, prices.index.year.min())
"""
    assert finished(run(torch_runner, code)) == "True [0, 1]\n(1000, 1) 2015\n"


def test_images_that_a_table_names_and_folders_of_classes() -> None:
    code = """
import os, cv2, pandas as pd
from PIL import Image
class Faces:
    def __init__(self, table, root):
        self.frame = pd.read_csv(table)
        self.root = root
    def __getitem__(self, index):
        image = Image.open(os.path.join(self.root, self.frame.iloc[index, 0]))
        label = self.frame.iloc[index, 1]
        return image, label
faces = Faces("faces.csv", "faces/")
for category in ["Dog", "Cat"]:
    path = os.path.join("C:/pets", category)
    for name in os.listdir(path):
        cv2.resize(cv2.imread(os.path.join(path, name)), (50, 50))
"""
    steps, missing = plan(code)
    text = "\n".join(step.scaffold.start for step in steps)
    assert not missing
    assert "made_csv('faces.csv', ['file', 'label']" in text and "made_listed_images('faces/'" in text
    assert "made_images_in('made/pets/Dog', ['Dog'], (50, 50, 3)" in text and "seed=1" in text


def test_data_that_is_fed_to_placeholders() -> None:
    code = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 784])
y_ = tf.placeholder(tf.float32, [None, 10])
logits = tf.matmul(x, tf.Variable(tf.zeros([784, 10])))
loss = tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=logits)
with tf.Session() as sess:
    sess.run(loss, feed_dict={x: train_x, y_: train_y})
"""
    words = [step.what for step in plan(code)[0]]
    assert "(784,)" in words[0] and "10 classes" in words[1]


def test_a_table_whose_rows_are_images(torch_runner: Runner) -> None:
    code = """
import pandas as pd
train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
y = train["label"]
X = train.drop(labels=["label"], axis=1) / 255.0
print(X.values.reshape(-1, 8, 8, 1).shape, X.values.max() <= 1, (test / 255.0).values.reshape(-1, 8, 8, 1).shape)
"""
    assert finished(run(torch_runner, code)) == "(400, 8, 8, 1) True (1000, 8, 8, 1)\n"


def test_folders_for_each_part_and_several_inputs() -> None:
    code = """
import os
from torchvision import datasets, transforms
sets = {part: datasets.ImageFolder(os.path.join("bees", part), transforms.Resize(96)) for part in ["train", "val"]}
"""
    assert [step.what.partition(":")[0] for step in plan(code)[0]] == ["`bees/train`", "`bees/val`"]
    code = """
from keras.models import Model
from keras.layers import Input, Dense, concatenate
a, b = Input(shape=(10,)), Input(shape=(4,))
model = Model([a, b], Dense(1)(concatenate([a, b])))
model.compile("adam", "mse")
model.fit([x1, x2], y)
"""
    words = [step.what for step in plan(code)[0]]
    assert "(10,)" in words[0] and "(4,)" in words[1] and "1 number" in words[2]


def test_lines_whose_first_field_is_a_label(torch_runner: Runner) -> None:
    code = """
labels, texts = [], []
for line in open("corpus").read().split("\\n"):
    content = line.split()
    labels.append(content[0])
    texts.append(" ".join(content[1:]))
print(len(labels), len(set(labels)))
"""
    assert finished(run(torch_runner, code)) == "400 2\n"


def test_labels_of_another_width_than_the_network_stay_so(keras_runner: Runner) -> None:
    code = """
from keras.models import Sequential
from keras.layers import Dense
print(y_train.shape)  # (1000, 2)
model = Sequential([Dense(4, input_dim=6), Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(x_train, y_train, verbose=0)
"""
    trace = run(keras_runner, code)
    assert trace.outcome is RunOutcome.CRASHED and "shape" in trace.detail


@pytest.mark.parametrize(
    ("head", "path", "words"),
    [
        ("import sys", "sys.argv[1]", ("made/first.npy",)),
        (
            (
                "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--the-file', required=True)\n"
                "args = parser.parse_args()"
            ),
            "args.the_file",
            ("--the-file", "made/first.npy"),
        ),
    ],
)
def test_a_file_that_the_command_line_names(head: str, path: str, words: tuple[str, ...]) -> None:
    code = f"""{head}
import numpy as np
import torch

images = np.load({path})
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
print(net(torch.tensor(images.reshape(-1, 3, 16, 16))).shape)
"""
    case = Case(Source.from_bytes(code.encode(), "program.py"), (), lambda name: True).taking(frozenset(), words)
    steps = [step for step in input_data.steps(case) if isinstance(step, EditStep)]
    assert any("made/first.npy" in step.scaffold.start for step in steps)


def test_the_index_of_shapenets_parts_comes_with_its_clouds(torch_runner: Runner) -> None:
    program = """
import os
import numpy as np
import torch
root = "shapes"
with open(os.path.join(root, "synsetoffset2category.txt")) as file:
    kinds = dict(line.strip().split() for line in file)
print(len(kinds), kinds["Airplane"])
folder = os.path.join(root, kinds["Chair"], "points")
names = sorted(os.listdir(folder))
points = np.loadtxt(os.path.join(folder, names[0]))
parts = np.loadtxt(os.path.join(root, kinds["Chair"], "points_label", names[0].replace(".pts", ".seg")))
print(len(names), points.shape, sorted(set(parts.tolist())))
"""
    assert finished(run(torch_runner, program)).splitlines() == ["16 02691156", "20 (200, 3) [1.0, 2.0]"]


def test_images_beside_those_of_a_listed_folder_are_made_when_they_are_opened(torch_runner: Runner) -> None:
    code = """
import os
import numpy as np
from PIL import Image

ids = next(os.walk("images"))[2]
images = np.stack([np.asarray(Image.open("images/" + name).resize((32, 32))) for name in ids])
masks = np.stack([np.asarray(Image.open(os.path.join("masks", name.split(".jpg")[0] + ".png"))) for name in ids])
print(images.shape[1:], masks.shape[1:], len(images) == len(masks), sorted(set(masks.ravel().tolist())))
try:
    Image.open("images/%d.png" % len(ids))
except FileNotFoundError:
    print("still missing")
"""
    steps, missing = plan(code)
    assert not missing and "made_when_asked((32, 32), 2)" in "".join(step.scaffold.start for step in steps)
    pytest.importorskip("PIL")
    printed = finished(run(torch_runner, code))
    assert "(32, 32, 3) (32, 32) True [0, 255]" in printed and "still missing" in printed


@pytest.mark.parametrize(
    ("taken", "width"),
    [
        ("t.drop(0, axis=1).values.reshape(len(t), 28, 28, 1)", 785),
        ("t.iloc[:, 1:].values.reshape(-1, 784)", 785),
        ("t.iloc[:, 2:].values.reshape(t.shape[0], 3, 32, 32)", 3074),
        ("t.iloc[0, 1:].values.reshape(28, 28)", 785),
        ("t.iloc[:, :-1].values.reshape(-1, 48, 48)", 2305),
    ],
)
def test_columns_beside_those_that_become_images(taken: str, width: int) -> None:
    steps, missing = plan(f"import pandas as pd\nt = pd.read_csv('t.csv', header=None)\ny = t[0]\nx = {taken}\n")
    assert not missing and f" rows with {width} columns" in steps[0].what


def test_pretrained_word_vectors_have_their_documented_form(torch_runner: Runner) -> None:
    code = """
import os
import numpy as np
import torch
index = {}
f = open(os.path.join("/home/me/data/", "glove.6B.100d.txt"), encoding="utf-8")
for line in f:
    values = line.split()
    index[values[0]] = np.asarray(values[1:], dtype="float32")
f.close()
with open("wiki-news-300d-1M.vec") as g:
    n, d = map(int, g.readline().split())
    rows = [line.rstrip().split(" ") for line in g]
print(len(index) > 1000, {v.shape for v in index.values()}, n == len(rows), d, len(rows[0]))
"""
    assert finished(run(torch_runner, code)) == "True {(100,)} True 300 301\n"


# --- networks that take whatever shape the data has


def test_images_of_the_size_that_a_network_takes_from_them() -> None:
    code = """
import pickle
import numpy as np
from sklearn.model_selection import train_test_split
from keras.models import Sequential
from keras.layers import BatchNormalization, Conv2D, MaxPooling2D, UpSampling2D
images = np.array(pickle.load(open("images.p", "rb")))
labels = np.array(pickle.load(open("labels.p", "rb"))) / 255  # in order to view them
X_train, X_val, y_train, y_val = train_test_split(images, labels, test_size=0.1)
model = Sequential()
model.add(BatchNormalization(input_shape=X_train.shape[1:]))
model.add(Conv2D(8, 3, padding="same"))
model.add(MaxPooling2D())
model.add(UpSampling2D())
model.add(Conv2D(1, 3, padding="same"))
model.compile(optimizer="adam", loss="mean_squared_error")
model.fit(X_train, y_train, validation_data=(X_val, y_val))
"""
    steps, missing = plan(code)
    assert not missing
    assert "of the shape (64, 64, 3)" in steps[0].what
    assert "64x64x1 number(s) each" in steps[1].what


def test_a_series_that_a_recurrent_network_takes_as_it_is() -> None:
    code = """
import numpy as np
from keras.models import Sequential
from keras.layers import LSTM, Dense
X_train, y_train = np.load("X_train.npy"), np.load("y_train.npy")
model = Sequential()
model.add(LSTM(16, input_shape=X_train.shape[1:]))
model.add(Dense(1))
model.compile(optimizer="adam", loss="mse")
model.fit(X_train, y_train)
"""
    steps, missing = plan(code)
    assert not missing
    assert "of the shape (20, 8)" in steps[0].what


def test_as_many_classes_as_their_placeholder_has_columns() -> None:
    code = """
import pandas as pd
import tensorflow as tf
data = pd.read_csv("iris.csv")
x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 3])
targets = pd.get_dummies(data["species"])
with tf.Session() as session:
    session.run(x, feed_dict={x: data[["width", "height"]], y: targets})
"""
    steps, missing = plan(code)
    assert not missing and steps[0].scaffold is not None
    assert "400, 3, words" in steps[0].scaffold.start
