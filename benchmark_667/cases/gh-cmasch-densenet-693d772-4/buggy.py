# -*- coding: utf-8 -*-
"""
Small DenseNet (densely connected convolutional network) for grey pictures.
"""
import numpy as np
from keras.layers import Activation, AveragePooling2D, BatchNormalization, Concatenate, Conv2D
from keras.layers import Dense, Dropout, GlobalAveragePooling2D, Input
from keras.models import Model
from keras.regularizers import l2
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def DenseNet(input_shape, nb_classes, dense_blocks=3, dense_layers=-1, growth_rate=12, dropout_rate=None,
             bottleneck=False, compression=1.0, weight_decay=1e-4, depth=40):
    """
    Arguments:
        input_shape  : shape of the input images, e.g. (28, 28, 1)
        nb_classes   : number of classes
        dense_blocks : amount of dense blocks
        dense_layers : number of layers in each dense block, also as a list like [2, 4, 3];
                       -1 means that it follows from the depth
        growth_rate  : number of filters to add per layer
        bottleneck   : put a convolution of 1x1 before each convolution of a block
        compression  : share of the feature maps that a transition keeps
        depth        : number of all layers
    """
    if type(dense_layers) is not list:
        if dense_layers == -1:
            dense_layers = (depth - 4) / 3
            if bottleneck:
                dense_layers = dense_layers / 2
        dense_layers = [dense_layers for _ in range(dense_blocks)]

    img_input = Input(shape=input_shape)
    nb_channels = 2 * growth_rate
    x = Conv2D(nb_channels, (3, 3), padding='same', use_bias=False, kernel_regularizer=l2(weight_decay))(img_input)

    for block in range(dense_blocks):
        x, nb_channels = dense_block(x, dense_layers[block], nb_channels, growth_rate, dropout_rate, bottleneck)
        # no transition after the last block
        if block < dense_blocks - 1:
            nb_channels = int(nb_channels * compression)
            x = transition_layer(x, nb_channels, dropout_rate)

    x = BatchNormalization()(x)
    x = Activation('relu')(x)
    x = GlobalAveragePooling2D()(x)
    x = Dense(nb_classes, activation='softmax')(x)
    return Model(img_input, x, name='densenet')


def dense_block(x, nb_layers, nb_channels, growth_rate, dropout_rate, bottleneck):
    """Every layer sees the outputs of all layers before it."""
    x_list = [x]
    for i in range(nb_layers):
        cb = convolution_block(x, growth_rate, dropout_rate, bottleneck)
        x_list.append(cb)
        x = Concatenate(axis=-1)(x_list)
        nb_channels += growth_rate
    return x, nb_channels


def convolution_block(x, nb_channels, dropout_rate, bottleneck):
    """BN-ReLU-Conv."""
    if bottleneck:
        x = Activation('relu')(BatchNormalization()(x))
        x = Conv2D(4 * nb_channels, (1, 1), use_bias=False)(x)
    x = Activation('relu')(BatchNormalization()(x))
    x = Conv2D(nb_channels, (3, 3), padding='same', use_bias=False)(x)
    return Dropout(dropout_rate)(x) if dropout_rate else x


def transition_layer(x, nb_channels, dropout_rate):
    """Convolution and pooling between two blocks."""
    x = Activation('relu')(BatchNormalization()(x))
    x = Conv2D(nb_channels, (1, 1), use_bias=False)(x)
    if dropout_rate:
        x = Dropout(dropout_rate)(x)
    return AveragePooling2D((2, 2), strides=(2, 2))(x)


if __name__ == '__main__':
    digits = load_digits()
    images = (digits.images[..., np.newaxis] / 16.0).astype('float32')
    parts = train_test_split(images, digits.target, train_size=500, test_size=150)
    x_train, x_test, y_train, y_test = parts

    for bottleneck in (False, True):
        model = DenseNet((8, 8, 1), 10, growth_rate=6, depth=13, bottleneck=bottleneck, compression=0.5)
        model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
        model.fit(x_train, y_train, batch_size=25, epochs=2, verbose=2)
        loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
        print('bottleneck %s: %d parameters, test accuracy %.3f' % (bottleneck, model.count_params(), accuracy))
