"""Transfer learning: train a top on the features of a finished network, then fine-tune both together."""
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

digits = load_digits()
pictures = (digits.images[..., None] / 16.0).astype("float32")
target = digits.target


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.Activation("relu")(x)


def feature_network():
    image = keras.Input((8, 8, 1))
    x = conv_block(image, 16)
    x = conv_block(x, 16)
    x = layers.MaxPooling2D()(x)
    x = conv_block(x, 32)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, x, name="base")


def pretrained():
    """The base comes from another task: telling the first six digits apart."""
    old = target < 6
    base = feature_network()
    model = keras.Sequential([base, layers.Dense(6, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(pictures[old], target[old], batch_size=64, epochs=8, verbose=0)
    return base


# the new task: the other four digits, photographed in bad light
new = target >= 6
x = 0.35 * pictures[new] + 0.05 * np.random.randn(new.sum(), 8, 8, 1).astype("float32")
y = target[new] - 6
order = np.random.permutation(len(y))
x, y = x[order], y[order]
x_train, y_train, x_val, y_val = x[:400], y[:400], x[400:], y[400:]

base = pretrained()

# bottleneck features and a top for them
top = keras.Sequential([keras.Input((32,)), layers.Dense(64, activation="relu"), layers.Dense(4, activation="softmax")])
top.compile(keras.optimizers.Adam(0.005), "sparse_categorical_crossentropy", metrics=["accuracy"])
top.fit(base.predict(x_train, verbose=0), y_train, batch_size=32, epochs=40, verbose=0)
accuracy = top.evaluate(base.predict(x_val, verbose=0), y_val, verbose=0)[1]
print(f"top on bottleneck features: {accuracy:.3f}")

# both together, with a small learning rate
image = keras.Input((8, 8, 1))
features = base(image)
model = keras.Model(image, top(features))
model.compile(
    keras.optimizers.SGD(1e-4, momentum=0.9),
    "sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=8, epochs=2, verbose=2)
accuracy = model.evaluate(x_val, y_val, verbose=0)[1]
print(f"after fine-tuning: {accuracy:.3f}")
