import argparse

import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from keras.utils import PyDataset, to_categorical

FLAGS = None


class ShapeGenerator(PyDataset):
    """Endless pictures of filled circles, squares and triangles in random colours."""
    num_class = 3

    def __init__(self, batches, batch_size=16, size=32):
        super().__init__()
        self.batches, self.batch_size, self.size = batches, batch_size, size

    def __len__(self):
        return self.batches

    def draw(self, kind):
        ys, xs = np.mgrid[0:self.size, 0:self.size]
        cy, cx = np.random.uniform(11, self.size - 11, size=2)
        r = np.random.uniform(7, 10)
        if kind == 0:
            inside = (ys - cy) ** 2 + (xs - cx) ** 2 < r ** 2
        elif kind == 1:
            inside = np.maximum(abs(ys - cy), abs(xs - cx)) < r
        else:
            inside = (abs(xs - cx) < (ys - cy + r) / 2) & (ys - cy < r)
        image = np.random.normal(0.1, 0.03, size=(self.size, self.size, 3))
        image[inside] += np.random.uniform(0.4, 0.9, size=3)
        return image

    def __getitem__(self, index):
        labels = np.random.randint(self.num_class, size=self.batch_size)
        images = np.stack([self.draw(kind) for kind in labels]).astype("float32")
        return images, to_categorical(labels, self.num_class)


def train():
    train_generator, validation_generator = ShapeGenerator(20), ShapeGenerator(5)

    model = Sequential()
    model.add(Input(shape=(32, 32, 3)))

    # conv1
    model.add(Conv2D(8, 3, 3, border_mode='same', activation='relu'))
    model.add(MaxPooling2D(pool_size=(2, 2)))

    # conv2
    model.add(Conv2D(16, (3, 3), padding='same', activation='relu'))
    model.add(MaxPooling2D(pool_size=(2, 2)))

    # one dim
    model.add(Flatten())

    # fc1
    model.add(Dense(32, activation='relu'))
    model.add(Dropout(0.2))

    # fc2
    model.add(Dense(train_generator.num_class, activation='softmax'))

    model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
    model.fit(train_generator, epochs=FLAGS.epochs, validation_data=validation_generator, verbose=2)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3, help='number of epochs')
    FLAGS, _ = parser.parse_known_args()
    train()
