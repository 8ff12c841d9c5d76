import random

import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

periods = ["swing", "bebop", "cool"]
testCategoryNum = 20


def spectrogram(period, frames=32, bands=24):
    """A made-up spectrogram: each period has its own rhythm and its own range."""
    t, b = np.mgrid[:frames, :bands]
    beat = {"swing": 8, "bebop": 3, "cool": 13}[period] + random.uniform(-0.5, 0.5)
    centre = {"swing": 8, "bebop": 15, "cool": 10}[period] + random.uniform(-2, 2)
    power = (1 + np.cos(2 * np.pi * t / beat)) * np.exp(-(((b - centre) / 4) ** 2))
    return (power + 0.3 * np.random.rand(frames, bands)).astype("float32")


def preprocess(periods, testCategoryNum, perCategory=90):
    x, y = [], []
    for number, period in enumerate(periods):
        for _ in range(perCategory):
            x.append(spectrogram(period)[..., np.newaxis])
            y.append(number)

    # shuffle pictures and labels together
    order = list(range(len(x)))
    random.shuffle(order)
    x = [x[i] for i in order]
    y = [y[i] for i in order]

    def batchSeparator(x, y):
        """Take the same number of test pictures out of every category."""
        x_test, y_test = [], []
        for number in range(len(periods)):
            for _ in range(testCategoryNum):
                q = y.index(number)
                x_test.append(x.pop(q))
                y_test.append(y.pop(q))

        x_test = np.array(x_test)
        y_test = np.array(y_test)

        x_train = np.array(x)
        y_train = y

        return x_train, y_train, x_test, y_test

    return batchSeparator(x, y)


x_train, y_train, x_test, y_test = preprocess(periods, testCategoryNum)
print(len(x_train), "train samples,", len(x_test), "test samples")

model = Sequential()
model.add(Input(x_train.shape[1:]))
model.add(Conv2D(8, (5, 5), activation="relu"))
model.add(MaxPooling2D((2, 2)))
model.add(Conv2D(16, (3, 3), activation="relu"))
model.add(MaxPooling2D((2, 2)))
model.add(Flatten())
model.add(Dropout(0.3))
model.add(Dense(len(periods), activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

model.fit(x_train, y_train, batch_size=16, epochs=4, validation_data=(x_test, y_test), verbose=2)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss: %.3f, accuracy: %.3f" % tuple(score))
