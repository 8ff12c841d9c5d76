import numpy as np
from keras import layers, ops
from keras.models import Model


class UNet(object):
    """U-Net for square pictures with one channel."""

    def __init__(self, side, base=6):
        picture = layers.Input((side, side, 1))
        level1 = self.__twice(base, picture)
        level2 = self.__twice(2 * base, layers.MaxPooling2D(2)(level1))
        up = self.__join(layers.UpSampling2D(2)(level2), level1)
        merged = self.__twice(base, up)
        outputs = layers.Conv2D(1, 1, activation="sigmoid")(merged)
        self.MODEL = Model(inputs=picture, outputs=outputs)

    def __twice(self, filters, x):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, activation="relu")(x)
        return x

    def __join(self, x, skipped):
        rows = (skipped.shape[1] - x.shape[1]) // 2
        cols = (skipped.shape[2] - x.shape[2]) // 2
        return layers.concatenate([x, layers.Cropping2D((rows, cols))(skipped)])

    def model(self):
        return self.MODEL


def soft_dice(teacher, guess):
    teacher, guess = ops.reshape(teacher, (-1,)), ops.reshape(guess, (-1,))
    overlap = ops.sum(teacher * guess)
    return 1 - (2.0 * overlap + 1) / (ops.sum(teacher) + ops.sum(guess) + 1)


class Leaves:
    """Scanned leaves on paper, and where the leaf is."""

    def __init__(self, n, side):
        self.inputs = np.empty((n, side, side, 1), "float32")
        self.teachers = np.zeros((n, side, side, 1), "float32")
        y, x = np.ogrid[:side, :side]
        for k in range(n):
            cy, cx = np.random.uniform(0.3, 0.7, 2) * side
            long, slim = side * np.random.uniform(0.2, 0.3), side * np.random.uniform(0.1, 0.2)
            leaf = np.abs(y - cy) / long + np.abs(x - cx) / slim < 1
            self.teachers[k, leaf] = 1
            paper = 0.9 - 0.5 * leaf
            self.inputs[k, ..., 0] = paper + 0.1 * np.random.randn(side, side)


def train(network, scans):
    model = network.model()
    model.compile(optimizer="adam", loss=soft_dice)
    model.fit(scans.inputs, scans.teachers, batch_size=6, epochs=6, verbose=2)
    return model


def predict(model, scans):
    marked = model.predict(scans.inputs, verbose=0) > 0.5
    agree = (marked == (scans.teachers > 0.5)).mean()
    print("pixels marked as in the teacher: %.3f" % agree)


if __name__ == "__main__":
    side = 24
    model = train(UNet(side), Leaves(90, side))
    predict(model, Leaves(20, side))
