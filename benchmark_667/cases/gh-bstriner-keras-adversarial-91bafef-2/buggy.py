import numpy as np
import keras
from keras import layers
from keras.models import Model

SIDE, LATENT = 12, 16


def image_order():
    return "th" if keras.config.image_data_format() == "channels_first" else "tf"


def dim_ordering_fit(x):
    """Images are kept as (n, channels, height, width); this is what the networks get."""
    if image_order() == "th":
        return x
    return np.transpose(x, (0, 2, 3, 1))


def dim_ordering_undo(x):
    """And back again, to show them."""
    if image_order() == "th":
        return x
    return np.transpose((0, 3, 1, 2))


def crosses(n):
    images = np.zeros((n, 1, SIDE, SIDE), dtype="float32")
    for image in images:
        row, col = np.random.randint(3, SIDE - 3, 2)
        image[0, row, col - 3:col + 4] = 1
        image[0, row - 3:row + 4, col] = 1
    return images


def model_generator():
    z = layers.Input((LATENT,))
    h = layers.Dense(8 * 6 * 6, activation="relu")(z)
    h = layers.Reshape((6, 6, 8))(h)
    h = layers.UpSampling2D()(h)
    h = layers.Conv2D(8, 3, padding="same", activation="relu")(h)
    h = layers.Conv2D(1, 1, activation="sigmoid")(h)
    return Model(z, h, name="generator")


def model_discriminator():
    image = layers.Input((SIDE, SIDE, 1))
    h = layers.Conv2D(8, 5, strides=2, padding="same")(image)
    h = layers.LeakyReLU(negative_slope=0.2)(h)
    h = layers.Dropout(0.3)(h)
    h = layers.Flatten()(h)
    verdict = layers.Dense(1, activation="sigmoid")(h)
    return Model(image, verdict, name="discriminator")


def tile(images, columns=4):
    """A grid of pictures as text."""
    n, _, height, width = images.shape
    rows = []
    for begin in range(0, n, columns):
        for line in range(height):
            pixels = np.concatenate([image[0, line] for image in images[begin:begin + columns]])
            rows.append("".join("#" if value > 0.5 else "." for value in pixels))
    return "\n".join(rows)


generator = model_generator()
discriminator = model_discriminator()
discriminator.compile("adam", "binary_crossentropy")
z = layers.Input((LATENT,))
gan = Model(z, discriminator(generator(z)))
gan.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy")

x_train = dim_ordering_fit(crosses(256))
for step in range(30):
    noise = np.random.normal(size=(32, LATENT)).astype("float32")
    real = x_train[np.random.choice(len(x_train), 32)]
    fake = generator.predict_on_batch(noise)
    discriminator.trainable = True
    d_loss = discriminator.train_on_batch(np.concatenate([real, fake]), np.repeat([[1.0], [0.0]], 32, axis=0))
    # the generator's turn; the other one stands still
    discriminator.trainable = False
    g_loss = gan.train_on_batch(noise, np.ones((32, 1)))
print("losses after %d steps: %.3f, %.3f" % (step + 1, float(d_loss), float(g_loss)))

samples = generator.predict(np.random.normal(size=(4, LATENT)), verbose=0)
print(tile(dim_ordering_undo(samples)))
