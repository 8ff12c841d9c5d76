import numpy as np
from keras.layers import Concatenate, Conv2D, Input, MaxPooling2D, UpSampling2D
from keras.models import Model

SIZE = 32


class UNet(object):
    def __init__(self, channels=1):
        inputs = Input((SIZE, SIZE, channels))

        encodeLayer1 = self.__add_encode_layers(8, inputs)
        encodeLayer2 = self.__add_encode_layers(16, encodeLayer1)
        encodeLayer3 = self.__add_encode_layers(32, encodeLayer2)

        bottom = Conv2D(64, 3, padding='same', activation='relu')(encodeLayer3)
        bottom = Conv2D(64, 3, padding='same', activation='relu')(bottom)

        decodeLayer1 = self.__add_decode_layers(32, bottom, encodeLayer3)
        decodeLayer2 = self.__add_decode_layers(16, decodeLayer1, encodeLayer2)
        decodeLayer3 = self.__add_decode_layers(8, decodeLayer2, encodeLayer1)

        outputs = Conv2D(1, 1, activation='sigmoid')(decodeLayer3)
        self.MODEL = Model(inputs=inputs, outputs=outputs)

    def __add_encode_layers(self, filters, inputLayer):
        layer = inputLayer
        layer = Conv2D(filters, 3, padding='same', activation='relu')(layer)
        layer = Conv2D(filters, 3, padding='same', activation='relu')(layer)
        layer = MaxPooling2D(2)(layer)
        return layer

    def __add_decode_layers(self, filters, inputLayer, concatLayer):
        layer = UpSampling2D(2)(inputLayer)
        layer = Concatenate(axis=-1)([layer, concatLayer])
        layer = Conv2D(filters, 3, padding='same', activation='relu')(layer)
        layer = Conv2D(filters, 3, padding='same', activation='relu')(layer)
        return layer

    def model(self):
        return self.MODEL


def cells(n):
    """Microscope-like pictures: bright discs on a noisy ground, and their masks."""
    rows, cols = np.mgrid[:SIZE, :SIZE]
    masks = np.zeros((n, SIZE, SIZE, 1), 'float32')
    for mask in masks:
        for _ in range(np.random.randint(1, 4)):
            r, c = np.random.randint(4, SIZE - 4, 2)
            mask[(rows - r) ** 2 + (cols - c) ** 2 < np.random.randint(9, 30)] = 1
    images = 0.6 * masks + np.random.normal(0.2, 0.1, masks.shape)
    return images.astype('float32'), masks


if __name__ == '__main__':
    x_train, y_train = cells(96)
    x_test, y_test = cells(16)

    unet = UNet().model()
    unet.compile(optimizer='adam', loss='binary_crossentropy', metrics=['accuracy'])
    unet.fit(x_train, y_train, batch_size=8, epochs=3, verbose=2)
    print('test', unet.evaluate(x_test, y_test, verbose=0))
