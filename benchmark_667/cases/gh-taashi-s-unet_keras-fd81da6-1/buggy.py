import numpy as np
from keras import ops
from keras.models import Model
from keras.layers import Input, Conv2D, MaxPooling2D, UpSampling2D
from keras.layers.merge import Concatenate


def dice_coef(y_true, y_pred):
    overlap = ops.sum(y_true * y_pred)
    return (2 * overlap + 1) / (ops.sum(y_true) + ops.sum(y_pred) + 1)


def dice_coef_loss(y_true, y_pred):
    return 1.0 - dice_coef(y_true, y_pred)


class UNet(object):
    def __init__(self, size):
        inputs = Input((size, size, 1))

        encodeLayer1 = self.__add_Encode_layers(8, inputs, is_first=True)
        encodeLayer2 = self.__add_Encode_layers(16, encodeLayer1)
        encodeLayer3 = self.__add_Encode_layers(32, encodeLayer2)

        decodeLayer1 = self.__add_Decode_layers(16, encodeLayer3, encodeLayer2)
        decodeLayer2 = self.__add_Decode_layers(8, decodeLayer1, encodeLayer1)

        outputs = Conv2D(1, 1, activation='sigmoid')(decodeLayer2)

        self.MODEL = Model(inputs=inputs, outputs=outputs)

    def __add_Encode_layers(self, filters, inputLayer, is_first=False):
        layer = inputLayer if is_first else MaxPooling2D(2)(inputLayer)
        layer = Conv2D(filters, 3, padding='same', activation='relu')(layer)
        return layer

    def __add_Decode_layers(self, filters, inputLayer, concatLayer):
        layer = UpSampling2D(2)(inputLayer)
        layer = Concatenate()([layer, concatLayer])
        layer = Conv2D(filters, 3, padding='same', activation='relu')(layer)
        return layer

    def model(self):
        return self.MODEL


def load_images(count, size):
    """Speckled pictures with a brighter disc, and the disc as the teacher."""
    grid = np.arange(size)
    centers = np.random.uniform(size * 0.3, size * 0.7, size=(count, 2))
    radii = np.random.uniform(size * 0.12, size * 0.25, size=count)
    distance = np.hypot(grid[None, :, None] - centers[:, :1, None], grid[None, None, :] - centers[:, 1:, None])
    teachers = (distance < radii[:, None, None]).astype('float32')
    inputs = 0.4 * teachers + np.random.uniform(0, 0.6, size=teachers.shape)
    return inputs[..., None].astype('float32'), teachers[..., None]


if __name__ == '__main__':
    inputs, teachers = load_images(120, 32)
    model = UNet(32).model()
    model.compile(optimizer='adam', loss=dice_coef_loss, metrics=[dice_coef])
    model.fit(inputs, teachers, batch_size=10, epochs=4, verbose=2)

    new_inputs, new_teachers = load_images(20, 32)
    found = model.predict(new_inputs, verbose=0)
    print('dice on new pictures: %.3f' % float(dice_coef(new_teachers, found)))
