import numpy as np
from keras import Input, Model, initializations, ops, regularizers
from keras.layers import Activation, Add, Conv2D, Dense, GlobalAveragePooling2D, Layer
from sklearn.datasets import load_digits


class FixedBatchNormalization(Layer):
    """Batch normalization whose statistics come with the weights and are never updated."""

    def __init__(self, epsilon=1e-3, axis=-1, beta_init='zeros', gamma_init='ones',
                 gamma_regularizer=None, beta_regularizer=None, **kwargs):
        super().__init__(**kwargs)
        self.beta_init = initializations.get(beta_init)
        self.gamma_init = initializations.get(gamma_init)
        self.epsilon = epsilon
        self.axis = axis
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_regularizer = regularizers.get(beta_regularizer)

    def build(self, input_shape):
        shape = (input_shape[self.axis],)
        self.gamma = self.add_weight(shape=shape, initializer=self.gamma_init, name='gamma',
                                     regularizer=self.gamma_regularizer)
        self.beta = self.add_weight(shape=shape, initializer=self.beta_init, name='beta',
                                    regularizer=self.beta_regularizer)
        self.running_mean = self.add_weight(shape=shape, initializer='zeros', name='running_mean', trainable=False)
        self.running_std = self.add_weight(shape=shape, initializer='ones', name='running_std', trainable=False)

    def call(self, x):
        x = (x - self.running_mean) / ops.sqrt(self.running_std + self.epsilon)
        return self.gamma * x + self.beta


def conv_block(x, filters, stage, strides=1):
    out = Conv2D(filters, 3, strides=strides, padding='same', use_bias=False, name='res%d_a' % stage)(x)
    out = FixedBatchNormalization(name='bn%d_a' % stage)(out)
    out = Activation('relu')(out)
    out = Conv2D(filters, 3, padding='same', use_bias=False, name='res%d_b' % stage)(out)
    out = FixedBatchNormalization(name='bn%d_b' % stage)(out)
    shortcut = Conv2D(filters, 1, strides=strides, name='res%d_short' % stage)(x)
    return Activation('relu')(Add()([out, shortcut]))


def nn_base(input_shape=(8, 8, 1)):
    img_input = Input(input_shape)
    x = conv_block(img_input, 12, stage=2)
    x = conv_block(x, 16, stage=3, strides=2)
    x = GlobalAveragePooling2D()(x)
    return Model(img_input, Dense(10, activation='softmax')(x))


digits = load_digits()
images = (digits.images[..., None] / 16).astype('float32')
model = nn_base()
model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(images[:1000], digits.target[:1000], batch_size=50, epochs=3, verbose=2)
print('held out: loss %.3f, accuracy %.3f' % tuple(model.evaluate(images[1400:], digits.target[1400:], verbose=0)))
