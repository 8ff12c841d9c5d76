import keras
import numpy as np
from keras import layers, ops


class MinibatchLayer(layers.Layer):
    """Minibatch discrimination: tells the discriminator how alike the samples of a batch are."""

    def __init__(self, num_kernels, dim_per_kernel=5, **kwargs):
        super(MinibatchLayer, self).__init__(**kwargs)
        self.num_kernels = num_kernels
        self.dim_per_kernel = dim_per_kernel

    def build(self, input_shape):
        num_inputs = int(np.prod(input_shape[1:]))
        shape = (self.num_kernels, self.dim_per_kernel)
        small = keras.initializers.RandomNormal(stddev=0.05)
        self.theta = self.add_weight(name='theta', shape=(num_inputs,) + shape, initializer=small)
        self.log_weight_scale = self.add_weight(name='log_weight_scale', shape=shape, initializer='zeros')
        self.bias = self.add_weight(name='bias', shape=(self.num_kernels,), initializer='zeros')

    def call(self, inputs):
        norm = ops.sqrt(ops.sum(ops.square(self.theta), axis=0))
        kernel = self.theta * ops.transpose(ops.exp(self.log_weight_scale) / norm, ('x', 0, 1))
        actv = ops.tensordot(inputs, kernel, axes=1)
        # distances between all pairs of the batch, for every kernel
        abs_dif = ops.sum(ops.abs(ops.expand_dims(actv, 1) - ops.expand_dims(actv, 0)), axis=-1)
        f = ops.sum(ops.exp(-abs_dif), axis=1) + ops.expand_dims(self.bias, 0)
        return ops.concatenate([inputs, f], axis=1)


def Generator(latent_size=8, width=32):
    inputs = keras.Input((latent_size,), name='Glatents')
    net = layers.Dense(width, name='G1')(inputs)
    net = layers.LeakyReLU(0.2, name='G1r')(net)
    net = layers.Dense(width, name='G2')(net)
    net = layers.LeakyReLU(0.2, name='G2r')(net)
    net = layers.Dense(2, name='Gout')(net)
    return keras.Model(inputs, net, name='G')


def Discriminator(width=32, mbdisc_kernels=6):
    inputs = keras.Input((2,), name='Dpoints')
    net = layers.Dense(width, name='D1')(inputs)
    net = layers.LeakyReLU(0.2, name='D1r')(net)
    net = layers.Dense(width, name='D2')(net)
    net = layers.LeakyReLU(0.2, name='D2r')(net)
    if mbdisc_kernels:
        net = MinibatchLayer(mbdisc_kernels, name='Dmd')(net)
    net = layers.Dense(1, activation='sigmoid', name='Dscores')(net)
    return keras.Model(inputs, net, name='D')


def ring(n, modes=6):
    """Points around the corners of a hexagon."""
    angle = 2 * np.pi * np.random.randint(0, modes, n) / modes
    centres = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return (2 * centres + 0.05 * np.random.randn(n, 2)).astype('float32')


if __name__ == '__main__':
    batch, latent = 32, 8
    G, D = Generator(latent), Discriminator()
    D.compile(optimizer=keras.optimizers.Adam(2e-4, beta_1=0.5), loss='binary_crossentropy')
    GAN = keras.Sequential([G, D])
    GAN.compile(optimizer=keras.optimizers.Adam(1e-3, beta_1=0.5), loss='binary_crossentropy')

    real, fake = np.ones((batch, 1)), np.zeros((batch, 1))
    for step in range(40):
        samples = G.predict(np.random.randn(batch, latent), verbose=0)
        D.trainable = True
        d_real = D.train_on_batch(ring(batch), real)
        d_fake = D.train_on_batch(samples, fake)
        D.trainable = False
        g_loss = GAN.train_on_batch(np.random.randn(batch, latent), real)
        if step % 10 == 0:
            print('%3d  D real %.3f fake %.3f  G %.3f' % (step, d_real, d_fake, g_loss))
