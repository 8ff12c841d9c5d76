"""A method or attribute that objects of its class do not have any more."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Subject, changed_methods, claimed, uses_of


class RemovedMethod(ApiChange):
    """A method or attribute that was renamed or taken away: its use stops with an AttributeError.

    The object's class is read from its constructor; a method whose name no other class has is taken at its word.
    Methods whose arguments changed too have templates of their own.

    Fix safety: safe where the new method does the same, as `predict` for `predict_proba` and `to_numpy` for `as_matrix`.

    References: https://keras.io/guides/migrating_to_keras_3/, https://pandas.pydata.org/docs/whatsnew/v1.0.0.html.
    """

    code = "DNF503"
    name = "removed-method"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """What the tables say of the methods that the program calls."""
        claims = claimed(subject)
        yield from (hit for hit in changed_methods(uses_of(subject.source)) if not claims.covers(hit))

    examples = (
        Example(
            "probabilities of a sequential model",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(1, activation="sigmoid"))
- print(model.predict_proba(x))
+ print(model.predict(x))
""",
        ),
        Example(
            "the rate of an optimizer, read and set, where a class of the program has one too",
            """\
from keras import optimizers


class Schedule:
    def __init__(self):
        self.lr = 0.1


sgd = optimizers.SGD(Schedule().lr)
model.compile(optimizer=sgd, loss="mse")
- sgd.lr = sgd.lr * 0.5
+ sgd.learning_rate = sgd.learning_rate * 0.5
""",
        ),
        Example(
            "the size of a layer's output, and of a generator's data",
            """\
import tensorflow as tf


def report(model, batches):
-     return [layer.output_shape for layer in model.layers], batches.nb_class
+     return [layer.output.shape for layer in model.layers], batches.num_classes


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
""",
        ),
        Example(
            "the shape of a symbolic tensor",
            """\
from keras.layers import Conv2D, Input


def widened(images, width):
-     return Conv2D(width, 1)(images) if images._keras_shape[-1] != width else images
+     return Conv2D(width, 1)(images) if images.shape[-1] != width else images


pictures = Input((8, 8, 3))
- print(widened(pictures, 4), pictures._keras_shape)
+ print(widened(pictures, 4), pictures.shape)
""",
            runs=True,
        ),
        Example(
            "the architecture as YAML, and back",
            """\
- from keras.models import Sequential, model_from_yaml
+ from keras.models import Sequential, model_from_json
from keras.layers import Dense


def save(net, path):
    with open(path, "w") as file:
-         file.write(net.to_yaml())
+         file.write(net.to_json())


model = Sequential([Dense(1)])
save(model, "model.yaml")
- again = model_from_yaml(open("model.yaml").read())
+ again = model_from_json(open("model.yaml").read())
""",
        ),
        Example(
            "a data frame as a matrix",
            """\
import pandas as pd
import torch

frame = pd.read_csv("iris.csv")
- data = torch.tensor(frame[["a", "b"]].as_matrix())
+ data = torch.tensor(frame[["a", "b"]].to_numpy())
""",
        ),
        Example(
            "settings of layers under the names of Keras 1",
            """\
from keras.layers import Conv2D, Dropout
from keras.models import Sequential

conv = Conv2D(8, (3, 3))
model = Sequential([conv, Dropout(0.5)])
- assert conv.nb_filter == 8 and model.layers[0].nb_row == model.layers[0].nb_col == 3
- print(model.layers[0].border_mode, model.layers[-1].p)
+ assert conv.filters == 8 and model.layers[0].kernel_size[0] == model.layers[0].kernel_size[1] == 3
+ print(model.layers[0].padding, model.layers[-1].rate)
""",
        ),
    )
    rejects = (
        Reject(
            "the shape of a symbolic tensor that the program stores itself",
            """\
from keras.layers import Input, Lambda


def cut(x):
    out = Lambda(lambda t: t[:, :3])(x)
    out._keras_shape = (None, 3, 7)
    return out._keras_shape[1]


pictures = Input((None, 7))
print(cut(pictures), pictures._keras_shape)
""",
        ),
        Reject(
            "a layer of the program's own keeps what it likes",
            """\
import keras


class Noise(keras.layers.Layer):
    def __init__(self, p):
        super().__init__()
        self.p = p


model = keras.Sequential([Noise(0.1)])
print(model.layers[0].p)
""",
        ),
        Reject(
            "classifiers of scikit-learn have predict_proba",
            """\
import keras
from sklearn.linear_model import LogisticRegression

model = LogisticRegression()
print(model.fit(x, y).predict_proba(x))
""",
        ),
        Reject(
            "a method of the program's own",
            """\
import keras


class Net(keras.Model):
    def predict_proba(self, x):
        return self(x)


net = Net()
print(net.predict_proba(x))
""",
        ),
    )
