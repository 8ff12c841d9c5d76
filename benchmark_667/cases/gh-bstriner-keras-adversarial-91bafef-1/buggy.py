import numpy as np
from keras import backend as K
from keras import layers, ops
from keras.models import Model
from keras.optimizers import Adam
from sklearn.datasets import load_digits

LATENT = 16
SIDE = 8


def leaky(x):
    return ops.leaky_relu(x, 0.2)


def channels_for_backend(x):
    # arrays are kept as (n, 1, h, w); the backend may want the channels last
    if K.image_data_format() == "channels_first":
        return x
    return np.transpose((0, 2, 3, 1))


def channels_to_front(x):
    if K.image_data_format() == "channels_first":
        return x
    return np.transpose((0, 3, 1, 2))


def picture_shape():
    if K.image_data_format() == "channels_first":
        return (1, SIDE, SIDE)
    return (SIDE, SIDE, 1)


def generator_model(width=32):
    z = layers.Input((LATENT,))
    h = layers.Dense(width * 4 * 4, activation="relu")(z)
    h = layers.Reshape((4, 4, width))(h)
    h = layers.UpSampling2D(2)(h)
    h = layers.Conv2D(width // 2, 3, padding="same", activation="relu")(h)
    h = layers.Conv2D(1, 1, activation="sigmoid")(h)
    return Model(z, h, name="generator")


def discriminator_model(width=32):
    picture = layers.Input(picture_shape())
    h = layers.Conv2D(width // 2, 3, strides=2, padding="same", activation=leaky)(picture)
    h = layers.Dropout(0.3)(h)
    h = layers.Flatten()(h)
    h = layers.Dense(width, activation=leaky)(h)
    real = layers.Dense(1, activation="sigmoid")(h)
    return Model(picture, real, name="discriminator")


def train(pictures, generator, discriminator, rounds=40, batch=64):
    discriminator.compile(Adam(1e-3), loss="binary_crossentropy")
    z = layers.Input((LATENT,))
    stacked = Model(z, discriminator(generator(z)))
    stacked.compile(Adam(5e-4), loss="binary_crossentropy")

    for step in range(1, rounds + 1):
        real = pictures[np.random.randint(0, len(pictures), size=batch)]
        noise = np.random.normal(size=(batch, LATENT)).astype("float32")
        made = generator.predict_on_batch(noise)
        discriminator.trainable = True
        d_loss = discriminator.train_on_batch(real, np.ones((batch, 1)))
        d_loss += discriminator.train_on_batch(made, np.zeros((batch, 1)))
        discriminator.trainable = False
        g_loss = stacked.train_on_batch(noise, np.ones((batch, 1)))
        if step % 20 == 0:
            print("step %d: discriminator %.3f, generator %.3f" % (step, d_loss, g_loss))


def main():
    digits = load_digits().images.astype("float32") / 16.0
    pictures = channels_for_backend(digits.reshape(-1, 1, SIDE, SIDE))
    generator = generator_model()
    discriminator = discriminator_model()
    train(pictures, generator, discriminator)
    # a page of ten by ten samples
    samples = generator.predict(np.random.normal(size=(100, LATENT)), verbose=0)
    page = channels_to_front(samples).reshape(10, 10, SIDE, SIDE)
    page = page.transpose(0, 2, 1, 3).reshape(10 * SIDE, 10 * SIDE)
    print("page of samples:", page.shape)


if __name__ == "__main__":
    main()
