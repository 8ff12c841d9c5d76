import random

import keras
import numpy as np
from keras import layers

HEIGHT, WIDTH = 24, 48

# ids of the classes in the label pictures
ROAD, PERSON, CAR = 7, 24, 26


def make_street(n):
    """Small street scenes: a road at the bottom, cars on it, people beside it."""
    x = np.random.normal(0.5, 0.05, (n, HEIGHT, WIDTH, 3))
    y = np.zeros((n, HEIGHT, WIDTH), dtype=np.uint8)
    for img, lab in zip(x, y):
        horizon = random.randint(10, 14)
        lab[horizon:] = ROAD
        img[horizon:] -= 0.3
        for _ in range(random.randint(1, 3)):
            c = random.randint(0, WIDTH - 9)
            lab[horizon + 1 : horizon + 6, c : c + 8] = CAR
            img[horizon + 1 : horizon + 6, c : c + 8] = (0.9, 0.2, 0.2)
        c = random.randint(0, WIDTH - 4)
        lab[horizon - 7 : horizon, c : c + 3] = PERSON
        img[horizon - 7 : horizon, c : c + 3] = (0.2, 0.2, 0.9)
    return x.astype("float32"), y


def augment(x, y):
    """Flip and shift pictures and labels of a batch in the same way."""
    if random.random() < 0.5:
        x, y = x[:, :, ::-1], y[:, :, ::-1]
    shift = random.randint(-4, 4)
    return np.roll(x, shift, axis=2), np.roll(y, shift, axis=2)


# One hot encoding for y_img.
def get_result_map(y_img):
    result_map = np.zeros((HEIGHT, WIDTH, 4), dtype="float32")

    person = y_img == PERSON
    car = y_img == CAR
    road = y_img == ROAD
    background = np.logical_not(person + car + road)

    result_map[:, :, 0] = np.where(background, 1, 0)
    result_map[:, :, 1] = np.where(person, 1, 0)
    result_map[:, :, 2] = np.where(car, 1, 0)
    result_map[:, :, 3] = np.where(road, 1, 0)

    return result_map


# Data generator for fit.
def data_generator(x_imgs, y_imgs, b_size):
    x, y = [], []
    while True:
        for idx in np.random.permutation(len(x_imgs)):
            x.append(x_imgs[idx])
            y.append(y_imgs[idx].reshape((HEIGHT, WIDTH, 1)))

            if len(x) == b_size:
                x_result, y_result = augment(np.array(x), np.array(y))
                yield x_result, get_result_map(y_result)
                x.clear()
                y.clear()


def small_fcn():
    inputs = keras.Input((HEIGHT, WIDTH, 3))
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(16, 2, strides=2, activation="relu")(x)
    outputs = layers.Conv2D(4, 1, activation="softmax")(x)
    return keras.Model(inputs, outputs)


if __name__ == "__main__":
    batch = 8
    x_train, y_train = make_street(80)
    model = small_fcn()
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    train_gen = data_generator(x_train, y_train, batch)
    model.fit(train_gen, steps_per_epoch=len(x_train) // batch, epochs=3, verbose=2)
