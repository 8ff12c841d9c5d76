'''
A little DenseNet for 16x16 textures.
'''
import numpy as np
from keras import layers, models, regularizers


def textures(n, size=16):
    '''Stripes, checks, dots or plain noise, in a random shade.'''
    images = np.random.normal(0.0, 0.25, (n, size, size, 1))
    kinds = np.random.randint(0, 4, n)
    rows, cols = np.indices((size, size))
    for image, kind in zip(images, kinds):
        period = np.random.randint(3, 6)
        if kind == 1:
            image[..., 0] += (rows // period) % 2
        elif kind == 2:
            image[..., 0] += (rows // period + cols // period) % 2
        elif kind == 3:
            image[..., 0] += (rows % period == 0) & (cols % period == 0)
    return images.astype('float32'), kinds


def conv_block(x, filters, bottleneck, weight_decay):
    if bottleneck:
        x = layers.BatchNormalization()(x)
        x = layers.Activation('relu')(x)
        x = layers.Conv2D(filters * 4, 1, padding='same', use_bias=False,
                          kernel_regularizer=regularizers.L2(weight_decay))(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation('relu')(x)
    return layers.Conv2D(filters, 3, padding='same', use_bias=False,
                         kernel_regularizer=regularizers.L2(weight_decay))(x)


def dense_block(x, nb_layers, growth_rate, bottleneck, weight_decay):
    features = [x]
    for _ in range(nb_layers):
        new = conv_block(x, growth_rate, bottleneck, weight_decay)
        features.append(new)
        x = layers.Concatenate()(features)
    return x


def dense_net(input_shape, nb_classes, depth=10, dense_blocks=2, growth_rate=6,
              bottleneck=False, compression=0.5, weight_decay=1e-4):
    # two convolutions per layer with a bottleneck, one without
    nb_layers = (depth - 4) / dense_blocks
    if bottleneck:
        nb_layers = nb_layers // 2

    img_input = layers.Input(shape=input_shape)
    x = layers.Conv2D(2 * growth_rate, 3, padding='same', use_bias=False)(img_input)
    for block in range(dense_blocks):
        x = dense_block(x, nb_layers, growth_rate, bottleneck, weight_decay)
        if block < dense_blocks - 1:
            x = layers.BatchNormalization()(x)
            x = layers.Activation('relu')(x)
            x = layers.Conv2D(int(x.shape[-1] * compression), 1, use_bias=False)(x)
            x = layers.AveragePooling2D(2)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation('relu')(x)
    x = layers.GlobalAveragePooling2D()(x)
    prediction = layers.Dense(nb_classes, activation='softmax')(x)
    return models.Model(img_input, prediction, name='densenet')


if __name__ == '__main__':
    x_train, y_train = textures(320)
    model = dense_net(x_train.shape[1:], 4)
    model.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'])
    print('parameters:', model.count_params())
    history = model.fit(x_train, y_train, epochs=2, batch_size=32, verbose=0)
    print('loss by epoch:', ['%.3f' % loss for loss in history.history['loss']])
