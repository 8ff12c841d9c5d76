import numpy as np
from keras.layers import Activation, Add, AveragePooling2D, BatchNormalization, Conv2D, Dense, Flatten, Input
from keras.models import Model
from keras.utils import to_categorical

batch_size = 25
nb_classes = 5
nb_epoch = 3
img_rows, img_cols = 16, 16
img_channels = 3


def _conv_bn_relu(nb_filter):
    def f(input):
        conv = Conv2D(nb_filter, (3, 3), kernel_initializer="he_normal", padding="same")(input)
        return Activation("relu")(BatchNormalization(momentum=0.9)(conv))
    return f


def _bn_relu_conv(nb_filter, strides=(1, 1)):
    def f(input):
        activation = Activation("relu")(BatchNormalization(momentum=0.9)(input))
        return Conv2D(nb_filter, (3, 3), strides=strides, kernel_initializer="he_normal", padding="same")(activation)
    return f


def _shortcut(input, residual):
    stride_width = input.shape[1] / residual.shape[1]
    stride_height = input.shape[2] / residual.shape[2]
    equal_channels = residual.shape[3] == input.shape[3]

    shortcut = input
    if stride_width > 1 or stride_height > 1 or not equal_channels:
        shortcut = Conv2D(residual.shape[3], (1, 1), strides=(stride_width, stride_height),
                          kernel_initializer="he_normal", padding="valid")(input)
    return Add()([shortcut, residual])


def _residual_block(nb_filters, repetitions, is_first_layer=False):
    def f(input):
        for i in range(repetitions):
            strides = (2, 2) if i == 0 and not is_first_layer else (1, 1)
            conv1 = _bn_relu_conv(nb_filters, strides)(input)
            input = _shortcut(input, _bn_relu_conv(nb_filters)(conv1))
        return input
    return f


def resnet():
    input = Input(shape=(img_rows, img_cols, img_channels))
    conv1 = _conv_bn_relu(8)(input)

    # Residual blocks
    block1 = _residual_block(8, repetitions=1, is_first_layer=True)(conv1)
    block2 = _residual_block(16, repetitions=1)(block1)
    block3 = _residual_block(32, repetitions=1)(block2)

    # Classifier
    pool = AveragePooling2D(pool_size=(4, 4))(Activation("relu")(block3))
    dense = Dense(nb_classes, kernel_initializer="he_normal", activation="softmax")(Flatten()(pool))
    return Model(input, dense)


def gratings(n):
    """Stripes of five directions in random colors."""
    y = np.random.randint(nb_classes, size=n)
    angle = (y * np.pi / nb_classes)[:, None, None]
    rows, cols = np.mgrid[0:img_rows, 0:img_cols]
    phase = np.random.uniform(0, 2 * np.pi, size=(n, 1, 1))
    wave = np.sin((rows * np.cos(angle) + cols * np.sin(angle)) * 1.2 + phase)
    X = wave[..., None] * np.random.uniform(0.3, 1, size=(n, 1, 1, img_channels))
    return (X + 0.3 * np.random.randn(*X.shape)).astype("float32"), to_categorical(y, nb_classes)


X_train, Y_train = gratings(400)
X_test, Y_test = gratings(100)

model = resnet()
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X_train, Y_train, batch_size=batch_size, epochs=nb_epoch, validation_data=(X_test, Y_test), verbose=2)
