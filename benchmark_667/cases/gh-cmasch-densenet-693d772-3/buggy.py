"""DenseNet for small pictures (https://arxiv.org/abs/1608.06993)."""
import keras
import numpy as np
from keras.layers import (Activation, AveragePooling2D, BatchNormalization, Concatenate, Conv2D, Dense, Dropout,
                          GlobalAveragePooling2D, Input)
from keras.regularizers import l2
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def densenet(input_shape, nb_classes, dense_blocks=3, dense_layers=-1, growth_rate=6, depth=10,
             dropout_rate=None, compression=1.0, weight_decay=1e-4):
    """
    Arguments:
        dense_blocks : number of dense blocks
        dense_layers : layers per dense block; -1 takes it from the depth, a list names it block by block
        growth_rate  : filters that every layer adds
        depth        : number of all layers
        compression  : share of the filters that a transition keeps
    """
    if isinstance(dense_layers, list):
        if len(dense_layers) != dense_blocks:
            raise ValueError('one number of layers per dense block is needed')
    else:
        if dense_layers == -1:
            dense_layers = (depth - 4) / 3
        dense_layers = [dense_layers for _ in range(dense_blocks)]

    img_input = Input(shape=input_shape)
    channels = 2 * growth_rate
    x = Conv2D(channels, (3, 3), padding='same', use_bias=False, kernel_regularizer=l2(weight_decay))(img_input)

    for block, layers in enumerate(dense_layers):
        x, channels = dense_block(x, layers, channels, growth_rate, dropout_rate)
        # the last block has no transition
        if block < dense_blocks - 1:
            channels = int(channels * compression)
            x = transition(x, channels, weight_decay)

    x = BatchNormalization(momentum=0.9)(x)
    x = Activation('relu')(x)
    x = GlobalAveragePooling2D()(x)
    return keras.Model(img_input, Dense(nb_classes, activation='softmax')(x), name='densenet')


def dense_block(x, nb_layers, channels, growth_rate, dropout_rate):
    for _ in range(nb_layers):
        y = BatchNormalization(momentum=0.9)(x)
        y = Activation('relu')(y)
        y = Conv2D(growth_rate, (3, 3), padding='same', use_bias=False)(y)
        if dropout_rate:
            y = Dropout(dropout_rate)(y)
        x = Concatenate(axis=-1)([x, y])
        channels += growth_rate
    return x, channels


def transition(x, channels, weight_decay):
    x = BatchNormalization(momentum=0.9)(x)
    x = Activation('relu')(x)
    x = Conv2D(channels, (1, 1), padding='same', use_bias=False, kernel_regularizer=l2(weight_decay))(x)
    return AveragePooling2D((2, 2), strides=(2, 2))(x)


if __name__ == '__main__':
    digits = load_digits()
    images = (digits.images / 16.0).astype('float32')[..., np.newaxis]
    x_train, x_test, y_train, y_test = train_test_split(images, digits.target, train_size=640, test_size=200)

    model = densenet((8, 8, 1), 10, compression=0.5)
    print('%d layers, %d parameters' % (len(model.layers), model.count_params()))
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss='sparse_categorical_crossentropy', metrics=['accuracy'])
    model.fit(x_train, y_train, batch_size=64, epochs=4, verbose=2)
    print('test loss %.3f, test accuracy %.3f' % tuple(model.evaluate(x_test, y_test, verbose=0)))
