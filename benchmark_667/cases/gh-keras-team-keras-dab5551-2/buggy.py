"""Train a small convnet on shapes with real time data augmentation."""
from __future__ import print_function

import numpy as np
from keras.layers import Activation, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import Progbar, to_categorical

batch_size = 32
nb_classes = 3
nb_epoch = 4


class ImageDataGenerator(object):
    """Centres the pictures over the data set, flips and moves them at random."""

    def fit(self, X):
        self.mean = X.mean(axis=(0, 1, 2))
        self.std = X.std(axis=(0, 1, 2)) + 1e-7

    def flow(self, X, Y):
        order = np.random.permutation(len(X))
        for start in range(0, len(X), batch_size):
            rows = order[start:start + batch_size]
            batch = (X[rows] - self.mean) / self.std
            for i in range(len(batch)):
                if np.random.rand() < 0.5:
                    batch[i] = batch[i, :, ::-1]
                batch[i] = np.roll(batch[i], np.random.randint(-2, 3, 2), axis=(0, 1))
            yield batch.astype("float32"), Y[rows]


def load_shapes(n, size=20):
    r, c = np.mgrid[:size, :size] - size // 2
    masks = [r ** 2 + c ** 2 < 36, abs(r) + abs(c) < 7, (abs(r) < 2) | (abs(c) < 2)]
    y = np.random.randint(0, nb_classes, n)
    X = np.random.randint(60, 120, (n, size, size, 3)).astype("float32")
    for image, label in zip(X, y):
        image[masks[label]] = np.random.randint(100, 256, 3)
    return X, to_categorical(y, nb_classes)


X_train, Y_train = load_shapes(400)
X_test, Y_test = load_shapes(100)
print(X_train.shape[0], 'train samples,', X_test.shape[0], 'test samples')

model = Sequential()
model.add(Input(shape=X_train.shape[1:]))
model.add(Conv2D(8, (3, 3)))
model.add(Activation('relu'))
model.add(Conv2D(8, (3, 3)))
model.add(Activation('relu'))
model.add(MaxPooling2D((2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(32))
model.add(Activation('relu'))
model.add(Dropout(0.5))
model.add(Dense(nb_classes))
model.add(Activation('softmax'))

sgd = SGD(learning_rate=0.02, momentum=0.9, nesterov=True)
model.compile(loss='categorical_crossentropy', optimizer=sgd)

datagen = ImageDataGenerator()
datagen.fit(X_train)

for e in range(nb_epoch):
    print('-' * 40)
    print('Epoch', e)
    print('-' * 40)
    print("Training...")
    # batch train with realtime data augmentation
    progbar = Progbar(X_train.shape[0])
    for X_batch, Y_batch in datagen.flow(X_train, Y_train):
        loss = model.train(X_batch, Y_batch)
        progbar.add(X_batch.shape[0], values=[("train loss", loss)])

    print("Testing...")
    progbar = Progbar(X_test.shape[0])
    for X_batch, Y_batch in datagen.flow(X_test, Y_test):
        score = model.test_on_batch(X_batch, Y_batch)
        progbar.add(X_batch.shape[0], values=[("test loss", score)])
