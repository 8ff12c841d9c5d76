import numpy as np
from keras import Input, Model
from keras.layers import (Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten,
                          LeakyReLU, Reshape, UpSampling2D)
from keras.optimizers import Adam
from sklearn.datasets import load_digits

LATENT = 20


def model_generator(nch=64):
    g_input = Input(shape=[LATENT])
    H = Dense(nch * 4 * 4, kernel_initializer='glorot_normal')(g_input)
    H = BatchNormalization()(H)
    H = Activation('relu')(H)
    H = Reshape((4, 4, nch))(H)
    H = UpSampling2D(size=(2, 2))(H)
    H = Conv2D(nch / 4, (3, 3), padding='same')(H)
    H = BatchNormalization()(H)
    H = Activation('relu')(H)
    H = Conv2D(1, (1, 1), padding='same')(H)
    g_V = Activation('sigmoid')(H)
    return Model(g_input, g_V, name='generator')


def model_discriminator(input_shape=(8, 8, 1), dropout_rate=0.3):
    d_input = Input(input_shape)
    H = Conv2D(16, (3, 3), strides=(2, 2), padding='same')(d_input)
    H = LeakyReLU(negative_slope=0.2)(H)
    H = Dropout(dropout_rate)(H)
    H = Flatten()(H)
    H = Dense(32)(H)
    H = LeakyReLU(negative_slope=0.2)(H)
    d_V = Dense(1, activation='sigmoid')(H)
    return Model(d_input, d_V, name='discriminator')


def digits_data():
    images = load_digits().images.astype('float32') / 16.0
    return images[..., np.newaxis]


def train(steps=25, batch_size=32):
    x_real = digits_data()
    generator = model_generator()
    discriminator = model_discriminator()
    discriminator.compile(optimizer=Adam(1e-3), loss='binary_crossentropy')

    z = Input(shape=[LATENT])
    frozen = Model(discriminator.input, discriminator.output)
    frozen.trainable = False
    gan = Model(z, frozen(generator(z)))
    gan.compile(optimizer=Adam(1e-3), loss='binary_crossentropy')
    discriminator.trainable = True

    rng = np.random.default_rng()
    for step in range(steps):
        real = x_real[rng.integers(len(x_real), size=batch_size)]
        noise = rng.normal(size=(batch_size, LATENT)).astype('float32')
        fake = generator.predict(noise, verbose=0)
        x = np.concatenate([real, fake])
        y = np.concatenate([np.ones((batch_size, 1)), np.zeros((batch_size, 1))])
        d_loss = discriminator.train_on_batch(x, y)
        g_loss = gan.train_on_batch(noise, np.ones((batch_size, 1)))
        if step % 5 == 0:
            print('step %3d  d_loss %.3f  g_loss %.3f' % (step, d_loss, g_loss))
    return generator


if __name__ == '__main__':
    generator = train()
    samples = generator.predict(np.random.normal(size=(4, LATENT)), verbose=0)
    print('samples', samples.shape, 'mean intensity %.3f' % samples.mean())
