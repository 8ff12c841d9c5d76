"""Keras models and their losses, in programs written in many ways."""

from __future__ import annotations

import pytest

from tests.network.programs import losses, names, read

CASES = {
    "sequential as a list": (
        """
from tensorflow import keras
model = keras.Sequential([
    keras.layers.Dense(64, activation="relu", input_shape=(20,)),
    keras.layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
""",
        [("SparseCategoricalCrossentropy", "Dense:softmax")],
    ),
    "sequential by add, activation as a layer": (
        """
from keras.models import Sequential
from keras.layers import Dense, Activation
model = Sequential()
model.add(Dense(5, input_dim=3))
model.add(Activation('softmax'))
model.compile(loss='categorical_crossentropy', optimizer='sgd')
""",
        [("CategoricalCrossentropy", "Activation:softmax")],
    ),
    "compiled before the last layer": (
        """
from keras.models import Sequential
from keras.layers import Dense
model = Sequential()
model.add(Dense(5, input_dim=3))
model.compile(loss='mse', optimizer='sgd')
model.add(Dense(1, activation='sigmoid'))
""",
        [("MeanSquaredError", "Dense:sigmoid")],
    ),
    "a layer that is only perhaps added": (
        """
from keras.models import Sequential
from keras.layers import Dense
model = Sequential()
model.add(Dense(5, input_dim=3))
if deep:
    model.add(Dense(5, activation='softmax'))
model.compile(loss='mse', optimizer='sgd')
""",
        [("MeanSquaredError", None)],
    ),
    "layers added in a loop before the last": (
        """
from keras.models import Sequential
from keras.layers import Dense
model = Sequential()
for units in sizes:
    model.add(Dense(units, activation='relu'))
model.add(Dense(1))
model.compile(loss='binary_crossentropy', optimizer='sgd')
""",
        [("BinaryCrossentropy", "Dense:linear")],
    ),
    "a generator that is compiled for its predictions only": (
        """
from keras.models import Sequential
from keras.layers import Dense
generator = Sequential([Dense(784, activation="tanh", input_dim=10)])
judge = Sequential([Dense(1, activation="sigmoid", input_dim=784)])
generator.compile(loss="binary_crossentropy", optimizer="sgd")
judge.compile(loss="mse", optimizer="sgd")
judge.train_on_batch(generator.predict(noise), labels)
""",
        [("MeanSquaredError", "Dense:sigmoid")],
    ),
    "functional with two heads and a list of losses": (
        """
import keras
from keras import layers
inputs = keras.Input(shape=(32,))
h = layers.Dense(16, activation='relu')(inputs)
a = layers.Dense(3, activation='softmax', name='kind')(h)
b = layers.Dense(1, name='size')(h)
model = keras.Model(inputs=inputs, outputs=[a, b])
model.compile('adam', loss=['categorical_crossentropy', 'mse'])
""",
        [("CategoricalCrossentropy", "Dense:softmax"), ("MeanSquaredError", "Dense:linear")],
    ),
    "functional with losses by output name": (
        """
import keras
from keras import layers
inputs = keras.Input(shape=(32,))
a = layers.Dense(3, activation='softmax', name='kind')(inputs)
b = layers.Dense(1, name='size')(inputs)
model = keras.Model(inputs, [a, b])
model.compile(optimizer='adam', loss={'size': 'mae', 'kind': keras.losses.CategoricalCrossentropy()})
""",
        [("MeanAbsoluteError", "Dense:linear"), ("CategoricalCrossentropy", "Dense:softmax")],
    ),
    "a loss object from logits": (
        """
import tensorflow as tf
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model = tf.keras.models.Sequential([tf.keras.layers.Flatten(input_shape=(28, 28)), tf.keras.layers.Dense(10)])
model.compile(optimizer='adam', loss=loss_fn)
""",
        [("SparseCategoricalCrossentropy", "Dense:linear")],
    ),
    "a loss function by reference": (
        """
import keras
model = keras.Sequential([keras.layers.Dense(1, activation=keras.activations.sigmoid)])
model.compile(loss=keras.losses.binary_crossentropy, optimizer='adam')
""",
        [("BinaryCrossentropy", "Dense:sigmoid")],
    ),
    "a model from a function": (
        """
from keras.models import Sequential
from keras.layers import Dense
def build(units=4):
    m = Sequential([Dense(units, activation='softmax')])
    m.compile(loss='categorical_crossentropy', optimizer='adam')
    return m
model = build()
model.fit(x, y)
""",
        [("CategoricalCrossentropy", "Dense:softmax")],
    ),
    "a build function that only a wrapper calls": (
        """
from keras.models import Sequential
from keras.layers import Dense
from keras.wrappers.scikit_learn import KerasClassifier
def build():
    m = Sequential()
    m.add(Dense(3, activation='sigmoid'))
    m.compile(loss='categorical_crossentropy', optimizer='adam')
    return m
clf = KerasClassifier(build_fn=build)
""",
        [("CategoricalCrossentropy", "Dense:sigmoid")],
    ),
    "a subclassed model": (
        """
import tensorflow as tf
class M(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = tf.keras.layers.Dense(8, activation='relu')
        self.d2 = tf.keras.layers.Dense(3)
    def call(self, x):
        return tf.nn.softmax(self.d2(self.d1(x)))
model = M()
model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer='adam')
""",
        [("SparseCategoricalCrossentropy", "tf.nn.softmax(self.d2(self.d1(x)))")],
    ),
    "a custom training loop, target first": (
        """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation='sigmoid')])
bce = tf.keras.losses.BinaryCrossentropy()
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        p = model(x, training=True)
        loss = bce(y, p)
    return loss
for x, y in data:
    step(x, y)
""",
        [("BinaryCrossentropy", "Dense:sigmoid")],
    ),
    "two models, one inside the other": (
        """
from keras.models import Sequential, Model
from keras.layers import Dense, Input
disc = Sequential([Dense(1, activation='sigmoid', input_dim=8)])
disc.compile(loss='binary_crossentropy', optimizer='adam')
gen = Sequential([Dense(8, activation='tanh', input_dim=2)])
z = Input(shape=(2,))
gan = Model(z, disc(gen(z)))
gan.compile(loss='binary_crossentropy', optimizer='adam')
""",
        [("BinaryCrossentropy", "Dense:sigmoid"), ("BinaryCrossentropy", "Dense:sigmoid")],
    ),
    "a functional model called again": (
        """
import keras
i = keras.Input((4,))
m = keras.Model(i, keras.layers.Dense(2, activation='softmax')(i))
loss = keras.losses.categorical_crossentropy(y, m(x))
""",
        [("categorical_crossentropy", "Dense:softmax")],
    ),
    "an application with its output": (
        """
from keras.applications import VGG16
from keras.layers import Dense, Flatten
from keras.models import Model
base = VGG16(include_top=False)
out = Dense(2, activation='softmax')(Flatten()(base.output))
model = Model(inputs=base.input, outputs=out)
model.compile(loss='categorical_crossentropy', optimizer='adam')
""",
        [("CategoricalCrossentropy", "Dense:softmax")],
    ),
    "an activation changed later": (
        """
import keras
last = keras.layers.Dense(2, activation='softmax')
model = keras.Sequential([last])
last.activation = None
model.compile(loss='mse', optimizer='adam')
""",
        [("MeanSquaredError", "Dense 0")],
    ),
    "an unknown model": (
        "import keras\nmodel = load()\nmodel.compile(loss='mse', optimizer='adam')\n",
        [("MeanSquaredError", None)],
    ),
    "a subclass of Sequential": (
        """
import keras
class M(keras.Sequential):
    def __init__(self):
        super().__init__()
        self.add(keras.layers.Dense(3, activation='softmax'))
m = M()
m.compile(loss='categorical_crossentropy', optimizer='adam')
""",
        [("CategoricalCrossentropy", "Dense:softmax")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_prediction_of_each_loss_is_traced_to_its_producer(name: str) -> None:
    code, expected = CASES[name]

    assert losses(code) == expected


def test_compile_makes_components_at_the_strings_that_name_them() -> None:
    program, network = read(CASES["sequential as a list"][0])

    loss = network.calls[-1]
    assert loss.site == loss.made_at

    found = {c.kind: (c.name, program.segment(c.site)) for c in network.components if c.site and c.kind != "layer"}
    assert found["loss"] == ("keras.losses.SparseCategoricalCrossentropy", '"sparse_categorical_crossentropy"')
    assert found["optimizer"] == ("keras.optimizers.Adam", '"adam"')
    assert found["metric"] == ("keras.metrics.Accuracy", '"accuracy"')


def test_input_shapes_reach_dense_layers() -> None:
    _, network = read(CASES["functional with two heads and a list of losses"][0])

    assert [c.outputs[0].shape for c in network.calls[:3]] == [(None, 16), (None, 3), (None, 1)]
    assert network.calls[0].inputs[0].origin == "symbolic" and network.calls[0].inputs[0].shape == (None, 32)


def test_the_target_comes_from_the_only_fit() -> None:
    code = """
    import numpy as np
    from keras.models import Sequential
    from keras.layers import Dense
    from keras.utils import to_categorical
    x = np.random.rand(50, 4)
    y = to_categorical(np.random.randint(0, 3, size=(50,)), 3)
    model = Sequential([Dense(3, activation='softmax', input_shape=(4,))])
    model.compile(loss='sparse_categorical_crossentropy', optimizer='adam')
    model.fit(x, y, epochs=2)
    """
    _, network = read(code)
    loss = network.calls[-1]

    made = network.producer(loss.inputs[1])
    assert made is not None and made.name == "keras.utils.to_categorical" and made.args["num_classes"] == 3
    fit = next(c for c in network.calls if c.name == "keras.Model.fit")
    assert fit.inputs[0].shape == (50, 4) and fit.args == {"epochs": 2}


def test_two_fits_leave_the_target_unknown() -> None:
    code = CASES["compiled before the last layer"][0] + "model.fit(a, b)\nmodel.fit(c, d)\n"
    _, network = read(code)

    assert network.calls[-1].inputs[1].id is None


def test_activation_arguments_are_short_names_however_given() -> None:
    code = """
    import tensorflow as tf
    from tensorflow.keras import layers, activations
    layers.Dense(1, activation=tf.nn.relu)
    layers.Dense(1, activations.softmax)
    layers.Dense(1, activation="swish")
    layers.Dense(1)
    layers.Dense(1, activation=lambda t: t)
    """
    _, network = read(code)

    given = [c.args["activation"] for c in network.components]
    assert given == ["relu", "softmax", "silu", None, {"repr": "function"}]


def test_merges_take_all_their_inputs() -> None:
    code = """
    from keras.layers import Input, Dense, Concatenate, add
    a, b = Input((3,)), Input((4,))
    c = Concatenate()([a, b])
    d = add([Dense(2)(c), Dense(2)(c)])
    """
    _, network = read(code)

    assert names(network) == ["Concatenate", "Dense", "Dense", "Add"]
    assert [v.shape for v in network.calls[0].inputs] == [(None, 3), (None, 4)]
    assert [v.producer for v in network.calls[3].inputs] == [2, 3]


def test_a_loss_that_keras_does_not_have_is_read_past() -> None:
    code = """
import keras
criterion = keras.losses.MeanSquareError()
model = keras.Sequential([keras.layers.Dense(1)])
print(criterion([1.0], model([[2.0]])))
"""
    assert losses(code) == []
