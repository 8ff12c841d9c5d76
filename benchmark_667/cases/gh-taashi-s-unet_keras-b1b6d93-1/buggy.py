"""Find the cats: a small U-Net that paints a mask over the animal in a grey picture."""
import numpy as np
from keras import ops
from keras.layers import Conv2D, Input, MaxPooling2D, UpSampling2D, concatenate
from keras.models import Model
from keras.optimizers import Adam

SIDE = 20


def picture_with_mask():
    r, c = np.mgrid[:SIDE, :SIDE]
    row, col = np.random.uniform(7, 13, 2)
    a, b = np.random.uniform(4, 6, 2)
    body = ((r - row) / a) ** 2 + ((c - col) / b) ** 2 < 1
    head = (r - row + a) ** 2 + (c - col - b) ** 2 < 7
    mask = body | head
    fur = 0.35 + 0.1 * np.random.randn(SIDE, SIDE)
    meadow = 0.6 + 0.1 * np.random.randn(SIDE, SIDE)
    return np.where(mask, fur, meadow)[..., None], mask[..., None]


def load_images(n):
    pairs = [picture_with_mask() for _ in range(n)]
    inputs = np.array([p[0] for p in pairs], "float32")
    teachers = np.array([p[1] for p in pairs], "float32")
    return inputs, teachers


def encode(filters, layer, first=False):
    if not first:
        layer = MaxPooling2D(2)(layer)
    layer = Conv2D(filters, 3, padding="same", activation="relu")(layer)
    return Conv2D(filters, 3, padding="same", activation="relu")(layer)


def decode(filters, layer, skipped):
    layer = concatenate([UpSampling2D(2)(layer), skipped])
    return Conv2D(filters, 3, padding="same", activation="relu")(layer)


def unet():
    inputs = Input((SIDE, SIDE, 1))
    encoded1 = encode(8, inputs, first=True)
    encoded2 = encode(12, encoded1)
    encoded3 = encode(16, encoded2)
    decoded1 = decode(12, encoded3, encoded2)
    decoded2 = decode(8, decoded1, encoded1)
    outputs = Conv2D(1, 1, activation="relu")(decoded2)
    return Model(inputs, outputs)


def dice_coef(y_true, y_pred):
    y_true = ops.reshape(y_true, (-1,))
    y_pred = ops.reshape(y_pred, (-1,))
    shared = ops.sum(y_true * y_pred)
    return (2.0 * shared + 1) / (ops.sum(y_true) + ops.sum(y_pred) + 1)


def dice_loss(y_true, y_pred):
    return 1.0 - dice_coef(y_true, y_pred)


if __name__ == "__main__":
    inputs, teachers = load_images(96)
    model = unet()
    model.compile(optimizer=Adam(2e-3), loss=dice_loss)
    model.fit(inputs, teachers, batch_size=8, epochs=8, verbose=2)

    unseen, masks = load_images(24)
    painted = model.predict(unseen, verbose=0)
    print("difference between painted and true masks: %.4f" % np.abs(painted - masks).mean())
