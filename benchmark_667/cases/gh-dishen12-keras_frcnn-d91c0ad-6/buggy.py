"""Regress the box of a bright rectangle in a small picture, with the smooth L1 loss of detection networks."""
import numpy as np
from keras import layers, models, ops

SIZE = 24
LAMBDA_REGR = 1.0
EPSILON = 1e-4


def box_loss(y_true, y_pred):
    # the first four columns say whether a picture has a box at all
    mask, target = y_true[:, :4], y_true[:, 4:]
    x = target - y_pred
    x_abs = ops.absolute(x)
    x_bool = ops.cast(ops.lesser_equal(x_abs, 1.0), "float32")
    huber = x_bool * (0.5 * x * x) + (1 - x_bool) * (x_abs - 0.5)
    return LAMBDA_REGR * ops.sum(mask * huber) / ops.sum(EPSILON + mask)


def draw(n):
    images = np.random.uniform(0, 0.3, size=(n, SIZE, SIZE, 1)).astype("float32")
    labels = np.zeros((n, 8), dtype="float32")
    for k in range(n):
        if np.random.rand() < 0.2:
            continue
        w, h = np.random.randint(5, 12, size=2)
        x0, y0 = np.random.randint(0, SIZE - w), np.random.randint(0, SIZE - h)
        images[k, y0:y0 + h, x0:x0 + w] += 0.7
        labels[k, :4] = 1
        labels[k, 4:] = (x0 / SIZE, y0 / SIZE, w / SIZE, h / SIZE)
    return images, labels


def build():
    image = layers.Input(shape=(SIZE, SIZE, 1))
    x = layers.Conv2D(8, 3, strides=2, activation="relu")(image)
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(32, activation="relu")(x)
    return models.Model(image, layers.Dense(4)(x))


x_train, y_train = draw(400)
x_test, y_test = draw(100)

model = build()
model.compile(optimizer="adam", loss=box_loss)
model.fit(x_train, y_train, batch_size=32, epochs=8, verbose=2)
print("test loss: %.4f" % model.evaluate(x_test, y_test, verbose=0))
