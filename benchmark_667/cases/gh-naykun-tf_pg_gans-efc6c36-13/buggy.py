import keras
import numpy as np
from keras import initializers
from keras.layers import Add, AveragePooling2D, Conv2D, Dense, Flatten, Input, LeakyReLU, ZeroPadding2D
from keras.models import Model

lrelu_init = initializers.HeNormal()


def Discriminator(num_channels=1,       # Overridden based on dataset.
                  resolution=32,        # Overridden based on dataset.
                  fmap_base=256,        # Overall multiplier for the number of feature maps.
                  fmap_decay=1.0,       # log2 of feature map reduction when doubling the resolution.
                  fmap_max=32):         # Maximum number of feature maps on any resolution.
    R = int(np.log2(resolution))
    assert resolution == 2 ** R and resolution >= 4

    def numf(stage):
        return min(int(fmap_base / (2.0 ** (stage * fmap_decay))), fmap_max)

    def NINBlock(net, filters, name):
        net = Conv2D(filters, 1, padding='same', kernel_initializer=lrelu_init, name=name + 'NIN')(net)
        return LeakyReLU(0.2, name=name + 'act')(net)

    def ConvBlock(net, filters, filter_size, pad, name):
        net = ZeroPadding2D(pad, name=name + 'Pad')(net)
        net = Conv2D(filters, filter_size, padding='valid', kernel_initializer=lrelu_init, name=name)(net)
        return LeakyReLU(0.2, name=name + 'act')(net)

    inputs = Input(shape=[None, 2 ** R, 2 ** R, num_channels], name='Dimages')
    net = NINBlock(inputs, numf(R - 1), name='D%dx' % (R - 1))
    for i in range(R - 1, 1, -1):
        net = ConvBlock(net, numf(i), 3, 1, name='D%db' % i)
        net = ConvBlock(net, numf(i - 1), 3, 1, name='D%da' % i)
        net = AveragePooling2D(2, name='D%ddn' % i)(net)
        # the same picture, made smaller, comes in on every level
        lod = AveragePooling2D(2 ** (R - i), name='D%dxs' % (i - 1))(inputs)
        lod = NINBlock(lod, numf(i - 1), name='D%dx' % (i - 1))
        net = Add(name='D%dlod' % (i - 1))([net, lod])

    net = ConvBlock(net, numf(1), 3, 1, name='D1b')
    net = ConvBlock(net, numf(0), 4, 0, name='D1a')
    net = Flatten(name='Dflat')(net)
    net = Dense(1, activation='sigmoid', name='Dscores')(net)
    return Model(inputs=inputs, outputs=net)


def blobs(n, size):
    """Pictures that stand for the data: two soft spots."""
    r, c = np.mgrid[:size, :size]
    pictures = np.zeros((n, size, size, 1))
    for picture in pictures:
        for y, x in np.random.uniform(2, size - 2, (2, 2)):
            picture[..., 0] += np.exp(-((r - y) ** 2 + (c - x) ** 2) / 6.0)
    return pictures.astype('float32')


def blurred_noise(n, size):
    """Pictures that stand for an untrained generator."""
    noise = np.random.rand(n, size + 2, size + 2, 1)
    shifted = [noise[:, i:i + size, j:j + size] for i in range(3) for j in range(3)]
    return np.mean(shifted, axis=0).astype('float32')


if __name__ == '__main__':
    resolution = 16
    D = Discriminator(num_channels=1, resolution=resolution)
    D.compile(optimizer=keras.optimizers.Adam(1e-3, beta_1=0.5), loss='binary_crossentropy', metrics=['accuracy'])
    print('discriminator:', D.count_params(), 'parameters')

    for step in range(30):
        images = np.concatenate([blobs(16, resolution), blurred_noise(16, resolution)])
        scores = np.concatenate([np.ones((16, 1)), np.zeros((16, 1))])
        loss, accuracy = D.train_on_batch(images, scores)
        if step % 10 == 9:
            print('step %d loss %.3f accuracy %.2f' % (step + 1, loss, accuracy))
