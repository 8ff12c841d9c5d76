"""Calls with another form today: their arguments changed, or an expression replaces them."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Subject, changed_forms, dictionaries, migration, tensor_hits


class OutdatedCall(ApiChange):
    """A call's form changed along with its name or its defaults: `torch.load`, `np.asscalar(x)`, `df.append(other)`.

    torch: `torch.load` reads only weights since 2.6, unless the call says `weights_only=False`; that a file holds a
    whole network is inferred from how it is used, or seen in the run. `torch.stft` of a real signal returned pairs of reals and needs
    `return_complex` since 2.0. `masked_select` and similar functions refuse byte masks since 2.1, and boolean masks
    cannot be subtracted since 1.2 (`1 - mask`). `type(h) == Variable` is never true since 0.4, and `multinomial()`
    needs the number of samples. Iterators of loaders have no `next()` since 1.13, and `Sampler` has no constructor with
    the data since 2.10. `view` of elements that are not contiguous, as torch lays them out since 1.7, becomes
    `reshape`. A cross-entropy whose first argument is named like logits and whose second like labels gets both as
    keyword arguments.

    NumPy and SciPy: `np.asscalar(x)` is `x.item()`, `np.fromstring` of bytes is `np.frombuffer`, `np.load` needs
    `allow_pickle` where objects are read, and an array of rows with different lengths needs `dtype=object`. SciPy read
    and resized images with Pillow, which is called directly where the pixels are bytes.

    pandas: `df.append(other)` is `pd.concat([df, other])`, `get_value` is `at`. `df.ix[rows, columns]` is `loc` with
    names of columns, `iloc` with numbers of columns and all rows; mixed, it is left alone.

    Keras and TensorFlow: `compile` has the loss weights where it had its metrics, layers expect the size of their
    output first and infer that of their input since 1.0, and each stateful layer is reset by itself. A model's method
    `call` gets symbolic tensors, which functions of TensorFlow and torch refuse, unless Keras calls it.
    `TimeDistributed(Dense(3)(x))` has a misplaced parenthesis: the layer is wrapped, and the wrapper is called. A
    summary writer without a graph is that of `tf.compat.v1` in a graph of its own. Dropout of TensorFlow took the
    fraction to keep, and since 2.0 takes the fraction to drop; `show_accuracy=True` of the first Keras is a metric of
    `compile`. The second positional argument of matplotlib's `set_xticks` is the labels since 3.5.

    transformers: models return dictionaries since 4.0; where a run unpacked one, which gives its keys, it is asked for a tuple.

    Lightning and torchmetrics: what a trainer was told is given to `fit` (`ckpt_path`), to a `Tuner`, to `callbacks` or as
    `strategy`, `self.hparams = hparams` saves the hyperparameters, and loaders have no decorator. `Accuracy()` is told
    its task by the loss of the program, and the number of classes by the layer that its network ends in.

    Others still work and are reported where the run warned, or by `DNF550`: `torch.cuda.amp.autocast()`,
    `chain_matmul(a, b)`, `v2.ToTensor()`, `x.add_(2, y)`, `resnet18(True)`, `checkpoint` and `meshgrid` without a
    keyword argument, `step(epoch)`.

    Fix safety: unsafe for `torch.load` and `np.load`, since such a file can run any code, for `torch.stft`, which
    returned complex numbers for a complex signal, for `1 - mask`, which is negated where it is a mask and converted to
    bytes elsewhere, for a scheduler's `step`, `v2.ToTensor`, cross-entropies, wrappers, pandas, and a metric that is
    added; safe where the tables say so.

    References: the tables in `fix_templates/data` (`[[form]]`) have one for each form;
    https://github.com/pytorch/pytorch/releases/tag/v1.2.0 (truth values),
    https://docs.scipy.org/doc/scipy/release/1.2.0-notes.html (pictures), https://docs.pytorch.org/docs/stable/amp.html.
    """

    code = "DNF530"
    name = "outdated-call"
    message = "{call} has other arguments or another form since {package} {version}"
    formerly = (
        "DNF585", "outdated-array-call",
        "DNF586", "outdated-table-call",
        "DNF529", "draw-without-count",
        "DNF570", "metrics-by-place",
        "DNF524", "minor-given-by-place",
        "DNF532", "input-size-first",
        "DNF535", "states-reset-by-model",
        "DNF599", "layer-called-by-method",
        "DNF592", "view-of-scattered-elements",
        "DNF590", "summary-writer",
        "DNF553", "cross-entropy-by-place",
        "DNF554", "output-given-to-wrapper",
        "DNF557", "accuracy-asked-in-fit",
        "DNF542", "dropout-share-kept",
    )  # fmt: skip

    def claims(self, subject: Subject) -> migration.Claims:
        return changed_forms.claims(subject)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        ordered = {hit.site for hit in changed_forms.former_order(subject)}  # another rule's, which is certain there
        yield from (hit for hit in changed_forms.changed_forms(subject) if hit.site not in ordered)
        yield from tensor_hits.refused_mask(subject)
        yield from tensor_hits.refused_complement(subject)
        yield from dictionaries.unpacked_outputs(subject)

    programs = """
=== example (runs): truth values of an argument, which are negated twice
import torch


def closed(mask, home):
-     if (1 - home).any():
-         mask[(1 - home).nonzero(), 0] = 0.0
+     if (~home).any():
+         mask[(~home).nonzero(), 0] = 0.0
    return mask


print(closed(torch.ones(3, 2), torch.tensor([1, 0, 2]).ne(0)))

=== example: the devices of a trainer
from lightning.pytorch import Trainer

- trainer = Trainer(gpus=1, max_epochs=3)
+ trainer = Trainer(devices=1, max_epochs=3, accelerator="auto")

=== example: what a trainer was told, and a metric
import torch
import torch.nn.functional as F
import torchmetrics
import pytorch_lightning as pl
+ from pytorch_lightning.tuner import Tuner


class Net(pl.LightningModule):
    def __init__(self, hparams):
        super().__init__()
-         self.hparams = hparams
+         self.save_hyperparameters(hparams)
        self.layer = torch.nn.Linear(4, 3)
-         self.accuracy = torchmetrics.Accuracy()
+         self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.layer(x), y)


def main(model, args):
-     trainer = pl.Trainer(auto_lr_find=True, resume_from_checkpoint=args.path, checkpoint_callback=False)
-     trainer.tune(model)
-     trainer.fit(model)
+     trainer = pl.Trainer(enable_checkpointing=False)
+     Tuner(trainer).lr_find(model)
+     trainer.fit(model, ckpt_path=args.path)

=== example (runs): a file with more than weights, which the run was refused
import torch

torch.save(torch.nn.Linear(2, 1), "model.pt")
with open("model.pt", "rb") as file:
-     found = torch.load(file)
+     found = torch.load(file, weights_only=False)
print(found)

=== example: a whole network in a file
import torch

- model = torch.load("model.pth", map_location="cpu")
+ model = torch.load("model.pth", map_location="cpu", weights_only=False)
model.eval()

=== example: a network that is used at once
import torch as th

- names = [name for name, _ in th.load("model.pt").named_parameters()]
+ names = [name for name, _ in th.load("model.pt", weights_only=False).named_parameters()]

=== example (runs): the spectrum of a real signal
import torch

signal = torch.sin(torch.arange(64.0))
- spectrum = torch.stft(signal, 16, hop_length=8, window=torch.ones(16))
+ spectrum = torch.view_as_real(torch.stft(signal, 16, hop_length=8, window=torch.ones(16), return_complex=True))
print(spectrum[..., 0].shape)

=== example (runs): a sampler, and the first batch of a loader
import torch
from torch.utils.data import DataLoader, Sampler


class Backwards(Sampler):
    def __init__(self, source):
-         super(Backwards, self).__init__(source)
+         super(Backwards, self).__init__()
        self.source = source

    def __iter__(self):
        return iter(reversed(range(len(self.source))))


numbers = torch.arange(4.0)
batches = iter(DataLoader(numbers, sampler=Backwards(numbers)))
- print(batches.next())
+ print(next(batches))

=== example (runs): a test for variables
import torch
from torch.autograd import Variable


def repackaged(h):
-     if type(h) == Variable:
+     if isinstance(h, torch.Tensor):
        return Variable(h.data)
    return tuple(repackaged(v) for v in h)


print(repackaged((torch.ones(2), torch.zeros(2))))

=== example (runs): masks of bytes, and their complement
import torch

prob = torch.rand(4, 3)
one_hot = torch.zeros(4, 3)
one_hot.scatter_(1, torch.ones(4, 1).long(), 1)
- chosen = torch.masked_select(prob, one_hot.byte())
+ chosen = torch.masked_select(prob, one_hot.bool())
pad = prob.gt(0.5)
- kept = prob * (1 - pad)
- rest = prob[1 - pad]
+ kept = prob * (1 - pad.byte())
+ rest = prob[~pad]

=== example (runs): sums of a sparse array, which are no matrix
import numpy as np
import scipy.sparse as sp
import torch

near = sp.csr_array(np.eye(3))
- print(torch.tensor(near.sum(1).A1))
+ print(torch.tensor(near.sum(1).ravel()))

=== example: the matrix of a graph
import networkx as nx
import torch
+ import numpy as np

graph = nx.path_graph(3)
- near = torch.tensor(nx.to_numpy_matrix(graph, weight=None)).float()
+ near = torch.tensor(np.asmatrix(nx.to_numpy_array(graph, weight=None))).float()

=== example (runs): numbers and infinities
import numpy as np
import torch

- best = np.NINF
+ best = -np.inf
loss = torch.ones(1).numpy()
- print(np.asscalar(loss), np.asscalar(loss[0] + 1), np.msort([2, 1]), np.asfarray([1, 2]), best)
+ print(loss.item(), (loss[0] + 1).item(), np.sort([2, 1], axis=0), np.asarray([1, 2], dtype=float), best)

=== example: a dictionary in a file of NumPy, and bytes
import numpy as np
import torch

np.save("labels.npy", {"a": 1})
- labels = np.load("labels.npy").item()
- pixels = np.fromstring(b"ab", dtype=np.uint8)
+ labels = np.load("labels.npy", allow_pickle=True).item()
+ pixels = np.frombuffer(b"ab", dtype=np.uint8).copy()
print(labels["a"], torch.from_numpy(pixels))

=== example: pictures that SciPy read
import torch
- from scipy.misc import imread, imresize
+ from PIL import Image
+ import numpy as np

- picture = imread("a.png")
- small = imresize(picture, (32, 64), interp="bicubic")
+ picture = np.array(Image.open("a.png"))
+ small = np.array(Image.fromarray(picture).resize((64, 32), Image.BICUBIC))
size = (8, 8)
- x = torch.from_numpy(imresize(small, size))
- y = imresize(imread("b.png", mode="RGB"), (4, 4))
+ x = torch.from_numpy(np.array(Image.fromarray(small).resize(size[1::-1], Image.BILINEAR)))
+ y = np.array(Image.fromarray(np.array(Image.open("b.png").convert("RGB"))).resize((4, 4), Image.BILINEAR))

=== example (runs): rows of different lengths, as a run shows
import numpy as np
import torch

- rows = np.array([[1, 2, 3], [4, 5]])
+ rows = np.array([[1, 2, 3], [4, 5]], dtype=object)
print(torch.tensor(rows[0]))

=== example (runs): lists of different lengths that are kept in one file
import numpy as np
import torch

losses, rates = [1.0, 0.5, 0.2], torch.ones(2).tolist()
- np.save("history.npy", [losses, rates])
+ np.save("history.npy", np.array([losses, rates], dtype=object))

=== example: columns by their numbers and names
import pandas as pd
import torch

table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]})
- x = torch.tensor(table.ix[:, 0:2].values)
- y = torch.tensor(table.ix[:, "y"].values)
- print(table.ix[0, ["a", "b"]], table.ix[table.y > 0], table.ix[1])
+ x = torch.tensor(table.iloc[:, 0:2].values)
+ y = torch.tensor(table.loc[:, "y"].values)
+ print(table.loc[0, ["a", "b"]], table.loc[table.y > 0], table.loc[1])

=== example: rows that are added
import pandas as pd
import torch

train = pd.DataFrame({"a": [1.0]})
test = pd.DataFrame({"a": [2.0]})
- both = train.append(test, ignore_index=True)
- both = train.append({"a": 3.0}, ignore_index=True)
+ both = pd.concat([train, test], ignore_index=True)
+ both = pd.concat([train, pd.DataFrame([{"a": 3.0}])], ignore_index=True)
print(torch.tensor(both.values))

=== example: a table in a file, and single values
import torch
- from pandas import DataFrame, read_csv
+ from pandas import read_csv

- prices = DataFrame.from_csv("prices.csv")
+ prices = read_csv("prices.csv", index_col=0, parse_dates=True)
table = read_csv("iris.csv")
- table.set_value(0, "a", 2.0)
- print(torch.tensor(table.get_value(0, "a")))
+ table.at[0, "a"] = 2.0
+ print(torch.tensor(table.at[0, "a"]))

=== example (runs): an action drawn from a policy
import torch
import torch.nn.functional as F

policy = torch.nn.Linear(4, 3)
prob = F.softmax(policy(torch.randn(1, 4)), dim=1)
- action = prob.multinomial().data
+ action = prob.multinomial(1).data

=== example: a list in a variable, and weights after it
from keras.models import Model
from keras.optimizers import Adam

wanted = ["mae", "mse"]
network = Model(inputs, outputs)
- network.compile(Adam(), "mse", wanted, [1.0, 0.5])
+ network.compile(Adam(), "mse", metrics=wanted, loss_weights=[1.0, 0.5])

=== example: functions, in a class
from tensorflow import keras


def error(true, predicted):
    return keras.ops.mean(keras.ops.abs(true - predicted))


class Net:
    def __init__(self):
        self.model = keras.Sequential([keras.layers.Dense(1)])
-         self.model.compile("sgd", "mse", [error])
+         self.model.compile("sgd", "mse", metrics=[error])

=== example: a number of ticks that was meant
import keras
import matplotlib.pyplot as plt
import numpy as np

losses = [0.5, 0.4]
fig, axs = plt.subplots(1, 2)
- axs[0].set_xticks(np.arange(1, len(losses) + 1), len(losses) / 10)
+ axs[0].set_xticks(np.arange(1, len(losses) + 1), minor=len(losses) / 10)

=== example: a number with a name
import keras
import matplotlib.pyplot as plt


def plot(history, axes):
    epochs = len(history["loss"])
-     axes.set_xticks(range(epochs), epochs)
-     plt.gca().set_yticks([0, 1], max(epochs // 10, 1))
+     axes.set_xticks(range(epochs), minor=epochs)
+     plt.gca().set_yticks([0, 1], minor=max(epochs // 10, 1))

=== example: a dense network of the first Keras
from keras.models import Sequential
- from keras.layers.core import Dense, Dropout
+ from keras.layers import Dense, Dropout

model = Sequential()
- model.add(Dense(20, 64, init="uniform", activation="tanh"))
+ model.add(Dense(64, kernel_initializer="uniform", activation="tanh", input_shape=(20,)))
model.add(Dropout(0.5))
- model.add(Dense(64, 2, init="uniform"))
+ model.add(Dense(2, kernel_initializer="uniform"))

=== example: a sequence
- from keras.layers.recurrent import LSTM
+ from keras.layers import LSTM
from keras.models import Sequential

features = 3
model = Sequential()
- model.add(LSTM(features, 128, return_sequences=True))
- model.add(LSTM(128, 64))
+ model.add(LSTM(128, return_sequences=True, input_shape=(None, features)))
+ model.add(LSTM(64))

=== example: convolutions with the channels of their input
from keras.models import Sequential
from keras.layers import Activation, Convolution2D

model = Sequential()
- model.add(Convolution2D(32, 3, 5, 5, border_mode="same"))
- model.add(Convolution2D(64, 32, 3, 3))
+ model.add(Convolution2D(32, padding="same", kernel_size=(5, 5)))
+ model.add(Convolution2D(64, kernel_size=(3, 3)))

=== example: between the epochs
from keras.layers import LSTM
from keras.models import Sequential

model = Sequential()
model.add(LSTM(4, stateful=True))
for epoch in range(3):
    model.fit(x, y, epochs=1, shuffle=False)
-     model.reset_states()  # a new sequence
+     for layer in model.layers:
+         if getattr(layer, "stateful", False):
+             layer.reset_state()  # a new sequence

=== example (runs): a model that shows itself
import keras
import numpy as np
import torch


class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(9, 4)

    def call(self, inputs):
        first, second = inputs
        return torch.nn.functional.cosine_similarity(self.embed(first), self.embed(second), dim=-1)

    def show(self):
        first, second = keras.Input((1,)), keras.Input((1,))
-         keras.Model([first, second], self.call([first, second])).summary()
+         keras.Model([first, second], self([first, second])).summary()


pairs = Pairs()
pairs.show()
pairs.compile("sgd", "mse")
pairs.fit([np.ones((8, 1)), np.ones((8, 1))], np.ones((8, 1)), verbose=0)

=== example (runs): two views of one value
import torch

likeliest = torch.randn(8, 9).topk(5, 1)[1].t()
hits = likeliest == torch.zeros(8).long()
- first = hits[:1].view(-1)
- print(hits[:5].view(-1).sum(), hits[:3].view(-1).sum())
+ first = hits[:1].reshape(-1)
+ print(hits[:5].reshape(-1).sum(), hits[:3].reshape(-1).sum())

=== example: a class that logs for a program of PyTorch
import tensorflow as tf


class Logger:
    def __init__(self, folder):
-         self.writer = tf.summary.FileWriter(folder)
+         with tf.Graph().as_default():
+             self.writer = tf.compat.v1.summary.FileWriter(folder)

    def scalar(self, tag, value, step):
-         summary = tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])
+         summary = tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag=tag, simple_value=value)])
        self.writer.add_summary(summary, step)

=== example: logits first
import tensorflow.compat.v1 as tf

targets = tf.placeholder(tf.float32, [None, 3])
logits = tf.layers.dense(tf.placeholder(tf.float32, [None, 4]), 3)
- loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits, targets, name="loss"))
+ loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(name="loss", logits=logits, labels=targets))

=== example: both directions
import tensorflow as tf

inputs = tf.keras.Input((5, 3))
- x = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(8)(inputs))
+ x = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(8))(inputs)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(x))

=== example: one of two models
from keras.models import Sequential
from keras.layers import Dense

coder = Sequential([Dense(4)])
coder.compile(optimizer="sgd", loss="mse")
judge = Sequential([Dense(1, activation="sigmoid")])
- judge.compile("sgd", "binary_crossentropy")
+ judge.compile("sgd", "binary_crossentropy", metrics=['accuracy'])
coder.fit(x, x)
- loss, accuracy = judge.train_on_batch(x, y, show_accuracy=True)
+ loss, accuracy = judge.train_on_batch(x, y)

=== example: a model that a function makes
from keras.models import Sequential
from keras.layers import Dense


def network():
    net = Sequential()
    net.add(Dense(2, activation="softmax"))
    net.compile(loss="categorical_crossentropy",
-                 optimizer="rmsprop")
+                 optimizer="rmsprop",
+                 metrics=['accuracy'])
    return net


model = network()
- print(model.evaluate(x, y, batch_size=8, show_accuracy=True))
+ print(model.evaluate(x, y, batch_size=8))

=== example: a number
import tensorflow as tf

- hidden = tf.nn.dropout(tf.ones([2, 8]), keep_prob=0.8)
+ hidden = tf.nn.dropout(tf.ones([2, 8]), rate=0.2)

=== reject (runs): iterators, masks and samplers of today
import torch
from torch.utils.data import DataLoader, Sampler


class Backwards(Sampler):
    def __init__(self, source):
        super().__init__()
        self.source = source

    def __iter__(self):
        return iter(reversed(range(len(self.source))))


class Cursor:
    def next(self):
        return 1


numbers = torch.arange(4.0)
first = next(iter(DataLoader(numbers, sampler=Backwards(numbers))))
mask = numbers.gt(1)
print(numbers.masked_select(mask), numbers[~mask], 1 - mask.float(), Cursor().next())

=== reject (runs): one less than what NumPy compares, and sets that grow
import numpy as np
import torch

labels = np.array([0, 1])
wrong = 1 - (labels == 1)
seen = set()
seen.add(torch.ones(1).item())
weights = torch.ones(2).add_(torch.ones(2), alpha=0.5).add_(1)

=== reject (runs): a spectrum in today's form
import torch

spectrum = torch.stft(torch.ones(64), 16, window=torch.ones(16), return_complex=True)

=== reject: a dictionary of weights
import torch

model = torch.nn.Linear(2, 1)
state = torch.load("weights.pth", map_location="cpu")
model.load_state_dict(state)
model.eval()

=== reject: another library's load
import joblib
import torch

model = joblib.load("model.pkl")
model.eval()

=== reject (runs): arrays of numbers, and strings that are read as numbers
import numpy as np
import torch

np.save("x.npy", np.ones(3))
x = np.load("x.npy")
print(np.fromstring("1 2", sep=" "), torch.from_numpy(x).sum().item(), np.array([[1, 2], [3, 4]]))

=== reject: functions of the program's own
import torch


def asscalar(x):
    return x.item()


print(asscalar(torch.ones(1)))

=== reject: lists and attributes of other things
import pandas as pd
import torch


class Cursor:
    def __init__(self):
        self.ix = {0: 1}


rows = []
rows.append({"a": 1})
table = pd.DataFrame(rows)
columns = list(table.columns)
columns.append("b")
print(Cursor().ix[0], table.iloc[:, 0:1], torch.ones(1))

=== reject: an explicit number
import torch

p = torch.ones(3)
torch.multinomial(p, 2), p.multinomial(num_samples=1), torch.multinomial(input=p, num_samples=1)

=== reject: numpy, and a function of the program
import numpy as np
import torch

np.random.multinomial(20, [0.5, 0.5])

class Sampler:
    def multinomial(self):
        return torch.ones(1)

    def draw(self):
        return self.multinomial()

=== reject: weights of the losses
import keras

model = keras.Model(inputs, [first, second])
model.compile("adam", "mse", [1.0, 0.2])

=== reject: weights that have names
import keras

near, far = 1.0, 0.2
model = keras.Model(inputs, [first, second])
model.compile("adam", "mse", [near, far])
model.compile("adam", "mse", [float(near), keras.backend.epsilon()])
model.compile("adam", "mse", [keras.Variable(near), keras.Variable(far)])

=== reject: labels
import keras
import matplotlib.pyplot as plt

names = ["a", "b"]
fig, axes = plt.subplots()
axes.set_xticks([0, 1], names)
axes.set_yticks([0, 1], ["low", "high"])
axes.set_xticks([0, 1], names * 1)

=== reject: the size of the output, and an activation
from keras.layers import Convolution2D, Dense, LSTM

relu = "relu"
layers = [Dense(64, "relu"), Dense(3, relu), LSTM(32, activation="tanh"), Convolution2D(32, 3, 3)]

=== reject: a method of the program's own
import keras


class Net(keras.Model):
    def reset_states(self):
        self.state = None


net = Net()
net.reset_states()

=== reject (runs): a class that is not a layer
import keras


class Builder:
    def call(self, x):
        return keras.layers.Dense(2)(x)

    def model(self):
        x = keras.Input((3,))
        return keras.Model(x, self.call(x))


print(Builder().model().count_params())

=== reject (runs): arrays, and the method within itself
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self, inner=None):
        super().__init__()
        self.inner, self.out = inner, keras.layers.Dense(1)

    def call(self, inputs):
        return self.out(inputs) if self.inner is None else self.inner.call(inputs)

    def first(self, x):
        return self.call(x)[0]


net = Net()
net(np.ones((2, 3)))
print(net.first(np.ones((2, 3))).shape)

=== reject (runs): a view for another number of elements
import torch

x = torch.randn(2, 3, 4, 4)
print(x.permute(0, 2, 3, 1).view(2, 7).sum())

=== reject: labels first, and both by their names
import tensorflow as tf

loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
same = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

=== reject: a function makes the layer
from keras.layers import Dense, TimeDistributed


def dense(units):
    return Dense(units)


layer = TimeDistributed(dense(3))

=== example (runs): outputs of a model that returns a dictionary
import torch
from transformers import BertConfig, BertModel


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2))
        self.head = torch.nn.Linear(8, 2)

    def forward(self, ids):
-         _, pooled = self.bert(input_ids=ids)
+         _, pooled = self.bert(input_ids=ids, return_dict=False)
        return self.head(pooled)


print(Classifier()(torch.ones(2, 3, dtype=torch.long)).shape)

=== reject: accuracy is not wanted
from keras.models import Sequential

model = Sequential()
model.compile(loss="mse", optimizer="sgd")
score = model.evaluate(x, y, verbose=0)
"""
