"""A keyword or literal that a call does not take any more."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Subject, changed_arguments, claimed, uses_of

ELSEWHERE = frozenset({"weights"})
"""Keywords that have a template of their own."""


class RemovedArgument(ApiChange):
    """A keyword that was renamed or taken away: the call stops with an unexpected argument.

    Keras 1 wrote `Dense(output_dim=…, init=…)` and `fit(nb_epoch=…)`, Keras 2 `Adam(lr=…)`; scikit-learn wrote
    `OneHotEncoder(sparse=…)`. Renamed keywords are renamed in place. One that only chose how to compute is dropped; one
    whose effect would be lost is left, with the reason. Arguments that pandas, scikit-learn and seaborn take by their names
    only are named: `df.drop("x", 1)` is `df.drop("x", axis=1)`.

    Fix safety: safe for keywords whose meaning stayed; dropping one that had an effect is unsafe.

    References: https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes and
    https://keras.io/guides/migrating_to_keras_3/; `fix_templates/data/*.toml` give one for each keyword.
    """

    code = "DNF502"
    name = "removed-argument"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """What the tables say of the keywords and literals of the program's calls."""
        claims = claimed(subject)
        for hit in changed_arguments(uses_of(subject.source)):
            if not claims.covers(hit) and hit.evidence.get("old") not in ELSEWHERE | claims.names:
                yield hit

    examples = (
        Example(
            "how axes keep their aspect",
            """\
import keras
import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 2)
for axis, image in zip(axes.flatten(), keras.random.uniform((4, 8, 8))):
-     axis.set_adjustable("box-forced")
+     axis.set_adjustable("box")
    axis.imshow(image, aspect="equal")
""",
        ),
        Example(
            "Keras 1 names of a dense network",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
- model.add(Dense(input_dim=2, output_dim=10, init="uniform", W_regularizer="l2", bias=False))
- model.add(Dense(output_dim=1))
+ model.add(Dense(input_dim=2, units=10, kernel_initializer="uniform", kernel_regularizer="l2", use_bias=False))
+ model.add(Dense(units=1))
model.compile(loss="mse", optimizer="sgd")
- model.fit(X, Y, nb_epoch=1000, batch_size=32)
+ model.fit(X, Y, epochs=1000, batch_size=32)
""",
        ),
        Example(
            "the learning rate of Keras 2",
            """\
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
- model.compile(optimizer=keras.optimizers.Adam(lr=1e-3, epsilon=1e-8), loss="mse")
+ model.compile(optimizer=keras.optimizers.Adam(learning_rate=1e-3, epsilon=1e-8), loss="mse")
""",
        ),
        Example(
            "padding, strides and order of axes of a convolution",
            """\
from keras.layers import Conv2D, MaxPooling2D

conv = Conv2D(
    32,
    (3, 3),
-     border_mode='same',
-     subsample=(2, 2),
-     dim_ordering='th',  # channels first
+     padding='same',
+     strides=(2, 2),
+     data_format='channels_first',  # channels first
)
- pool = MaxPooling2D(pool_size=(2, 2), border_mode="valid")
+ pool = MaxPooling2D(pool_size=(2, 2), padding="valid")
""",
        ),
        Example(
            "nested calls and a functional model",
            """\
from keras.layers import Dense, Dropout, Input, LSTM
from keras.models import Model

inputs = Input(shape=(5, 3))
- hidden = Dropout(p=0.5)(LSTM(output_dim=8, inner_activation="hard_sigmoid", consume_less="gpu")(inputs))
- model = Model(input=inputs, output=Dense(output_dim=1, init="normal")(hidden))
+ hidden = Dropout(rate=0.5)(LSTM(units=8, recurrent_activation="hard_sigmoid")(inputs))
+ model = Model(inputs=inputs, outputs=Dense(units=1, kernel_initializer="normal")(hidden))
""",
        ),
        Example(
            "one-hot encoding in scikit-learn",
            """\
import torch
from sklearn.preprocessing import OneHotEncoder

- encoder = OneHotEncoder(sparse=False)
+ encoder = OneHotEncoder(sparse_output=False)
targets = torch.tensor(encoder.fit_transform([[0], [1]]))
""",
        ),
        Example(
            "arguments that pandas and scikit-learn take by name only",
            """\
import pandas as pd
import torch
from sklearn.ensemble import RandomForestClassifier

- table = pd.read_csv("iris.csv", ",")
- both = pd.concat([table, table], 1).drop("class", 1)
- forest = RandomForestClassifier(100, "entropy")
+ table = pd.read_csv("iris.csv", sep=",")
+ both = pd.concat([table, table], axis=1).drop("class", axis=1)
+ forest = RandomForestClassifier(100, criterion="entropy")
x = torch.from_numpy(both.values).sum(0)
""",
        ),
    )
    rejects = (
        Reject(
            "what is drawn is given by name, or the data alone",
            """\
import keras
import seaborn as sns

sns.lineplot(x=steps, y=losses)
sns.countplot(labels)
sns.boxplot(table, x="class", y="loss")
""",
        ),
        Reject(
            "a plot of the program's own",
            """\
import torch
import seaborn


def lineplot(x, y):
    return x, y


lineplot([1], [2])
""",
        ),
        Reject(
            "the sizes of an embedding keep their names",
            """\
from keras.models import Sequential
from keras.layers import Dense, Embedding

model = Sequential([Embedding(input_dim=100, output_dim=8), Dense(4)])
""",
        ),
        Reject(
            "lr belongs to torch's optimizers",
            """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
""",
        ),
        Reject(
            "a class of one's own with such a keyword",
            """\
import keras


class Trainer:
    def fit(self, nb_epoch, lr=0.1):
        return nb_epoch * lr


Trainer().fit(nb_epoch=3, lr=0.2)
model = keras.Sequential()
""",
        ),
    )
