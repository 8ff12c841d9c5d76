"""A generative adversarial network for points on a ring."""
import numpy as np
from keras.layers import Activation, Dense, Input, LeakyReLU
from keras.models import Model, Sequential
from keras.optimizers import Adam
from keras.regularizers import L1L2

LATENT_DIM = 8


def model_generator(latent_dim, hidden_dim=64, reg=lambda: L1L2(1e-5, 1e-5)):
    return Sequential([
        Input((latent_dim,)),
        Dense(hidden_dim // 2, name="generator_h1", kernel_regularizer=reg()),
        LeakyReLU(negative_slope=0.2),
        Dense(hidden_dim, name="generator_h2", kernel_regularizer=reg()),
        LeakyReLU(negative_slope=0.2),
        Dense(2, name="generator_xy", kernel_regularizer=reg())],
        name="generator")


def model_discriminator(hidden_dim=64, reg=lambda: L1L2(1e-5, 1e-5), output_activation="sigmoid"):
    return Sequential([
        Input((2,)),
        Dense(hidden_dim, name="discriminator_h1", kernel_regularizer=reg()),
        LeakyReLU(negative_slope=0.2),
        Dense(hidden_dim // 2, name="discriminator_h2", kernel_regularizer=reg()),
        LeakyReLU(negative_slope=0.2),
        Dense(hidden_dim / 4, name="discriminator_h3", kernel_regularizer=reg()),
        LeakyReLU(negative_slope=0.2),
        Dense(1, name="discriminator_y", kernel_regularizer=reg()),
        Activation(output_activation)],
        name="discriminator")


def real_points(n):
    angle = np.random.uniform(0, 2 * np.pi, size=n)
    radius = np.random.normal(1.0, 0.03, size=n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def noise(n):
    return np.random.normal(size=(n, LATENT_DIM))


def example_gan(steps=60, batch_size=64):
    generator = model_generator(LATENT_DIM)
    discriminator = model_discriminator()
    discriminator.compile(Adam(1e-3, beta_1=0.5), "binary_crossentropy")

    # the generator learns through a discriminator that stands still
    judge = model_discriminator()
    judge.trainable = False
    z = Input((LATENT_DIM,))
    gan = Model(z, judge(generator(z)))
    gan.compile(Adam(1e-3, beta_1=0.5), "binary_crossentropy")

    ones, zeros = np.ones((batch_size, 1)), np.zeros((batch_size, 1))
    for step in range(1, steps + 1):
        fake = generator.predict_on_batch(noise(batch_size))
        points = np.concatenate([real_points(batch_size), fake])
        d_loss = discriminator.train_on_batch(points, np.concatenate([ones, zeros]))
        judge.set_weights(discriminator.get_weights())
        g_loss = gan.train_on_batch(noise(batch_size), ones)
        if step % 20 == 0:
            print("step %d: discriminator %.3f, generator %.3f" % (step, d_loss, g_loss))
    return generator


if __name__ == "__main__":
    points = example_gan().predict(noise(500), verbose=0)
    print("mean distance from the centre: %.3f" % np.hypot(points[:, 0], points[:, 1]).mean())
