import numpy as np
import torch
from keras import Input, Sequential, layers

CLASSES = ["walk", "cycle", "stairs"]
STEPS, AXES = 96, 3


def accelerometer(kind, count):
    """Fake three-axis recordings: every activity has its own rhythm."""
    t = np.linspace(0, 4, STEPS)
    speed = {0: 1.8, 1: 3.2, 2: 0.9}[kind]
    phase = np.random.uniform(0, 2 * np.pi, size=(count, 1, AXES))
    gain = np.array([1.0, 0.6, 0.3]) * np.random.uniform(0.8, 1.2, size=(count, 1, AXES))
    wave = gain * np.sin(2 * np.pi * speed * t[None, :, None] + phase)
    return wave + 0.3 * np.random.randn(count, STEPS, AXES)


def make_set(per_class):
    x = np.concatenate([accelerometer(kind, per_class) for kind in range(len(CLASSES))])
    y = np.repeat(np.arange(len(CLASSES)), per_class)
    order = np.random.permutation(len(y))
    return x[order].astype("float32"), y[order]


def strongest(features):
    # each filter's best response along the recording
    return torch.max(features, dim=1)


x_train, y_train = make_set(120)
x_test, y_test = make_set(40)

model = Sequential()
model.add(Input((STEPS, AXES)))
model.add(layers.ZeroPadding1D(2))
model.add(layers.Conv1D(16, 5, activation="relu"))
model.add(layers.MaxPooling1D(2))
model.add(layers.Conv1D(24, 9, activation="relu"))
model.add(layers.Lambda(strongest))
model.add(layers.Dense(32))
model.add(layers.PReLU())
model.add(layers.Dropout(0.2))
model.add(layers.Dense(len(CLASSES), activation="softmax"))

model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=8, verbose=2)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("test loss %.3f, test accuracy %.3f" % (loss, accuracy))
