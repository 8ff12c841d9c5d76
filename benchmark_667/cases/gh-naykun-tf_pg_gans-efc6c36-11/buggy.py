"""The generator of a progressive GAN on its own: it learns to paint 8 x 8 icons from their codes."""
import numpy as np
from keras import backend as K
from keras.layers import Conv2D, Input, Layer, LeakyReLU, Reshape, UpSampling2D, ZeroPadding2D
from keras.models import Model
from keras import ops

RESOLUTION = 8
ICONS = 12


class PixelNormLayer(Layer):
    def call(self, v):
        return v / ops.sqrt(ops.mean(v ** 2, axis=-1, keepdims=True) + K.epsilon())

    def compute_output_shape(self, input_shape):
        return input_shape


def G_convblock(net, num_filter, filter_size, pad, use_pixelnorm=True, name=None):
    if pad == 'full':
        pad = filter_size - 1
    net = ZeroPadding2D(pad, name=name + 'Pad')(net)
    net = Conv2D(num_filter, filter_size, padding='same', kernel_initializer='he_normal', name=name)(net)
    net = LeakyReLU(negative_slope=0.2, name=name + 'Act')(net)
    if use_pixelnorm:
        net = PixelNormLayer(name=name + 'PN')(net)
    return net


def NINBlock(net, num_channels, name=None):
    return Conv2D(num_channels, 1, padding='same', name=name + 'NIN')(net)


def Generator(latent_size, num_channels=1, resolution=RESOLUTION, fmap_base=64):
    stages = int(np.log2(resolution))

    def numf(stage):
        return fmap_base // 2 ** stage

    latents = Input(shape=[latent_size], name='Glatents')
    net = PixelNormLayer(name='Gnorm')(latents)
    net = Reshape((1, 1, latent_size), name='G1nb')(net)
    net = G_convblock(net, numf(1), 4, pad='full', name='G1a')
    net = G_convblock(net, numf(1), 3, pad=1, name='G1b')
    for stage in range(2, stages):
        net = UpSampling2D(2, name='G%dup' % stage)(net)
        net = G_convblock(net, numf(stage), 3, pad=1, name='G%da' % stage)
        net = G_convblock(net, numf(stage), 3, pad=1, name='G%db' % stage)
    return Model(latents, NINBlock(net, num_channels, name='Glod0'))


def paint_icons():
    """Symmetric random icons, as identicons are made."""
    half = np.random.randint(0, 2, (ICONS, RESOLUTION, RESOLUTION // 2)).astype('float32')
    return np.concatenate([half, half[:, :, ::-1]], axis=2)[..., None]


codes = np.eye(ICONS, dtype='float32')
icons = paint_icons()

generator = Generator(latent_size=ICONS)
generator.compile(optimizer='adam', loss='mse')
for round_ in range(60):
    loss = generator.train_on_batch(codes, icons)
print('parameters', generator.count_params())
print('painting error %.4f' % float(loss))
