'''Trains a configurable CNN on small pictures of digits.

The options can be given on the command line, e.g.  -e 20 -b 64 -c 8,16
'''
import getopt
import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

TRUES = ['true', '1', 't', 'y', 'yes']


def parse(argument_list):
    unix_options = 'a:b:c:e:n:'
    gnu_options = ['augmentation=', 'batch_size=', 'conv_maps=', 'epochs=', 'neurons=']
    arguments, _ = getopt.getopt(argument_list, unix_options, gnu_options)
    given = dict(arguments)

    def get_value(short, long, default):
        return given.get(short, given.get(long, default))

    batch_size = int(get_value('-b', '--batch_size', 64))
    epochs = bool(get_value('-e', '--epochs', 10))
    augmentation = str(get_value('-a', '--augmentation', 'no')).lower() in TRUES
    neurons = int(get_value('-n', '--neurons', 64))
    conv_maps = [int(maps) for maps in get_value('-c', '--conv_maps', '8,16').split(',')]
    return batch_size, epochs, augmentation, neurons, conv_maps


def build(conv_maps, neurons, num_classes):
    model = keras.Sequential([keras.Input((8, 8, 1))])
    for maps in conv_maps:
        model.add(Conv2D(maps, 3, padding='same', activation='relu'))
    model.add(MaxPooling2D(2))
    model.add(Flatten())
    model.add(Dense(neurons, activation='relu'))
    model.add(Dropout(0.3))
    model.add(Dense(num_classes, activation='softmax'))
    return model


def augment(images):
    '''Every picture and a copy that is moved by one pixel.'''
    moved = np.roll(images, np.random.choice([-1, 1]), axis=2)
    return np.concatenate([images, moved])


def main(argument_list):
    batch_size, epochs, augmentation, neurons, conv_maps = parse(argument_list)
    digits = load_digits()
    x = (digits.images / 16.0)[..., np.newaxis]
    x_train, x_test, y_train, y_test = train_test_split(x, digits.target, test_size=0.25)
    if augmentation:
        x_train, y_train = augment(x_train), np.tile(y_train, 2)

    model = build(conv_maps, neurons, num_classes=10)
    model.compile(optimizer=keras.optimizers.RMSprop(learning_rate=0.0005),
                  loss='sparse_categorical_crossentropy', metrics=['accuracy'])
    model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs,
              validation_data=(x_test, y_test), verbose=2)

    loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
    print('Test loss: %.4f' % loss)
    print('Test accuracy: %.4f' % accuracy)


if __name__ == '__main__':
    main(sys.argv[1:])
