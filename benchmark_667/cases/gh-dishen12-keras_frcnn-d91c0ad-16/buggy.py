import keras
import numpy as np
from keras.layers import Activation, Add, BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D
from keras.layers import Input, MaxPooling2D, ZeroPadding2D
from sklearn.model_selection import train_test_split


def identity_block(input_tensor, kernel_size, filters, stage, block):
    '''The identity_block is the block that has no conv layer at shortcut.'''
    nb_filter1, nb_filter2, nb_filter3 = filters
    conv_name = 'res' + str(stage) + block + '_branch'
    bn_name = 'bn' + str(stage) + block + '_branch'

    x = Conv2D(nb_filter1, (1, 1), name=conv_name + '2a')(input_tensor)
    x = BatchNormalization(name=bn_name + '2a')(x)
    x = Activation('relu')(x)

    x = Conv2D(nb_filter2, (kernel_size, kernel_size), padding='same', name=conv_name + '2b')(x)
    x = BatchNormalization(name=bn_name + '2b')(x)
    x = Activation('relu')(x)

    x = Conv2D(nb_filter3, (1, 1), name=conv_name + '2c')(x)
    x = BatchNormalization(name=bn_name + '2c')(x)

    x = Add()([x, input_tensor])
    return Activation('relu')(x)


def conv_block(input_tensor, kernel_size, filters, stage, block, strides=(2, 2)):
    '''conv_block is the block that has a conv layer at shortcut. From stage 3 on, the first
    conv layer of the main path and the shortcut make the picture smaller by strides.'''
    nb_filter1, nb_filter2, nb_filter3 = filters
    conv_name = 'res' + str(stage) + block + '_branch'
    bn_name = 'bn' + str(stage) + block + '_branch'

    x = Conv2D(nb_filter1, 1, 1, subsample=strides, name=conv_name + '2a')(input_tensor)
    x = BatchNormalization(name=bn_name + '2a')(x)
    x = Activation('relu')(x)

    x = Conv2D(nb_filter2, (kernel_size, kernel_size), padding='same', name=conv_name + '2b')(x)
    x = BatchNormalization(name=bn_name + '2b')(x)
    x = Activation('relu')(x)

    x = Conv2D(nb_filter3, (1, 1), name=conv_name + '2c')(x)
    x = BatchNormalization(name=bn_name + '2c')(x)

    shortcut = Conv2D(nb_filter3, (1, 1), strides=strides, name=conv_name + '1')(input_tensor)
    shortcut = BatchNormalization(name=bn_name + '1')(shortcut)

    x = Add()([x, shortcut])
    return Activation('relu')(x)


def resnet(shape, nb_classes):
    img_input = Input(shape=shape)
    x = ZeroPadding2D((1, 1))(img_input)
    x = Conv2D(8, (3, 3), name='conv1')(x)
    x = BatchNormalization(name='bn_conv1')(x)
    x = Activation('relu')(x)
    x = MaxPooling2D((2, 2))(x)

    x = conv_block(x, 3, [8, 8, 16], stage=2, block='a', strides=(1, 1))
    x = identity_block(x, 3, [8, 8, 16], stage=2, block='b')
    x = conv_block(x, 3, [16, 16, 32], stage=3, block='a')
    x = identity_block(x, 3, [16, 16, 32], stage=3, block='b')

    x = GlobalAveragePooling2D(name='avg_pool')(x)
    x = Dense(nb_classes, activation='softmax', name='fc')(x)
    return keras.Model(img_input, x, name='small_resnet')


def fabrics(n, size=24):
    '''Woven patterns of three kinds in random colours: stripes, checks and dots.'''
    r, c = np.mgrid[:size, :size]
    X, y = [], np.random.randint(0, 3, n)
    for kind in y:
        period, phase = np.random.randint(4, 8), np.random.randint(0, 8)
        stripes = ((r + phase) // period) % 2
        checks = stripes ^ (((c + phase) // period) % 2)
        dots = ((r + phase) % period < 2) & ((c + phase) % period < 2)
        pattern = np.stack([stripes, checks, dots])[kind][..., None]
        X.append(pattern * np.random.uniform(0.4, 1, 3) + np.random.normal(0, 0.1, (size, size, 3)))
    return np.array(X, dtype='float32'), keras.utils.to_categorical(y, 3)


X, Y = fabrics(360)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=60)
model = resnet(X.shape[1:], 3)
model.compile(keras.optimizers.Adam(2e-3), 'categorical_crossentropy', metrics=['accuracy'])
model.fit(X_train, Y_train, batch_size=30, epochs=3, validation_data=(X_test, Y_test), verbose=2)
