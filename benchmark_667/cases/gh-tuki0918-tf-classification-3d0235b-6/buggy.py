import argparse
import os
import tempfile

import numpy as np
from keras import backend as k
from keras.layers import Conv2D, Dense, GlobalMaxPooling2D, Input
from keras.models import Sequential, load_model

k.set_image_dim_ordering("tf")

LABELS = ["daisy", "rose", "tulip"]
SIZE = 20


def flowers(count):
    """Petals around a centre: many white ones, a red swirl, or a yellow cup."""
    y, x = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j]
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    kinds = np.random.randint(0, len(LABELS), count)
    images = np.full((count, SIZE, SIZE, 3), [0.2, 0.5, 0.2])
    for image, kind in zip(images, kinds):
        turn = np.random.uniform(0, 2 * np.pi)
        if kind == 0:
            shape, colour = radius < 0.5 + 0.3 * np.cos(9 * angle + turn), [0.95, 0.95, 0.9]
        elif kind == 1:
            shape, colour = np.sin(14 * radius + 2 * angle + turn) > 0, [0.8, 0.1, 0.2]
        else:
            shape, colour = (radius < 0.7) & (y > -0.2), [0.95, 0.8, 0.1]
        image[shape] = colour
    images += np.random.normal(0, 0.08, images.shape)
    return images.astype("float32"), kinds


def train(path):
    model = Sequential([
        Input((SIZE, SIZE, 3)),
        Conv2D(8, 5, strides=2, activation="relu"),
        Conv2D(16, 3, activation="relu"),
        GlobalMaxPooling2D(),
        Dense(len(LABELS), activation="softmax"),
    ])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    images, kinds = flowers(400)
    model.fit(images, kinds, batch_size=20, epochs=4, verbose=2)
    model.save(path)


def predict(path):
    model = load_model(path)
    images, kinds = flowers(40)
    predictions = model.predict(images, verbose=0)

    # best label index
    y = np.argmax(predictions, axis=1)

    # result
    for number in range(5):
        print('result: "image %d" predict "%s" class.' % (number, LABELS[y[number]]))
    print("hits: %d of %d" % (np.sum(y == kinds), len(kinds)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train a little classifier of flowers and ask it.")
    parser.add_argument("--model", type=str, default="model.keras", help="name of the model's file")
    FLAGS, unparsed = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        train(os.path.join(folder, FLAGS.model))
        predict(os.path.join(folder, FLAGS.model))
