import argparse

import numpy as np
from keras.layers import Conv2D, Convolution2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

SIZE = 24
CLASSES = ('circle', 'square', 'cross')


def draw(kind, noise):
    canvas = np.random.rand(SIZE, SIZE, 3) * noise
    color = np.random.uniform(0.4, 1.0, size=3)
    cx, cy = np.random.randint(8, SIZE - 8, size=2)
    r = np.random.randint(4, 8)
    yy, xx = np.ogrid[:SIZE, :SIZE]
    if kind == 'circle':
        shape = (xx - cx) ** 2 + (yy - cy) ** 2 <= r * r
    elif kind == 'square':
        shape = (abs(xx - cx) <= r) & (abs(yy - cy) <= r)
    else:
        shape = ((abs(xx - cx) <= 1) & (abs(yy - cy) <= r)) | ((abs(yy - cy) <= 1) & (abs(xx - cx) <= r))
    canvas[shape] = color
    return canvas


def generator(count, batch_size, noise=0.3):
    """Batches of pictures and one-hot classes."""
    eye = np.eye(len(CLASSES), dtype='float32')
    labels = np.random.randint(len(CLASSES), size=count)
    images = np.stack([draw(CLASSES[k], noise) for k in labels]).astype('float32')
    while True:
        for i in range(0, count, batch_size):
            yield images[i:i + batch_size], eye[labels[i:i + batch_size]]


def train(flags):
    train_generator = generator(480, flags.batch_size)
    validation_generator = generator(96, flags.batch_size)

    model = Sequential()
    model.add(Input(shape=(SIZE, SIZE, 3)))

    # conv1
    model.add(Convolution2D(8, 3, 3, border_mode='same', activation='relu'))
    model.add(MaxPooling2D(pool_size=(2, 2)))

    # conv2
    model.add(Conv2D(16, (3, 3), padding='same', activation='relu'))
    model.add(MaxPooling2D(pool_size=(2, 2)))

    # one dim
    model.add(Flatten())

    # fc1
    model.add(Dense(32, activation='relu'))
    model.add(Dropout(0.3))

    # fc2
    model.add(Dense(len(CLASSES), activation='softmax'))

    model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
    model.fit(
        train_generator,
        steps_per_epoch=480 // flags.batch_size,
        epochs=flags.nb_epoch,
        validation_data=validation_generator,
        validation_steps=96 // flags.batch_size,
        verbose=2)
    return model


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--nb_epoch', type=int, default=4)
    parser.add_argument('--batch_size', type=int, default=24)
    FLAGS, unparsed = parser.parse_known_args()
    train(FLAGS)
