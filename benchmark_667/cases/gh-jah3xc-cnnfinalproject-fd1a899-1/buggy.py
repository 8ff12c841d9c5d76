"""K-fold evaluation of a small convolutional network on land-use tiles."""
import logging

import numpy as np
from keras import Sequential
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

logging.basicConfig(level=logging.INFO, format="%(message)s")

CLASSES = ["field", "road", "water"]


def generate_tiles(per_class, size):
    """RGB tiles: striped fields, roads with one bright line, smooth water."""
    rows = np.arange(size).reshape(-1, 1) * np.ones((1, size))
    tiles, labels = [], []
    for label, name in enumerate(CLASSES):
        for _ in range(per_class):
            tile = np.zeros((size, size, 3))
            if name == "field":
                tile[..., 1] = 0.5 + 0.4 * np.sin(rows * np.random.uniform(1.0, 2.0))
            elif name == "road":
                tile[:, np.random.randint(4, size - 4), :] = 0.9
            else:
                tile[..., 2] = np.random.uniform(0.4, 0.9)
            tiles.append(tile + np.random.normal(0, 0.08, tile.shape))
            labels.append(label)
    order = np.random.permutation(len(tiles))
    return np.array(tiles, dtype="float32")[order], np.array(labels)[order]


class TileClassifier:
    def __init__(self, size, blocks=2, filters=8, folds=3, epochs=6):
        self.size = size
        self.blocks = blocks
        self.filters = filters
        self.folds = folds
        self.epochs = epochs

    def fresh_model(self):
        """Convolution and pooling for each block, then two dense layers."""
        model = Sequential([Input(shape=(self.size, self.size, 3))])
        for _ in range(self.blocks):
            model.add(Conv2D(self.filters, 3, activation="relu"))
            model.add(MaxPooling2D(2))
        model.add(Flatten())
        model.add(Dense(activation="relu"))
        model.add(Dense(len(CLASSES), activation="softmax"))
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def cross_validate(self, images, labels):
        fold_of = np.arange(len(images)) % self.folds
        accuracies = []
        for fold in range(self.folds):
            held_out = fold_of == fold
            model = self.fresh_model()
            model.fit(images[~held_out], labels[~held_out], batch_size=16, epochs=self.epochs, verbose=0)
            accuracies.append(model.evaluate(images[held_out], labels[held_out], verbose=0)[1])
            logging.info("fold %d: %.3f", fold, accuracies[-1])
        return np.mean(accuracies)


if __name__ == "__main__":
    x, y = generate_tiles(per_class=60, size=20)
    classifier = TileClassifier(size=20)
    print("average accuracy: %.3f" % classifier.cross_validate(x, y))
